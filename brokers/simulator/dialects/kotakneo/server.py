"""Kotak Neo's routes over one account, and its two sockets.

One server has all the broker's hosts: the login host under `/mis`, files and config service under `/lapi`, and the account's data centre at the root,
which is the `baseUrl` of a login. A session's call to the login host is answered that it is the wrong host.
"""

import base64
from collections.abc import Mapping, Sequence
from datetime import date

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
from onebroker.brokers.simulator.dialects.kotakneo import candles, forms, rows
from onebroker.brokers.simulator.dialects.kotakneo.envelope import (
    BODY_INVALID,
    INVALID_EXCHANGE,
    INVALID_QUANTITY,
    NO_BALANCE,
    ORDER_FINISHED,
    WRONG_HOST,
    book,
    fault,
    jdata_of,
    not_ok,
    ok,
    refused,
)
from onebroker.brokers.simulator.dialects.kotakneo.login import DATA_CENTRE, EXPIRY, LoginDesk
from onebroker.brokers.simulator.dialects.kotakneo.market_socket import MarketSession
from onebroker.brokers.simulator.dialects.kotakneo.naming import (
    ORDER_SEGMENTS,
    SEGMENTS,
    Name,
    NeoNames,
    scrip_file,
)
from onebroker.brokers.simulator.dialects.kotakneo.order_socket import OrderSession
from onebroker.brokers.simulator.dialects.rest import Refused, Route, as_csv, as_json
from onebroker.brokers.simulator.world.model import RefusalReason, SimOrder, SimRefusal
from onebroker.config.clock import Clock

MOST_QUOTES = 50
MARKET_SOCKET, ORDER_SOCKET = "/apifeed", "/realtime"
FILTERS = ("all", "ltp", "ohlc", "depth", "oi", "52W", "circuit_limits", "scrip_details")
LOGIN_HOST, FILE_HOST = "/mis", "/lapi"
FILES = "/wso2-scripmaster/v1/prod"
CONFIG = "/5config/config"
SOURCE = "ks"

_COMPLETED = "please provide valid order number"

_REFUSALS: Mapping[RefusalReason, int] = {
    RefusalReason.UNKNOWN_INSTRUMENT: BODY_INVALID,
    RefusalReason.NOT_TRADABLE: BODY_INVALID,
    RefusalReason.BAD_QUANTITY: INVALID_QUANTITY,
    RefusalReason.BAD_LOT: INVALID_QUANTITY,
    RefusalReason.BAD_TICK: INVALID_QUANTITY,
    RefusalReason.BAD_PRICE: INVALID_QUANTITY,
    RefusalReason.FREEZE: INVALID_QUANTITY,
    RefusalReason.PRICE_BAND: INVALID_QUANTITY,
    RefusalReason.MARKET_CLOSED: INVALID_EXCHANGE,
    RefusalReason.NO_MARGIN: NO_BALANCE,
    RefusalReason.NO_HOLDING: NO_BALANCE,
    RefusalReason.UNKNOWN_ORDER: ORDER_FINISHED,
    RefusalReason.ORDER_FINISHED: ORDER_FINISHED,
    RefusalReason.FORCED: BODY_INVALID,
}

_SESSION_CALLS = ("/quick/", "/portfolio/")


class KotakNeoDialect(RestDialect[Name]):
    """Kotak Neo for one account."""

    code = "kotakneo"
    averages = Averages(products=("prod",), fields=("avgPrc",))
    token_expiry, token_length = EXPIRY, 32
    uncounted_paths = (f"{FILE_HOST}/",)
    """Files and config service are on another host, which is open to everybody. The account's limits do not apply there."""
    _names: NeoNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, NeoNames(account), store, clock, seed)
        digest = self._digest()
        text = digest.hex()
        self.credentials: Mapping[str, str] = {
            "access_token": f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}",
            "mobile_number": "+919800000001",
            "ucc": account.client_id,
            "mpin": f"{int(text[32:40], 16) % 1_000_000:06d}",
            "totp_secret": base64.b32encode(digest[:20]).decode(),
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._stamps = rows.Stamps()
        self._sockets: OpenSockets[MarketSession | OrderSession] = OpenSockets()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = stream_base(base)
        return {
            "rest_url": base,
            "login_url": f"{base}{LOGIN_HOST}",
            "config_url": f"{base}{FILE_HOST}{CONFIG}",
            "stream_url": f"{stream}{MARKET_SOCKET}",
            "order_stream_url": f"{stream}{ORDER_SOCKET}",
            "instruments_url": f"{base}{FILE_HOST}{FILES}",
        }

    def session(self) -> Mapping[str, str]:
        token, sid = self._login.newest()
        return {"token": token, "sid": sid}

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a socket for anybody. The first message tells who the client is."""
        account, names, login = self._account, self._names, self._login
        if request.path == MARKET_SOCKET:
            return self._sockets.keep(MarketSession(account, names, socket, self._may_listen))
        if request.path == ORDER_SOCKET:
            return self._sockets.keep(OrderSession(account, names, socket, self._clock, self._stamps, login.is_live))
        return self._no_route(404)

    def refusal_in_200(self) -> WireResponse:
        return not_ok(BODY_INVALID, "The request was refused.")

    def rate_limited(self) -> WireResponse:
        refused = not_ok(429, "Too many requests, rate limit exceeded", status=429)
        return WireResponse(status=429, headers={**refused.headers, "retry-after": "1"}, body=refused.body)

    def _may_listen(self, user: str, sid: str) -> bool:
        return user == self._account.client_id and self._login.is_live_sid(sid)

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        """Check a call. Order, book and portfolio calls need a session; market data needs only the access token."""
        if request.path.startswith(_SESSION_CALLS):
            self._login.check(request)
        else:
            self._login.check_access_token(request)

    def _no_route(self, status: int) -> WireResponse:
        return fault("Invalid path", status)

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        code = _REFUSALS[refusal.reason]
        stat = _COMPLETED if code == ORDER_FINISHED else "Not_Ok"
        return not_ok(code, refusal.message, stat=stat)

    def _unknown_order(self) -> Refused:
        return Refused(not_ok(ORDER_FINISHED, "order not found", stat=_COMPLETED))

    def _close_sockets(self) -> None:
        self._sockets.close_all(1008, "session expired")

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        host = f"(?:{LOGIN_HOST})?"
        return (
            Route("POST", f"{LOGIN_HOST}/login/1.0/tradeApiLogin", self._login.log_in, is_open=True),
            Route("POST", f"{LOGIN_HOST}/login/1.0/tradeApiValidate", self._login.validate, is_open=True),
            Route("GET", f"{LOGIN_HOST}/login/1.0/get-client-ip", self._login.client_ip),
            Route("POST", "/apim/login/2.0/logout", self._login.log_out, is_open=True),
            Route("GET", f"{FILE_HOST}{CONFIG}", self._config, is_open=True),
            Route(
                "GET", rf"{FILE_HOST}{FILES}/([\d-]+)/transformed(?:-v1)?/(\w+?)(?:-v1)?\.csv", self._file, is_open=True
            ),
            Route("GET", f"{host}/script-details/1.0/masterscrip/file-paths", self._file_paths),
            Route("GET", f"{host}/script-details/1.0/quotes/neosymbol/([^/]+)/([^/]+)", self._quotes),
            Route("GET", f"{host}/market-data/1.0/historical/details", self._candles),
            Route("POST", "/quick/order/rule/ms/place", self._place),
            Route("POST", "/quick/order/vr/modify", self._modify),
            Route("POST", "/quick/order/cancel", self._cancel),
            Route("POST", "/quick/order/history", self._history),
            Route("GET", "/quick/user/orders(?:/([^/]+))?", self._orders),
            Route("GET", "/quick/user/trades", self._trades),
            Route("GET", "/quick/user/positions", self._positions),
            Route("GET", "/portfolio/v2/positions", self._positions),
            Route("GET", "/portfolio/v1/holdings", self._holdings),
            Route("POST", "/quick/user/limits", self._limits),
            Route("POST", "/quick/user/check-margin", self._margin),
            Route("GET", f"{LOGIN_HOST}/(?:quick|portfolio)/.*", self._wrong_host, is_open=True),
            Route("POST", f"{LOGIN_HOST}/(?:quick|portfolio)/.*", self._wrong_host, is_open=True),
        )

    def _wrong_host(self, request: DialectRequest) -> WireResponse:
        return not_ok(WRONG_HOST, "invalid URL", status=400)

    def _config(self, request: DialectRequest) -> WireResponse:
        """Answer the socket addresses. They have the scheme of web pages, though they are sockets."""
        configs = {
            f"{DATA_CENTRE}_broadcast_source": SOURCE,
            f"{DATA_CENTRE}_{SOURCE}_broadcast_endpoint": f"{request.base}{MARKET_SOCKET}",
            f"{DATA_CENTRE}_{SOURCE}_interactive_endpoint": f"{request.base}{ORDER_SOCKET}",
        }
        return as_json(200, {"data": {"configs": configs}})

    # account --------------------------------------------------------------------------------------------------------

    def _orders(self, request: DialectRequest, order_id: str | None) -> WireResponse:
        if order_id is None:
            orders = self._order_book()
        else:
            orders = [order for order in self._account.orders() if order.order_id == order_id]
        return book([rows.order_row(order, self._order_name(order), self._stamps) for order in orders])

    def _history(self, request: DialectRequest) -> WireResponse:
        order = self._known(jdata_of(request).get("nOrdNo"))
        name, stamps = self._order_name(order), rows.Stamps()
        states = [rows.history_row(state, name, stamps) for state in self._account.order_history(order.order_id)]
        first = states[0] | {"ordSt": rows.RECEIVED, "fldQty": 0, "avgPrc": "0.00", "exchOrdId": "NA"}
        return book([first, *states][::-1])

    def _trades(self, request: DialectRequest) -> WireResponse:
        found = [
            rows.trade_row(fill, self._known(fill.order_id), self._name(fill.instrument_id)) for fill in self._fills()
        ]
        return book(found, "ok")

    def _positions(self, request: DialectRequest) -> WireResponse:
        now = self._clock.now()
        return book([rows.position_row(*row, now) for row in self._position_book()], "ok")

    def _holdings(self, request: DialectRequest) -> WireResponse:
        """Answer the holdings. Only this call has neither `stat` nor `stCode`."""
        return as_json(200, {"data": [rows.holding_row(*row) for row in self._holding_book()]})

    def _limits(self, request: DialectRequest) -> WireResponse:
        jdata_of(request)
        return ok(**rows.limits(self._account.funds(), self._clock.now()))

    def _margin(self, request: DialectRequest) -> WireResponse:
        body = jdata_of(request)
        segment = body.get("exSeg")
        name = _tradable(segment, self._names.by_key.get(f"{segment}|{body.get('tok')}"))
        needed = self._account.margin(forms.margin_order(body, name)).total
        return ok(**rows.margin(self._account.funds(), needed))

    def _order_name(self, order: SimOrder) -> Name:
        return self._name(order.new.instrument_id)

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = jdata_of(request)
        segment = body.get("es")
        name = _tradable(segment, self._names.by_symbol.get((str(segment), str(body.get("ts")))))
        return ok(nOrdNo=self._account.place(forms.new_order(body, name)).order_id)

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = jdata_of(request)
        order = self._known(body.get("no"))
        wanted = forms.changes(body, self._order_name(order))
        return ok(nOrdNo=self._account.modify(order.order_id, **wanted).order_id)

    def _cancel(self, request: DialectRequest) -> WireResponse:
        order = self._known(jdata_of(request).get("on"))
        return ok(nOrdNo=self._account.cancel(order.order_id).order_id)

    # market data ----------------------------------------------------------------------------------------------------

    def _file_paths(self, request: DialectRequest) -> WireResponse:
        folder = f"{request.base}{FILE_HOST}{FILES}"
        day = self._clock.today()
        paths = [
            f"{folder}/{day}/transformed-v1/{segment}-v1.csv"
            if segment.endswith("_cm")
            else f"{folder}/{day}/transformed/{segment}.csv"
            for segment in SEGMENTS
        ]
        return as_json(200, {"data": {"filesPaths": paths, "baseFolder": folder}})

    def _file(self, request: DialectRequest, day: str, segment: str) -> WireResponse:
        """Answer a file. Any day up to today gets the instruments listed now."""
        try:
            wanted = date.fromisoformat(day)
        except ValueError:
            wanted = date.max
        if segment not in SEGMENTS or wanted > self._clock.today():
            return fault("No such file", 404)
        return as_csv(scrip_file(segment, self._names.in_files()))

    def _quotes(self, request: DialectRequest, symbols: str, wanted: str) -> WireResponse:
        """Answer quotes. Unknown symbols are left out; if all are unknown, the call is refused."""
        asked = symbols.split(",")
        if wanted not in FILTERS:
            return fault("Invalid filter value")
        if len(asked) > MOST_QUOTES:
            return fault(f"At most {MOST_QUOTES} neosymbols are allowed")
        by_key = self._names.by_key
        names = [by_key[key] for key in asked if key in by_key]
        if not names:
            return fault("Invalid neosymbol values")
        return as_json(200, [rows.quote_row(name, self._market(name), wanted) for name in names])

    def _candles(self, request: DialectRequest) -> WireResponse:
        name = self._names.by_key.get(request.first("neosymbol") or "")
        if name is None or name.segment not in candles.SEGMENTS:
            return fault("Invalid neosymbol value")
        bars = candles.rows(self._account, name, request)
        return as_json(200, {"status": "success", "interval": request.first("interval"), "data": {"candles": bars}})


def _tradable(segment: object, name: Name | None) -> Name:
    """Return the name of an order's contract. Raise `Refused` for a segment without orders, and for an unknown contract."""
    if segment not in ORDER_SEGMENTS:
        raise refused(INVALID_EXCHANGE, "invalid exchange")
    if name is None or not name.tradable:
        raise refused(BODY_INVALID, "invalid symbol")
    return name


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> KotakNeoDialect:
    """Return Kotak Neo's server for one account."""
    return KotakNeoDialect(account, tokens, clock, seed)
