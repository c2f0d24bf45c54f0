"""Kotak Neo's login: a one-time code for a view session, the MPIN for a trading session, and the check of callers."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import time

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.kotakneo.envelope import (
    DEAD_SESSION,
    json_of,
    login_error,
    refused,
    validation,
)
from onebroker.brokers.simulator.dialects.logins import is_one_time_code, jwt_part, jwt_text, same
from onebroker.brokers.simulator.dialects.rest import Refused, as_json
from onebroker.brokers.simulator.dialects.tokens import ONE_TIME_SECONDS, Kind, Tokens
from onebroker.config.clock import Clock, next_time_of_day

EXPIRY = time(6, 0)
"""Trade tokens live for the trading day."""
DATA_CENTRE = "E43"
FIN_KEY = "neotradeapi"

_HEAD = {"alg": "HS256", "typ": "JWT"}


class LoginDesk:
    """Hands out sessions and checks them. A session is a stored token of 32 hexadecimal digits. Written as a UUID it is the sid; inside a JWT it is
    the trade token."""

    def __init__(self, account: AccountView, tokens: Tokens, clock: Clock, credentials: Mapping[str, str]) -> None:
        self._account, self._tokens, self._clock, self._credentials = account, tokens, clock, credentials
        self._secret = credentials["mpin"] + credentials["totp_secret"]

    # sessions -------------------------------------------------------------------------------------------------------

    def newest(self) -> tuple[str, str]:
        """Return token and sid of a live trading session."""
        return self._session(self._tokens.newest(Kind.ACCESS))

    def is_live(self, token: str, sid: str) -> bool:
        inner = self._inner(token)
        return inner is not None and self._tokens.is_live(inner) and sid == _sid(inner)

    def is_live_sid(self, sid: str) -> bool:
        """Tell whether a sid belongs to the live session. The market stream knows a session by the sid alone."""
        inner = sid.replace("-", "")
        return sid == _sid(inner) and self._tokens.is_live(inner)

    def check(self, request: DialectRequest) -> None:
        """Raise `Refused` without a live trading session."""
        if not self.is_live(request.headers.get("auth", ""), request.headers.get("sid", "")):
            raise refused(DEAD_SESSION, "invalid session token")

    def check_access_token(self, request: DialectRequest) -> None:
        """Raise `Refused` without the application's access token."""
        if not same(request.headers.get("authorization", ""), self._credentials["access_token"]):
            raise Refused(validation("401", "Invalid access token", 401))

    # steps ----------------------------------------------------------------------------------------------------------

    def log_in(self, request: DialectRequest) -> WireResponse:
        self._check_application(request)
        body = json_of(request)
        for field in ("mobileNumber", "ucc", "totp"):
            if not body.get(field):
                raise Refused(validation("400", f"Missing required field '{field}'"))
        if body["mobileNumber"] != self._credentials["mobile_number"]:
            raise Refused(login_error("Invalid mobile number."))
        if body["ucc"] != self._credentials["ucc"]:
            raise Refused(login_error("Invalid UCC."))
        if not is_one_time_code(str(body["totp"]), self._credentials["totp_secret"], self._clock.epoch()):
            raise Refused(login_error("Invalid TOTP."))
        inner = self._tokens.mint(Kind.ONE_TIME, ONE_TIME_SECONDS)
        token, sid = self._session(inner)
        return as_json(200, {"data": {**self._person(), "token": token, "sid": sid, "rid": sid[::-1], "kType": "View"}})

    def validate(self, request: DialectRequest) -> WireResponse:
        self._check_application(request)
        mpin = json_of(request).get("mpin")
        if not mpin:
            raise Refused(validation("400", "Missing required field 'Mpin'"))
        inner = self._inner(request.headers.get("auth", ""))
        if inner is None or request.headers.get("sid", "") != _sid(inner):
            raise Refused(login_error("Invalid session, please login again."))
        if not same(str(mpin), self._credentials["mpin"]):
            raise Refused(login_error("Invalid MPIN."))
        if not self._tokens.spend(Kind.ONE_TIME, inner):
            raise Refused(login_error("Invalid session, please login again."))
        token, sid = self._session(self._tokens.mint(Kind.ACCESS))
        data = {
            **self._person(),
            "token": token,
            "sid": sid,
            "rid": sid[::-1],
            "baseUrl": request.base,
            "kType": "Trade",
        }
        return as_json(200, {"data": data})

    def log_out(self, request: DialectRequest) -> WireResponse:
        inner = self._inner(request.headers.get("auth", ""))
        if inner is not None:
            self._tokens.forget(inner)
        return as_json(200, {"State": "OK", "message": "You have been successfully logged out"})

    def client_ip(self, request: DialectRequest) -> WireResponse:
        row = {"ip": "127.0.0.1", "time": self._clock.now().strftime("%Y-%m-%d %H:%M:%S.000")}
        return as_json(200, {"data": [row], "stCode": 1000, "status": "success"})

    # inside ---------------------------------------------------------------------------------------------------------

    def _check_application(self, request: DialectRequest) -> None:
        self.check_access_token(request)
        if request.headers.get("neo-fin-key") != FIN_KEY:
            raise Refused(validation("400", "Missing required header 'neo-fin-key'"))

    def _session(self, inner: str) -> tuple[str, str]:
        end = int(next_time_of_day(self._clock.now(), EXPIRY).timestamp())
        claims = {"sub": self._account.client_id, "jti": inner, "exp": end}
        head, body = (jwt_part(part) for part in (_HEAD, claims))
        return f"{head}.{body}.{self._signature(f'{head}.{body}')}", _sid(inner)

    def _inner(self, token: str) -> str | None:
        """Return the stored token inside a JWT of ours; None for any other text."""
        content, _, signature = token.rpartition(".")
        if not same(signature, self._signature(content)):
            return None
        body = content.partition(".")[2]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=dict[str, object])
        return str(claims["jti"])

    def _signature(self, content: str) -> str:
        return jwt_text(hmac.digest(self._secret.encode(), content.encode(), hashlib.sha256))

    def _person(self) -> dict[str, object]:
        return {
            "isUserPwdExpired": False,
            "ucc": self._account.client_id,
            "greetingName": self._account.client_name,
            "isTrialAccount": False,
            "dataCenter": DATA_CENTRE,
            "derivativesRiskDisclosure": "Trading in derivatives can lose money.",
            "mfAccess": 1,
            "dormancyStatus": "A",
            "clientType": "RI",
            "isNRI": False,
            "kId": "NEO0000001",
            "status": "success",
        }


def _sid(inner: str) -> str:
    return f"{inner[:8]}-{inner[8:12]}-{inner[12:16]}-{inner[16:20]}-{inner[20:]}"
