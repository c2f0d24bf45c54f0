"""5paisa's login: the call with the one-time code, the page, the access token (a JWT), and the check of callers."""

import base64
import hashlib
import hmac
import struct
from collections.abc import Mapping
from datetime import time
from urllib.parse import urlencode

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.fivepaisa.envelopes import (
    BAD_INPUT,
    NO,
    NO_SESSION,
    OK,
    Refused,
    bare,
    enveloped,
    login_answer,
    message_of,
    no,
    request_error,
)
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.config.clock import Clock, next_time_of_day

EXPIRY = time(23, 59)
REQUEST_TOKEN_SECONDS = 3600.0
"""How long a request token is valid: one hour, as the pages say."""
_REDIRECT_SERVER = "C"
_STEP_SECONDS = 30
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
        if not self._is_code(str(body.get("TOTP"))):
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
        joint = "&" if "?" in target else "?"
        return WireResponse(status=302, headers={"location": f"{target}{joint}{urlencode(query)}"})

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
        signed = f"{_encoded(msgspec.json.encode(_JWT_HEADER))}.{_encoded(msgspec.json.encode(said))}"
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
        """Raise `Refused` for a call without a live token, with another key, or with another client's code."""
        head, body = message_of(request)
        path = request.path
        if not any(_same(head.get(name), self._credentials["user_key"]) for name in ("key", "Key")):
            raise Refused(enveloped(path, None, "2", "Invalid head parameters"))
        self.check_token(request, no(path, NO_SESSION, "Invalid Session"))
        if not _same(body.get("ClientCode"), self._account.client_id):
            raise Refused(no(path, BAD_INPUT, "Invalid Client Code"))

    def check_token(self, request: DialectRequest, dead: WireResponse) -> None:
        """Raise `Refused`: with the bare text if no token is sent, with `dead` if the token is not live."""
        word, _, token = request.headers.get("authorization", "").partition(" ")
        if word.lower() != "bearer" or not token.strip():
            raise Refused(bare(200, "Invalid Token"))
        if not self.is_live(token.strip()):
            raise Refused(dead)

    def _login_body(self, request: DialectRequest) -> dict[str, object]:
        head, body = message_of(request)
        if not any(_same(head.get(name), self._credentials["user_key"]) for name in ("Key", "key")):
            raise Refused(login_answer(None, 2, "Invalid head parameters"))
        return body

    def _signature(self, signed: str) -> str:
        key = self._credentials["encryption_key"].encode()
        return _encoded(hmac.digest(key, signed.encode("utf-8", "replace"), hashlib.sha256))

    def _is_code(self, code: str) -> bool:
        now = self._clock.epoch()
        secret = self._credentials["totp_secret"]
        return code in [_one_time_code(secret, now + step * _STEP_SECONDS) for step in (-1, 0, 1)]


def _one_time_code(secret: str, at: float) -> str:
    """RFC 6238 with SHA-1, thirty seconds, six digits."""
    digest = hmac.digest(base64.b32decode(secret), struct.pack(">Q", int(at) // _STEP_SECONDS), hashlib.sha1)
    place = digest[19] & 15
    (number,) = struct.unpack(">I", digest[place : place + 4])
    return f"{(number & 0x7FFFFFFF) % 1_000_000:06d}"


def _encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _same(sent: object, good: str) -> bool:
    return hmac.compare_digest(str(sent).encode("utf-8", "replace"), good.encode())
