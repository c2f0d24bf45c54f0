"""Groww's login: tokens for a TOTP key or an approved API key, the profile, and the check of callers."""

import hashlib
from collections.abc import Mapping
from datetime import time

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.groww.envelope import NOT_AUTHORISED, bad_request, body_of, refused, success
from onebroker.brokers.simulator.dialects.logins import is_one_time_code, same
from onebroker.brokers.simulator.dialects.rest import as_json
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.config.clock import Clock, next_time_of_day

EXPIRY = time(6, 0)
"""Tokens end in the morning."""
_CHECKSUM_SECONDS = 300


class LoginDesk:
    """Mints tokens and checks them."""

    def __init__(self, account: AccountView, tokens: Tokens, clock: Clock, credentials: Mapping[str, str]) -> None:
        self._account, self._tokens, self._clock, self._credentials = account, tokens, clock, credentials

    def token_of(self, request: DialectRequest) -> str:
        word, _, token = request.headers.get("authorization", "").partition(" ")
        return token if word == "Bearer" else ""

    def check(self, request: DialectRequest) -> None:
        if not self.is_live(self.token_of(request)):
            raise refused(401, NOT_AUTHORISED, "Authentication failed or token expired.")

    def is_live(self, token: str) -> bool:
        return self._tokens.is_live(token)

    def mint(self, request: DialectRequest) -> WireResponse:
        """Answer a login. The key is the bearer token; the proof is in the body."""
        body, key = body_of(request), self.token_of(request)
        kind = body.get("key_type")
        if kind == "totp":
            self._check_key(key, "totp_key")
            if not self._is_code(body.get("totp")):
                raise bad_request("Invalid TOTP.")
        elif kind == "approval":
            self._check_key(key, "api_key")
            self._check_sum(body)
        else:
            raise bad_request("Invalid key_type.")
        token = self._tokens.mint(Kind.ACCESS)
        reference = hashlib.sha256(token.encode()).hexdigest()[:16]
        answer = {
            "token": token,
            "tokenRefId": reference,
            "sessionName": "onebroker",
            "expiry": next_time_of_day(self._clock.now(), EXPIRY).strftime("%Y-%m-%dT%H:%M:%S"),
            "isActive": True,
        }
        return as_json(200, answer)

    def profile(self, request: DialectRequest) -> WireResponse:
        return success(
            {
                "vendor_user_id": hashlib.sha256(self._account.client_id.encode()).hexdigest()[:32],
                "ucc": self._account.client_id,
                "nse_enabled": True,
                "bse_enabled": True,
                "ddpi_enabled": False,
                "active_segments": ["CASH", "FNO", "COMMODITY"],
            }
        )

    def _check_key(self, key: str, name: str) -> None:
        if not same(key, self._credentials[name]):
            raise refused(401, NOT_AUTHORISED, "Invalid API key.")

    def _check_sum(self, body: Mapping[str, object]) -> None:
        """Check the checksum. Its time may come as a number or as the number's digits."""
        seconds = str(body.get("timestamp"))
        good = hashlib.sha256(f"{self._credentials['api_secret']}{seconds}".encode()).hexdigest()
        fresh = seconds.isdecimal() and abs(self._clock.epoch() - int(seconds[:12])) < _CHECKSUM_SECONDS
        if not fresh or not same(str(body.get("checksum")), good):
            raise bad_request("Invalid checksum.")

    def _is_code(self, code: object) -> bool:
        secret = self._credentials["totp_secret"]
        return isinstance(code, str) and is_one_time_code(code, secret, self._clock.epoch())
