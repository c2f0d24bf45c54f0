"""Upstox' REST routes over one account, and the doors to its two sockets."""

import hashlib
import hmac
import re
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from urllib.parse import parse_qsl, unquote, urlencode

import attrs

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialect import AccountView, DialectRequest, Socket, SocketSession, TokenStore
from onebroker.brokers.simulator.dialects.upstox import answers, candles, forms
from onebroker.brokers.simulator.dialects.upstox.envelopes import (
    Refused,
    as_json,
    body_of,
    error,
    order_answer,
    success,
)
from onebroker.brokers.simulator.dialects.upstox.feeds import MarketSession, PortfolioSession
from onebroker.brokers.simulator.dialects.upstox.naming import Name, instrument_file, name_of
from onebroker.brokers.simulator.dialects.upstox.tokens import Tokens
from onebroker.brokers.simulator.model import Contract, Market, RefusalReason, SimFill, SimOrder, SimRefusal
from onebroker.config.clock import Clock
from onebroker.config.vocabulary import OrderType

REGISTERED_REDIRECT = "https://127.0.0.1/onebroker"
"""The app's redirect address, as a person would have registered it; the dialog accepts no other."""

MARKET_SOCKET = "/market-data-feeder/v3/upstox-developer-api/feeds"
PORTFOLIO_SOCKET = "/order-updates/feed"
"""Paths of the one-time socket addresses."""
UPDATE_TYPES = frozenset({"order", "position", "holding", "gtt_order"})

MOST_QUOTES = 500

_INVALID_INPUT = "UDAPI100036"

_REFUSALS: Mapping[RefusalReason, tuple[int, str]] = {
    RefusalReason.UNKNOWN_INSTRUMENT: (400, "UDAPI100011"),
    RefusalReason.NOT_TRADABLE: (400, "UDAPI100011"),
    RefusalReason.BAD_QUANTITY: (400, "UDAPI1052"),
    RefusalReason.BAD_LOT: (400, _INVALID_INPUT),
    RefusalReason.BAD_TICK: (400, _INVALID_INPUT),
    RefusalReason.BAD_PRICE: (400, _INVALID_INPUT),
    RefusalReason.FREEZE: (400, _INVALID_INPUT),
    RefusalReason.PRICE_BAND: (400, _INVALID_INPUT),
    RefusalReason.MARKET_CLOSED: (423, "UDAPI100074"),
    RefusalReason.NO_MARGIN: (400, _INVALID_INPUT),
    RefusalReason.NO_HOLDING: (400, _INVALID_INPUT),
    RefusalReason.UNKNOWN_ORDER: (404, "UDAPI100010"),
    RefusalReason.ORDER_FINISHED: (400, "UDAPI100040"),
    RefusalReason.FORCED: (400, _INVALID_INPUT),
}
"""What the documents give no code for is `invalid input` with the exchange's sentence."""

_QUOTE_KINDS: Mapping[str, Callable[[Name, Market], answers.Row]] = {
    "v2/quotes": answers.quote_row,
    "v3/quotes": answers.new_quote_row,
    "v3/ohlc": answers.ohlc_row,
    "v3/ltp": answers.ltp_row,
}

_CANDLES = r"([^/]+)/(minutes|hours|days)/(\d+)"


@attrs.frozen
class _Route:
    method: str
    pattern: "re.Pattern[str]"
    handler: Callable[..., WireResponse]
    open: bool = False
    """Answered without a login."""


class UpstoxDialect:
    """Upstox for one account."""

    code = "upstox"

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        self._account = account
        self._clock = clock
        self._tokens = Tokens(store, clock, seed)
        key, secret = (hashlib.sha256(f"upstox|{word}|{seed}".encode()).hexdigest() for word in ("key", "secret"))
        self.credentials: Mapping[str, str] = {
            "api_key": f"{key[:8]}-{key[8:12]}-{key[12:16]}-{key[16:20]}-{key[20:32]}",
            "api_secret": secret[:10],
            "redirect_url": REGISTERED_REDIRECT,
        }
        self._sessions: weakref.WeakSet[MarketSession | PortfolioSession] = weakref.WeakSet()
        self._socket_codes: set[str] = set()
        self._socket_count = 0
        self._listed: Sequence[Contract] = ()
        self._names: dict[str, Name] = {}
        self._by_key: dict[str, Name] = {}
        self._routes = self._table()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = "ws" + base.removeprefix("http")
        return {
            "rest_url": base,
            "order_url": base,
            "login_url": f"{base}/v2/login/authorization/dialog",
            "stream_url": f"{stream}/v3/feed/market-data-feed",
            "order_stream_url": f"{stream}/v2/feed/portfolio-stream-feed",
            "instruments_url": f"{base}/market-quote/instruments/exchange",
        }

    def session(self) -> Mapping[str, str]:
        return {"access_token": self._tokens.newest_access(), "code": self._tokens.mint_one_time(long=True)}

    def handle(self, request: DialectRequest) -> WireResponse:
        allowed = False
        for route in self._routes:
            match = route.pattern.fullmatch(request.path)
            if match is None:
                continue
            allowed = True
            if route.method != request.method:
                continue
            try:
                if not route.open:
                    self._check_login(request)
                return route.handler(request, *match.groups())
            except Refused as refused:
                return refused.answer
            except forms.BadField as bad:
                return error(400, bad.code, bad.message, bad.field, bad.value)
            except SimRefusal as refusal:
                status, code = _REFUSALS[refusal.reason]
                return error(status, code, refusal.message)
        message = "This request is not supported by Upstox API"
        return error(405 if allowed else 404, "UDAPI10000", message)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """The documented addresses redirect to a one-time address under a live token; that one opens the socket once."""
        session: MarketSession | PortfolioSession
        if request.path in (MARKET_SOCKET, PORTFOLIO_SOCKET):
            code = request.first("code") or ""
            if code not in self._socket_codes:
                return error(401, "UDAPI100050", "Invalid token used to access API")
            self._socket_codes.discard(code)
            if request.path == MARKET_SOCKET:
                session = MarketSession(self._account, self, socket, self._clock)
            else:
                session = PortfolioSession(self._account, self, socket, _update_types(request))
            self._sessions.add(session)
            return session
        if request.path not in ("/v3/feed/market-data-feed", "/v2/feed/portfolio-stream-feed"):
            return error(404, "UDAPI10000", "This request is not supported by Upstox API")
        try:
            self._check_login(request)
        except Refused as refused:
            return refused.answer
        return WireResponse(status=302, headers={"location": self._one_time_address(request)})

    def expire_session(self) -> None:
        self._tokens.expire_all()
        self._socket_codes.clear()
        for session in list(self._sessions):
            session.socket.close(1008, "access token expired")
        self._sessions.clear()

    def refusal_in_200(self) -> WireResponse:
        return error(200, _INVALID_INPUT, "The request was refused.")

    def rate_limited(self) -> WireResponse:
        return error(429, "UDAPI10005", "Too Many Request Sent")

    # names ----------------------------------------------------------------------------------------------------------

    @property
    def names(self) -> Mapping[str, Name]:
        """Upstox' names by instrument_id."""
        self._refresh()
        return self._names

    @property
    def by_key(self) -> Mapping[str, Name]:
        self._refresh()
        return self._by_key

    def _refresh(self) -> None:
        """Name what is listed again when the exchange's list changed (a new day)."""
        listed = self._account.contracts()
        if listed is self._listed:
            return
        self._listed = listed
        names = [name for name in map(name_of, listed) if name is not None]
        self._names = {name.contract.instrument_id: name for name in names}
        self._by_key = {name.key: name for name in names}

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[_Route]:
        """First match answers; what is fixed stands before what has a placeholder."""

        def route(method: str, pattern: str, handler: Callable[..., WireResponse], *, is_open: bool = False) -> _Route:
            return _Route(method, re.compile(pattern), handler, is_open)

        return (
            route("GET", "/v2/login/authorization/dialog", self._login_page, is_open=True),
            route("POST", "/v2/login/authorization/token", self._token, is_open=True),
            route("DELETE", "/v2/logout", self._logout),
            route("GET", r"/market-quote/instruments/exchange/(\w+)\.json\.gz", self._instruments, is_open=True),
            # The official client sends no token with any candle call.
            route("GET", f"/v3/historical-candle/intraday/{_CANDLES}", self._today_candles, is_open=True),
            route("GET", rf"/v3/historical-candle/{_CANDLES}/([^/]+)(?:/([^/]+))?", self._candles, is_open=True),
            route("GET", "/v2/user/profile", self._profile),
            route("GET", "/v3/user/get-funds-and-margin", self._funds),
            route("GET", "/v2/user/get-funds-and-margin", self._old_funds),
            route("GET", "/v2/portfolio/short-term-positions", self._positions),
            route("GET", "/v3/portfolio/mtf-positions", self._margin_trading),
            route("GET", "/v2/portfolio/long-term-holdings", self._holdings),
            route("GET", "/v2/order/retrieve-all", self._orders),
            route("GET", "/v2/order/details", self._order_details),
            route("GET", "/v2/order/history", self._order_history),
            route("GET", "/v2/order/trades/get-trades-for-day", self._trades),
            route("GET", "/v2/order/trades", self._order_trades),
            route("POST", "/(v2|v3)/order/place", self._place),
            route("PUT", "/(v2|v3)/order/modify", self._modify),
            route("DELETE", "/(v2|v3)/order/cancel", self._cancel),
            route("GET", "/(v2)/market-quote/(quotes)", self._quotes),
            route("GET", "/(v3)/market-quote/(quotes|ohlc|ltp)", self._quotes),
            route("GET", "/v3/feed/market-data-feed/authorize", self._authorize),
            route("GET", "/v2/feed/portfolio-stream-feed/authorize", self._authorize),
        )

    def _check_login(self, request: DialectRequest) -> None:
        word, _, token = request.headers.get("authorization", "").partition(" ")
        if word.lower() != "bearer" or not self._tokens.is_live(token.strip()):
            raise Refused(401, "UDAPI100050", "Invalid token used to access API")

    # login ----------------------------------------------------------------------------------------------------------

    def _login_page(self, request: DialectRequest) -> WireResponse:
        """Stand in for the page where a person logs in: straight on to the app's registered address."""
        known = request.first("client_id") == self.credentials["api_key"]
        if (
            not known
            or request.first("redirect_uri") != REGISTERED_REDIRECT
            or request.first("response_type") != "code"
        ):
            raise Refused(401, "UDAPI100068", "Check your 'client_id' and 'redirect_uri'; one or both are incorrect.")
        query = {"code": self._tokens.mint_one_time()}
        if request.first("state"):
            query["state"] = str(request.first("state"))
        return WireResponse(status=302, headers={"location": f"{REGISTERED_REDIRECT}?{urlencode(query)}"})

    def _token(self, request: DialectRequest) -> WireResponse:
        """Answer flat, without the envelope, as this one call does."""
        form = dict(parse_qsl(request.body.decode("utf-8", "replace"), keep_blank_values=True))
        if form.get("grant_type") != "authorization_code":
            raise Refused(400, _INVALID_INPUT, "Invalid 'grant_type'")
        expected = {
            "client_id": self.credentials["api_key"],
            "client_secret": self.credentials["api_secret"],
            "redirect_uri": REGISTERED_REDIRECT,
        }
        for field, good in expected.items():
            if not hmac.compare_digest(form.get(field, "").encode(), good.encode()):
                raise Refused(401, "UDAPI100016", "Invalid Credentials")
        if not self._tokens.take_one_time(form.get("code", "")):
            raise Refused(401, "UDAPI100057", "Invalid Auth code")
        return as_json(
            200, {**self._profile_fields(), "access_token": self._tokens.mint_access(), "extended_token": None}
        )

    def _logout(self, request: DialectRequest) -> WireResponse:
        self._tokens.forget(request.headers["authorization"].partition(" ")[2].strip())
        return success(True)

    def _profile(self, request: DialectRequest) -> WireResponse:
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

    # account --------------------------------------------------------------------------------------------------------

    def _funds(self, request: DialectRequest) -> WireResponse:
        return success(answers.funds(self._account.funds()))

    def _old_funds(self, request: DialectRequest) -> WireResponse:
        both = answers.old_funds(self._account.funds())
        wanted = {"SEC": "equity", "COM": "commodity"}.get(request.first("segment") or "")
        return success(both if wanted is None else {wanted: both[wanted]})

    def _positions(self, request: DialectRequest) -> WireResponse:
        return success(
            [
                answers.position_row(each, self.names[each.instrument_id], self._account.market(each.instrument_id))
                for each in self._account.positions()
            ]
        )

    def _margin_trading(self, request: DialectRequest) -> WireResponse:
        """The account trades nothing on margin."""
        return success([])

    def _holdings(self, request: DialectRequest) -> WireResponse:
        return success(
            [
                answers.holding_row(each, self.names[each.instrument_id], self._account.market(each.instrument_id))
                for each in self._account.holdings()
            ]
        )

    def _orders(self, request: DialectRequest) -> WireResponse:
        return success([self._order_row(order) for order in self._account.orders()])

    def _order_details(self, request: DialectRequest) -> WireResponse:
        return success(self._order_row(self._known(request.first("order_id"))))

    def _order_history(self, request: DialectRequest) -> WireResponse:
        """By order id the states it went through, after the one every order begins with; by tag those of all its orders."""
        tag, order_id = request.first("tag"), request.first("order_id")
        if order_id is not None:
            wanted = [self._known(order_id)]
        elif tag is not None:
            wanted = [order for order in self._account.orders() if order.new.tag == tag]
        else:
            raise Refused(400, _INVALID_INPUT, "order_id or tag is required")
        rows: list[answers.Row] = []
        for order in wanted:
            states = [self._order_row(state) for state in self._account.order_history(order.order_id)]
            rows += [answers.received_row(states[0]), *states]
        if not rows:
            raise Refused(404, "UDAPI100010", "Order not found")
        return success(rows)

    def _trades(self, request: DialectRequest) -> WireResponse:
        return success([self._trade_row(fill) for fill in self._account.fills()])

    def _order_trades(self, request: DialectRequest) -> WireResponse:
        order = self._known(request.first("order_id"))
        fills = [fill for fill in self._account.fills() if fill.order_id == order.order_id]
        return success([self._trade_row(fill) for fill in fills])

    def _known(self, order_id: str | None) -> SimOrder:
        order = None if order_id is None else self._account.order(order_id)
        if order is None:
            raise Refused(404, "UDAPI100010", "Order not found")
        return order

    def _order_row(self, order: SimOrder) -> answers.Row:
        return answers.order_row(order, self.names[order.new.instrument_id], self._account.client_id)

    def _trade_row(self, fill: SimFill) -> answers.Row:
        return answers.trade_row(fill, self._known(fill.order_id), self.names[fill.instrument_id])

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest, version: str) -> WireResponse:
        body = body_of(request)
        name = self._tradable(body.get("instrument_token"))
        whole = forms.new_order(body, name)
        most = name.contract.freeze_quantity
        if version == "v3" and body.get("slice") is True and most and whole.quantity > most:
            parts = [most] * (whole.quantity // most) + [whole.quantity % most] * bool(whole.quantity % most)
        else:
            parts = [whole.quantity]
        ids = [self._account.place(attrs.evolve(whole, quantity=part)).order_id for part in parts]
        return order_answer(version, {"order_ids": ids} if version == "v3" else {"order_id": ids[0]})

    def _modify(self, request: DialectRequest, version: str) -> WireResponse:
        body = body_of(request)
        order = self._known(_text(body.get("order_id")))
        wanted = forms.changes(body, self.names[order.new.instrument_id])
        return order_answer(version, {"order_id": self._account.modify(order.order_id, **wanted).order_id})

    def _cancel(self, request: DialectRequest, version: str) -> WireResponse:
        order = self._known(request.first("order_id"))
        return order_answer(version, {"order_id": self._account.cancel(order.order_id).order_id})

    def _tradable(self, key: object) -> Name:
        name = self.by_key.get(key) if isinstance(key, str) else None
        if name is None or not name.tradable:
            raise Refused(400, "UDAPI100011", "Invalid Instrument key")
        return name

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest, file: str) -> WireResponse:
        exchange = None if file == "complete" else file.lower()
        names = [name for name in self.names.values() if exchange in (None, name.contract.identity.exchange)]
        if not names:
            raise Refused(404, "UDAPI10000", "This request is not supported by Upstox API")
        return WireResponse(status=200, headers={"content-type": "application/gzip"}, body=instrument_file(names))

    def _quotes(self, request: DialectRequest, version: str, kind: str) -> WireResponse:
        """What is not known is left out of the answer."""
        asked = (request.first("instrument_key") or request.first("symbol") or "").split(",")
        if len(asked) > MOST_QUOTES:
            raise Refused(400, "UDAPI100076", f"At most {MOST_QUOTES} instrument keys are allowed.")
        row = _QUOTE_KINDS[f"{version}/{kind}"]
        by_key = self.by_key
        names = [by_key[key] for key in asked if key in by_key]
        if not names:
            raise Refused(400, "UDAPI100011", "Invalid Instrument key")
        return success(
            {name.quote_name: row(name, self._account.market(name.contract.instrument_id)) for name in names}
        )

    def _today_candles(self, request: DialectRequest, key: str, unit: str, count: str) -> WireResponse:
        today = self._clock.today()
        return self._candle_rows(key, unit, int(count), today, today)

    def _candles(
        self, request: DialectRequest, key: str, unit: str, count: str, to_date: str, from_date: str | None
    ) -> WireResponse:
        """Complete days only: the running day is the intraday call's."""
        first, last = candles.span(unit, int(count), to_date, from_date)
        return self._candle_rows(key, unit, int(count), first, min(last, self._clock.today() - timedelta(days=1)))

    def _candle_rows(self, key: str, unit: str, count: int, first: date, last: date) -> WireResponse:
        name = self.by_key.get(unquote(key))
        if name is None:
            raise Refused(400, "UDAPI100011", "Invalid Instrument key")
        interval = candles.interval_of(unit, count)
        return success({"candles": candles.rows(self._account, name, interval, first, last)})

    # sockets --------------------------------------------------------------------------------------------------------

    def _authorize(self, request: DialectRequest) -> WireResponse:
        address = self._one_time_address(request)
        return success({"authorized_redirect_uri": address, "authorizedRedirectUri": address})

    def _one_time_address(self, request: DialectRequest) -> str:
        self._socket_count += 1
        moment = f"{self._clock.epoch()}|{self._socket_count}"
        code = hashlib.sha256(f"{self.credentials['api_secret']}|{moment}".encode()).hexdigest()[:36]
        self._socket_codes.add(code)
        query = {"requestId": str(self._socket_count), "code": code}
        path = MARKET_SOCKET
        if "portfolio" in request.path:
            path = PORTFOLIO_SOCKET
            query["update_types"] = ",".join(sorted(_update_types(request)))
        return f"ws{request.base.removeprefix('http')}{path}?{urlencode(query)}"


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> UpstoxDialect:
    """Return Upstox' server for one account."""
    return UpstoxDialect(account, tokens, clock, seed)


def _update_types(request: DialectRequest) -> frozenset[str]:
    """Return the wanted update types; orders when none is named."""
    named = frozenset((request.first("update_types") or "order").split(","))
    return named & UPDATE_TYPES


def _text(value: object) -> str | None:
    return None if value is None else str(value)
