"""Shoonya's calls over one account, its files, and the door to its socket."""

import hashlib
import weakref
from collections.abc import Mapping, Sequence

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession, TokenStore
from onebroker.brokers.simulator.dialects.rest import NoRoute, Route, answer, as_json
from onebroker.brokers.simulator.dialects.shoonya import answers, candles, forms
from onebroker.brokers.simulator.dialects.shoonya.envelopes import NO_DATA, Refused, listing, refusal, success
from onebroker.brokers.simulator.dialects.shoonya.login import EXPIRY, LoginDesk
from onebroker.brokers.simulator.dialects.shoonya.naming import FILES, Name, ShoonyaNames, archive
from onebroker.brokers.simulator.dialects.shoonya.sockets import NorenSession
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.brokers.simulator.world.model import SimHolding, SimOrder, SimRefusal
from onebroker.config.clock import Clock

_BASE = "/NorenWClientAPI"
_SOCKET = "/NorenWSAPI"
_MOST_FOUND = 50
_TOO_MANY = "Order Recieved 11 in a current second exceeds Limit 10 for user"
_GATEWAY_TIMEOUT = WireResponse(
    status=504, headers={"content-type": "text/html"}, body=b"<html><body>504 Gateway Time-out</body></html>"
)


class ShoonyaDialect:
    """Shoonya for one account."""

    code = "shoonya"

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        self._account, self._clock = account, clock
        self._tokens = Tokens(store, clock, f"shoonya|{seed}", expiry=EXPIRY, length=64)
        secret = hashlib.sha256(f"shoonya|secret|{seed}".encode()).hexdigest()
        self.credentials: Mapping[str, str] = {
            "client_id": f"{account.client_id}_U",
            "secret_code": secret,
            "user_id": account.client_id,
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._names = ShoonyaNames(account)
        self._sockets: weakref.WeakSet[NorenSession] = weakref.WeakSet()
        self._routes = self._table()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = f"ws{base.removeprefix('http')}{_SOCKET}/"
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
            return answer(self._routes, request, lambda _: None)
        except NoRoute as missing:
            return self._refusal("Invalid Input : no such call", missing.status)
        except Refused as refused:
            return self._refusal(refused.message, refused.status)
        except SimRefusal as no:
            return self._refusal(no.message)
        except candles.TimedOut:
            return _GATEWAY_TIMEOUT

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a socket for anybody. Its first frame is the login."""
        if request.path.rstrip("/") != _SOCKET:
            return self._refusal("Invalid Input : no such socket", 404)
        session = NorenSession(self._account, self._names, socket, self._login.is_live)
        self._sockets.add(session)
        return session

    def expire_session(self) -> None:
        self._tokens.expire_all()
        for session in list(self._sockets):
            session.socket.close(1000, "")
        self._sockets.clear()

    def refusal_in_200(self) -> WireResponse:
        return self._refusal("Invalid Input : the request was refused")

    def rate_limited(self) -> WireResponse:
        return self._refusal(_TOO_MANY, 429)

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        calls = {
            "GenAcsTok": self._login.exchange,
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
            *(Route("POST", f"{_BASE}/{name}", handler, is_open=True) for name, handler in calls.items()),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _orders(self, request: DialectRequest) -> WireResponse:
        """Answer today's orders, newest first."""
        self._login.fields(request)
        return listing([self._order_row(order) for order in reversed(self._account.orders())])

    def _order_history(self, request: DialectRequest) -> WireResponse:
        """Answer the states of one order, newest first."""
        order = self._known(self._login.fields(request))
        return listing([self._order_row(state) for state in reversed(self._account.order_history(order.order_id))])

    def _order_status(self, request: DialectRequest) -> WireResponse:
        return listing([self._order_row(self._known(self._login.fields(request)))])

    def _trades(self, request: DialectRequest) -> WireResponse:
        self._login.fields(request)
        rows = []
        for fill in self._account.fills():
            order = self._account.order_history(fill.order_id)[-1]
            rows.append(answers.trade_row(fill, order, self._names.by_id[fill.instrument_id], self._account.client_id))
        return listing(rows)

    def _positions(self, request: DialectRequest) -> WireResponse:
        self._login.fields(request)
        return listing(
            [
                answers.position_row(
                    each,
                    self._names.by_id[each.instrument_id],
                    self._account.market(each.instrument_id),
                    self._account.client_id,
                )
                for each in self._account.positions()
            ]
        )

    def _holdings(self, request: DialectRequest) -> WireResponse:
        if self._login.fields(request).get("prd") != "C":
            raise Refused(NO_DATA)
        return listing([answers.holding_row(each, self._names_of(each)) for each in self._account.holdings()])

    def _names_of(self, holding: SimHolding) -> list[Name]:
        """Return all names of a share, because both exchanges may list it."""
        held = self._names.by_id[holding.instrument_id]
        isin = held.contract.isin
        others = [
            name for name in self._names.by_id.values() if isin and name is not held and name.contract.isin == isin
        ]
        return [held, *others]

    def _funds(self, request: DialectRequest) -> WireResponse:
        self._login.fields(request)
        return success(self._clock.now(), **answers.funds(self._account.funds()))

    def _order_margin(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request)
        needed = self._account.margin(forms.margin_order(fields, self._tradable(fields))).total
        return success(self._clock.now(), **answers.order_margin(self._account.funds(), needed))

    def _known(self, fields: Mapping[str, str]) -> SimOrder:
        states = self._account.order_history(fields.get("norenordno", ""))
        if not states:
            raise Refused("Invalid Input : norenordno not found")
        return states[-1]

    def _order_row(self, order: SimOrder) -> answers.Row:
        return answers.order_row(order, self._names.by_id[order.new.instrument_id], self._account.client_id)

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request)
        order = self._account.place(forms.new_order(fields, self._tradable(fields)))
        return success(self._clock.now(), norenordno=order.order_id)

    def _tradable(self, fields: Mapping[str, str]) -> Name:
        name = self._names.by_symbol.get((fields.get("exch", ""), fields.get("tsym", "")))
        if name is None or name.contract.is_index:
            raise Refused("Invalid Trading Symbol")
        return name

    def _modify(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request)
        order = self._known(fields)
        name = self._names.by_id[order.new.instrument_id]
        if (fields.get("exch"), fields.get("tsym")) != (name.exchange, name.tradingsymbol):
            raise Refused("Invalid Trading Symbol")
        changed = self._account.modify(order.order_id, **forms.changes(fields, name))
        return success(self._clock.now(), result=changed.order_id)

    def _cancel(self, request: DialectRequest) -> WireResponse:
        order = self._known(self._login.fields(request))
        return success(self._clock.now(), result=self._account.cancel(order.order_id).order_id)

    # market data ----------------------------------------------------------------------------------------------------

    def _file(self, request: DialectRequest, file: str) -> WireResponse:
        if file not in FILES:
            raise Refused("Invalid Input : no such file", 404)
        names = [name for name in self._names.by_id.values() if name.exchange == file]
        return WireResponse(status=200, headers={"content-type": "application/zip"}, body=archive(file, names))

    def _quote(self, request: DialectRequest) -> WireResponse:
        name = self._named(self._login.fields(request))
        market = self._account.market(name.contract.instrument_id)
        return success(self._clock.now(), **answers.quote(name, market))

    def _search(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request)
        wanted = fields.get("stext", "").upper()
        found = [
            {"exch": name.exchange, "token": name.token, "tsym": name.tradingsymbol, "instname": name.instrument}
            for name in self._names.by_id.values()
            if name.exchange == fields.get("exch") and wanted in name.tradingsymbol.upper()
        ]
        if not wanted or not found:
            raise Refused(NO_DATA)
        return success(self._clock.now(), values=found[:_MOST_FOUND])

    def _minutes(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request, key_in_body=True)
        return listing(candles.minutes(self._account, self._named(fields), fields, self._clock.today()))

    def _days(self, request: DialectRequest) -> WireResponse:
        fields = self._login.fields(request, key_in_body=True)
        exchange, _, symbol = fields.get("sym", "").partition(":")
        name = self._names.by_symbol.get((exchange, symbol))
        if name is None:
            raise Refused("Invalid Trading Symbol")
        rows = candles.days(self._account, name, fields, self._clock.today())
        if not rows:
            raise Refused(NO_DATA)
        return as_json(200, rows)

    def _named(self, fields: Mapping[str, str]) -> Name:
        name = self._names.by_scrip.get(f"{fields.get('exch', '')}|{fields.get('token', '')}")
        if name is None:
            raise Refused(NO_DATA)
        return name

    def _refusal(self, message: str, status: int = 200) -> WireResponse:
        return refusal(self._clock.now(), message, status)


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> ShoonyaDialect:
    """Return Shoonya's server for one account."""
    return ShoonyaDialect(account, tokens, clock, seed)
