"""Kite's login: its page, the exchange of tokens, and the check of callers."""

import hashlib
from collections.abc import Mapping
from urllib.parse import parse_qsl

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.facts import stamp
from onebroker.brokers.simulator.dialects.logins import redirect, same
from onebroker.brokers.simulator.dialects.rest import form_of
from onebroker.brokers.simulator.dialects.tokens import ONE_TIME_SECONDS, Kind, Tokens
from onebroker.brokers.simulator.dialects.zerodha.envelope import refused, success
from onebroker.config.clock import Clock
from onebroker.config.vocabulary import OrderType, Product


class LoginDesk:
    """Hands out tokens and checks them."""

    def __init__(self, account: AccountView, tokens: Tokens, clock: Clock, credentials: Mapping[str, str]) -> None:
        self._account, self._tokens, self._clock, self.credentials = account, tokens, clock, credentials

    def is_live(self, api_key: str | None, access_token: str | None) -> bool:
        return api_key == self.credentials["api_key"] and self._tokens.is_live(access_token or "")

    def check(self, request: DialectRequest) -> None:
        word, _, pair = request.headers.get("authorization", "").partition(" ")
        key, _, token = pair.partition(":")
        if word != "token" or not self.is_live(key, token):
            raise refused(403, "TokenException", "Incorrect `api_key` or `access_token`.")

    def page(self, request: DialectRequest) -> WireResponse:
        """Stand in for the page where a person logs in: redirect at once to the app's registered address. This is the simulator's own address unless
        the call names another."""
        if request.first("api_key") != self.credentials["api_key"]:
            raise refused(400, "InputException", "Invalid `api_key`.")
        target = request.first("redirect_url") or f"{request.base}/connect/finish"
        token = self._tokens.mint(Kind.ONE_TIME, ONE_TIME_SECONDS)
        query = {"action": "login", "type": "login", "status": "success", "request_token": token}
        query |= dict(parse_qsl(request.first("redirect_params") or ""))
        return redirect(target, query)

    def finished(self, request: DialectRequest) -> WireResponse:
        text = b"Logged in. Hand the address of this page to onebroker login.\n"
        return WireResponse(status=200, headers={"content-type": "text/plain; charset=utf-8"}, body=text)

    def exchange(self, request: DialectRequest) -> WireResponse:
        form = form_of(request)
        self._check_sum(form, "request_token")
        if not self._tokens.spend(Kind.ONE_TIME, form.get("request_token", "")):
            raise refused(403, "TokenException", "Token is invalid or has expired.")
        return success(self._session_answer())

    def renew(self, request: DialectRequest) -> WireResponse:
        form = form_of(request)
        self._check_sum(form, "refresh_token")
        if not self._tokens.spend(Kind.REFRESH, form.get("refresh_token", "")):
            raise refused(403, "TokenException", "Token is invalid or has expired.")
        return success({**self._session_answer(), "refresh_token": self._tokens.mint(Kind.REFRESH)})

    def _check_sum(self, form: Mapping[str, str], name: str) -> None:
        key, secret = self.credentials["api_key"], self.credentials["api_secret"]
        if form.get("api_key") != key:
            raise refused(403, "TokenException", "Invalid `api_key`.")
        good = hashlib.sha256(f"{key}{form.get(name, '')}{secret}".encode()).hexdigest()
        if not same(form.get("checksum", ""), good):
            raise refused(403, "TokenException", "Invalid `checksum`.")

    def _session_answer(self) -> dict[str, object]:
        access_token = self._tokens.mint(Kind.ACCESS)
        return {
            **self.profile(),
            "api_key": self.credentials["api_key"],
            "access_token": access_token,
            "public_token": hashlib.sha256(access_token.encode()).hexdigest()[:32],
            "enctoken": "",
            "refresh_token": "",  # only a few exempted platforms get a refresh token
            "silo": "",
            "login_time": stamp(self._clock.now()),
        }

    def logout(self, request: DialectRequest) -> WireResponse:
        if request.first("api_key") != self.credentials["api_key"]:
            raise refused(403, "TokenException", "Invalid `api_key`.")
        self._tokens.forget(request.first("access_token") or request.first("refresh_token") or "")
        return success(True)

    def profile(self) -> dict[str, object]:
        return {
            "user_id": self._account.client_id,
            "user_type": "individual",
            "email": f"{self._account.client_id.lower()}@example.com",
            "user_name": self._account.client_name,
            "user_shortname": self._account.client_name.split(" ")[0],
            "broker": "ZERODHA",
            "exchanges": ["NSE", "NFO", "CDS", "BSE", "BFO", "MCX"],
            "products": [Product.CNC, Product.NRML, Product.MIS],
            "order_types": list(OrderType),
            "avatar_url": None,
            "meta": {"demat_consent": "physical"},
        }
