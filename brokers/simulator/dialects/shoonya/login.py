"""Shoonya's login: its page, the exchange of a code for a token, and the check of callers."""

import hashlib
from collections.abc import Mapping
from datetime import time

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.logins import redirect, same
from onebroker.brokers.simulator.dialects.rest import as_json
from onebroker.brokers.simulator.dialects.shoonya.envelope import DEAD, NotOk, fields_of, stamp, success
from onebroker.brokers.simulator.dialects.tokens import ONE_TIME_SECONDS, Kind, Tokens
from onebroker.config.clock import Clock, next_time_of_day

REGISTERED_REDIRECT = "https://127.0.0.1/onebroker"
"""The key's redirect address, as a person would have registered it."""
EXPIRY = time(6, 0)
"""When the day's tokens end. The real hour is not known."""
_BAD_CODE = "Invalid Input : INVALID_VERIFIER"
_EXCHANGES = ["NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCX"]
_PRODUCTS = [
    {"prd": "C", "s_prdt_ali": "CNC", "exch": ["NSE", "BSE"]},
    {"prd": "M", "s_prdt_ali": "NRML", "exch": ["NFO", "BFO", "CDS", "MCX", "NCX"]},
    {"prd": "I", "s_prdt_ali": "MIS", "exch": _EXCHANGES},
]


class LoginDesk:
    """Hands out tokens and checks them."""

    def __init__(self, account: AccountView, tokens: Tokens, clock: Clock, credentials: Mapping[str, str]) -> None:
        self._account, self._tokens, self._clock, self._credentials = account, tokens, clock, credentials

    def is_live(self, uid: str, token: str) -> bool:
        return uid == self._account.client_id and self._tokens.is_live(token)

    def fields(self, request: DialectRequest, *, key_in_body: bool = False) -> dict[str, str]:
        """Return the fields of a logged-in client's call. Raise `NotOk`. The candle calls also take the token in the body."""
        fields, key = fields_of(request)
        word, _, token = request.headers.get("authorization", "").partition(" ")
        bearer = token.strip() if word.lower() == "bearer" else ""
        if not self._tokens.is_live(bearer) and not (key_in_body and self._tokens.is_live(key)):
            raise NotOk(DEAD, 403)
        for name in ("uid", "actid"):
            if fields.get(name, self._account.client_id) != self._account.client_id:
                raise NotOk("Session Expired :  Invalid User Id", 403)
        return fields

    def page(self, request: DialectRequest) -> WireResponse:
        """Stand in for the page where a person logs in: redirect at once to the key's registered address."""
        if request.first("client_id") != self._credentials["client_id"]:
            raise NotOk("Invalid Input : client_id", 400)
        return redirect(REGISTERED_REDIRECT, {"code": self._tokens.mint(Kind.ONE_TIME, ONE_TIME_SECONDS)})

    def exchange(self, request: DialectRequest) -> WireResponse:
        fields, _ = fields_of(request)
        code = fields.get("code", "")
        secrets = f"{self._credentials['client_id']}{self._credentials['secret_code']}{code}"
        good = hashlib.sha256(secrets.encode()).hexdigest()
        if not same(fields.get("checksum", ""), good) or not self._tokens.spend(Kind.ONE_TIME, code):
            raise NotOk(_BAD_CODE)
        access_token, now = self._tokens.mint(Kind.ACCESS), self._clock.now()
        return as_json(
            200,
            {
                **self._profile(),
                "stat": "Ok",
                "request_time": stamp(now),
                "access_token": access_token,
                "refresh_token": self._tokens.mint(Kind.REFRESH),
                "susertoken": hashlib.sha256(access_token.encode()).hexdigest(),
                "expires_in": str(int(next_time_of_day(now, EXPIRY).timestamp())),
                "USERID": self._account.client_id,
            },
        )

    def logout(self, request: DialectRequest) -> WireResponse:
        self.fields(request)
        self._tokens.forget(request.headers["authorization"].partition(" ")[2].strip())
        return success(self._clock.now())

    def profile(self, request: DialectRequest) -> WireResponse:
        self.fields(request)
        return success(self._clock.now(), **self._profile())

    def client(self, request: DialectRequest) -> WireResponse:
        self.fields(request)
        return success(
            self._clock.now(),
            actid=self._account.client_id,
            cliname=self._account.client_name,
            exarr=_EXCHANGES,
            bankdetails=[],
            dpacctnum=[],
            pan="",
        )

    def _profile(self) -> dict[str, object]:
        return {
            "uid": self._account.client_id,
            "actid": self._account.client_id,
            "uname": self._account.client_name,
            "brkname": "FINVASIA",
            "email": f"{self._account.client_id.lower()}@example.com",
            "m_num": "0000000000",
            "uprev": "INVESTOR",
            "exarr": _EXCHANGES,
            "orarr": ["LMT", "SL-LMT", "DS"],
            "prarr": _PRODUCTS,
        }
