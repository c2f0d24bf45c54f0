"""5paisa's login: the call with the one-time code, the page, the access token (a JWT), and the check of callers."""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from datetime import time

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.fivepaisa.envelope import (
    BAD_INPUT,
    NO,
    NO_SESSION,
    OK,
    NotDone,
    bare,
    enveloped,
    login_answer,
    message_of,
    request_error,
)
from onebroker.brokers.simulator.dialects.logins import is_one_time_code, jwt_part, jwt_text, redirect, same
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.config.clock import Clock, next_time_of_day

EXPIRY = time(23, 59)
REQUEST_TOKEN_SECONDS = 3600.0
"""How long a request token is valid: one hour, as the pages say."""
_REDIRECT_SERVER = "C"
_JWT_HEADER = {"alg": "HS256", "typ": "JWT"}


class LoginDesk:
    """Hands out tokens and checks them."""

    def __init__(self, account: AccountView, tokens: Tokens, clock: Clock, credentials: Mapping[str, str]) -> None:
        self._account, self._tokens, self._clock, self._credentials = account, tokens, clock, credentials

    # the two calls and the page -------------------------------------------------------------------------------------

    def with_code(self, request: DialectRequest) -> WireResponse:
        """TOTPLogin: exchange client code, PIN and one-time code for a request token."""
        body = self._login_body(request)
        if not _same(body.get("Email_ID"), self._credentials["client_code"]) or not _same(
            body.get("PIN"), self._credentials["pin"]
        ):
            return login_answer({"Status": BAD_INPUT, "Message": "Invalid client code or PIN", "RequestToken": ""})
        if not is_one_time_code(str(body.get("TOTP")), self._credentials["totp_secret"], self._clock.epoch()):
            return login_answer({"Status": NO, "Message": "Invalid TOTP", "RequestToken": ""})
        token = self._tokens.mint(Kind.ONE_TIME, REQUEST_TOKEN_SECONDS)
        return login_answer({"Status": OK, "Message": "Success", "RequestToken": token, "Userkey": self._credentials["user_key"]})  # fmt: skip

    def page(self, request: DialectRequest) -> WireResponse:
        """Stand in for the page where a person logs in: redirect at once to the address that the call names."""
        target = request.first("ResponseURL")
        if not target or request.first("VendorKey") != self._credentials["user_key"]:
            return request_error()
        query = {"RequestToken": self._tokens.mint(Kind.ONE_TIME, REQUEST_TOKEN_SECONDS)}
        if request.first("State"):
            query["state"] = str(request.first("State"))
        return redirect(target, query)

    def exchange(self, request: DialectRequest) -> WireResponse:
        """GetAccessToken: exchange a request token for an access token, once."""
        body = self._login_body(request)
        for field, key in (("EncryKey", "encryption_key"), ("UserId", "user_id")):
            if not _same(body.get(field), self._credentials[key]):
                return login_answer({"Status": BAD_INPUT, "Message": f"Invalid {field}", "AccessToken": ""})
        if not self._tokens.spend(Kind.ONE_TIME, str(body.get("RequestToken"))):
            return login_answer({"Status": BAD_INPUT, "Message": "Invalid Request Token", "AccessToken": ""})
        return login_answer(
            {
                "AccessToken": self.jwt(self._tokens.mint(Kind.ACCESS)),
                "RefreshToken": self._tokens.mint(Kind.REFRESH),
                "ClientCode": self._account.client_id,
                "ClientName": self._account.client_name,
                "AllowBseCash": "Y", "AllowBseDeriv": "Y", "AllowMCXComm": "Y", "AllowNseCash": "Y", "AllowNseCurrency": "Y",
                "AllowNseDeriv": "Y", "AllowNseMF": "N",
                "Message": "Success",
                "Status": OK,
            }
        )  # fmt: skip

    # who may call ---------------------------------------------------------------------------------------------------

    def jwt(self, minted: str) -> str:
        """Return a token that `Tokens` minted as the JWT that the broker hands out. It stays the same within a day."""
        ends = int(next_time_of_day(self._clock.now(), EXPIRY).timestamp())
        begins = ends - 86_340
        said = {
            "unique_name": self._account.client_id,
            "role": self._credentials["user_id"],
            "RedirectServer": _REDIRECT_SERVER,
            "nbf": begins,
            "exp": ends,
            "iat": begins,
            "jti": minted,
        }
        signed = f"{jwt_part(_JWT_HEADER)}.{jwt_part(said)}"
        return f"{signed}.{self._signature(signed)}"

    def is_live(self, token: str) -> bool:
        signed, _, signature = token.rpartition(".")
        if not _same(signature, self._signature(signed)):
            return False
        payload = signed.rpartition(".")[2]
        said = msgspec.json.decode(
            base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)), type=dict[str, object]
        )
        return self._tokens.is_live(str(said.get("jti")))

    def check(self, request: DialectRequest) -> None:
        """Raise `Refused` or `NotDone` for a call without a live token, with another key, or with another client's code."""
        head, body = message_of(request)
        if not any(_same(head.get(name), self._credentials["user_key"]) for name in ("key", "Key")):
            raise Refused(enveloped(request.path, None, "2", "Invalid head parameters"))
        self.check_token(request, NotDone(NO_SESSION, "Invalid Session"))
        if not _same(body.get("ClientCode"), self._account.client_id):
            raise NotDone(BAD_INPUT, "Invalid Client Code")

    def check_token(self, request: DialectRequest, dead: Exception) -> None:
        """Raise `Refused` with the bare text if no token is sent, and `dead` if the token is not live."""
        word, _, token = request.headers.get("authorization", "").partition(" ")
        if word.lower() != "bearer" or not token.strip():
            raise Refused(bare(200, "Invalid Token"))
        if not self.is_live(token.strip()):
            raise dead

    def _login_body(self, request: DialectRequest) -> dict[str, object]:
        head, body = message_of(request)
        if not any(_same(head.get(name), self._credentials["user_key"]) for name in ("Key", "key")):
            raise Refused(login_answer(None, 2, "Invalid head parameters"))
        return body

    def _signature(self, signed: str) -> str:
        key = self._credentials["encryption_key"].encode()
        return jwt_text(hmac.digest(key, signed.encode("utf-8", "replace"), hashlib.sha256))


def _same(sent: object, good: str) -> bool:
    return same(str(sent), good)
