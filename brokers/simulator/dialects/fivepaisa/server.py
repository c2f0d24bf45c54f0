"""5paisa's REST routes over one account, and the door to its socket."""

import base64
import gzip
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal

import attrs

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession, TokenStore
from onebroker.brokers.simulator.dialects.fivepaisa import answers, forms
from onebroker.brokers.simulator.dialects.fivepaisa.envelopes import (
    BAD_INPUT,
    NO,
    Refused,
    bare,
    message_of,
    no,
    request_error,
    success,
)
from onebroker.brokers.simulator.dialects.fivepaisa.login import REQUEST_TOKEN_SECONDS, LoginDesk
from onebroker.brokers.simulator.dialects.fivepaisa.naming import SEGMENTS, FivepaisaNames, Name, instrument_file
from onebroker.brokers.simulator.dialects.fivepaisa.sockets import SocketDesk
from onebroker.brokers.simulator.dialects.rest import NoRoute, Route, answer, as_json
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimOrder, SimRefusal, SimStatus
from onebroker.config.clock import Clock, from_epoch

BASE = "/VendorsAPI/Service1.svc/"
FEED = "/feeds/api/chat"
HISTORICAL = "/V2/historical/"
PAGE = "/WebVendorLogin/VLogin/Index"
MOST_QUOTES = 50
"""For more instruments the snapshot comes back empty."""
MOST_MARGINS = 50

_SLASHES = re.compile("//+")
_EXPIRY = time(23, 59)
_HALF_YEAR = timedelta(days=184)
_INTERVALS = {**{f"{n}m": f"{n}minute" for n in (1, 3, 5, 10, 15, 30, 60)}, "1d": "day"}
_NO_MARKET_ORDERS = "Market order with Algo Id not allowed"
_CLOSED = "Exchange is closed. Cannot place your order."


class FivepaisaDialect:
    """5paisa for one account."""

    code = "fivepaisa"

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        self._account, self._clock = account, clock
        self._tokens = Tokens(store, clock, f"fivepaisa|{seed}", expiry=_EXPIRY, length=40)
        words = {
            word: hashlib.sha256(f"fivepaisa|{word}|{seed}".encode()).digest()
            for word in ("app", "user", "password", "key", "encryption", "pin", "totp")
        }
        self.credentials: Mapping[str, str] = {
            "app_name": f"5P{account.client_id}",
            "app_source": str(10_000 + int.from_bytes(words["app"][:2])),
            "user_id": base64.b32encode(words["user"]).decode()[:11],
            "password": base64.b32encode(words["password"]).decode()[:11],
            "user_key": words["key"].hex()[:32],
            "encryption_key": words["encryption"].hex()[:32],
            "client_code": account.client_id,
            "pin": f"{int.from_bytes(words['pin'][:4]) % 1_000_000:06d}",
            "totp_secret": base64.b32encode(words["totp"][:20]).decode(),
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._names = FivepaisaNames(account)
        self._sockets = SocketDesk(account, self._names, self._login.is_live)
        self._routes = self._table()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = f"ws{base.removeprefix('http')}{FEED}"
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
        path = _SLASHES.sub("/", request.path)
        # A call's name is its path after the base, as in the heads of answers.
        request = attrs.evolve(request, path=path.removeprefix(BASE))
        try:
            return answer(self._routes, request, self._login.check)
        except NoRoute as missing:
            return request_error(missing.status)
        except Refused as refused:
            return refused.answer
        except forms.BadField as bad:
            return no(request.path, BAD_INPUT, str(bad))
        except forms.NoMarketOrders:
            return self._refused_order(request, _NO_MARKET_ORDERS)
        except SimRefusal as refusal:
            closed = refusal.reason is RefusalReason.MARKET_CLOSED
            return self._refused_order(request, _CLOSED if closed else refusal.message)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        if _SLASHES.sub("/", request.path).lower() != FEED:
            return request_error(404)
        return self._sockets.open(request, socket)

    def expire_session(self) -> None:
        self._tokens.expire_all()
        self._sockets.close_all()

    def refusal_in_200(self) -> WireResponse:
        return no("", NO, "Your request could not be processed.")

    def rate_limited(self) -> WireResponse:
        """Answer a throttled call. The broker's real answer is not known, so this is the bare status and a text."""
        return bare(429, "Too Many Requests")

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
        rows = [answers.order_row(order, self._name(order), client) for order in self._account.orders()]
        return self._listed(request, "OrderBookDetail", rows, "No orders found")

    def _order_status(self, request: DialectRequest) -> WireResponse:
        """Answer the status of orders by our own order number and an exchange."""
        asked = message_of(request)[1].get("OrdStatusReqList")
        rows = []
        for each in asked if isinstance(asked, list) else []:
            wanted = (each.get("Exch"), each.get("RemoteOrderID")) if isinstance(each, dict) else (None, None)
            rows += [
                answers.status_row(order, self._name(order))
                for order in self._account.tagged(str(wanted[1]))
                if self._name(order).exchange == wanted[0]
            ]
        return self._listed(request, "OrdStatusResLst", rows, "No record found")

    def _trades(self, request: DialectRequest) -> WireResponse:
        rows = []
        for fill in self._account.fills():
            order = self._account.order(fill.order_id)
            if order is not None:
                rows.append(answers.trade_row(fill, order, self._name(order)))
        # An empty list comes under the order book's name.
        return self._listed(request, "TradeBookDetail" if rows else "OrderBookDetail", rows, "No trades found")

    def _positions(self, request: DialectRequest) -> WireResponse:
        """Answer the positions. The fields of V4/NetPosition are not documented; here they are those of the net list."""
        rows = [
            answers.position_row(each, self._names.by_id[each.instrument_id], self._account.market(each.instrument_id))
            for each in self._account.positions()
        ]
        return success(request.path, {"NetPositionDetail": rows or None}, "")

    def _holdings(self, request: DialectRequest) -> WireResponse:
        by_isin = {
            name.contract.isin: name.code
            for name in self._names.by_id.values()
            if name.exchange == "B" and name.is_cash and name.contract.isin
        }
        rows = []
        for each in self._account.holdings():
            name = self._names.by_id[each.instrument_id]
            code = by_isin.get(name.contract.isin or "", 0)
            rows.append(answers.holding_row(each, name, code, self._account.market(each.instrument_id)))
        return self._listed(request, "Data", rows, "No record found")

    def _margin(self, request: DialectRequest) -> WireResponse:
        margin = answers.equity_margin(self._account.funds())
        client = self._account.client_id
        return success(request.path, {"ClientCode": client, "EquityMargin": [margin], "MFMargin": []}, "")

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        asked = message_of(request)[1].get("Orders")
        if not isinstance(asked, list) or not all(isinstance(each, dict) for each in asked):
            return no(request.path, BAD_INPUT, "Invalid Orders")
        if len(asked) > MOST_MARGINS:
            return no(request.path, NO, "One Time PreOrderMarginCalc Limit Exceed.")
        needed = Decimal(0)
        for each in asked:
            name = self._names.find(
                each.get("Exch"), each.get("ExchType"), each.get("ScripCode"), each.get("ScripData")
            )
            if name is None:
                return no(request.path, BAD_INPUT, "Invalid ScripCode")
            try:
                needed += self._account.margin(forms.margin_order(each, name)).total
            except SimRefusal as refusal:
                return no(request.path, NO, refusal.message)
        available = float(self._account.funds().available)
        return success(request.path, {"AvailableMargin": available, "TotalMarginRequired": float(needed)})

    def _listed(self, request: DialectRequest, field: str, rows: list[answers.Row], nothing: str) -> WireResponse:
        if not rows:
            return no(request.path, NO, nothing, **{field: []})
        return success(request.path, {field: rows})

    def _name(self, order: SimOrder) -> Name:
        return self._names.by_id[order.new.instrument_id]

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = message_of(request)[1]
        where = body.get("Exchange"), body.get("ExchangeType")
        name = self._names.find(*where, body.get("ScripCode"), body.get("ScripData"))
        if name is None:
            return no(request.path, BAD_INPUT, "Invalid ScripCode")
        return self._order_answer(request, self._account.place(forms.new_order(body, name)), placed=True)

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = message_of(request)[1]
        order = self._known(request, body)
        wanted = forms.changes(body, order, self._name(order))
        return self._order_answer(request, self._account.modify(order.order_id, **wanted))

    def _cancel(self, request: DialectRequest) -> WireResponse:
        order = self._known(request, message_of(request)[1])
        return self._order_answer(request, self._account.cancel(order.order_id))

    def _known(self, request: DialectRequest, body: Mapping[str, object]) -> SimOrder:
        """Return the order with an exchange number."""
        number = str(body.get("ExchOrderID"))
        for order in self._account.orders():
            if order.exchange_order_id is not None and order.exchange_order_id == number:
                return order
        raise Refused(no(request.path, BAD_INPUT, "Invalid ExchOrderID"))

    def _order_answer(self, request: DialectRequest, order: SimOrder, *, placed: bool = False) -> WireResponse:
        """Answer an order message. A refusal by the risk check also carries the order's number."""
        row = answers.order_answer(order, self._name(order), self._account.client_id, self._clock.now(), placed=placed)
        if order.status is SimStatus.REJECTED:
            return no(request.path, NO, order.status_message or "Rejected", **(row | {"RMSResponseCode": -47}))
        return success(request.path, row)

    def _refused_order(self, request: DialectRequest, message: str) -> WireResponse:
        row: answers.Row = {
            "BrokerOrderID": 0,
            "ClientCode": self._account.client_id,
            "ExchOrderID": "0",
            "LocalOrderID": 0,
            "RMSResponseCode": -15,
            "Time": answers.date_of(self._clock.now()),
        }
        return no(request.path, NO, message, **row)

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest, word: str) -> WireResponse:
        """Return the CSV, gzipped if the client accepts that."""
        if word.lower() not in SEGMENTS:
            return request_error(404)
        where = SEGMENTS[word.lower()]
        names = [name for name in self._names.by_id.values() if where in (None, (name.exchange, name.kind))]
        body, headers = instrument_file(names), {"content-type": "text/csv"}
        if "gzip" in request.headers.get("accept-encoding", ""):
            return WireResponse(
                status=200,
                headers={**headers, "content-encoding": "gzip"},
                body=gzip.compress(body, compresslevel=1, mtime=0),
            )
        return WireResponse(status=200, headers=headers, body=body)

    def _market_feed(self, request: DialectRequest) -> WireResponse:
        return self._quotes(request, "MarketFeedData", ("Exch", "ExchType"), answers.market_feed_row)

    def _snapshot(self, request: DialectRequest) -> WireResponse:
        return self._quotes(request, "Data", ("Exchange", "ExchangeType"), answers.snapshot_row)

    def _quotes(
        self,
        request: DialectRequest,
        field: str,
        where: tuple[str, str],
        row: Callable[[Name, Market], answers.Row],
    ) -> WireResponse:
        """Answer quotes. Unknown instruments are left out. A request for too many gets an empty answer."""
        asked = message_of(request)[1].get(field)
        if not isinstance(asked, list):
            return no(request.path, BAD_INPUT, f"Invalid {field}")
        exchange, kind = where
        found = [
            self._names.find(each.get(exchange), each.get(kind), each.get("ScripCode"), each.get("ScripData"))
            for each in asked
            if isinstance(each, dict)
        ]
        names = [name for name in found if name is not None] if len(asked) <= MOST_QUOTES else []
        rows = [row(name, self._account.market(name.contract.instrument_id)) for name in names]
        return success(request.path, {"Data": rows})

    def _depth(self, request: DialectRequest) -> WireResponse:
        body = message_of(request)[1]
        where = body.get("Exchange"), body.get("ExchangeType")
        name = self._names.find(*where, body.get("ScripCode"), body.get("ScripData"))
        if name is None:
            return no(request.path, BAD_INPUT, "Invalid ScripCode", MarketDepthData=[])
        levels = answers.levels(self._account.market(name.contract.instrument_id), name.units)
        return success(request.path, {"MarketDepthData": levels, "ScripCode": name.code})

    def _market_status(self, request: DialectRequest) -> WireResponse:
        rows = [
            {"Exch": exchange, "ExchType": kind, "ExchDescription": f"{exchange} {kind}", "MarketStatus": "Open"}
            for exchange, kind in (("N", "C"), ("N", "D"), ("N", "U"), ("B", "C"), ("B", "D"), ("M", "D"))
        ]
        return success(request.path, {"Data": rows})

    def _candles(self, request: DialectRequest, exchange: str, kind: str, code: str, word: str) -> WireResponse:
        self._login.check_token(request, _candle_failure("Authentication Fails"))
        name, interval = self._names.find(exchange, kind, code), _INTERVALS.get(word)
        first, last = _day(request.first("from")), _day(request.first("end"))
        if name is None or interval is None or first is None or last is None:
            return _candle_failure("Invalid input parameters")
        if interval != "day" and last - first > _HALF_YEAR:
            return as_json(200, {"status": "Date range should not exceed 6 months"})
        rows: list[list[object]] = []
        if first <= last:
            rows = [
                [f"{from_epoch(start):%Y-%m-%dT%H:%M:%S}", open_, high, low, close, volume // name.units]
                for start, open_, high, low, close, volume, _ in self._account.candles(
                    name.contract.instrument_id, interval, first, last
                )
            ]
        return as_json(200, {"status": "success", "data": {"candles": rows}})


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> FivepaisaDialect:
    """Return 5paisa's server for one account."""
    return FivepaisaDialect(account, tokens, clock, seed)


def _candle_failure(message: str) -> WireResponse:
    return as_json(200, {"head": {"Status": 1, "Status_description": message}})


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None
