"""ICICI Direct's login: its page, the API_Session, the session token of user and key, and the signature of every call."""

import base64
import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest
from onebroker.brokers.simulator.dialects.icicidirect.envelope import (
    EXPIRED,
    WRONG_KEY,
    WRONG_SESSION,
    body_of,
    day_text,
    refused,
    second_text,
    success,
    word,
)
from onebroker.brokers.simulator.dialects.logins import redirect, same
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.config.clock import Clock

REGISTERED_REDIRECT = "https://127.0.0.1/onebroker"
"""The app's redirect address, as a person would have registered it."""
MOST_SKEW_SECONDS = 60.0


class LoginDesk:
    """Hands out sessions and checks them.

    An API_Session is valid all day. So is the session key made from it (here: the same text backwards).
    """

    def __init__(self, account: AccountView, tokens: Tokens, credentials: Mapping[str, str], clock: Clock) -> None:
        self._account, self._tokens, self._credentials, self._clock = account, tokens, credentials, clock

    def page(self, request: DialectRequest) -> WireResponse:
        """Stand in for the page where a person logs in: redirect at once to the app's registered address."""
        if request.first("api_key") != self._credentials["app_key"]:
            return WireResponse(status=401, headers={"content-type": "text/html"}, body=b"<html>Invalid App Key</html>")
        return redirect(REGISTERED_REDIRECT, {"apisession": self.new_session()})

    def new_session(self) -> str:
        """Return a new API_Session."""
        return self._tokens.mint(Kind.ACCESS)

    def customer(self, request: DialectRequest) -> WireResponse:
        """Answer customerdetails. The call is not signed; session and key are in the body of a GET."""
        body = body_of(request)
        if word(body, "AppKey") != self._credentials["app_key"]:
            raise refused(WRONG_KEY)
        session = word(body, "SessionToken")
        if not session.isalnum():
            raise refused(WRONG_SESSION)
        if not self._tokens.is_live(session):
            raise refused(EXPIRED)
        return success(self._details(session))

    def check(self, request: DialectRequest) -> None:
        """Accept a signed call, or raise `Refused`."""
        headers = request.headers
        if headers.get("x-appkey") != self._credentials["app_key"]:
            raise refused(WRONG_KEY)
        self.check_token(headers.get("x-sessiontoken", ""))
        stamp = headers.get("x-timestamp", "")
        try:
            at = datetime.strptime(stamp, "%Y-%m-%dT%H:%M:%S.000Z").replace(tzinfo=UTC)
        except ValueError as failure:
            raise refused("Invalid timestamp", status=401, http_status=401) from failure
        if abs(at.timestamp() - self._clock.epoch()) > MOST_SKEW_SECONDS:
            raise refused("Request timestamp is not within the allowed time", status=400, http_status=400)
        signed = stamp.encode() + request.body + self._credentials["secret_key"].encode()
        checksum = f"token {hashlib.sha256(signed).hexdigest()}"
        if not same(headers.get("x-checksum", ""), checksum):
            raise refused("Checksum mismatch", status=400, http_status=400)

    def check_historical(self, request: DialectRequest) -> None:
        """Accept a v2 call, which carries only token and key, or raise `Refused`."""
        if request.headers.get("apikey") != self._credentials["app_key"]:
            raise refused(WRONG_KEY, status=401, http_status=401)
        self.check_token(request.headers.get("x-sessiontoken", ""))

    def check_token(self, token: str) -> None:
        """Raise `Refused` for a session token that is not live."""
        try:
            user, _, key = base64.b64decode(token, validate=True).decode("ascii").partition(":")
        except ValueError as failure:
            raise refused(WRONG_SESSION) from failure
        if not self.is_user(user, key):
            raise refused(EXPIRED if user == self._account.client_id else WRONG_SESSION)

    def is_user(self, user: object, key: object) -> bool:
        """Tell whether the two parts of a session token are live."""
        return user == self._account.client_id and isinstance(key, str) and self._tokens.is_live(key[::-1])

    def _details(self, session: str) -> dict[str, object]:
        today = day_text(self._clock.today())
        token = base64.b64encode(f"{self._account.client_id}:{session[::-1]}".encode()).decode()
        return {
            "exg_trade_date": dict.fromkeys(("NSE", "BSE", "FNO", "NDX"), today),
            "exg_status": {"NSE": "O", "BSE": "O", "FNO": "O", "NDX": "O"},
            "segments_allowed": {"Trading": "Y", "Equity": "Y", "Derivatives": "Y", "Currency": "N"},
            "idirect_userid": self._account.client_id,
            "session_token": token,
            "idirect_user_name": self._account.client_name,
            "idirect_ORD_TYP": "N",
            "idirect_lastlogin_time": second_text(self._clock.now()),
            "mf_holding_mode_popup_flg": "N",
            "commodity_exchange_status": "N",
            "commodity_trade_date": today,
            "commodity_allowed": "O",
        }
