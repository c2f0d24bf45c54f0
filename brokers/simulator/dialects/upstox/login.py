"""Upstox' login: its page, the exchange of a code for a token, and the check of callers."""

from collections.abc import Mapping

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.logins import redirect, same
from onebroker.brokers.simulator.dialects.rest import as_json, form_of
from onebroker.brokers.simulator.dialects.tokens import ONE_TIME_SECONDS, Kind, Tokens
from onebroker.brokers.simulator.dialects.upstox.envelope import INVALID_INPUT, refused, success
from onebroker.config.vocabulary import OrderType

REGISTERED_REDIRECT = "https://127.0.0.1/onebroker"
"""The app's redirect address, as a person would have registered it. The dialog accepts no other address."""


class LoginDesk:
    """Hands out tokens and checks them."""

    def __init__(self, account: AccountView, tokens: Tokens, credentials: Mapping[str, str]) -> None:
        self._account, self._tokens, self._credentials = account, tokens, credentials

    def check(self, request: DialectRequest) -> None:
        word, _, token = request.headers.get("authorization", "").partition(" ")
        if word.lower() != "bearer" or not self._tokens.is_live(token.strip()):
            raise refused(401, "UDAPI100050", "Invalid token used to access API")

    def page(self, request: DialectRequest) -> WireResponse:
        """Stand in for the page where a person logs in: redirect at once to the app's registered address."""
        known = request.first("client_id") == self._credentials["api_key"]
        if (
            not known
            or request.first("redirect_uri") != REGISTERED_REDIRECT
            or request.first("response_type") != "code"
        ):
            raise refused(401, "UDAPI100068", "Check your 'client_id' and 'redirect_uri'; one or both are incorrect.")
        query = {"code": self._tokens.mint(Kind.ONE_TIME, ONE_TIME_SECONDS)}
        if request.first("state"):
            query["state"] = str(request.first("state"))
        return redirect(REGISTERED_REDIRECT, query)

    def exchange(self, request: DialectRequest) -> WireResponse:
        """Exchange a code for a token. Only this call answers flat, without the envelope."""
        form = form_of(request)
        if form.get("grant_type") != "authorization_code":
            raise refused(400, INVALID_INPUT, "Invalid 'grant_type'")
        expected = {
            "client_id": self._credentials["api_key"],
            "client_secret": self._credentials["api_secret"],
            "redirect_uri": REGISTERED_REDIRECT,
        }
        for field, good in expected.items():
            if not same(form.get(field, ""), good):
                raise refused(401, "UDAPI100016", "Invalid Credentials")
        if not self._tokens.spend(Kind.ONE_TIME, form.get("code", "")):
            raise refused(401, "UDAPI100057", "Invalid Auth code")
        access_token = self._tokens.mint(Kind.ACCESS)
        return as_json(200, {**self._profile_fields(), "access_token": access_token, "extended_token": None})

    def logout(self, request: DialectRequest) -> WireResponse:
        self._tokens.forget(request.headers["authorization"].partition(" ")[2].strip())
        return success(True)

    def profile(self, request: DialectRequest) -> WireResponse:
        return success(self._profile_fields())

    def _profile_fields(self) -> dict[str, object]:
        return {
            "email": f"{self._account.client_id.lower()}@example.com",
            "exchanges": ["NSE", "NFO", "BSE", "CDS", "BFO", "BCD", "MCX"],
            "products": ["D", "I"],
            "broker": "UPSTOX",
            "user_id": self._account.client_id,
            "user_name": self._account.client_name,
            "order_types": list(OrderType),
            "user_type": "individual",
            "poa": False,
            "is_active": True,
        }
