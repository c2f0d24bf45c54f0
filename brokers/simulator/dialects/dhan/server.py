"""Dhan's REST routes over one account, and the doors to its two sockets."""

import base64
import hashlib
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import time

import attrs

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dhan import answers, candles, forms
from onebroker.brokers.simulator.dialects.dhan.envelopes import (
    BAD_INPUT,
    ORDER_ERROR,
    Refused,
    bad_input,
    body_of,
    data_error,
    error,
)
from onebroker.brokers.simulator.dialects.dhan.feed import MarketSession, disconnect_packet
from onebroker.brokers.simulator.dialects.dhan.login import LoginDesk
from onebroker.brokers.simulator.dialects.dhan.naming import DhanNames, Name, compact_file, detailed_file
from onebroker.brokers.simulator.dialects.dhan.order_stream import OrderSession
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession, TokenStore
from onebroker.brokers.simulator.dialects.rest import NoRoute, Route, answer, as_json
from onebroker.brokers.simulator.dialects.tokens import Tokens
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimFill, SimOrder, SimRefusal
from onebroker.config.clock import Clock

MOST_QUOTES = 1000
MARGIN_SEGMENTS = ("NSE_EQ", "NSE_FNO", "BSE_EQ", "BSE_FNO", "MCX_COMM")
MARKET_SOCKET, ORDER_SOCKET = "/market-feed", "/order-update"
MOST_SOCKETS = 5
TOO_MANY_SOCKETS, TOKEN_EXPIRED = 805, 807
_EXPIRY = time(3, 0)
"""Expiry of tokens without a lifetime of their own. Each of Dhan's tokens gets a lifetime of one day."""

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

_QUOTE_KINDS: Mapping[str, Callable[[Name, Market], answers.Row]] = {
    "ltp": answers.ltp_row,
    "ohlc": answers.ohlc_row,
    "quote": answers.quote_row,
}


class DhanDialect:
    """DhanHQ for one account."""

    code = "dhan"

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        self._account = account
        self._clock = clock
        self._tokens = Tokens(store, clock, f"dhan|{seed}", expiry=_EXPIRY, length=64)
        digest = hashlib.sha256(f"dhan|{seed}".encode()).digest()
        self.credentials: Mapping[str, str] = {
            "client_id": account.client_id,
            "pin": f"{int.from_bytes(digest[:4]) % 1_000_000:06d}",
            "totp_secret": base64.b32encode(digest[4:24]).decode(),
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._names = DhanNames(account)
        self._markets: list[weakref.ref[MarketSession]] = []
        """Oldest first."""
        self._order_sockets: weakref.WeakSet[OrderSession] = weakref.WeakSet()
        self._routes = self._table()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = "ws" + base.removeprefix("http")
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

    def handle(self, request: DialectRequest) -> WireResponse:
        try:
            return answer(self._routes, request, self._login.check)
        except NoRoute as missing:
            return error(missing.status, BAD_INPUT, "No such resource")
        except Refused as refused:
            return refused.answer
        except SimRefusal as refusal:
            code = BAD_INPUT if refusal.reason in _INPUT_REASONS else ORDER_ERROR
            return error(400, code, refusal.message)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        if request.path.rstrip("/") == ORDER_SOCKET:
            session = OrderSession(self._account, self._names, socket, self._login)
            self._order_sockets.add(session)
            return session
        if request.path.rstrip("/") == MARKET_SOCKET:
            return self._open_market(request, socket)
        return error(404, BAD_INPUT, "No such resource")

    def expire_session(self) -> None:
        self._tokens.expire_all()
        for session in self._living():
            session.end(TOKEN_EXPIRED)
        self._markets.clear()
        for orders in list(self._order_sockets):
            orders.end()
        self._order_sockets.clear()

    def refusal_in_200(self) -> WireResponse:
        return error(200, ORDER_ERROR, "The request was refused.")

    def rate_limited(self) -> WireResponse:
        return error(429, "DH-904", "Too many requests on server from single user breaching rate limits.")

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
        return as_json(200, answers.funds(self._account.funds(), self._account.client_id))

    def _order_margin(self, request: DialectRequest) -> WireResponse:
        body = self._own_body(request)
        if body.get("exchangeSegment") not in MARGIN_SEGMENTS:
            raise bad_input("exchangeSegment is invalid")
        blocked = self._account.margin(forms.margin_order(body, self._tradable(body)))
        return as_json(200, answers.order_margin(blocked, self._account.funds()))

    def _holdings(self, request: DialectRequest) -> WireResponse:
        rows = [
            answers.holding_row(each, self._names.by_id[each.instrument_id], self._account.market(each.instrument_id))
            for each in self._account.holdings()
        ]
        if not rows:
            raise Refused(error(400, "DH-1111", "No holdings available"))
        return as_json(200, rows)

    def _positions(self, request: DialectRequest) -> WireResponse:
        client = self._account.client_id
        return as_json(
            200,
            [
                answers.position_row(
                    each, self._names.by_id[each.instrument_id], self._account.market(each.instrument_id), client
                )
                for each in self._account.positions()
            ],
        )

    def _orders(self, request: DialectRequest) -> WireResponse:
        return as_json(200, [self._order_row(order) for order in self._account.orders()])

    def _order(self, request: DialectRequest, order_id: str) -> WireResponse:
        return as_json(200, self._order_row(self._known(order_id)))

    def _order_by_correlation(self, request: DialectRequest, correlation: str) -> WireResponse:
        found = self._account.tagged(correlation)
        if not found:
            raise bad_input("No order with this correlationId")
        return as_json(200, self._order_row(found[-1]))

    def _trades(self, request: DialectRequest) -> WireResponse:
        return as_json(200, [self._trade_row(fill) for fill in self._account.fills()])

    def _order_trades(self, request: DialectRequest, order_id: str) -> WireResponse:
        order = self._known(order_id)
        return as_json(
            200, [self._trade_row(fill) for fill in self._account.fills() if fill.order_id == order.order_id]
        )

    def _known(self, order_id: str) -> SimOrder:
        order = self._account.order(order_id)
        if order is None:
            raise Refused(error(400, ORDER_ERROR, "Order not found"))
        return order

    def _order_row(self, order: SimOrder) -> answers.Row:
        return answers.order_row(order, self._names.by_id[order.new.instrument_id], self._account.client_id)

    def _trade_row(self, fill: SimFill) -> answers.Row:
        name = self._names.by_id[fill.instrument_id]
        return answers.trade_row(fill, self._known(fill.order_id), name, self._account.client_id)

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = self._own_body(request)
        name = self._tradable(body)
        return as_json(200, answers.accepted(self._account.place(forms.new_order(body, name))))

    def _place_slices(self, request: DialectRequest) -> WireResponse:
        body = self._own_body(request)
        name = self._tradable(body)
        whole = forms.new_order(body, name)
        most = name.contract.freeze_quantity or whole.quantity
        parts = [most] * (whole.quantity // most) + [whole.quantity % most] * bool(whole.quantity % most)
        placed = [self._account.place(attrs.evolve(whole, quantity=part)) for part in parts]
        return as_json(200, [answers.accepted(order) for order in placed])

    def _modify(self, request: DialectRequest, order_id: str) -> WireResponse:
        body = self._own_body(request)
        order = self._known(order_id)
        if str(body.get("orderId", order_id)) != order_id:
            raise bad_input("orderId is invalid")
        wanted = forms.changes(body, self._names.by_id[order.new.instrument_id])
        return as_json(200, answers.accepted(self._account.modify(order.order_id, **wanted)))

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
        return self._file(list(self._names.by_id.values()), detailed is not None)

    def _segment_instruments(self, request: DialectRequest, segment: str) -> WireResponse:
        names = [name for name in self._names.by_id.values() if name.segment == segment]
        if not names:
            raise bad_input("exchangeSegment is invalid")
        return self._file(names, detailed=True)

    def _file(self, names: Sequence[Name], detailed: bool) -> WireResponse:
        if detailed:
            body = detailed_file([(name, self._account.market(name.contract.instrument_id)) for name in names])
        else:
            body = compact_file(names)
        return WireResponse(status=200, headers={"content-type": "text/csv"}, body=body)

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
                    market = self._account.market(name.contract.instrument_id)
                    found.setdefault(segment, {})[str(security_id)] = row(name, market)
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
