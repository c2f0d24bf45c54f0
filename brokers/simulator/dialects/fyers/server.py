"""Fyers' REST routes over one account, and its two sockets. Both REST hosts are here, told apart by their paths."""

from collections.abc import Mapping, Sequence

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
from onebroker.brokers.simulator.dialects.fyers import candles, forms, rows
from onebroker.brokers.simulator.dialects.fyers.envelope import (
    BAD_INPUT,
    BAD_ORDER,
    BAD_SYMBOL,
    RATE_LIMIT,
    REFUSED_BY_RISK,
    body_of,
    error,
    refused,
    success,
    success_of,
)
from onebroker.brokers.simulator.dialects.fyers.login import EXPIRY, REGISTERED_REDIRECT, LoginDesk
from onebroker.brokers.simulator.dialects.fyers.market_socket import MarketSession
from onebroker.brokers.simulator.dialects.fyers.naming import (
    MASTERS,
    FyersNames,
    Name,
    csv_master,
    index_names,
    json_master,
    master_of,
)
from onebroker.brokers.simulator.dialects.fyers.order_socket import OrderSession
from onebroker.brokers.simulator.dialects.rest import Refused, Route, as_csv
from onebroker.brokers.simulator.dialects.tokens import Kind
from onebroker.brokers.simulator.exchange.risk import NOTHING
from onebroker.brokers.simulator.world.model import RefusalReason, SimFill, SimOrder, SimRefusal
from onebroker.config.clock import Clock

MARKET_SOCKET, ORDER_SOCKET = "/hsm/v1-5/prod", "/trade/v3"
TRADING, DATA, FILES = "/api/v3", "/data", "/sym_details"
MOST_QUOTES, MOST_TOKENS = 50, 500

_REFUSALS: Mapping[RefusalReason, int] = {
    RefusalReason.UNKNOWN_INSTRUMENT: BAD_SYMBOL,
    RefusalReason.NOT_TRADABLE: BAD_SYMBOL,
    RefusalReason.BAD_QUANTITY: BAD_INPUT,
    RefusalReason.BAD_LOT: BAD_INPUT,
    RefusalReason.BAD_TICK: BAD_INPUT,
    RefusalReason.BAD_PRICE: BAD_INPUT,
    RefusalReason.FREEZE: REFUSED_BY_RISK,
    RefusalReason.PRICE_BAND: REFUSED_BY_RISK,
    RefusalReason.MARKET_CLOSED: REFUSED_BY_RISK,
    RefusalReason.NO_MARGIN: REFUSED_BY_RISK,
    RefusalReason.NO_HOLDING: REFUSED_BY_RISK,
    RefusalReason.UNKNOWN_ORDER: BAD_ORDER,
    RefusalReason.ORDER_FINISHED: BAD_ORDER,
    RefusalReason.FORCED: REFUSED_BY_RISK,
}

_PLACED, _MODIFIED, _CANCELLED = 1101, 1102, 1103


class FyersDialect(RestDialect[Name]):
    """Fyers for one account."""

    code = "fyers"
    averages = Averages(products=("productType",), fields=("avgPrice", "buyAvg", "netAvg", "sellAvg", "tradedPrice"))
    token_expiry, token_length = EXPIRY, 32
    _names: FyersNames
    uncounted_paths = (f"{FILES}/",)
    """The masters are on a separate host, which is open to everybody and counts no calls."""

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, FyersNames(account), store, clock, seed)
        app, secret, sign = (self._digest(word).hex() for word in ("app", "secret", "sign"))
        self.credentials: Mapping[str, str] = {
            "app_id": f"{app[:10].upper()}-100",
            "secret": secret[:10].upper(),
            "redirect_url": REGISTERED_REDIRECT,
            "pin": f"{int(secret[10:16], 16) % 10_000:04d}",
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials, sign.encode())
        self._sockets: OpenSockets[MarketSession | OrderSession] = OpenSockets()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = stream_base(base)
        return {
            "rest_url": f"{base}{TRADING}",
            "data_url": f"{base}{DATA}",
            "login_url": f"{base}{TRADING}/generate-authcode",
            "stream_url": f"{stream}{MARKET_SOCKET}",
            "order_stream_url": f"{stream}{ORDER_SOCKET}",
            "instruments_url": f"{base}{FILES}",
        }

    def session(self) -> Mapping[str, str]:
        return {
            "access_token": self._login.access_token(self._tokens.newest(Kind.ACCESS)),
            "refresh_token": self._login.refresh_token(),
            "auth_code": self._tokens.mint(Kind.ONE_TIME),
        }

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a socket. The order socket is refused at the handshake, with an empty body. The data socket asks for its key later."""
        if request.path == MARKET_SOCKET:
            is_live_key = self._login.is_live_key
            return self._sockets.keep(MarketSession(self._account, self._names, socket, is_live_key))
        if request.path != ORDER_SOCKET:
            return WireResponse(status=404)
        try:
            self._login.check(request)
        except Refused:
            return WireResponse(status=403)
        return self._sockets.keep(OrderSession(self._account, self._names, socket))

    def refusal_in_200(self) -> WireResponse:
        return error(200, REFUSED_BY_RISK, "The request was refused.")

    def rate_limited(self) -> WireResponse:
        answer = error(429, RATE_LIMIT, "request limit reached")
        return WireResponse(
            status=429, headers={**answer.headers, "retry-after": "1", "x-retry-after-ms": "1000"}, body=answer.body
        )

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        self._login.check(request)

    def _no_route(self, status: int) -> WireResponse:
        return error(status, BAD_INPUT, "Bad request")

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        return error(400, _REFUSALS[refusal.reason], refusal.message)

    def _unknown_order(self) -> Refused:
        return refused(BAD_ORDER, "Invalid order id")

    def _close_sockets(self) -> None:
        self._sockets.close_all(1008, "token expired")

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        return (
            Route("GET", f"{TRADING}/generate-authcode", self._login.page, is_open=True),
            Route("POST", f"{TRADING}/validate-authcode", self._login.exchange, is_open=True),
            Route("POST", f"{TRADING}/validate-refresh-token", self._login.renew, is_open=True),
            Route("GET", rf"{FILES}/(\w+)\.csv", self._csv, is_open=True),
            Route("GET", rf"{FILES}/(\w+)_sym_master\.json", self._json, is_open=True),
            Route("GET", rf"{FILES}/index_hsm_mapping\.json", self._index_names, is_open=True),
            Route("POST", f"{TRADING}/logout", self._login.logout),
            Route("GET", f"{TRADING}/profile", self._login.profile),
            Route("GET", f"{TRADING}/funds", self._funds),
            Route("GET", f"{TRADING}/holdings", self._holdings),
            Route("GET", f"{TRADING}/positions", self._positions),
            Route("GET", f"{TRADING}/orders", self._orders),
            Route("GET", f"{TRADING}/tradebook", self._trades),
            Route("POST", f"{TRADING}/multiorder/margin", self._order_margins),
            Route("POST", f"{TRADING}/orders/sync", self._place),
            Route("PATCH", f"{TRADING}/orders/sync", self._modify),
            Route("DELETE", f"{TRADING}/orders/sync", self._cancel),
            Route("GET", f"{DATA}/quotes", self._quotes),
            Route("GET", f"{DATA}/depth", self._depth),
            Route("GET", f"{DATA}/history", self._history),
            Route("GET", f"{DATA}/marketStatus", self._market_status),
            Route("POST", f"{DATA}/symbol-token", self._symbol_tokens),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _funds(self, request: DialectRequest) -> WireResponse:
        return success(fund_limit=rows.funds(self._account.funds()))

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        bodies = forms.margin_bodies(body_of(request))
        needed = sum((self._account.margin(forms.margin_order(body, self._tradable(body))) for body in bodies), NOTHING)
        return success(data=rows.order_margins(needed, self._account.funds()))

    def _holdings(self, request: DialectRequest) -> WireResponse:
        return success_of(rows.holdings(self._holding_book()))

    def _positions(self, request: DialectRequest) -> WireResponse:
        book = self._position_book()
        return success_of(rows.positions([rows.position_row(*row, place) for place, row in enumerate(book)]))

    def _orders(self, request: DialectRequest) -> WireResponse:
        """Return all orders of the day, or those with an id or a tag."""
        wanted, tag = request.first("id"), request.first("order_tag")
        if tag is not None:
            orders = self._account.tagged(tag.removeprefix("1:"))
        else:
            orders = self._order_book() if wanted is None else self._account.orders()
        return success(orderBook=[self._order_row(order) for order in orders if wanted in (None, order.order_id)])

    def _trades(self, request: DialectRequest) -> WireResponse:
        return success(tradeBook=[self._trade_row(fill) for fill in self._fills()])

    def _order_row(self, order: SimOrder) -> Row:
        return rows.order_row(order, self._name(order.new.instrument_id), self._account.client_id)

    def _trade_row(self, fill: SimFill) -> Row:
        order, name = self._known(fill.order_id), self._name(fill.instrument_id)
        return rows.trade_row(fill, order, name, self._account.client_id)

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._account.place(forms.new_order(body, self._tradable(body)))
        message = f"Order submitted successfully. Your Order Ref. No.{order.order_id}"
        return success(_PLACED, message, id=order.order_id)

    def _tradable(self, body: Mapping[str, object]) -> Name:
        ticker = body.get("symbol")
        name = self._names.by_ticker.get(ticker) if isinstance(ticker, str) else None
        if name is None or not name.tradable:
            raise refused(BAD_SYMBOL, "Please provide a valid symbol")
        return name

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._known(body.get("id"))
        wanted = forms.changes(body, self._name(order.new.instrument_id))
        changed = self._account.modify(order.order_id, **wanted)
        return success(_MODIFIED, "Successfully modified order", id=changed.order_id)

    def _cancel(self, request: DialectRequest) -> WireResponse:
        order = self._known(body_of(request).get("id"))
        return success(_CANCELLED, "Successfully cancelled order", id=self._account.cancel(order.order_id).order_id)

    # market data ----------------------------------------------------------------------------------------------------

    def _csv(self, request: DialectRequest, master: str) -> WireResponse:
        return as_csv(csv_master(self._of_master(master), self._clock.today()))

    def _json(self, request: DialectRequest, master: str) -> WireResponse:
        body = json_master(self._of_master(master), self._clock.today())
        return WireResponse(status=200, headers={"content-type": "application/json"}, body=body)

    def _index_names(self, request: DialectRequest) -> WireResponse:
        body = index_names(self._names.in_files())
        return WireResponse(status=200, headers={"content-type": "application/json"}, body=body)

    def _of_master(self, master: str) -> list[Name]:
        if master not in MASTERS:
            raise refused(BAD_INPUT, "Not found", 404)
        return [name for name in self._names.in_files() if master_of(name) == master]

    def _quotes(self, request: DialectRequest) -> WireResponse:
        """Answer quotes. A bad symbol is refused inside the answer."""
        asked = [ticker for ticker in (request.first("symbols") or "").split(",") if ticker]
        if not 0 < len(asked) <= MOST_QUOTES:
            raise refused(BAD_INPUT, f"Please provide up to {MOST_QUOTES} symbols")
        by_ticker = self._names.by_ticker
        return success(
            d=[
                rows.quote_row(by_ticker[ticker], self._market(by_ticker[ticker]))
                if ticker in by_ticker
                else rows.unknown_quote(ticker)
                for ticker in asked
            ]
        )

    def _depth(self, request: DialectRequest) -> WireResponse:
        name = self._listed(request.first("symbol"))
        row = rows.depth_row(name, self._market(name), with_day=request.first("ohlcv_flag") == "1")
        return success(d={name.ticker: row})

    def _history(self, request: DialectRequest) -> WireResponse:
        return candles.history(self._account, self._listed(request.first("symbol")), request)

    def _market_status(self, request: DialectRequest) -> WireResponse:
        places = {(name.exchange, name.segment) for name in self._names.by_id.values()}
        markets = [
            {"exchange": exchange, "segment": segment, "market_type": "NORMAL", "status": "OPEN"}
            for exchange, segment in sorted(places)
        ]
        return success(marketStatus=markets)

    def _symbol_tokens(self, request: DialectRequest) -> WireResponse:
        asked = body_of(request).get("symbols")
        if not isinstance(asked, list) or len(asked) > MOST_TOKENS:
            raise refused(BAD_INPUT, "Invalid input")
        by_ticker = self._names.by_ticker
        tickers = [ticker for ticker in asked if isinstance(ticker, str)]
        known = {ticker: by_ticker[ticker].fy_token for ticker in tickers if ticker in by_ticker}
        return success(validSymbol=known, invalidSymbol=[ticker for ticker in tickers if ticker not in known])

    def _listed(self, ticker: str | None) -> Name:
        name = self._names.by_ticker.get(ticker or "")
        if name is None:
            raise refused(BAD_SYMBOL, "Please provide a valid symbol")
        return name


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> FyersDialect:
    """Return Fyers' server for one account."""
    return FyersDialect(account, tokens, clock, seed)
