"""ICICI Direct's REST routes over one account, and its streams. All hosts are one server, told apart by their paths."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.base import OpenSockets, RestDialect
from onebroker.brokers.simulator.dialects.dialect import (
    AccountView,
    Averages,
    DialectRequest,
    Socket,
    SocketSession,
    TokenStore,
)
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.icicidirect import forms, rows
from onebroker.brokers.simulator.dialects.icicidirect.candle_socket import CandleStream
from onebroker.brokers.simulator.dialects.icicidirect.envelope import (
    body_of,
    day_of,
    error,
    found,
    refused,
    success,
    word,
)
from onebroker.brokers.simulator.dialects.icicidirect.login import LoginDesk
from onebroker.brokers.simulator.dialects.icicidirect.market_socket import MarketStream
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames, Name, security_master
from onebroker.brokers.simulator.dialects.icicidirect.order_socket import OrderStream
from onebroker.brokers.simulator.dialects.icicidirect.socket import Stream
from onebroker.brokers.simulator.dialects.rest import Refused, Route, as_json
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import SimOrder, SimRefusal
from onebroker.config.clock import IST, Clock, from_epoch

V1, V2 = "/breezeapi/api/v1/", "/api/v2/"
MASTER = "/MotherAppMaster/SecurityMaster.zip"
MOST_CANDLES = 1000

_V1_INTERVALS = {"minute": "1minute", "5minute": "5minute", "30minute": "30minute", "day": "day"}
_V2_INTERVALS = {"1minute": "1minute", "5minute": "5minute", "30minute": "30minute", "1day": "day"}
_MARKET, _ORDERS, _CANDLES = "/livestream/socket.io/", "/livefeeds/socket.io/", "/ohlc/ohlcvstream/"
_STREAMS: Mapping[str, type[Stream]] = {_MARKET: MarketStream, _ORDERS: OrderStream, _CANDLES: CandleStream}


class IciciDirectDialect(RestDialect[Name]):
    """ICICI Direct for one account."""

    code = "icicidirect"
    averages = Averages(products=("product", "product_type"), fields=("average_price",))
    token_expiry, token_length = time(0, 0), 16
    _names: IciciNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, IciciNames(account), store, clock, seed)
        app, secret = self._digest("app key").hex(), self._digest("secret").hex()
        # Real keys contain characters that must be encoded in the login address.
        self.credentials: Mapping[str, str] = {
            "app_key": f"{app[:12]}&{app[12:30]}^",
            "secret_key": f"{secret[:20]}#{secret[20:31]}",
        }
        self._login = LoginDesk(account, self._tokens, self.credentials, clock)
        self._sockets: OpenSockets[Stream] = OpenSockets()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        return {
            "rest_url": f"{base}{V1}",
            "rest_v2_url": f"{base}{V2}",
            "login_url": f"{base}/apiuser/login",
            "stream_url": f"{base}{_host(_MARKET)}",
            "order_stream_url": f"{base}{_host(_ORDERS)}",
            "ohlc_stream_url": f"{base}{_host(_CANDLES)}",
            "instruments_url": f"{base}{MASTER}",
        }

    def session(self) -> Mapping[str, str]:
        return {"API_Session": self._login.new_session()}

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a stream for a websocket client of Engine.IO 4. There is no polling here."""
        stream = _STREAMS.get(request.path if request.path.endswith("/") else f"{request.path}/")
        if stream is None:
            return as_json(404, {"code": 0, "message": "Not found"})
        if request.first("EIO") != "4" or request.first("transport") != "websocket":
            return as_json(400, {"code": 5, "message": "Unsupported protocol version"})
        return self._sockets.keep(stream(self._account, self._names, socket, self._clock, self._login.is_user))

    def refusal_in_200(self) -> WireResponse:
        return error("The request was refused.")

    def rate_limited(self) -> WireResponse:
        return error("Limit exceed: API call per minute:Try after some time", status=5, http_status=401)

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        self._login.check(request)

    def _no_route(self, status: int) -> WireResponse:
        # A POST to customerdetails is answered 405.
        return error("Method not allowed" if status == 405 else "Not found", status=status, http_status=status)

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        return error(refusal.message)

    def _unknown_order(self) -> Refused:
        return refused("Order not found")

    def _close_sockets(self) -> None:
        for stream in self._sockets.take_all():
            stream.end()

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        return (
            Route("GET", "/apiuser/login", self._login.page, is_open=True),
            Route("GET", MASTER, self._master, is_open=True),
            Route("GET", f"{V1}customerdetails", self._login.customer, is_open=True),
            Route("GET", f"{V2}historicalcharts", self._candles_v2, is_open=True),
            Route("GET", f"{V1}historicalcharts", self._candles_v1),
            Route("GET", f"{V1}funds", self._funds),
            Route("GET", f"{V1}margin", self._margin),
            Route("POST", f"{V1}margincalculator", self._margin_calculator),
            Route("GET", f"{V1}dematholdings", self._demat),
            Route("GET", f"{V1}portfolioholdings", self._portfolio),
            Route("GET", f"{V1}portfoliopositions", self._positions),
            Route("GET", f"{V1}order", self._orders),
            Route("POST", f"{V1}order", self._place),
            Route("PUT", f"{V1}order", self._modify),
            Route("DELETE", f"{V1}order", self._cancel),
            Route("GET", f"{V1}trades", self._trades),
            Route("GET", f"{V1}quotes", self._quotes),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _funds(self, request: DialectRequest) -> WireResponse:
        return success(rows.funds(self._account.funds()))

    def _margin(self, request: DialectRequest) -> WireResponse:
        forms.exchange_of(body_of(request))
        return success(rows.margin(self._account.funds()))

    def _margin_calculator(self, request: DialectRequest) -> WireResponse:
        """Answer a margin calculation. Each position is calculated by itself; savings between positions are not computed here."""
        orders = forms.margin_orders(self._names, body_of(request))
        calculated = [rows.calculated_row(self._name(order.instrument_id), order) for order in orders]
        needed = sum((self._account.margin(order).total for order in orders), Decimal(0))
        return success(rows.margin_calculation(calculated, needed))

    def _demat(self, request: DialectRequest) -> WireResponse:
        held = [rows.demat_row(holding, name) for holding, name, _ in self._holding_book()]
        return found([row for row in held if row["quantity"] != "0"])

    def _portfolio(self, request: DialectRequest) -> WireResponse:
        """Answer the portfolio. The shares are under NSE; the account has nothing on the other exchanges."""
        if forms.exchange_of(body_of(request)) != "NSE":
            return found([])
        return found([rows.portfolio_row(*row) for row in self._holding_book()])

    def _positions(self, request: DialectRequest) -> WireResponse:
        return found([rows.position_row(*row) for row in self._position_book()])

    def _orders(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        exchange = forms.exchange_of(body)
        if word(body, "order_id"):
            return found([self._order_row(self._order_of(body, exchange))])
        first, last = _days(body)
        orders = self._order_book(
            lambda order: (
                first <= order.placed_at.astimezone(IST).date() <= last and self._order_name(order).exchange == exchange
            )
        )
        return found([self._order_row(order) for order in orders])

    def _trades(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        exchange = forms.exchange_of(body)
        if word(body, "order_id"):
            order = self._order_of(body, exchange)
            return found([rows.fill_row(fill, self._order_name(order)) for fill in self._fills(order.order_id)])
        _days(body)
        traded = []
        for order in self._account.orders():
            name, fills = self._order_name(order), self._fills(order.order_id)
            if fills and name.exchange == exchange:
                traded.append((name, fills))
        shown = self._shown(FaultKind.PARTIAL_TRADES, traded, [name.contract.instrument_id for name, _ in traded])
        return found([rows.trade_row(fills, name, self._market(name)) for name, fills in shown])

    def _order_name(self, order: SimOrder) -> Name:
        return self._name(order.new.instrument_id)

    def _order_row(self, order: SimOrder) -> Row:
        return rows.order_row(order, self._order_name(order))

    def _order_of(self, body: Mapping[str, object], exchange: str) -> SimOrder:
        """Return the order that a body names. An order of another exchange is unknown."""
        order = self._known(word(body, "order_id"))
        if self._order_name(order).exchange != exchange:
            raise self._unknown_order()
        return order

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        new = forms.new_order(self._names, body_of(request))
        order = self._account.place(new)
        name = self._order_name(order)
        text = (
            f"Equity CASH Order placed successfully through RI reference no {order.order_id}"
            if name.kind == "cash"
            else "Successfully Placed the order"
        )
        return success({"order_id": order.order_id, "message": text, "user_remark": order.new.tag})

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._order_of(body, forms.exchange_of(body))
        self._account.modify(order.order_id, **forms.changes(body, order.order_type))
        return success({"message": "Successfully Modified the order", "order_id": order.order_id})

    def _cancel(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._order_of(body, forms.exchange_of(body))
        self._account.cancel(order.order_id)
        return success({"order_id": order.order_id, "message": "Your Order Canceled successfully."})

    # market data ----------------------------------------------------------------------------------------------------

    def _master(self, request: DialectRequest) -> WireResponse:
        body = security_master(self._names.in_files())
        return WireResponse(status=200, headers={"content-type": "application/x-zip-compressed"}, body=body)

    def _quotes(self, request: DialectRequest) -> WireResponse:
        """Answer quotes. A share that both exchanges list gets both rows, NSE's first."""
        body = body_of(request)
        exchange = forms.exchange_of(body)
        cash = exchange in ("NSE", "BSE")
        named = [forms.instrument(self._names, code, body) for code in (("NSE", "BSE") if cash else (exchange,))]
        if cash and not any(name is not None and name.exchange == exchange for name in named):
            named = []
        return success([rows.quote_row(name, self._market(name)) for name in named if name is not None])

    def _candles_v1(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        return self._candle_rows(body, forms.exchange_of(body), _V1_INTERVALS, texts=True)

    def _candles_v2(self, request: DialectRequest) -> WireResponse:
        self._login.check_historical(request)
        query: dict[str, object] = dict(request.query)
        return self._candle_rows(query, forms.exchange_of(query, "exch_code"), _V2_INTERVALS, texts=False)

    def _candle_rows(
        self, body: Mapping[str, object], exchange: str, intervals: Mapping[str, str], *, texts: bool
    ) -> WireResponse:
        """Answer candles. If there are more rows than one call may answer, the last ones are kept."""
        interval = intervals.get(word(body, "interval").lower())
        if interval is None:
            raise refused(f"Interval should be either {', '.join(intervals)}")
        first, last = _moment(body, "from_date"), _moment(body, "to_date")
        name = forms.instrument(self._names, exchange, body)
        if name is None:
            return success([])
        candles = self._account.candles(name.contract.instrument_id, interval, first.date(), last.date())
        wanted = [candle for candle in candles if first <= from_epoch(candle[0]) <= last]
        return success([rows.candle_row(name, candle, texts=texts) for candle in wanted[-MOST_CANDLES:]])


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> IciciDirectDialect:
    """Return ICICI Direct's server for one account."""
    return IciciDirectDialect(account, tokens, clock, seed)


def _host(path: str) -> str:
    """Return the path prefix that represents a separate host: `/livestream`."""
    return path[: path.index("/", 1)]


def _days(body: Mapping[str, object]) -> tuple[date, date]:
    try:
        return day_of(word(body, "from_date")), day_of(word(body, "to_date"))
    except (ValueError, IndexError) as failure:
        raise refused("From-Date cannot be empty") from failure


def _moment(body: Mapping[str, object], field: str) -> datetime:
    """Read a moment of a candle call. It is Indian time, even if it ends with a Z."""
    try:
        return datetime.fromisoformat(word(body, field).replace("Z", "")).replace(tzinfo=IST)
    except ValueError as failure:
        raise refused(f"{field} cannot be empty") from failure
