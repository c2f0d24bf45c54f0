"""Dhan's REST routes over one account, and its two sockets."""

import base64
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import time

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.base import OpenSockets, RestDialect, stream_base
from onebroker.brokers.simulator.dialects.dhan import candles, forms, rows
from onebroker.brokers.simulator.dialects.dhan.envelope import (
    BAD_INPUT,
    ORDER_ERROR,
    bad_input,
    body_of,
    data_error,
    error,
    refused,
)
from onebroker.brokers.simulator.dialects.dhan.login import LoginDesk
from onebroker.brokers.simulator.dialects.dhan.market_socket import MarketSession, disconnect_packet
from onebroker.brokers.simulator.dialects.dhan.naming import DhanNames, Name, compact_file, detailed_file
from onebroker.brokers.simulator.dialects.dhan.order_socket import OrderSession
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
from onebroker.brokers.simulator.dialects.rest import Refused, Route, as_csv, as_json
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimFill, SimOrder, SimRefusal
from onebroker.config.clock import Clock

MOST_QUOTES = 1000
MARGIN_SEGMENTS = ("NSE_EQ", "NSE_FNO", "BSE_EQ", "BSE_FNO", "MCX_COMM")
MARKET_SOCKET, ORDER_SOCKET = "/market-feed", "/order-update"
MOST_SOCKETS = 5
TOO_MANY_SOCKETS, TOKEN_EXPIRED = 805, 807

_INPUT_REASONS = frozenset(
    {
        RefusalReason.UNKNOWN_INSTRUMENT,
        RefusalReason.BAD_QUANTITY,
        RefusalReason.BAD_LOT,
        RefusalReason.BAD_TICK,
        RefusalReason.BAD_PRICE,
    }
)
"""The reasons that count as bad input. The others are refused orders."""

_QUOTE_KINDS: Mapping[str, Callable[[Name, Market], Row]] = {
    "ltp": rows.ltp_row,
    "ohlc": rows.ohlc_row,
    "quote": rows.quote_row,
}


class DhanDialect(RestDialect[Name]):
    """DhanHQ for one account. Each of its tokens gets a lifetime of one day, so the time of expiry counts for no token."""

    code = "dhan"
    averages = Averages(products=("productType",), fields=("averageTradedPrice", "buyAvg", "costPrice", "sellAvg"))
    token_expiry, token_length = time(3, 0), 64
    _names: DhanNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, DhanNames(account), store, clock, seed)
        digest = self._digest()
        self.credentials: Mapping[str, str] = {
            "client_id": account.client_id,
            "pin": f"{int.from_bytes(digest[:4]) % 1_000_000:06d}",
            "totp_secret": base64.b32encode(digest[4:24]).decode(),
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._markets: list[weakref.ref[MarketSession]] = []
        """Oldest first."""
        self._order_sockets: OpenSockets[OrderSession] = OpenSockets()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = stream_base(base)
        return {
            "rest_url": f"{base}/v2",
            "auth_url": f"{base}/auth",
            "login_url": f"{base}/auth",
            "stream_url": f"{stream}{MARKET_SOCKET}",
            "order_stream_url": f"{stream}{ORDER_SOCKET}",
            "instruments_url": f"{base}/api-data",
        }

    def session(self) -> Mapping[str, str]:
        return {"accessToken": self._login.mint()}

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        if request.path.rstrip("/") == ORDER_SOCKET:
            return self._order_sockets.keep(OrderSession(self._account, self._names, socket, self._login))
        if request.path.rstrip("/") == MARKET_SOCKET:
            return self._open_market(request, socket)
        return self._no_route(404)

    def refusal_in_200(self) -> WireResponse:
        return error(200, ORDER_ERROR, "The request was refused.")

    def rate_limited(self) -> WireResponse:
        return error(429, "DH-904", "Too many requests on server from single user breaching rate limits.")

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        self._login.check(request)

    def _no_route(self, status: int) -> WireResponse:
        return error(status, BAD_INPUT, "No such resource")

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        return error(400, BAD_INPUT if refusal.reason in _INPUT_REASONS else ORDER_ERROR, refusal.message)

    def _unknown_order(self) -> Refused:
        return refused(ORDER_ERROR, "Order not found")

    def _close_sockets(self) -> None:
        for market in self._living():
            market.end(TOKEN_EXPIRED)
        self._markets.clear()
        for orders in self._order_sockets.take_all():
            orders.end()

    # sockets --------------------------------------------------------------------------------------------------------

    def _open_market(self, request: DialectRequest, socket: Socket) -> SocketSession:
        """Open a market socket. A bad token is reported in a packet. A sixth socket ends the oldest."""
        session = MarketSession(self._account, self._names, socket)
        if not self._login.is_live(request.first("token") or "", request.first("clientId")):
            socket.send(disconnect_packet(TOKEN_EXPIRED))
            socket.close(1000, "")
            return session
        living = self._living()
        while len(living) >= MOST_SOCKETS:
            living.pop(0).end(TOO_MANY_SOCKETS)
        self._markets = [weakref.ref(each) for each in (*living, session)]
        return session

    def _living(self) -> list[MarketSession]:
        """Return the market sockets whose client is still connected."""
        return [session for each in self._markets if (session := each()) is not None]

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        """Return the routes. The first match answers, so fixed paths come before paths with a placeholder."""
        return (
            Route("POST", "/auth/app/generateAccessToken", self._login.generate, is_open=True),
            Route("GET", "/v2/RenewToken", self._login.renew),
            Route("GET", "/v2/profile", self._login.profile),
            Route("GET", r"/api-data/api-scrip-master(-detailed)?\.csv", self._instruments, is_open=True),
            Route("GET", r"/v2/instrument/(\w+)", self._segment_instruments, is_open=True),
            Route("GET", "/v2/fundlimit", self._funds),
            Route("POST", "/v2/margincalculator", self._order_margin),
            Route("GET", "/v2/holdings", self._holdings),
            Route("GET", "/v2/positions", self._positions),
            Route("GET", "/v2/orders", self._orders),
            Route("POST", "/v2/orders", self._place),
            Route("POST", "/v2/orders/slicing", self._place_slices),
            Route("GET", "/v2/orders/external/([^/]+)", self._order_by_correlation),
            Route("GET", r"/v2/orders/(\w+)", self._order),
            Route("PUT", r"/v2/orders/(\w+)", self._modify),
            Route("DELETE", r"/v2/orders/(\w+)", self._cancel),
            # The official client asks for all trades with a trailing slash.
            Route("GET", "/v2/trades/?", self._trades),
            Route("GET", r"/v2/trades/(\w+)", self._order_trades),
            Route("POST", "/v2/marketfeed/(ltp|ohlc|quote)", self._quotes),
            Route("POST", "/v2/charts/historical", self._daily_candles),
            Route("POST", "/v2/charts/intraday", self._intraday_candles),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _funds(self, request: DialectRequest) -> WireResponse:
        return as_json(200, rows.funds(self._account.funds(), self._account.client_id))

    def _order_margin(self, request: DialectRequest) -> WireResponse:
        body = self._own_body(request)
        if body.get("exchangeSegment") not in MARGIN_SEGMENTS:
            raise bad_input("exchangeSegment is invalid")
        blocked = self._account.margin(forms.margin_order(body, self._tradable(body)))
        return as_json(200, rows.order_margin(blocked, self._account.funds()))

    def _holdings(self, request: DialectRequest) -> WireResponse:
        held = [rows.holding_row(*row) for row in self._holding_book()]
        if not held:
            raise refused("DH-1111", "No holdings available")
        return as_json(200, held)

    def _positions(self, request: DialectRequest) -> WireResponse:
        client = self._account.client_id
        return as_json(200, [rows.position_row(*row, client) for row in self._position_book()])

    def _orders(self, request: DialectRequest) -> WireResponse:
        return as_json(200, [self._order_row(order) for order in self._order_book()])

    def _order(self, request: DialectRequest, order_id: str) -> WireResponse:
        return as_json(200, self._order_row(self._known(order_id)))

    def _order_by_correlation(self, request: DialectRequest, correlation: str) -> WireResponse:
        found = self._account.tagged(correlation)
        if not found:
            raise bad_input("No order with this correlationId")
        return as_json(200, self._order_row(found[-1]))

    def _trades(self, request: DialectRequest) -> WireResponse:
        return as_json(200, [self._trade_row(fill) for fill in self._fills()])

    def _order_trades(self, request: DialectRequest, order_id: str) -> WireResponse:
        order = self._known(order_id)
        return as_json(200, [self._trade_row(fill) for fill in self._fills(order.order_id)])

    def _order_row(self, order: SimOrder) -> Row:
        return rows.order_row(order, self._name(order.new.instrument_id), self._account.client_id)

    def _trade_row(self, fill: SimFill) -> Row:
        order, name = self._known(fill.order_id), self._name(fill.instrument_id)
        return rows.trade_row(fill, order, name, self._account.client_id)

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = self._own_body(request)
        name = self._tradable(body)
        return as_json(200, rows.accepted(self._account.place(forms.new_order(body, name))))

    def _place_slices(self, request: DialectRequest) -> WireResponse:
        body = self._own_body(request)
        name = self._tradable(body)
        whole = forms.new_order(body, name)
        # A freeze quantity of zero is no limit.
        placed = [self._account.place(part) for part in sliced(whole, name.contract.freeze_quantity or None)]
        return as_json(200, [rows.accepted(order) for order in placed])

    def _modify(self, request: DialectRequest, order_id: str) -> WireResponse:
        body = self._own_body(request)
        order = self._known(order_id)
        if str(body.get("orderId", order_id)) != order_id:
            raise bad_input("orderId is invalid")
        wanted = forms.changes(body, self._name(order.new.instrument_id))
        return as_json(200, rows.accepted(self._account.modify(order.order_id, **wanted)))

    def _cancel(self, request: DialectRequest, order_id: str) -> WireResponse:
        order = self._account.cancel(self._known(order_id).order_id)
        return as_json(202, {"orderId": order.order_id, "orderStatus": "CANCELLED"})

    def _own_body(self, request: DialectRequest) -> dict[str, object]:
        """Return the body of a call. It must name this client."""
        body = body_of(request)
        if body.get("dhanClientId") != self._account.client_id:
            raise bad_input("dhanClientId is invalid")
        return body

    def _tradable(self, body: Mapping[str, object]) -> Name:
        name = self._named(body)
        if name.contract.is_index:
            raise bad_input("exchangeSegment is invalid")
        return name

    def _named(self, body: Mapping[str, object]) -> Name:
        name = self._names.by_key.get((str(body.get("exchangeSegment")), str(body.get("securityId"))))
        if name is None:
            raise bad_input("securityId is invalid")
        return name

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest, detailed: str | None) -> WireResponse:
        return self._file(list(self._names.in_files()), detailed is not None)

    def _segment_instruments(self, request: DialectRequest, segment: str) -> WireResponse:
        names = [name for name in self._names.in_files() if name.segment == segment]
        if not names:
            raise bad_input("exchangeSegment is invalid")
        return self._file(names, detailed=True)

    def _file(self, names: Sequence[Name], detailed: bool) -> WireResponse:
        if not detailed:
            return as_csv(compact_file(names))
        return as_csv(detailed_file((name, self._market(name)) for name in names))

    def _quotes(self, request: DialectRequest, kind: str) -> WireResponse:
        """Answer quotes. Unknown ids are left out. The body carries the client id next to the lists."""
        lists = {segment: ids for segment, ids in body_of(request).items() if isinstance(ids, list)}
        if not 0 < sum(map(len, lists.values())) <= MOST_QUOTES:
            raise Refused(data_error(400, "814", "Invalid Request"))
        row = _QUOTE_KINDS[kind]
        found: dict[str, dict[str, object]] = {}
        for segment, ids in lists.items():
            for security_id in ids:
                name = self._names.by_key.get((segment, str(security_id)))
                if name is not None:
                    found.setdefault(segment, {})[str(security_id)] = row(name, self._market(name))
        return as_json(200, {"data": found, "status": "success"})

    def _daily_candles(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        return candles.daily(self._account, self._named(body), body)

    def _intraday_candles(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        return candles.intraday(self._account, self._named(body), body)


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> DhanDialect:
    """Return Dhan's server for one account."""
    return DhanDialect(account, tokens, clock, seed)
