"""Shoonya's calls over one account, its files, and its socket."""

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
from onebroker.brokers.simulator.dialects.rest import Route, as_json
from onebroker.brokers.simulator.dialects.shoonya import candles, forms, rows
from onebroker.brokers.simulator.dialects.shoonya.envelope import NO_DATA, NotOk, listing, refusal, success
from onebroker.brokers.simulator.dialects.shoonya.login import EXPIRY, LoginDesk
from onebroker.brokers.simulator.dialects.shoonya.naming import FILES, Name, ShoonyaNames, archive
from onebroker.brokers.simulator.dialects.shoonya.socket import NorenSession
from onebroker.brokers.simulator.dialects.tokens import Kind
from onebroker.brokers.simulator.world.model import SimFill, SimHolding, SimOrder, SimRefusal
from onebroker.config.clock import Clock

_BASE = "/NorenWClientAPI"
_SOCKET = "/NorenWSAPI"
_MOST_FOUND = 50
_TOO_MANY = "Order Recieved 11 in a current second exceeds Limit 10 for user"


class ShoonyaDialect(RestDialect[Name]):
    """Shoonya for one account. A refusal carries the time of its answer."""

    code = "shoonya"
    averages = Averages(
        products=("prd",), fields=("avgprc", "cforgavgprc", "daybuyavgprc", "daysellavgprc", "netavgprc")
    )
    token_expiry, token_length = EXPIRY, 64
    _names: ShoonyaNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, ShoonyaNames(account), store, clock, seed)
        self.credentials: Mapping[str, str] = {
            "client_id": f"{account.client_id}_U",
            "secret_code": self._digest("secret").hex(),
            "user_id": account.client_id,
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._sockets: OpenSockets[NorenSession] = OpenSockets()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = f"{stream_base(base)}{_SOCKET}/"
        return {
            "rest_url": f"{base}{_BASE}",
            "login_url": f"{base}/OAuthlogin/authorize/oauth",
            "stream_url": stream,
            "order_stream_url": stream,
            "instruments_url": base,
        }

    def session(self) -> Mapping[str, str]:
        return {
            "access_token": self._tokens.newest(Kind.ACCESS),
            "USERID": self._account.client_id,
            "actid": self._account.client_id,
            "code": self._tokens.mint(Kind.ONE_TIME),
        }

    def handle(self, request: DialectRequest) -> WireResponse:
        try:
            return super().handle(request)
        except NotOk as refused:
            return self._not_ok(refused.message, refused.status)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a socket for anybody. Its first frame is the login."""
        if request.path.rstrip("/") != _SOCKET:
            return self._not_ok("Invalid Input : no such socket", 404)
        return self._sockets.keep(NorenSession(self._account, self._names, socket, self._login.is_live))

    def refusal_in_200(self) -> WireResponse:
        return self._not_ok("Invalid Input : the request was refused")

    def rate_limited(self) -> WireResponse:
        return self._not_ok(_TOO_MANY, 429)

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        """Does nothing: the call checks its caller when it reads its fields, because a token may be in the body."""

    def _no_route(self, status: int) -> WireResponse:
        return self._not_ok("Invalid Input : no such call", status)

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        return self._not_ok(refusal.message)

    def _unknown_order(self) -> NotOk:
        return NotOk("Invalid Input : norenordno not found")

    def _close_sockets(self) -> None:
        self._sockets.close_all(1000, "")

    def _not_ok(self, message: str, status: int = 200) -> WireResponse:
        return refusal(self._clock.now(), message, status)

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        calls = {
            "Logout": self._login.logout,
            "UserDetails": self._login.profile,
            "ClientDetails": self._login.client,
            "PlaceOrder": self._place,
            "ModifyOrder": self._modify,
            "CancelOrder": self._cancel,
            "OrderBook": self._orders,
            "SingleOrdHist": self._order_history,
            "SingleOrdStatus": self._order_status,
            "TradeBook": self._trades,
            "PositionBook": self._positions,
            "Holdings": self._holdings,
            "Limits": self._funds,
            "GetOrderMargin": self._order_margin,
            "GetQuotes": self._quote,
            "GetSecurityInfo": self._quote,
            "SearchScrip": self._search,
            "TPSeries": self._minutes,
            "EODChartData": self._days,
        }
        return (
            Route("GET", "/OAuthlogin/authorize/oauth", self._login.page, is_open=True),
            Route("GET", r"/(\w+)_symbols\.txt\.zip", self._file, is_open=True),
            Route("POST", f"{_BASE}/GenAcsTok", self._login.exchange, is_open=True),
            *(Route("POST", f"{_BASE}/{name}", handler) for name, handler in calls.items()),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _orders(self, request: DialectRequest) -> WireResponse:
        """Answer today's orders, newest first."""
        self._login.fields(request)
        return listing([self._order_row(order) for order in reversed(self._order_book())])

    def _order_history(self, request: DialectRequest) -> WireResponse:
        """Answer the states of one order, newest first."""
        order = self._order_of(self._login.fields(request))
        return listing([self._order_row(state) for state in reversed(self._account.order_history(order.order_id))])

    def _order_status(self, request: DialectRequest) -> WireResponse:
        return listing([self._order_row(self._order_of(self._login.fields(request)))])

    def _trades(self, request: DialectRequest) -> WireResponse:
        self._login.fields(request)
        return listing([self._trade_row(fill) for fill in self._fills()])

    def _positions(self, request: DialectRequest) -> WireResponse:
        self._login.fields(request)
        client = self._account.client_id
        return listing([rows.position_row(*row, client) for row in self._position_book()])

    def _holdings(self, request: DialectRequest) -> WireResponse:
        if self._login.fields(request).get("prd") != "C":
            raise NotOk(NO_DATA)
        return listing([rows.holding_row(holding, self._names_of(holding)) for holding, _, _ in self._holding_book()])

    def _names_of(self, holding: SimHolding) -> list[Name]:
        """Return all names of a share, because both exchanges may list it."""
        held = self._name(holding.instrument_id)
        isin = held.contract.isin
        others = [
            name for name in self._names.by_id.values() if isin and name is not held and name.contract.isin == isin
        ]
        return [held, *others]

    def _funds(self, request: DialectRequest) -> WireResponse:
        self._login.fields(request)
        return success(self._clock.now(), **rows.funds(self._account.funds()))

    def _order_margin(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request)
        needed = self._account.margin(forms.margin_order(fields, self._tradable(fields))).total
        return success(self._clock.now(), **rows.order_margin(self._account.funds(), needed))

    def _order_of(self, fields: Mapping[str, str]) -> SimOrder:
        return self._known(fields.get("norenordno"))

    def _order_row(self, order: SimOrder) -> Row:
        return rows.order_row(order, self._name(order.new.instrument_id), self._account.client_id)

    def _trade_row(self, fill: SimFill) -> Row:
        order, name = self._known(fill.order_id), self._name(fill.instrument_id)
        return rows.trade_row(fill, order, name, self._account.client_id)

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request)
        order = self._account.place(forms.new_order(fields, self._tradable(fields)))
        return success(self._clock.now(), norenordno=order.order_id)

    def _tradable(self, fields: Mapping[str, str]) -> Name:
        name = self._names.by_symbol.get((fields.get("exch", ""), fields.get("tsym", "")))
        if name is None or name.contract.is_index:
            raise NotOk("Invalid Trading Symbol")
        return name

    def _modify(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request)
        order = self._order_of(fields)
        name = self._name(order.new.instrument_id)
        if (fields.get("exch"), fields.get("tsym")) != (name.exchange, name.tradingsymbol):
            raise NotOk("Invalid Trading Symbol")
        changed = self._account.modify(order.order_id, **forms.changes(fields, name))
        return success(self._clock.now(), result=changed.order_id)

    def _cancel(self, request: DialectRequest) -> WireResponse:
        order = self._order_of(self._login.fields(request))
        return success(self._clock.now(), result=self._account.cancel(order.order_id).order_id)

    # market data ----------------------------------------------------------------------------------------------------

    def _file(self, request: DialectRequest, file: str) -> WireResponse:
        if file not in FILES:
            raise NotOk("Invalid Input : no such file", 404)
        names = [name for name in self._names.in_files() if name.exchange == file]
        return WireResponse(status=200, headers={"content-type": "application/zip"}, body=archive(file, names))

    def _quote(self, request: DialectRequest) -> WireResponse:
        name = self._named(self._login.fields(request))
        return success(self._clock.now(), **rows.quote(name, self._market(name)))

    def _search(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request)
        wanted = fields.get("stext", "").upper()
        found = [
            {"exch": name.exchange, "token": name.token, "tsym": name.tradingsymbol, "instname": name.instrument}
            for name in self._names.by_id.values()
            if name.exchange == fields.get("exch") and wanted in name.tradingsymbol.upper()
        ]
        if not wanted or not found:
            raise NotOk(NO_DATA)
        return success(self._clock.now(), values=found[:_MOST_FOUND])

    def _minutes(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request, key_in_body=True)
        return listing(candles.minutes(self._account, self._named(fields), fields, self._clock.today()))

    def _days(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request, key_in_body=True)
        exchange, _, symbol = fields.get("sym", "").partition(":")
        name = self._names.by_symbol.get((exchange, symbol))
        if name is None:
            raise NotOk("Invalid Trading Symbol")
        found = candles.days(self._account, name, fields, self._clock.today())
        if not found:
            raise NotOk(NO_DATA)
        return as_json(200, found)

    def _named(self, fields: Mapping[str, str]) -> Name:
        name = self._names.by_scrip.get(f"{fields.get('exch', '')}|{fields.get('token', '')}")
        if name is None:
            raise NotOk(NO_DATA)
        return name


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> ShoonyaDialect:
    """Return Shoonya's server for one account."""
    return ShoonyaDialect(account, tokens, clock, seed)
