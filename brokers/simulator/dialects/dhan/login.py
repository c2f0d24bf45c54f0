"""Dhan's login: PIN and one-time code at the auth host, tokens as JWTs, their renewal, and the check of callers."""

import base64
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dhan.envelope import data_error, error
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.logins import is_one_time_code, jwt_part, same
from onebroker.brokers.simulator.dialects.rest import Refused, as_json
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.config.clock import Clock, from_epoch

LIFE = timedelta(hours=24)
INVALID = "Client ID or user generated access token is invalid or expired."
_HEADER = {"typ": "JWT", "alg": "HS512"}


class LoginDesk:
    """Hands out tokens and checks them. A token's last part is the token that `Tokens` minted; the other parts only describe it."""

    def __init__(self, account: AccountView, tokens: Tokens, clock: Clock, credentials: Mapping[str, str]) -> None:
        self._account, self._tokens, self._clock, self._credentials = account, tokens, clock, credentials

    def mint(self) -> str:
        """Return a new token that lives one day."""
        ends = self._clock.epoch() + LIFE.total_seconds()
        said = {
            "iss": "dhan",
            "partnerId": "",
            "exp": int(ends),
            "iat": int(self._clock.epoch()),
            "tokenConsumerType": "SELF",
            "webhookUrl": "",
            "dhanClientId": self._account.client_id,
        }
        return ".".join((jwt_part(_HEADER), jwt_part(said), self._tokens.mint(Kind.ACCESS, LIFE.total_seconds())))

    def is_live(self, token: str, client_id: str | None = None) -> bool:
        """Tell whether a token is live and, if a client is named, whether the token is that client's."""
        own = client_id in (None, "", self._account.client_id)
        return own and self._tokens.is_live(token.rpartition(".")[2])

    def check(self, request: DialectRequest) -> None:
        """Raise `Refused`, in the words of the call's family."""
        headers = request.headers
        client = headers.get("client-id") or headers.get("dhanclientid")
        quotes = request.path.startswith("/v2/marketfeed/")
        if quotes and not client:
            raise Refused(data_error(401, "810", "ClientId is invalid"))
        if not self.is_live(headers.get("access-token", ""), client):
            raise Refused(data_error(401, "807", "Access token expired") if quotes else error(401, "DH-901", INVALID))

    def generate(self, request: DialectRequest) -> WireResponse:
        """Answer PIN and code with a token. Errors come with HTTP 200, as in live answers."""
        if request.first("dhanClientId") != self._account.client_id:
            return _no("Invalid Client ID")
        if not same(request.first("pin") or "", self._credentials["pin"]):
            return _no("Invalid Pin")
        if not is_one_time_code(request.first("totp") or "", self._credentials["totp_secret"], self._clock.epoch()):
            return _no("Invalid TOTP")
        return self._granted()

    def renew(self, request: DialectRequest) -> WireResponse:
        """Answer a live token with another token that replaces it."""
        answer = self._granted()
        self._tokens.forget(request.headers["access-token"].rpartition(".")[2])
        return answer

    def profile(self, request: DialectRequest) -> WireResponse:
        ends = from_epoch(_exp(request.headers["access-token"]) or self._clock.epoch())
        return as_json(
            200,
            {
                "dhanClientId": self._account.client_id,
                "tokenValidity": ends.strftime("%d/%m/%Y %H:%M"),
                "activeSegment": "Equity, Derivative, Currency, Commodity",
                "ddpi": "Active",
                "mtf": "Active",
                "dataPlan": "Active",
                "dataValidity": (self._clock.now() + timedelta(days=30)).strftime("%Y-%m-%d %H:%M:%S.0"),
            },
        )

    def _granted(self) -> WireResponse:
        token = self.mint()
        ends = self._clock.now() + LIFE
        return as_json(
            200,
            {
                "dhanClientId": self._account.client_id,
                "dhanClientName": self._account.client_name.upper(),
                "dhanClientUcc": f"ABCD{self._account.client_id[-4:]}E",
                "givenPowerOfAttorney": False,
                "accessToken": token,
                "expiryTime": ends.strftime("%Y-%m-%dT%H:%M:%S.000"),
            },
        )


def _no(message: str) -> WireResponse:
    return as_json(200, {"message": message, "status": "error"})


def _exp(token: str) -> float | None:
    """Return the end that one of our tokens names; None for a made-up token with a good last part."""
    try:
        middle = token.split(".")[1]
        said: Any = msgspec.json.decode(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return float(said["exp"])
    except (IndexError, ValueError, TypeError, KeyError, OverflowError):
        return None
