"""Fyers' login: its page, the exchange of a code or a refresh token for a token, and the check of callers. Tokens are signed JWTs."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import time

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.fyers.envelope import (
    BAD_APP,
    BAD_AUTH_CODE,
    BAD_INPUT,
    BAD_REFRESH_TOKEN,
    NO_TOKEN,
    NOT_AUTHENTICATED,
    body_of,
    refused,
    success,
)
from onebroker.brokers.simulator.dialects.logins import jwt_part, jwt_text, redirect, same
from onebroker.brokers.simulator.dialects.tokens import ONE_TIME_SECONDS, Kind, Tokens
from onebroker.config.clock import Clock, next_time_of_day

REGISTERED_REDIRECT = "https://127.0.0.1/onebroker"
"""The app's redirect address, as a person would have registered it. The page accepts no other address."""
EXPIRY = time(6, 0)
REFRESH_SECONDS = 15 * 86_400
DATA_PREFIX = "/data/"
_HEADER = {"alg": "HS256", "typ": "JWT"}
_MARK = 24
"""Number of signature characters after the minted token in a stream key."""


class LoginDesk:
    """Hands out tokens and checks them. The JWT contains the minted token, so ending that token ends the JWT."""

    def __init__(
        self, account: AccountView, tokens: Tokens, clock: Clock, credentials: Mapping[str, str], signing_key: bytes
    ) -> None:
        self._account, self._tokens, self._clock = account, tokens, clock
        self._credentials, self._signing_key = credentials, signing_key

    # who may call ---------------------------------------------------------------------------------------------------

    def check(self, request: DialectRequest) -> None:
        """Raise `Refused` without a live token. The two hosts use different words for it. The data host also takes the bare token without the app id,
        because one data call, which looks tokens up, sends it so."""
        app_id, colon, token = request.headers.get("authorization", "").rpartition(":")
        bare = not colon and request.path.startswith(DATA_PREFIX)
        if (bare or app_id == self._credentials["app_id"]) and self.is_live(token):
            return
        if request.path.startswith(DATA_PREFIX):
            raise refused(NO_TOKEN, "Please provide valid token", 401)
        raise refused(NOT_AUTHENTICATED, "Could not authenticate the user", 401)

    def is_live(self, token: str) -> bool:
        """Tell whether a JWT is an access token of ours that has not ended."""
        claims = self._read(token)
        return claims.get("sub") == "access_token" and self._tokens.is_live(str(claims.get("at_hash")))

    def is_live_key(self, key: str) -> bool:
        """Tell whether a key of the data socket belongs to a live access token."""
        minted, mark = key[:-_MARK], key[-_MARK:]
        return same(mark, self._mark(minted)) and self._tokens.is_live(minted)

    # what is handed out ---------------------------------------------------------------------------------------------

    def access_token(self, minted: str) -> str:
        """Return the JWT of a minted token."""
        now = self._clock.now()
        return self._signed(
            {
                "iss": "api.fyers.in",
                "iat": int(now.timestamp()),
                "exp": int(next_time_of_day(now, EXPIRY).timestamp()),
                "nbf": int(now.timestamp()),
                "aud": ["d:1", "d:2", "x:0", "x:1"],
                "sub": "access_token",
                "at_hash": minted,
                "display_name": self._account.client_id,
                "oms": "K1",
                "hsm_key": minted + self._mark(minted),
                "fy_id": self._account.client_id,
                "appType": 100,
                "poa_flag": "N",
            }
        )

    def refresh_token(self) -> str:
        now = int(self._clock.epoch())
        return self._signed(
            {
                "iss": "api.fyers.in",
                "iat": now,
                "exp": now + REFRESH_SECONDS,
                "sub": "refresh_token",
                "fy_id": self._account.client_id,
            }
        )

    # routes ---------------------------------------------------------------------------------------------------------

    def page(self, request: DialectRequest) -> WireResponse:
        """Stand in for the page where a person logs in: redirect at once to the app's registered address."""
        if request.first("client_id") != self._credentials["app_id"]:
            raise refused(BAD_APP, "invalid app id")
        if request.first("redirect_uri") != REGISTERED_REDIRECT or request.first("response_type") != "code":
            raise refused(BAD_INPUT, "invalid redirect uri or response type")
        code = self._tokens.mint(Kind.ONE_TIME, ONE_TIME_SECONDS)
        query = {"s": "ok", "code": "200", "auth_code": code, "state": request.first("state") or "None"}
        return redirect(REGISTERED_REDIRECT, query)

    def exchange(self, request: DialectRequest) -> WireResponse:
        fields = self._checked(request, "authorization_code")
        if not self._tokens.spend(Kind.ONE_TIME, str(fields.get("code"))):
            raise refused(BAD_AUTH_CODE, "invalid auth code")
        return success(access_token=self._new_access_token(), refresh_token=self.refresh_token())

    def renew(self, request: DialectRequest) -> WireResponse:
        """Answer with an access token. A refresh token is valid for its fifteen days, and no new one replaces it."""
        fields = self._checked(request, "refresh_token")
        claims = self._read(str(fields.get("refresh_token")))
        if claims.get("sub") != "refresh_token":
            raise refused(BAD_REFRESH_TOKEN, "Please provide valid refresh token")
        if str(fields.get("pin")) != self._credentials["pin"]:
            raise refused(BAD_REFRESH_TOKEN, "Please provide valid pin")
        return success(access_token=self._new_access_token())

    def logout(self, request: DialectRequest) -> WireResponse:
        token = request.headers["authorization"].rpartition(":")[2]
        self._tokens.forget(str(self._read(token)["at_hash"]))
        return success(message="you are successfully logged out")

    def profile(self, request: DialectRequest) -> WireResponse:
        return success(
            data={
                "fy_id": self._account.client_id,
                "name": self._account.client_name,
                "display_name": "",
                "email_id": f"{self._account.client_id.lower()}@example.com",
                "PAN": "ABCDE1234F",
                "mobile_number": "",
                "image": "",
                "totp": True,
                "pwd_change_date": None,
                "pin_change_date": "09-03-2026 10:00:00",
                "pwd_to_expire": 42,
                "ddpi_enabled": False,
                "mtf_enabled": False,
            }
        )

    # ----------------------------------------------------------------------------------------------------------------

    def _checked(self, request: DialectRequest, grant: str) -> dict[str, object]:
        fields = body_of(request)
        if fields.get("grant_type") != grant:
            raise refused(BAD_INPUT, "invalid grant type")
        app = f"{self._credentials['app_id']}:{self._credentials['secret']}"
        good = hashlib.sha256(app.encode()).hexdigest()
        if not same(str(fields.get("appIdHash")), good):
            raise refused(BAD_APP, "invalid app id hash")
        return fields

    def _new_access_token(self) -> str:
        return self.access_token(self._tokens.mint(Kind.ACCESS))

    def _mark(self, minted: str) -> str:
        return hmac.new(self._signing_key, minted.encode(), hashlib.sha256).hexdigest()[:_MARK]

    def _signed(self, claims: Mapping[str, object]) -> str:
        head = ".".join(jwt_part(part) for part in (_HEADER, claims))
        return f"{head}.{self._signature(head)}"

    def _signature(self, head: str) -> str:
        return jwt_text(hmac.new(self._signing_key, head.encode(), hashlib.sha256).digest())

    def _read(self, token: str) -> dict[str, object]:
        """Return the claims of a JWT that we signed and that has not ended; otherwise an empty dict."""
        head, _, signature = token.rpartition(".")
        if not same(signature, self._signature(head)):
            return {}
        try:
            payload = head.partition(".")[2]
            padded = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
            claims = msgspec.json.decode(padded, type=dict[str, object])
        except (binascii.Error, msgspec.DecodeError, UnicodeError):
            return {}
        ends = claims.get("exp")
        return claims if isinstance(ends, int) and ends > self._clock.epoch() else {}
