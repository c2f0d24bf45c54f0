"""5paisa's REST routes over one account, and its socket."""

import base64
import gzip
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import NoReturn

import attrs

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.base import OpenSockets, RestDialect, stream_base
from onebroker.brokers.simulator.dialects.dialect import (
    AccountView,
    Averages,
    DialectRequest,
    Socket,
    SocketSession,
    TokenStore,
)
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.fivepaisa import candles, forms, rows
from onebroker.brokers.simulator.dialects.fivepaisa.envelope import (
    BAD_INPUT,
    NO,
    NotDone,
    bare,
    message_of,
    no,
    request_error,
    success,
)
from onebroker.brokers.simulator.dialects.fivepaisa.login import EXPIRY, REQUEST_TOKEN_SECONDS, LoginDesk
from onebroker.brokers.simulator.dialects.fivepaisa.naming import SEGMENTS, FivepaisaNames, Name, instrument_file
from onebroker.brokers.simulator.dialects.fivepaisa.socket import ChatSession
from onebroker.brokers.simulator.dialects.rest import Route, as_csv
from onebroker.brokers.simulator.dialects.tokens import Kind
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimFill, SimOrder, SimRefusal, SimStatus
from onebroker.config.clock import Clock

BASE = "/VendorsAPI/Service1.svc/"
FEED = "/feeds/api/chat"
HISTORICAL = "/V2/historical/"
PAGE = "/WebVendorLogin/VLogin/Index"
MOST_QUOTES = 50
"""For more instruments the snapshot comes back empty."""
MOST_MARGINS = 50

_SLASHES = re.compile("//+")
_NO_MARKET_ORDERS = "Market order with Algo Id not allowed"
_CLOSED = "Exchange is closed. Cannot place your order."


class FivepaisaDialect(RestDialect[Name]):
    """5paisa for one account. Nearly every answer repeats the name of the call: the path after the base."""

    code = "fivepaisa"
    averages = Averages(
        products=("DelvIntra", "OrderFor"), fields=("AveragePrice", "AvgRate", "BuyAvgRate", "SellAvgRate")
    )
    token_expiry, token_length = EXPIRY, 40
    _names: FivepaisaNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, FivepaisaNames(account), store, clock, seed)
        self.credentials: Mapping[str, str] = {
            "app_name": f"5P{account.client_id}",
            "app_source": str(10_000 + int.from_bytes(self._digest("app")[:2])),
            "user_id": base64.b32encode(self._digest("user")).decode()[:11],
            "password": base64.b32encode(self._digest("password")).decode()[:11],
            "user_key": self._digest("key").hex()[:32],
            "encryption_key": self._digest("encryption").hex()[:32],
            "client_code": account.client_id,
            "pin": f"{int.from_bytes(self._digest('pin')[:4]) % 1_000_000:06d}",
            "totp_secret": base64.b32encode(self._digest("totp")[:20]).decode(),
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._sockets: OpenSockets[ChatSession] = OpenSockets()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = f"{stream_base(base)}{FEED}"
        return {
            "rest_url": f"{base}{BASE}",
            "historical_url": f"{base}{HISTORICAL}",
            "login_url": f"{base}{PAGE}",
            "stream_url": stream,
            "order_stream_url": stream,
            "instruments_url": f"{base}{BASE}ScripMaster/segment/All",
        }

    def session(self) -> Mapping[str, str]:
        return {
            "AccessToken": self._login.jwt(self._tokens.newest(Kind.ACCESS)),
            "RequestToken": self._tokens.mint(Kind.ONE_TIME, REQUEST_TOKEN_SECONDS),
        }

    def handle(self, request: DialectRequest) -> WireResponse:
        call = attrs.evolve(request, path=_SLASHES.sub("/", request.path).removeprefix(BASE))
        try:
            return super().handle(call)
        except forms.NoMarketOrders:
            refused = self._order_refused(_NO_MARKET_ORDERS)
        except NotDone as raised:
            refused = raised
        return no(call.path, refused.status, refused.message, **refused.more)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open the one socket of the account. A new connection ends the old connection."""
        if _SLASHES.sub("/", request.path).lower() != FEED:
            return request_error(404)
        token, _, client = (request.first("Value1") or "").partition("|")
        if not self._login.is_live(token) or client != self._account.client_id:
            return bare(401, "Invalid Token")
        self._close_sockets()
        return self._sockets.keep(ChatSession(self._account, self._names, socket))

    def refusal_in_200(self) -> WireResponse:
        return no("", NO, "Your request could not be processed.")

    def rate_limited(self) -> WireResponse:
        """Answer a throttled call. The broker's real answer is not known, so this is the bare status and a text."""
        return bare(429, "Too Many Requests")

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        self._login.check(request)

    def _no_route(self, status: int) -> WireResponse:
        return request_error(status)

    def _refusal(self, refusal: SimRefusal) -> NoReturn:
        """Raise the refusal of an order call, to which `handle` adds the call's name."""
        closed = refusal.reason is RefusalReason.MARKET_CLOSED
        raise self._order_refused(_CLOSED if closed else refusal.message) from refusal

    def _unknown_order(self) -> NotDone:
        return NotDone(BAD_INPUT, "Invalid ExchOrderID")

    def _close_sockets(self) -> None:
        self._sockets.close_all(1000, "")

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        return (
            Route("POST", "TOTPLogin", self._login.with_code, is_open=True),
            Route("POST", "GetAccessToken", self._login.exchange, is_open=True),
            Route("GET", PAGE, self._login.page, is_open=True),
            Route("GET", r"ScripMaster/segment/(\w+)", self._instruments, is_open=True),
            Route("GET", rf"{HISTORICAL}(\w)/(\w)/(\w+)/(\w+)", self._candles, is_open=True),
            Route("POST", "V1/PlaceOrderRequest", self._place),
            Route("POST", "V1/ModifyOrderRequest", self._modify),
            Route("POST", "V1/CancelOrderRequest", self._cancel),
            Route("POST", "V[34]/OrderBook", self._orders),
            Route("POST", "V[23]/OrderStatus", self._order_status),
            Route("POST", "V1/TradeBook", self._trades),
            Route("POST", "V2/NetPositionNetWise", self._positions),
            Route("POST", "V4/NetPosition", self._positions),
            Route("POST", "V3/Holding", self._holdings),
            Route("POST", "V4/Margin", self._margin),
            Route("POST", "MultiOrderMargin", self._order_margins),
            Route("POST", "(?:V1/)?MarketFeed", self._market_feed),
            Route("POST", "MarketSnapshot", self._snapshot),
            Route("POST", "V2/MarketDepth", self._depth),
            Route("POST", "MarketStatus", self._market_status),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _orders(self, request: DialectRequest) -> WireResponse:
        client = self._account.client_id
        book = [rows.order_row(order, self._order_name(order), client) for order in self._order_book()]
        return self._listed(request, "OrderBookDetail", book, "No orders found")

    def _order_status(self, request: DialectRequest) -> WireResponse:
        """Answer the status of orders by our own order number and an exchange."""
        asked = message_of(request)[1].get("OrdStatusReqList")
        wanted = [entry if isinstance(entry, dict) else {} for entry in (asked if isinstance(asked, list) else [])]
        found = [
            rows.status_row(order, self._order_name(order))
            for entry in wanted
            for order in self._account.tagged(str(entry.get("RemoteOrderID")))
            if self._order_name(order).exchange == entry.get("Exch")
        ]
        return self._listed(request, "OrdStatusResLst", found, "No record found")

    def _trades(self, request: DialectRequest) -> WireResponse:
        traded = [self._trade_row(fill) for fill in self._fills()]
        # An empty list comes under the order book's name.
        return self._listed(request, "TradeBookDetail" if traded else "OrderBookDetail", traded, "No trades found")

    def _trade_row(self, fill: SimFill) -> Row:
        return rows.trade_row(fill, self._known(fill.order_id), self._name(fill.instrument_id))

    def _positions(self, request: DialectRequest) -> WireResponse:
        """Answer the positions. The fields of V4/NetPosition are not documented; here they are those of the net list."""
        book = [rows.position_row(*row) for row in self._position_book()]
        return success(request.path, {"NetPositionDetail": book or None}, "")

    def _holdings(self, request: DialectRequest) -> WireResponse:
        bse_codes = {
            name.contract.isin: name.code
            for name in self._names.by_id.values()
            if name.exchange == "B" and name.is_cash and name.contract.isin
        }
        held = [
            rows.holding_row(holding, name, bse_codes.get(name.contract.isin or "", 0), market)
            for holding, name, market in self._holding_book()
        ]
        return self._listed(request, "Data", held, "No record found")

    def _margin(self, request: DialectRequest) -> WireResponse:
        margin = rows.equity_margin(self._account.funds())
        client = self._account.client_id
        return success(request.path, {"ClientCode": client, "EquityMargin": [margin], "MFMargin": []}, "")

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        asked = message_of(request)[1].get("Orders")
        if not isinstance(asked, list) or not all(isinstance(order, dict) for order in asked):
            raise NotDone(BAD_INPUT, "Invalid Orders")
        if len(asked) > MOST_MARGINS:
            raise NotDone(NO, "One Time PreOrderMarginCalc Limit Exceed.")
        needed = sum(map(self._margin_of, asked), Decimal(0))
        available = float(self._account.funds().available)
        return success(request.path, {"AvailableMargin": available, "TotalMarginRequired": float(needed)})

    def _margin_of(self, asked: Mapping[str, object]) -> Decimal:
        """Return the ₹ that an order would block. Unlike an order's, its refusal has no further fields."""
        new = forms.margin_order(asked, self._named(asked, "Exch", "ExchType"))
        try:
            return self._account.margin(new).total
        except SimRefusal as refusal:
            raise NotDone(NO, refusal.message) from refusal

    def _listed(self, request: DialectRequest, field: str, listed: Sequence[Row], nothing: str) -> WireResponse:
        if not listed:
            raise NotDone(NO, nothing, **{field: []})
        return success(request.path, {field: listed})

    def _order_name(self, order: SimOrder) -> Name:
        return self._name(order.new.instrument_id)

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = message_of(request)[1]
        new = forms.new_order(body, self._named(body))
        return self._order_answer(request, self._account.place(new), placed=True)

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = message_of(request)[1]
        order = self._by_number(body)
        wanted = forms.changes(body, order, self._order_name(order))
        return self._order_answer(request, self._account.modify(order.order_id, **wanted))

    def _cancel(self, request: DialectRequest) -> WireResponse:
        order = self._by_number(message_of(request)[1])
        return self._order_answer(request, self._account.cancel(order.order_id))

    def _by_number(self, body: Mapping[str, object]) -> SimOrder:
        """Return the order with an exchange number, which only the book tells."""
        number = str(body.get("ExchOrderID"))
        for order in self._account.orders():
            if order.exchange_order_id is not None and order.exchange_order_id == number:
                return order
        raise self._unknown_order()

    def _named(self, fields: Mapping[str, object], exchange: str = "Exchange", kind: str = "ExchangeType") -> Name:
        name = self._names.named(fields, exchange, kind)
        if name is None:
            raise NotDone(BAD_INPUT, "Invalid ScripCode")
        return name

    def _order_answer(self, request: DialectRequest, order: SimOrder, *, placed: bool = False) -> WireResponse:
        """Answer an order message. A refusal by the risk check also carries the order's number."""
        client, now = self._account.client_id, self._clock.now()
        row = rows.order_answer(order, self._order_name(order), client, now, placed=placed)
        if order.status is SimStatus.REJECTED:
            raise NotDone(NO, order.status_message or "Rejected", **(row | {"RMSResponseCode": -47}))
        return success(request.path, row)

    def _order_refused(self, message: str) -> NotDone:
        row: Row = {
            "BrokerOrderID": 0,
            "ClientCode": self._account.client_id,
            "ExchOrderID": "0",
            "LocalOrderID": 0,
            "RMSResponseCode": -15,
            "Time": rows.date_of(self._clock.now()),
        }
        return NotDone(NO, message, **row)

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest, word: str) -> WireResponse:
        """Return the CSV, gzipped if the client accepts that."""
        if word.lower() not in SEGMENTS:
            return request_error(404)
        where = SEGMENTS[word.lower()]
        names = [name for name in self._names.in_files() if where in (None, (name.exchange, name.kind))]
        body, headers = instrument_file(names), {"content-type": "text/csv", "content-encoding": "gzip"}
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return as_csv(body)
        return WireResponse(status=200, headers=headers, body=gzip.compress(body, compresslevel=1, mtime=0))

    def _market_feed(self, request: DialectRequest) -> WireResponse:
        return self._quotes(request, "MarketFeedData", ("Exch", "ExchType"), rows.market_feed_row)

    def _snapshot(self, request: DialectRequest) -> WireResponse:
        return self._quotes(request, "Data", ("Exchange", "ExchangeType"), rows.snapshot_row)

    def _quotes(
        self, request: DialectRequest, field: str, where: tuple[str, str], row: Callable[[Name, Market], Row]
    ) -> WireResponse:
        """Answer quotes. Unknown instruments are left out. A request for too many gets an empty answer."""
        asked = message_of(request)[1].get(field)
        if not isinstance(asked, list):
            raise NotDone(BAD_INPUT, f"Invalid {field}")
        found = [self._names.named(entry, *where) for entry in asked if isinstance(entry, dict)]
        names = [name for name in found if name is not None] if len(asked) <= MOST_QUOTES else []
        return success(request.path, {"Data": [row(name, self._market(name)) for name in names]})

    def _depth(self, request: DialectRequest) -> WireResponse:
        name = self._names.named(message_of(request)[1], "Exchange", "ExchangeType")
        if name is None:
            raise NotDone(BAD_INPUT, "Invalid ScripCode", MarketDepthData=[])
        levels = rows.levels(self._market(name), name.units)
        return success(request.path, {"MarketDepthData": levels, "ScripCode": name.code})

    def _market_status(self, request: DialectRequest) -> WireResponse:
        markets = [
            {"Exch": exchange, "ExchType": kind, "ExchDescription": f"{exchange} {kind}", "MarketStatus": "Open"}
            for exchange, kind in (("N", "C"), ("N", "D"), ("N", "U"), ("B", "C"), ("B", "D"), ("M", "D"))
        ]
        return success(request.path, {"Data": markets})

    def _candles(self, request: DialectRequest, exchange: str, kind: str, code: str, interval: str) -> WireResponse:
        self._login.check_token(request, candles.refused("Authentication Fails"))
        return candles.candles(self._account, self._names.find(exchange, kind, code), interval, request)


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> FivepaisaDialect:
    """Return 5paisa's server for one account."""
    return FivepaisaDialect(account, tokens, clock, seed)
