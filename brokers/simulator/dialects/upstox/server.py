"""Upstox' REST routes over one account, and its two sockets."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date, time, timedelta
from urllib.parse import unquote

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.base import RestDialect, stream_base
from onebroker.brokers.simulator.dialects.dialect import (
    AccountView,
    Averages,
    DialectRequest,
    Socket,
    SocketSession,
    TokenStore,
)
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.form import sliced
from onebroker.brokers.simulator.dialects.rest import Refused, Route
from onebroker.brokers.simulator.dialects.tokens import Kind
from onebroker.brokers.simulator.dialects.upstox import candles, forms, rows
from onebroker.brokers.simulator.dialects.upstox.envelope import (
    INVALID_INPUT,
    body_of,
    error,
    not_supported,
    order_answer,
    refused,
    success,
)
from onebroker.brokers.simulator.dialects.upstox.login import REGISTERED_REDIRECT, LoginDesk
from onebroker.brokers.simulator.dialects.upstox.naming import Name, UpstoxNames, instrument_file
from onebroker.brokers.simulator.dialects.upstox.socket_desk import SocketDesk
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimFill, SimOrder, SimRefusal
from onebroker.config.clock import Clock

MOST_QUOTES = 500

_REFUSALS: Mapping[RefusalReason, tuple[int, str]] = {
    RefusalReason.UNKNOWN_INSTRUMENT: (400, "UDAPI100011"),
    RefusalReason.NOT_TRADABLE: (400, "UDAPI100011"),
    RefusalReason.BAD_QUANTITY: (400, "UDAPI1052"),
    RefusalReason.BAD_LOT: (400, INVALID_INPUT),
    RefusalReason.BAD_TICK: (400, INVALID_INPUT),
    RefusalReason.BAD_PRICE: (400, INVALID_INPUT),
    RefusalReason.FREEZE: (400, INVALID_INPUT),
    RefusalReason.PRICE_BAND: (400, INVALID_INPUT),
    RefusalReason.MARKET_CLOSED: (423, "UDAPI100074"),
    RefusalReason.NO_MARGIN: (400, INVALID_INPUT),
    RefusalReason.NO_HOLDING: (400, INVALID_INPUT),
    RefusalReason.UNKNOWN_ORDER: (404, "UDAPI100010"),
    RefusalReason.ORDER_FINISHED: (400, "UDAPI100040"),
    RefusalReason.FORCED: (400, INVALID_INPUT),
}
"""A reason without a code in the documents becomes `invalid input` with the exchange's sentence."""

_QUOTE_KINDS: Mapping[str, Callable[[Name, Market], Row]] = {
    "v2/quotes": rows.quote_row,
    "v3/quotes": rows.new_quote_row,
    "v3/ohlc": rows.ohlc_row,
    "v3/ltp": rows.ltp_row,
}

_CANDLES = r"([^/]+)/(minutes|hours|days)/(\d+)"


class UpstoxDialect(RestDialect[Name]):
    """Upstox for one account."""

    code = "upstox"
    averages = Averages(products=("product",), fields=("average_price", "buy_price", "sell_price"))
    token_expiry, token_length = time(3, 30), 40
    _names: UpstoxNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, UpstoxNames(account), store, clock, seed)
        key = self._digest("key").hex()
        self.credentials: Mapping[str, str] = {
            "api_key": f"{key[:8]}-{key[8:12]}-{key[12:16]}-{key[16:20]}-{key[20:32]}",
            "api_secret": self._digest("secret").hex()[:10],
            "redirect_url": REGISTERED_REDIRECT,
        }
        self._login = LoginDesk(account, self._tokens, self.credentials)
        self._sockets = SocketDesk(account, self._names, clock, self.credentials["api_secret"])

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = stream_base(base)
        return {
            "rest_url": base,
            "order_url": base,
            "login_url": f"{base}/v2/login/authorization/dialog",
            "stream_url": f"{stream}/v3/feed/market-data-feed",
            "order_stream_url": f"{stream}/v2/feed/portfolio-stream-feed",
            "instruments_url": f"{base}/market-quote/instruments/exchange",
        }

    def session(self) -> Mapping[str, str]:
        return {"access_token": self._tokens.newest(Kind.ACCESS), "code": self._tokens.mint(Kind.ONE_TIME)}

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        try:
            return self._sockets.open(request, socket, self._login.check)
        except Refused as refused:
            return refused.answer

    def refusal_in_200(self) -> WireResponse:
        return error(200, INVALID_INPUT, "The request was refused.")

    def rate_limited(self) -> WireResponse:
        return error(429, "UDAPI10005", "Too Many Request Sent")

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        self._login.check(request)

    def _no_route(self, status: int) -> WireResponse:
        return not_supported(status)

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        status, code = _REFUSALS[refusal.reason]
        return error(status, code, refusal.message)

    def _unknown_order(self) -> Refused:
        return refused(404, "UDAPI100010", "Order not found")

    def _close_sockets(self) -> None:
        self._sockets.close_all()

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        """Return the routes. The first match answers, so fixed paths come before paths with a placeholder."""

        return (
            Route("GET", "/v2/login/authorization/dialog", self._login.page, is_open=True),
            Route("POST", "/v2/login/authorization/token", self._login.exchange, is_open=True),
            Route("DELETE", "/v2/logout", self._login.logout),
            Route("GET", r"/market-quote/instruments/exchange/(\w+)\.json\.gz", self._instruments, is_open=True),
            # The official client sends no token with candle calls.
            Route("GET", f"/v3/historical-candle/intraday/{_CANDLES}", self._today_candles, is_open=True),
            Route("GET", rf"/v3/historical-candle/{_CANDLES}/([^/]+)(?:/([^/]+))?", self._candles, is_open=True),
            Route("GET", "/v2/user/profile", self._login.profile),
            Route("GET", "/v3/user/get-funds-and-margin", self._funds),
            Route("GET", "/v2/user/get-funds-and-margin", self._old_funds),
            Route("POST", "/v2/charges/margin", self._order_margins),
            Route("GET", "/v2/portfolio/short-term-positions", self._positions),
            Route("GET", "/v3/portfolio/mtf-positions", self._margin_trading),
            Route("GET", "/v2/portfolio/long-term-holdings", self._holdings),
            Route("GET", "/v2/order/retrieve-all", self._orders),
            Route("GET", "/v2/order/details", self._order_details),
            Route("GET", "/v2/order/history", self._order_history),
            Route("GET", "/v2/order/trades/get-trades-for-day", self._trades),
            Route("GET", "/v2/order/trades", self._order_trades),
            Route("POST", "/(v2|v3)/order/place", self._place),
            Route("PUT", "/(v2|v3)/order/modify", self._modify),
            Route("DELETE", "/(v2|v3)/order/cancel", self._cancel),
            Route("GET", "/(v2)/market-quote/(quotes)", self._quotes),
            Route("GET", "/(v3)/market-quote/(quotes|ohlc|ltp)", self._quotes),
            Route("GET", "/v3/feed/market-data-feed/authorize", self._sockets.authorize),
            Route("GET", "/v2/feed/portfolio-stream-feed/authorize", self._sockets.authorize),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _funds(self, request: DialectRequest) -> WireResponse:
        return success(rows.funds(self._account.funds()))

    def _old_funds(self, request: DialectRequest) -> WireResponse:
        both = rows.old_funds(self._account.funds())
        wanted = {"SEC": "equity", "COM": "commodity"}.get(request.first("segment") or "")
        return success(both if wanted is None else {wanted: both[wanted]})

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        """Answer the margins. Each order is calculated by itself; savings between orders are not computed here."""
        blocked = []
        for order in forms.margin_orders(body_of(request)):
            name = self._tradable(order.get("instrument_key"))
            blocked.append(self._account.margin(forms.margin_order(order, name)))
        return success(rows.order_margins(blocked))

    def _positions(self, request: DialectRequest) -> WireResponse:
        return success([rows.position_row(*row) for row in self._position_book()])

    def _margin_trading(self, request: DialectRequest) -> WireResponse:
        """Answer an empty list: the account trades nothing on margin."""
        return success([])

    def _holdings(self, request: DialectRequest) -> WireResponse:
        return success([rows.holding_row(*row) for row in self._holding_book()])

    def _orders(self, request: DialectRequest) -> WireResponse:
        return success([self._order_row(order) for order in self._order_book()])

    def _order_details(self, request: DialectRequest) -> WireResponse:
        return success(self._order_row(self._known(request.first("order_id"))))

    def _order_history(self, request: DialectRequest) -> WireResponse:
        """Answer the states of an order by id, or of all orders with a tag. Each order starts with the state that every order begins with."""
        tag, order_id = request.first("tag"), request.first("order_id")
        if order_id is not None:
            wanted = [self._known(order_id)]
        elif tag is not None:
            wanted = list(self._account.tagged(tag))
        else:
            raise refused(400, INVALID_INPUT, "order_id or tag is required")
        found: list[Row] = []
        for order in wanted:
            states = [self._order_row(state) for state in self._account.order_history(order.order_id)]
            found += [rows.received_row(states[0]), *states]
        if not found:
            raise self._unknown_order()
        return success(found)

    def _trades(self, request: DialectRequest) -> WireResponse:
        return success([self._trade_row(fill) for fill in self._fills()])

    def _order_trades(self, request: DialectRequest) -> WireResponse:
        order = self._known(request.first("order_id"))
        return success([self._trade_row(fill) for fill in self._fills(order.order_id)])

    def _order_row(self, order: SimOrder) -> Row:
        return rows.order_row(order, self._name(order.new.instrument_id), self._account.client_id)

    def _trade_row(self, fill: SimFill) -> Row:
        return rows.trade_row(fill, self._known(fill.order_id), self._name(fill.instrument_id))

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest, version: str) -> WireResponse:
        body = body_of(request)
        name = self._tradable(body.get("instrument_token"))
        whole = forms.new_order(body, name)
        cuts = version == "v3" and body.get("slice") is True
        # A freeze quantity of zero is no limit.
        parts = sliced(whole, name.contract.freeze_quantity or None) if cuts else [whole]
        ids = [self._account.place(part).order_id for part in parts]
        return order_answer(version, {"order_ids": ids} if version == "v3" else {"order_id": ids[0]})

    def _modify(self, request: DialectRequest, version: str) -> WireResponse:
        body = body_of(request)
        order = self._known(_text(body.get("order_id")))
        wanted = forms.changes(body, self._name(order.new.instrument_id))
        return order_answer(version, {"order_id": self._account.modify(order.order_id, **wanted).order_id})

    def _cancel(self, request: DialectRequest, version: str) -> WireResponse:
        order = self._known(request.first("order_id"))
        return order_answer(version, {"order_id": self._account.cancel(order.order_id).order_id})

    def _tradable(self, key: object) -> Name:
        name = self._names.by_key.get(key) if isinstance(key, str) else None
        if name is None or not name.tradable:
            raise refused(400, "UDAPI100011", "Invalid Instrument key")
        return name

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest, file: str) -> WireResponse:
        exchange = None if file == "complete" else file.lower()
        names = [name for name in self._names.in_files() if exchange in (None, name.contract.identity.exchange)]
        if not names:
            raise refused(404, "UDAPI10000", "This request is not supported by Upstox API")
        return WireResponse(status=200, headers={"content-type": "application/gzip"}, body=instrument_file(names))

    def _quotes(self, request: DialectRequest, version: str, kind: str) -> WireResponse:
        """Answer quotes. Unknown instruments are left out; if all are unknown, the call is refused."""
        asked = (request.first("instrument_key") or request.first("symbol") or "").split(",")
        if len(asked) > MOST_QUOTES:
            raise refused(400, "UDAPI100076", f"At most {MOST_QUOTES} instrument keys are allowed.")
        row = _QUOTE_KINDS[f"{version}/{kind}"]
        by_key = self._names.by_key
        names = [by_key[key] for key in asked if key in by_key]
        if not names:
            raise refused(400, "UDAPI100011", "Invalid Instrument key")
        return success({name.quote_name: row(name, self._market(name)) for name in names})

    def _today_candles(self, request: DialectRequest, key: str, unit: str, count: str) -> WireResponse:
        today = self._clock.today()
        return self._candle_rows(key, unit, int(count), today, today)

    def _candles(
        self, request: DialectRequest, key: str, unit: str, count: str, to_date: str, from_date: str | None
    ) -> WireResponse:
        """Answer complete days only. The running day comes from the intraday call."""
        first, last = candles.span(unit, int(count), to_date, from_date)
        return self._candle_rows(key, unit, int(count), first, min(last, self._clock.today() - timedelta(days=1)))

    def _candle_rows(self, key: str, unit: str, count: int, first: date, last: date) -> WireResponse:
        name = self._names.by_key.get(unquote(key))
        if name is None:
            raise refused(400, "UDAPI100011", "Invalid Instrument key")
        interval = candles.interval_of(unit, count)
        return success({"candles": candles.rows(self._account, name, interval, first, last)})


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> UpstoxDialect:
    """Return Upstox' server for one account."""
    return UpstoxDialect(account, tokens, clock, seed)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
