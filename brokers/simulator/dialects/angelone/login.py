"""SmartAPI's login: client code, PIN and one-time code for three tokens, their renewal, and the check of callers."""

from collections.abc import Mapping
from datetime import time

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.angelone.envelope import body_of, refused, success, word
from onebroker.brokers.simulator.dialects.angelone.rows import time_text
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.logins import is_one_time_code, jwt_part, same
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.config.clock import Clock, next_time_of_day

EXPIRY = time(5, 0)
"""Tokens end in the early morning."""
_GOOD_STEPS = (0, -1)
"""A one-time code is taken in its own half minute and in the next."""


class LoginDesk:
    """Hands out tokens and checks them.

    A JWT's third part is the stored token. The third part of its feed token is the same text backwards.
    """

    def __init__(self, account: AccountView, tokens: Tokens, clock: Clock, credentials: Mapping[str, str]) -> None:
        self._account, self._tokens, self._clock, self.credentials = account, tokens, clock, credentials

    # checking -------------------------------------------------------------------------------------------------------

    def check_caller(self, request: DialectRequest) -> None:
        """Raise `Refused` for a call without the app's key, or without the headers that say who calls."""
        if not same(request.headers.get("x-privatekey", ""), self.credentials["api_key"]):
            raise refused("AG8004", "Invalid API Key", gateway=True)
        if request.headers.get("x-usertype", "").upper() != "USER":
            raise refused("AB1005", "User Type Must Be USER")

    def check(self, request: DialectRequest) -> None:
        """Raise `Refused` for a call without a live token, in each form in which the real SmartAPI was seen to refuse."""
        self.check_caller(request)
        token = _bearer(request.headers.get("authorization", ""))
        if self.is_live(token):
            return
        if not token:
            raise refused("AG8003", "Token missing", status=401)
        if "/order/" in request.path:
            raise refused("AG8001", "Invalid Token", gateway=True)
        if "/portfolio/" in request.path:
            raise refused("AG8002", "Token Expired", status=403, gateway=True)
        raise refused("AG8001", "Invalid Token")

    def is_live(self, jwt: str) -> bool:
        return self._tokens.is_live(jwt.rpartition(".")[2])

    def socket_fault(self, request: DialectRequest) -> str | None:
        """Return what is wrong with a handshake, or None. Reads its headers, or a browser's query."""
        given = {
            "Auth token": request.headers.get("authorization", ""),
            "Client Code": request.headers.get("x-client-code") or request.first("clientCode") or "",
            "API Key": request.headers.get("x-api-key") or request.first("apiKey") or "",
            "Feed Token": request.headers.get("x-feed-token") or request.first("feedToken") or "",
        }
        browser = not given["Auth token"] and request.first("feedToken") is not None
        if not browser and not self.is_live(_bearer(given["Auth token"])):
            return "Auth token"
        if given["Client Code"].upper() != self._account.client_id:
            return "Client Code"
        if not same(given["API Key"], self.credentials["api_key"]):
            return "API Key"
        return None if self._tokens.is_live(given["Feed Token"].rpartition(".")[2][::-1]) else "Feed Token"

    # routes ---------------------------------------------------------------------------------------------------------

    def log_in(self, request: DialectRequest) -> WireResponse:
        self.check_caller(request)
        body = body_of(request)
        if word(body, "clientcode").upper() != self._account.client_id:
            raise refused("AB1001", "Invalid Email Or Client Code")
        if not same(word(body, "password"), self.credentials["pin"]):
            raise refused("AB1000", "Invalid Email Or Password")
        secret = self.credentials["totp_secret"]
        if not is_one_time_code(word(body, "totp"), secret, self._clock.epoch(), _GOOD_STEPS):
            raise refused("AB1050", "Invalid totp")
        return success({**self.tokens(self._tokens.mint(Kind.ACCESS)), "state": body.get("state")})

    def renew(self, request: DialectRequest) -> WireResponse:
        """Answer with new tokens. A refresh token works once. The JWT sent with it may have ended."""
        self.check_caller(request)
        if not self._tokens.spend(Kind.REFRESH, word(body_of(request), "refreshToken")):
            raise refused("AB8050", "Invalid Refresh Token")
        return success(self.tokens(self._tokens.mint(Kind.ACCESS)))

    def logout(self, request: DialectRequest) -> WireResponse:
        self._tokens.forget(_bearer(request.headers.get("authorization", "")).rpartition(".")[2])
        return success("")

    def profile(self, request: DialectRequest) -> WireResponse:
        return success(
            {
                "clientcode": self._account.client_id,
                "name": self._account.client_name,
                "email": "",
                "mobileno": "",
                "exchanges": ["nse_cm", "bse_cm", "nse_fo", "bse_fo", "cde_fo", "mcx_fo", "ncx_fo"],
                "products": ["DELIVERY", "INTRADAY", "CARRYFORWARD"],
                "lastlogintime": time_text(self._clock.now()),
                "brokerid": "",
            }
        )

    def tokens(self, token: str) -> dict[str, str]:
        """Return the three tokens of a login, under the names of its answer. Mints the refresh token."""
        return {
            "jwtToken": self.jwt(token),
            "refreshToken": self._tokens.mint(Kind.REFRESH),
            "feedToken": feed_token(token),
        }

    def jwt(self, token: str) -> str:
        end = next_time_of_day(self._clock.now(), EXPIRY)
        claims = {"username": self._account.client_id, "exp": int(end.timestamp()), "products": ["TRADE"]}
        return ".".join((jwt_part({"alg": "HS512", "typ": "JWT"}), jwt_part(claims), token))


def feed_token(token: str) -> str:
    return ".".join((jwt_part({"alg": "HS512", "typ": "JWT"}), jwt_part({"feed": "smart-stream"}), token[::-1]))


def _bearer(header: str) -> str:
    """Return the token of an Authorization header. The market socket also takes it without the word."""
    first, _, rest = header.strip().partition(" ")
    return rest.strip() if first.lower() == "bearer" else header.strip()
