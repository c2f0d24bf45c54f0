"""SmartAPI's REST routes over one account, and its two sockets."""

import base64
from collections.abc import Callable, Mapping, Sequence

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.angelone import candles, forms, rows
from onebroker.brokers.simulator.dialects.angelone.envelope import (
    body_of,
    error,
    not_found,
    refused,
    success,
    too_many_calls,
    word,
)
from onebroker.brokers.simulator.dialects.angelone.login import EXPIRY, LoginDesk
from onebroker.brokers.simulator.dialects.angelone.naming import Name, SmartNames, instrument_file
from onebroker.brokers.simulator.dialects.angelone.socket_desk import MARKET_SOCKET, ORDER_SOCKET, SocketDesk
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
from onebroker.brokers.simulator.dialects.rest import Refused, Route
from onebroker.brokers.simulator.dialects.tokens import Kind
from onebroker.brokers.simulator.exchange.risk import NOTHING
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimOrder, SimRefusal
from onebroker.config.clock import Clock

MOST_QUOTES = 50
MOST_FOUND = 50

_QUOTES: Mapping[str, Callable[[Name, Market], Row]] = {
    "FULL": rows.full_quote,
    "OHLC": rows.ohlc_quote,
    "LTP": rows.ltp_quote,
}

_REFUSALS: Mapping[RefusalReason, str] = {
    RefusalReason.UNKNOWN_INSTRUMENT: "AB1009",
    RefusalReason.NOT_TRADABLE: "AB1009",
    RefusalReason.UNKNOWN_ORDER: "AB1013",
    RefusalReason.ORDER_FINISHED: "AB1013",
}
"""Codes that the documents list. Every other refusal of the order system has its words and a blank code."""

_AUTH, _SECURE = "/rest/auth/angelbroking", "/rest/secure/angelbroking"


class AngelOneDialect(RestDialect[Name]):
    """SmartAPI for one account."""

    code = "angelone"
    averages = Averages(
        products=("producttype",),
        fields=(
            "averageprice",
            "avgnetprice",
            "buyavgprice",
            "cfbuyavgprice",
            "cfsellavgprice",
            "netprice",
            "sellavgprice",
            "totalbuyavgprice",
            "totalsellavgprice",
        ),
    )
    token_expiry, token_length = EXPIRY, 64
    _names: SmartNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, SmartNames(account), store, clock, seed)
        key, pin, secret = map(self._digest, ("key", "pin", "totp"))
        self.credentials: Mapping[str, str] = {
            "api_key": key.hex()[:8],
            "client_code": account.client_id,
            "pin": str(int.from_bytes(pin[:4], "big") % 9000 + 1000),
            "totp_secret": base64.b32encode(secret[:16]).decode().rstrip("=")[:24],
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._sockets = SocketDesk(account, self._names, self._login)

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = stream_base(base)
        return {
            "rest_url": base,
            "login_url": f"{base}/publisher-login",
            "stream_url": f"{stream}{MARKET_SOCKET}",
            "order_stream_url": f"{stream}{ORDER_SOCKET}",
            "instruments_url": f"{base}/OpenAPI_File/files/OpenAPIScripMaster.json",
        }

    def session(self) -> Mapping[str, str]:
        return self._login.tokens(self._tokens.newest(Kind.ACCESS))

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        return self._sockets.open(request, socket)

    def refusal_in_200(self) -> WireResponse:
        return error("AB1018", "Failed to Get Symbol Details")

    def rate_limited(self) -> WireResponse:
        return too_many_calls()

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        self._login.check(request)

    def _no_route(self, status: int) -> WireResponse:
        return not_found(status)

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        return error(_REFUSALS.get(refusal.reason, ""), refusal.message)

    def _unknown_order(self) -> Refused:
        return refused("AB1013", "Order not found")

    def _close_sockets(self) -> None:
        self._sockets.close_all()

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        order, user, portfolio = f"{_SECURE}/order/v1", f"{_SECURE}/user/v1", f"{_SECURE}/portfolio/v1"
        return (
            Route("POST", f"{_AUTH}/user/v1/loginByPassword", self._login.log_in, is_open=True),
            Route("POST", f"{_AUTH}/jwt/v1/generateTokens", self._login.renew, is_open=True),
            Route("GET", "/OpenAPI_File/files/OpenAPIScripMaster.json", self._instruments, is_open=True),
            Route("POST", f"{user}/logout", self._login.logout),
            Route("GET", f"{user}/getProfile", self._login.profile),
            Route("GET", f"{user}/getRMS", self._rms),
            Route("GET", f"{order}/getPosition", self._positions),
            Route("GET", f"{portfolio}/getHolding", self._holdings),
            Route("GET", f"{portfolio}/getAllHolding", self._all_holdings),
            Route("GET", f"{order}/getOrderBook", self._orders),
            Route("GET", f"{order}/getTradeBook", self._trades),
            Route("GET", f"{order}/details/([^/]+)", self._details),
            Route("POST", f"{order}/placeOrder", self._place),
            Route("POST", f"{order}/modifyOrder", self._modify),
            Route("POST", f"{order}/cancelOrder", self._cancel),
            Route("POST", f"{order}/getLtpData", self._ltp),
            Route("POST", f"{order}/searchScrip", self._search),
            Route("POST", f"{_SECURE}/margin/v1/batch", self._order_margins),
            Route("POST", f"{_SECURE}/market/v1/quote/?", self._quote),
            Route("POST", f"{_SECURE}/historical/v1/getCandleData", self._candles),
            Route("POST", f"{_SECURE}/historical/v1/getOIData", self._interest),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _rms(self, request: DialectRequest) -> WireResponse:
        return success(rows.rms(self._account.funds()))

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        needed = []
        for position in forms.positions(body_of(request)):
            name = self._names.by_key.get((word(position, "exchange"), word(position, "token")))
            if name is None or not name.tradable:
                raise refused("AB1009", "Symbol Not Found")
            needed.append(self._account.margin(forms.margin_order(position, name)))
        return success(rows.order_margins(sum(needed, NOTHING)))

    def _positions(self, request: DialectRequest) -> WireResponse:
        return success([rows.position_row(*row) for row in self._position_book()] or None)

    def _holdings(self, request: DialectRequest) -> WireResponse:
        return success([rows.holding_row(*row) for row in self._holding_book()] or None)

    def _all_holdings(self, request: DialectRequest) -> WireResponse:
        return success(rows.all_holdings(self._holding_book()))

    def _orders(self, request: DialectRequest) -> WireResponse:
        return success([self._order_row(order) for order in self._order_book()] or None)

    def _trades(self, request: DialectRequest) -> WireResponse:
        return success([rows.trade_row(fill, self._name(fill.instrument_id)) for fill in self._fills()] or None)

    def _details(self, request: DialectRequest, unique_id: str) -> WireResponse:
        for order in self._account.orders():
            if rows.unique_id(order) == unique_id:
                return success(self._order_row(order))
        raise self._unknown_order()

    def _order_row(self, order: SimOrder) -> Row:
        return rows.order_row(order, self._name(order.new.instrument_id))

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        name = self._tradable(body)
        order = self._account.place(forms.new_order(body, name))
        return _taken(order, script=name.tradingsymbol)

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._named_order(body)
        name = self._name(order.new.instrument_id)
        if (word(body, "exchange"), word(body, "symboltoken")) != name.key:
            raise refused("AB1009", "Symbol Not Found")
        return _taken(self._account.modify(order.order_id, **forms.changes(body, name)))

    def _cancel(self, request: DialectRequest) -> WireResponse:
        return _taken(self._account.cancel(self._named_order(body_of(request)).order_id))

    def _named_order(self, body: dict[str, object]) -> SimOrder:
        """Return the order that a body names, under the variety with which it was placed. Finds orders that a late book does not show."""
        variety = forms.variety_of(body)
        order = self._known(word(body, "orderid"))
        if rows.variety(order) != variety:
            raise refused("AB1008", "Invalid Order Variety")
        return order

    def _tradable(self, body: dict[str, object]) -> Name:
        name = self._names.by_key.get((word(body, "exchange"), word(body, "symboltoken")))
        if name is None or not name.tradable or name.tradingsymbol != word(body, "tradingsymbol"):
            raise refused("AB1009", "Symbol Not Found")
        return name

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest) -> WireResponse:
        body = instrument_file(self._names.in_files())
        return WireResponse(status=200, headers={"content-type": "application/json"}, body=body)

    def _quote(self, request: DialectRequest) -> WireResponse:
        """Answer quotes. Unknown tokens are listed separately from the fetched ones, and the answer still reports success."""
        body = body_of(request)
        row, wanted = _QUOTES.get(word(body, "mode")), body.get("exchangeTokens")
        if row is None or not isinstance(wanted, dict):
            raise refused("", "Invalid mode or exchangeTokens")
        keys = [
            (exchange, str(token))
            for exchange, tokens in wanted.items()
            if isinstance(tokens, list)
            for token in tokens
        ]
        if len(keys) > MOST_QUOTES:
            raise refused("", f"At most {MOST_QUOTES} tokens are allowed")
        by_key = self._names.by_key
        fetched = [row(by_key[key], self._market(by_key[key])) for key in keys if key in by_key]
        unfetched = [
            {"exchange": exchange, "symbolToken": token, "message": "Symbol token not found", "errorCode": "AB4018"}
            for exchange, token in keys
            if (exchange, token) not in by_key
        ]
        return success({"fetched": fetched, "unfetched": unfetched})

    def _ltp(self, request: DialectRequest) -> WireResponse:
        name = self._named(body_of(request))
        return success(rows.single_ltp(name, self._market(name)))

    def _search(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        exchange, term = word(body, "exchange"), word(body, "searchscrip").upper()
        found = [
            {"exchange": name.exchange, "tradingsymbol": name.tradingsymbol, "symboltoken": name.token}
            for name in self._names.by_id.values()
            if name.exchange == exchange and term and term in name.tradingsymbol.upper()
        ]
        return success(found[:MOST_FOUND] or None)

    def _candles(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        return success(candles.candle_rows(self._account, self._named(body), body) or None)

    def _interest(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        return success(candles.interest_rows(self._account, self._named(body), body) or None)

    def _named(self, body: dict[str, object]) -> Name:
        name = self._names.by_key.get((word(body, "exchange"), word(body, "symboltoken")))
        if name is None:
            raise refused("AB1018", "Failed to Get Symbol Details")
        return name


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> AngelOneDialect:
    """Return SmartAPI's server for one account."""
    return AngelOneDialect(account, tokens, clock, seed)


def _taken(order: SimOrder, **more: object) -> WireResponse:
    return success({**more, "orderid": order.order_id, "uniqueorderid": rows.unique_id(order)})
