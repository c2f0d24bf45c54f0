"""Groww's REST routes over one account, and its stream."""

import base64
from collections.abc import Mapping, Sequence
from datetime import date

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
from onebroker.brokers.simulator.dialects.groww import candles, forms, rows
from onebroker.brokers.simulator.dialects.groww.envelope import (
    BAD_REQUEST,
    CANNOT_PROCESS,
    CANNOT_SERVE,
    DUPLICATE,
    NO_ENTITY,
    bad_request,
    body_of,
    failure,
    list_of,
    not_found,
    refused,
    success,
)
from onebroker.brokers.simulator.dialects.groww.login import EXPIRY, LoginDesk
from onebroker.brokers.simulator.dialects.groww.naming import GrowwNames, Name, instrument_file
from onebroker.brokers.simulator.dialects.groww.socket_desk import SocketDesk
from onebroker.brokers.simulator.dialects.rest import Refused, Route, as_csv, as_json
from onebroker.brokers.simulator.dialects.tokens import Kind
from onebroker.brokers.simulator.exchange.risk import NOTHING
from onebroker.brokers.simulator.world.model import RefusalReason, SimOrder, SimRefusal
from onebroker.config.clock import Clock

SEGMENTS = ("CASH", "FNO", "COMMODITY")
MOST_ORDERS, MOST_TRADES, DEFAULT_PAGE = 100, 50, 25
MOST_SYMBOLS = 50

_REFUSALS: Mapping[RefusalReason, tuple[int, str]] = {
    RefusalReason.UNKNOWN_INSTRUMENT: (404, NO_ENTITY),
    RefusalReason.UNKNOWN_ORDER: (404, NO_ENTITY),
    RefusalReason.MARKET_CLOSED: (400, CANNOT_PROCESS),
    RefusalReason.NO_MARGIN: (400, CANNOT_PROCESS),
    RefusalReason.NO_HOLDING: (400, CANNOT_PROCESS),
    RefusalReason.ORDER_FINISHED: (400, CANNOT_PROCESS),
    RefusalReason.FORCED: (400, CANNOT_PROCESS),
}
"""Every other refusal is a bad request with the exchange's sentence."""


class GrowwDialect(RestDialect[Name]):
    """Groww for one account."""

    code = "groww"
    averages = Averages(
        products=("product",), fields=("average_fill_price", "credit_price", "debit_price", "net_price")
    )
    token_expiry, token_length = EXPIRY, 64
    _names: GrowwNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, GrowwNames(account), store, clock, seed)
        self.credentials: Mapping[str, str] = {
            "totp_key": self._digest("totp_key").hex(),
            "totp_secret": base64.b32encode(self._digest("totp_secret")[:20]).decode(),
            "api_key": self._digest("api_key").hex(),
            "api_secret": self._digest("api_secret").hex(),
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._sockets = SocketDesk(account, self._names, self._login, f"{self.code}|{seed}|{clock.epoch()}")

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = stream_base(base)
        return {
            "rest_url": f"{base}/v1",
            "login_url": f"{base}/v1/token/api/access",
            "stream_url": stream,
            "order_stream_url": stream,
            "instruments_url": f"{base}/instruments/instrument.csv",
        }

    def session(self) -> Mapping[str, str]:
        return {"token": self._tokens.newest(Kind.ACCESS)}

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        if request.path not in ("", "/"):
            return self._no_route(404)
        return self._sockets.open(socket)

    def refusal_in_200(self) -> WireResponse:
        return failure(200, CANNOT_PROCESS, "The request was refused.")

    def rate_limited(self) -> WireResponse:
        return failure(429, CANNOT_SERVE, "Too many requests.")

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        self._login.check(request)

    def _no_route(self, status: int) -> WireResponse:
        return failure(status, NO_ENTITY, "No such resource.")

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        status, code = _REFUSALS.get(refusal.reason, (400, BAD_REQUEST))
        return failure(status, code, refusal.message)

    def _unknown_order(self) -> Refused:
        return not_found("Order not found.")

    def _close_sockets(self) -> None:
        self._sockets.close_all()

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        """Return the routes. The first match answers, so fixed paths come before paths with a placeholder."""
        return (
            Route("POST", "/v1/token/api/access", self._login.mint, is_open=True),
            Route("GET", "/v1/changelog", self._changelog, is_open=True),
            Route("GET", "/instruments/instrument.csv", self._instruments, is_open=True),
            Route("POST", "/v1/api/apex/v1/socket/token/create/?", self._sockets.token),
            Route("GET", "/v1/user/detail", self._login.profile),
            Route("GET", "/v1/margins/detail/user", self._funds),
            Route("POST", "/v1/margins/detail/orders", self._order_margins),
            Route("GET", "/v1/holdings/user", self._holdings),
            Route("GET", "/v1/positions/user", self._positions),
            Route("GET", "/v1/positions/trading-symbol", self._positions),
            Route("POST", "/v1/order/create", self._place),
            Route("POST", "/v1/order/modify", self._modify),
            Route("POST", "/v1/order/cancel", self._cancel),
            Route("GET", "/v1/order/list", self._orders),
            Route("GET", "/v1/order/detail/([^/]+)", self._detail),
            Route("GET", "/v1/order/status/reference/([^/]+)", self._status_by_reference),
            Route("GET", "/v1/order/status/([^/]+)", self._status),
            Route("GET", "/v1/order/trades/([^/]+)", self._trades),
            Route("GET", "/v1/live-data/quote", self._quote),
            Route("GET", "/v1/live-data/(ltp|ohlc)", self._quotes),
            Route("GET", "/v1/historical/candles", self._candles),
            Route("GET", "/v1/historical/candle/range", self._old_candles),
            Route("GET", "/v1/historical/expiries", self._expiries),
            Route("GET", "/v1/historical/contracts", self._contracts),
        )

    def _changelog(self, request: DialectRequest) -> WireResponse:
        return as_json(200, {"info": [], "warning": []})

    def _instruments(self, request: DialectRequest) -> WireResponse:
        return as_csv(instrument_file(self._names.in_files()))

    # account --------------------------------------------------------------------------------------------------------

    def _funds(self, request: DialectRequest) -> WireResponse:
        return success(rows.funds(self._account.funds()))

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        segment = _segment(request.first("segment"))
        bodies = [{**body, "segment": segment} for body in list_of(request)]
        if len(bodies) != 1 and segment == "CASH":
            raise bad_request("Basket orders are not supported for this segment.")
        orders = (forms.margin_order(body, self._tradable(body)) for body in bodies)
        needed = sum((self._account.margin(order) for order in orders), NOTHING)
        return success(rows.order_margins(needed, segment))

    def _holdings(self, request: DialectRequest) -> WireResponse:
        held = [rows.holding_row(holding, name) for holding, name, _ in self._holding_book()]
        return success({"holdings": held})

    def _positions(self, request: DialectRequest) -> WireResponse:
        """Answer the positions, limited to one segment or one symbol if the call names it."""
        segment, symbol = request.first("segment"), request.first("trading_symbol")
        book = self._position_book(
            lambda name: segment in (None, name.segment) and symbol in (None, name.trading_symbol)
        )
        return success({"positions": [rows.position_row(*row) for row in book]})

    def _orders(self, request: DialectRequest) -> WireResponse:
        """Answer today's orders, newest first."""
        segment = _segment(request.first("segment"))
        book = self._order_book(lambda order: self._order_name(order).segment == segment)
        found = [rows.order_row(order, self._order_name(order)) for order in reversed(book)]
        return success({"order_list": _page(found, request, MOST_ORDERS)})

    def _detail(self, request: DialectRequest, order_id: str) -> WireResponse:
        order = self._known_in(order_id, request.first("segment"))
        return success(rows.order_row(order, self._order_name(order)))

    def _status(self, request: DialectRequest, order_id: str) -> WireResponse:
        order = self._known_in(order_id, request.first("segment"))
        return success(rows.status_row(order, self._order_name(order)))

    def _status_by_reference(self, request: DialectRequest, reference: str) -> WireResponse:
        order = self._referred(reference)
        if order is None:
            raise self._unknown_order()
        self._check_segment(order, request.first("segment"))
        return success(rows.status_row(order, self._order_name(order)))

    def _trades(self, request: DialectRequest, order_id: str) -> WireResponse:
        order = self._known_in(order_id, request.first("segment"))
        fills = self._fills(order.order_id)
        found = [rows.trade_row(fill, self._name(fill.instrument_id)) for fill in fills]
        return success({"trade_list": _page(found, request, MOST_TRADES)})

    def _order_name(self, order: SimOrder) -> Name:
        return self._name(order.new.instrument_id)

    def _referred(self, reference: str) -> SimOrder | None:
        return next(iter(self._account.tagged(reference)), None)

    def _known_in(self, order_id: str, segment: object) -> SimOrder:
        """Return an order of a segment. Without the right segment the order is not found. Raise `Refused`."""
        order = self._known(order_id)
        self._check_segment(order, segment)
        return order

    def _check_segment(self, order: SimOrder, segment: object) -> None:
        if self._order_name(order).segment != _segment(segment):
            raise self._unknown_order()

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        new = forms.new_order(body, self._tradable(body))
        if self._referred(str(new.tag)) is not None:
            raise refused(400, DUPLICATE, "Duplicate order reference id.")
        order = self._account.place(new)
        remark = order.status_message or "Order placed successfully"
        return success({**rows.brief(order), "order_reference_id": new.tag, "remark": remark})

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._known_in(forms.text_of(body, "groww_order_id"), body.get("segment"))
        return success(rows.brief(self._account.modify(order.order_id, **forms.changes(body))))

    def _cancel(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._known_in(forms.text_of(body, "groww_order_id"), body.get("segment"))
        return success(rows.brief(self._account.cancel(order.order_id)))

    def _tradable(self, body: Mapping[str, object]) -> Name:
        exchange, segment, symbol = (forms.text_of(body, field) for field in ("exchange", "segment", "trading_symbol"))
        name = self._names.by_key.get((exchange, segment, symbol))
        if name is None or not name.tradable:
            raise bad_request("Invalid trading symbol.")
        return name

    # market data ----------------------------------------------------------------------------------------------------

    def _quote(self, request: DialectRequest) -> WireResponse:
        name = self._asked(request)
        return success(rows.quote(self._market(name), name))

    def _asked(self, request: DialectRequest) -> Name:
        exchange, segment, symbol = (request.first(word) or "" for word in ("exchange", "segment", "trading_symbol"))
        name = self._names.by_key.get((exchange, segment, symbol))
        if name is None:
            raise not_found("No such instrument.")
        return name

    def _quotes(self, request: DialectRequest, kind: str) -> WireResponse:
        """Answer quotes of several instruments, given as one list with commas or as a repeated parameter. Unknown ones are left out."""
        segment = _segment(request.first("segment"))
        asked = [name for key, value in request.query if key == "exchange_symbols" for name in value.split(",")]
        if not asked or len(asked) > MOST_SYMBOLS:
            raise bad_request(f"Between 1 and {MOST_SYMBOLS} symbols are allowed.")
        found: dict[str, object] = {}
        for quote_name in asked:
            exchange, _, symbol = quote_name.partition("_")
            name = self._names.by_key.get((exchange, segment, symbol))
            if name is not None:
                market = self._market(name)
                found[quote_name] = float(market.last_price) if kind == "ltp" else rows.ohlc_text(market)
        return success(found)

    def _candles(self, request: DialectRequest) -> WireResponse:
        name = self._names.by_groww_symbol.get(request.first("groww_symbol") or "")
        asked = (request.first("exchange"), request.first("segment"))
        if name is None or (name.exchange, name.segment) != asked or name.segment == "COMMODITY":
            raise not_found("No such instrument.")
        return success(candles.answer(self._account, name, request, self._clock.now()))

    def _old_candles(self, request: DialectRequest) -> WireResponse:
        return success(candles.old_answer(self._account, self._asked(request), request, self._clock.now()))

    def _expiries(self, request: DialectRequest) -> WireResponse:
        year, month = request.first("year"), request.first("month")
        days = {str(name.contract.identity.expiry_date) for name in self._derivatives(request)}
        wanted = [
            day
            for day in sorted(days)
            if (year is None or day[:4] == year.zfill(4)) and (month is None or day[5:7] == month.zfill(2))
        ]
        return success({"expiries": wanted})

    def _contracts(self, request: DialectRequest) -> WireResponse:
        try:
            day = date.fromisoformat(request.first("expiry_date") or "").isoformat()
        except ValueError as error:
            raise bad_request("Invalid expiry_date.") from error
        names = [name for name in self._derivatives(request) if name.contract.identity.expiry_date == day]
        return success({"contracts": [name.groww_symbol for name in names]})

    def _derivatives(self, request: DialectRequest) -> list[Name]:
        exchange, underlying = request.first("exchange"), request.first("underlying_symbol")
        return [
            name
            for name in self._names.by_id.values()
            if name.segment == "FNO"
            and name.exchange == exchange
            and name.contract.identity.underlying_symbol == underlying
        ]


def _segment(word: object) -> str:
    if not isinstance(word, str) or word not in SEGMENTS:
        raise bad_request("Invalid segment.")
    return word


def _page(found: Sequence[Row], request: DialectRequest, most: int) -> Sequence[Row]:
    """Return one page. Pages are counted from 0."""
    number, size = (request.first("page") or "0"), (request.first("page_size") or str(DEFAULT_PAGE))
    if not (number.isdecimal() and size.isdecimal() and len(number) < 6 and 1 <= int(size[:6]) <= most):
        raise bad_request("Invalid page.")
    start = int(number) * int(size)
    return found[start : start + int(size)]


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> GrowwDialect:
    """Return Groww's server for one account."""
    return GrowwDialect(account, tokens, clock, seed)
