"""Kotak Neo's routes over one account, and the doors to its two sockets.

One server has all the broker's hosts: the login host under `/mis`, files and config service under `/lapi`, and the account's data centre at the root,
which is the `baseUrl` of a login. A session's call to the login host is answered that it is the wrong host.
"""

import base64
import hashlib
import weakref
from collections.abc import Mapping, Sequence
from datetime import date

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession, TokenStore
from onebroker.brokers.simulator.dialects.kotakneo import answers, candles, forms
from onebroker.brokers.simulator.dialects.kotakneo.envelopes import (
    BODY_INVALID,
    INVALID_EXCHANGE,
    INVALID_QUANTITY,
    NO_BALANCE,
    ORDER_FINISHED,
    WRONG_HOST,
    Refused,
    book,
    fault,
    jdata_of,
    not_ok,
    ok,
)
from onebroker.brokers.simulator.dialects.kotakneo.login import DATA_CENTRE, EXPIRY, LoginDesk
from onebroker.brokers.simulator.dialects.kotakneo.naming import (
    ORDER_SEGMENTS,
    SEGMENTS,
    Name,
    NeoNames,
    scrip_file,
)
from onebroker.brokers.simulator.dialects.kotakneo.realtime import OrderSession
from onebroker.brokers.simulator.dialects.kotakneo.sfeed import MarketSession
from onebroker.brokers.simulator.dialects.rest import NoRoute, Route, answer, as_json
from onebroker.brokers.simulator.dialects.tokens import Tokens
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


class KotakNeoDialect:
    """Kotak Neo for one account."""

    code = "kotakneo"
    uncounted_paths = (f"{FILE_HOST}/",)
    """Files and config service are on another host, which is open to everybody. The account's limits do not apply there."""

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        self._account, self._clock = account, clock
        secret = hashlib.sha256(f"kotakneo|{seed}".encode()).digest()
        text = secret.hex()
        self.credentials: Mapping[str, str] = {
            "access_token": f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}",
            "mobile_number": "+919800000001",
            "ucc": account.client_id,
            "mpin": f"{int(text[32:40], 16) % 1_000_000:06d}",
            "totp_secret": base64.b32encode(secret[:20]).decode(),
        }
        tokens = Tokens(store, clock, f"kotakneo|{seed}", expiry=EXPIRY, length=32)
        self._login = LoginDesk(account, tokens, clock, self.credentials)
        self._tokens = tokens
        self._names = NeoNames(account)
        self._stamps = answers.Stamps()
        self._sessions: weakref.WeakSet[MarketSession | OrderSession] = weakref.WeakSet()
        self._routes = self._table()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = "ws" + base.removeprefix("http")
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

    def handle(self, request: DialectRequest) -> WireResponse:
        try:
            return answer(self._routes, request, self._check)
        except NoRoute as missing:
            return fault("Invalid path", missing.status)
        except Refused as refused:
            return refused.answer
        except SimRefusal as refusal:
            code = _REFUSALS[refusal.reason]
            stat = _COMPLETED if code == ORDER_FINISHED else "Not_Ok"
            return not_ok(code, refusal.message, stat=stat)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a socket for anybody. The first message tells who the client is."""
        session: MarketSession | OrderSession
        if request.path == MARKET_SOCKET:
            session = MarketSession(self._account, self._names, socket, self._may_listen)
        elif request.path == ORDER_SOCKET:
            session = OrderSession(self._account, self._names, socket, self._clock, self._stamps, self._login.is_live)
        else:
            return fault("Invalid path", 404)
        self._sessions.add(session)
        return session

    def expire_session(self) -> None:
        self._tokens.expire_all()
        for session in list(self._sessions):
            session.socket.close(1008, "session expired")
        self._sessions.clear()

    def refusal_in_200(self) -> WireResponse:
        return not_ok(BODY_INVALID, "The request was refused.")

    def rate_limited(self) -> WireResponse:
        refused = not_ok(429, "Too many requests, rate limit exceeded", status=429)
        return WireResponse(status=429, headers={**refused.headers, "retry-after": "1"}, body=refused.body)

    def _may_listen(self, user: str, sid: str) -> bool:
        return user == self._account.client_id and self._login.is_live_sid(sid)

    def _check(self, request: DialectRequest) -> None:
        """Check a call. Order, book and portfolio calls need a session; market data needs only the access token."""
        if request.path.startswith(_SESSION_CALLS):
            self._login.check(request)
        else:
            self._login.check_access_token(request)

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        host = f"(?:{LOGIN_HOST})?"
        return (
            Route("POST", f"{LOGIN_HOST}/login/1.0/tradeApiLogin", self._login.log_in, is_open=True),
            Route("POST", f"{LOGIN_HOST}/login/1.0/tradeApiValidate", self._validate, is_open=True),
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

    def _validate(self, request: DialectRequest) -> WireResponse:
        return self._login.validate(request, request.base)

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
        orders = [each for each in self._account.orders() if order_id in (None, each.order_id)]
        return book([answers.order_row(each, self._name(each), self._stamps) for each in orders])

    def _history(self, request: DialectRequest) -> WireResponse:
        order = self._known(jdata_of(request).get("nOrdNo"))
        states = self._account.order_history(order.order_id)
        stamps = answers.Stamps()
        rows = [answers.history_row(each, self._name(each), stamps) for each in states]
        first = rows[0] | {"ordSt": answers.RECEIVED, "fldQty": 0, "avgPrc": "0.00", "exchOrdId": "NA"}
        return book([first, *rows][::-1])

    def _trades(self, request: DialectRequest) -> WireResponse:
        rows = [
            answers.trade_row(fill, self._known(fill.order_id), self._names.by_id[fill.instrument_id])
            for fill in self._account.fills()
        ]
        return book(rows, "ok")

    def _positions(self, request: DialectRequest) -> WireResponse:
        now = self._clock.now()
        rows = [
            answers.position_row(
                each, self._names.by_id[each.instrument_id], self._account.market(each.instrument_id), now
            )
            for each in self._account.positions()
        ]
        return book(rows, "ok")

    def _holdings(self, request: DialectRequest) -> WireResponse:
        """Answer the holdings. Only this call has neither `stat` nor `stCode`."""
        rows = [
            answers.holding_row(each, self._names.by_id[each.instrument_id], self._account.market(each.instrument_id))
            for each in self._account.holdings()
        ]
        return as_json(200, {"data": rows})

    def _limits(self, request: DialectRequest) -> WireResponse:
        jdata_of(request)
        return ok(**answers.limits(self._account.funds(), self._clock.now()))

    def _margin(self, request: DialectRequest) -> WireResponse:
        body = jdata_of(request)
        if body.get("exSeg") not in ORDER_SEGMENTS:
            return not_ok(INVALID_EXCHANGE, "invalid exchange")
        name = self._names.by_key.get(f"{body.get('exSeg')}|{body.get('tok')}")
        if name is None or not name.tradable:
            return not_ok(BODY_INVALID, "invalid symbol")
        needed = self._account.margin(forms.margin_order(body, name)).total
        return ok(**answers.margin(self._account.funds(), needed))

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = jdata_of(request)
        if body.get("es") not in ORDER_SEGMENTS:
            return not_ok(INVALID_EXCHANGE, "invalid exchange")
        name = self._names.by_symbol.get((str(body.get("es")), str(body.get("ts"))))
        if name is None or not name.tradable:
            return not_ok(BODY_INVALID, "invalid symbol")
        return ok(nOrdNo=self._account.place(forms.new_order(body, name)).order_id)

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = jdata_of(request)
        order = self._known(body.get("no"))
        wanted = forms.changes(body, self._name(order))
        return ok(nOrdNo=self._account.modify(order.order_id, **wanted).order_id)

    def _cancel(self, request: DialectRequest) -> WireResponse:
        order = self._known(jdata_of(request).get("on"))
        return ok(nOrdNo=self._account.cancel(order.order_id).order_id)

    def _known(self, order_id: object) -> SimOrder:
        order = self._account.order(order_id) if isinstance(order_id, str) else None
        if order is None:
            raise Refused(not_ok(ORDER_FINISHED, "order not found", stat=_COMPLETED))
        return order

    def _name(self, order: SimOrder) -> Name:
        return self._names.by_id[order.new.instrument_id]

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
        body = scrip_file(segment, self._names.by_id.values())
        return WireResponse(status=200, headers={"content-type": "text/csv"}, body=body)

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
        return as_json(
            200, [answers.quote_row(each, self._account.market(each.contract.instrument_id), wanted) for each in names]
        )

    def _candles(self, request: DialectRequest) -> WireResponse:
        name = self._names.by_key.get(request.first("neosymbol") or "")
        if name is None or name.segment not in candles.SEGMENTS:
            return fault("Invalid neosymbol value")
        rows = candles.rows(self._account, name, request)
        return as_json(200, {"status": "success", "interval": request.first("interval"), "data": {"candles": rows}})


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> KotakNeoDialect:
    """Return Kotak Neo's server for one account."""
    return KotakNeoDialect(account, tokens, clock, seed)
