"""Kite's REST routes over one account, and the door to its ticker."""

import hashlib
import weakref
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, time

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession, TokenStore
from onebroker.brokers.simulator.dialects.rest import NoRoute, Route, answer, form_of
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.brokers.simulator.dialects.zerodha import answers, forms
from onebroker.brokers.simulator.dialects.zerodha.envelope import Refused, error, success
from onebroker.brokers.simulator.dialects.zerodha.login import LoginDesk
from onebroker.brokers.simulator.dialects.zerodha.naming import KiteNames, Name, instrument_file
from onebroker.brokers.simulator.dialects.zerodha.ticker import TickerSession
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimOrder, SimRefusal
from onebroker.config.clock import IST, Clock, from_epoch

INTERVALS = {
    "minute": ("1minute", 60), "3minute": ("3minute", 100), "5minute": ("5minute", 100), "10minute": ("10minute", 100),
    "15minute": ("15minute", 200), "30minute": ("30minute", 200), "60minute": ("60minute", 400), "day": ("day", 2000),
}  # fmt: skip
"""Kite's interval -> the exchange's interval, and the most days of one call."""

_REFUSALS: Mapping[RefusalReason, tuple[int, str]] = {
    RefusalReason.UNKNOWN_INSTRUMENT: (400, "InputException"),
    RefusalReason.NOT_TRADABLE: (400, "InputException"),
    RefusalReason.BAD_QUANTITY: (400, "InputException"),
    RefusalReason.BAD_LOT: (400, "InputException"),
    RefusalReason.BAD_TICK: (400, "InputException"),
    RefusalReason.BAD_PRICE: (400, "InputException"),
    RefusalReason.FREEZE: (400, "OrderException"),
    RefusalReason.PRICE_BAND: (400, "OrderException"),
    RefusalReason.MARKET_CLOSED: (400, "OrderException"),
    RefusalReason.NO_MARGIN: (400, "MarginException"),
    RefusalReason.NO_HOLDING: (400, "HoldingException"),
    RefusalReason.UNKNOWN_ORDER: (400, "OrderException"),
    RefusalReason.ORDER_FINISHED: (400, "OrderException"),
    RefusalReason.FORCED: (400, "OrderException"),
}

_QUOTE_KINDS: Mapping[str, tuple[Callable[[Name, Market], answers.Row], int]] = {
    "": (answers.quote_row, 500),
    "/ohlc": (answers.ohlc_row, 1000),
    "/ltp": (answers.ltp_row, 1000),
}
"""Tail of /quote -> the function that makes its rows, and the most instruments of one call."""


_EXPIRY = time(6, 0)
"""Tokens end in the morning."""


class ZerodhaDialect:
    """Kite Connect for one account."""

    code = "zerodha"

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        self._account = account
        self._clock = clock
        self._tokens = Tokens(store, clock, f"zerodha|{seed}", expiry=_EXPIRY, length=32)
        key, secret = (hashlib.sha256(f"zerodha|{word}|{seed}".encode()).hexdigest() for word in ("key", "secret"))
        self.credentials: Mapping[str, str] = {"api_key": key[:16], "api_secret": secret[:32]}
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._sessions: weakref.WeakSet[TickerSession] = weakref.WeakSet()
        self._names = KiteNames(account)
        self._routes = self._table()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = "ws" + base.removeprefix("http")
        return {
            "rest_url": base,
            "login_url": f"{base}/connect/login",
            "stream_url": stream,
            "order_stream_url": stream,
            "instruments_url": f"{base}/instruments",
        }

    def session(self) -> Mapping[str, str]:
        return {
            "access_token": self._tokens.newest(Kind.ACCESS),
            "refresh_token": self._tokens.newest(Kind.REFRESH),
            "request_token": self._tokens.mint(Kind.ONE_TIME),
        }

    def handle(self, request: DialectRequest) -> WireResponse:
        try:
            return answer(self._routes, request, self._login.check)
        except NoRoute as missing:
            return error(missing.status, "GeneralException", "Route not found")
        except Refused as refused:
            return refused.answer
        except forms.BadField as bad:
            return error(400, "InputException", bad.message)
        except SimRefusal as refusal:
            status, error_type = _REFUSALS[refusal.reason]
            return error(status, error_type, refusal.message)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        key, token = request.first("api_key"), request.first("access_token")
        if request.path not in ("", "/"):
            return error(404, "GeneralException", "Route not found")
        if not self._login.is_live(key, token):
            return error(403, "TokenException", "Incorrect `api_key` or `access_token`.")
        session = TickerSession(self._account, self._names, socket, self.credentials["api_secret"])
        self._sessions.add(session)
        return session

    def expire_session(self) -> None:
        self._tokens.expire_all()
        for session in list(self._sessions):
            session.socket.close(1008, "access_token expired")
        self._sessions.clear()

    def refusal_in_200(self) -> WireResponse:
        return error(200, "InputException", "The request was refused.")

    def rate_limited(self) -> WireResponse:
        return error(429, "NetworkException", "Too many requests")

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        """Return the routes. The first match answers, so fixed paths come before paths with a placeholder."""

        return (
            Route("GET", "/connect/login", self._login.page, is_open=True),
            Route("GET", "/connect/finish", self._login.finished, is_open=True),
            Route("POST", "/session/token", self._login.exchange, is_open=True),
            Route("DELETE", "/session/token", self._login.logout, is_open=True),
            Route("POST", "/session/refresh_token", self._login.renew, is_open=True),
            Route("GET", "/instruments(?:/([A-Z]+))?", self._instruments, is_open=True),
            Route("GET", "/instruments/historical/(\\d+)/(\\w+)", self._historical),
            Route("GET", "/user/profile", self._profile),
            Route("GET", "/user/margins(?:/(\\w+))?", self._margins),
            Route("POST", "/margins/orders", self._order_margins),
            Route("GET", "/portfolio/positions", self._positions),
            Route("GET", "/portfolio/holdings", self._holdings),
            Route("GET", "/quote(|/ohlc|/ltp)", self._quote),
            Route("GET", "/trades", self._trades),
            Route("GET", "/orders", self._orders),
            Route("GET", "/orders/(\\w+)", self._order_history),
            Route("GET", "/orders/(\\w+)/trades", self._order_trades),
            Route("POST", "/orders/(\\w+)", self._place),
            Route("PUT", "/orders/(\\w+)/(\\w+)", self._modify),
            Route("DELETE", "/orders/(\\w+)/(\\w+)", self._cancel),
        )

    def _profile(self, request: DialectRequest) -> WireResponse:
        return success(self._login.profile())

    # account --------------------------------------------------------------------------------------------------------

    def _margins(self, request: DialectRequest, segment: str | None) -> WireResponse:
        purses = answers.margins(self._account.funds())
        if segment is None:
            return success(purses)
        if segment not in purses:
            raise Refused(400, "InputException", "Invalid `segment`.")
        return success(purses[segment])

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        rows = []
        for form in forms.order_list(request.body):
            name = self._tradable(f"{form.get('exchange', '')}:{form.get('tradingsymbol', '')}")
            order = forms.new_order(form, name, form.get("variety", ""))
            rows.append(answers.order_margin(name, self._account.margin(order)))
        return success(rows)

    def _positions(self, request: DialectRequest) -> WireResponse:
        names = self._names.by_id
        rows = [
            (each, names[each.instrument_id], self._account.market(each.instrument_id))
            for each in self._account.positions()
            if each.instrument_id in names  # an expired contract is settled and no longer shown
        ]
        return success(
            {
                "net": [answers.position_row(each, name, market, day_only=False) for each, name, market in rows],
                "day": [
                    answers.position_row(each, name, market, day_only=True)
                    for each, name, market in rows
                    if each.day_buy_quantity or each.day_sell_quantity
                ],
            }
        )

    def _holdings(self, request: DialectRequest) -> WireResponse:
        held = self._account.holdings()
        return success(
            [
                answers.holding_row(
                    each, self._names.by_id[each.instrument_id], self._account.market(each.instrument_id)
                )
                for each in held
            ]
        )

    def _orders(self, request: DialectRequest) -> WireResponse:
        return success([self._order_row(order) for order in self._account.orders()])

    def _order_history(self, request: DialectRequest, order_id: str) -> WireResponse:
        """Answer the states of an order. They start with the state that every order begins with."""
        self._known(order_id)
        rows = [self._order_row(order) for order in self._account.order_history(order_id)]
        first = {
            **rows[0], "status": "PUT ORDER REQ RECEIVED", "exchange_order_id": None, "exchange_timestamp": None,
            "exchange_update_timestamp": None, "filled_quantity": 0, "pending_quantity": rows[0]["quantity"],
            "cancelled_quantity": 0, "average_price": 0, "status_message": None, "status_message_raw": None,
        }  # fmt: skip
        return success([first, *rows])

    def _trades(self, request: DialectRequest) -> WireResponse:
        return success(
            [answers.trade_row(fill, self._names.by_id[fill.instrument_id]) for fill in self._account.fills()]
        )

    def _order_trades(self, request: DialectRequest, order_id: str) -> WireResponse:
        self._known(order_id)
        fills = [fill for fill in self._account.fills() if fill.order_id == order_id]
        return success([answers.trade_row(fill, self._names.by_id[fill.instrument_id]) for fill in fills])

    def _order_row(self, order: SimOrder) -> answers.Row:
        return answers.order_row(order, self._names.by_id[order.new.instrument_id], self._account.client_id)

    def _known(self, order_id: str) -> SimOrder:
        """Return an order in its present state, even if a late book does not show it yet."""
        states = self._account.order_history(order_id)
        if not states:
            raise Refused(400, "OrderException", "Couldn't find that `order_id`.")
        return states[-1]

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest, variety: str) -> WireResponse:
        form = form_of(request)
        self._check_variety(variety)
        name = self._tradable(f"{form.get('exchange', '')}:{form.get('tradingsymbol', '')}")
        order = self._account.place(forms.new_order(form, name, variety))
        return success({"order_id": order.order_id})

    def _modify(self, request: DialectRequest, variety: str, order_id: str) -> WireResponse:
        self._check_variety(variety)
        order = self._known(order_id)
        wanted = forms.changes(form_of(request), self._names.by_id[order.new.instrument_id])
        return success({"order_id": self._account.modify(order_id, **wanted).order_id})

    def _cancel(self, request: DialectRequest, variety: str, order_id: str) -> WireResponse:
        self._check_variety(variety)
        self._known(order_id)
        return success({"order_id": self._account.cancel(order_id).order_id})

    def _check_variety(self, variety: str) -> None:
        if variety not in forms.VARIETIES:
            raise Refused(400, "InputException", "Invalid `variety`.")

    def _tradable(self, quote_name: str) -> Name:
        name = self._names.by_quote_name.get(quote_name)
        if name is None or not name.tradable:
            message = "The instrument you are placing an order for has either expired or does not exist."
            raise Refused(400, "InputException", message)
        return name

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest, exchange: str | None) -> WireResponse:
        names = [name for name in self._names.by_id.values() if exchange in (None, name.exchange)]
        return WireResponse(status=200, headers={"content-type": "text/csv"}, body=instrument_file(names))

    def _quote(self, request: DialectRequest, kind: str) -> WireResponse:
        """Answer quotes. Unknown instruments are left out of the answer."""
        row, most = _QUOTE_KINDS[kind]
        asked = [value for key, value in request.query if key == "i"]
        if not asked:
            raise Refused(400, "InputException", "Missing or empty field `i`")
        if len(asked) > most:
            raise Refused(400, "InputException", f"Invalid `i`. At most {most} instruments are allowed.")
        by_token, by_quote_name = self._names.by_token, self._names.by_quote_name
        rows = {}
        for text in asked:
            name = by_token.get(int(text)) if text.isdecimal() else by_quote_name.get(text)
            if name is not None:
                rows[text] = row(name, self._account.market(name.contract.instrument_id))
        return success(rows)

    def _historical(self, request: DialectRequest, token: str, interval: str) -> WireResponse:
        name = self._names.by_token.get(int(token))
        if name is None:
            raise Refused(400, "InputException", "invalid token")
        if interval not in INTERVALS:
            raise Refused(400, "InputException", "Invalid `interval`.")
        ours, most_days = INTERVALS[interval]
        first, last = _moment(request, "from"), _moment(request, "to")
        if (last.date() - first.date()).days >= most_days:
            raise Refused(400, "InputException", f"interval exceeds max limit: {most_days} days")
        with_oi = request.first("oi") == "1"
        candles = self._account.candles(name.contract.instrument_id, ours, first.date(), last.date())
        rows = [
            [f"{from_epoch(start):%Y-%m-%dT%H:%M:%S%z}", open_, high, low, close, volume // name.units]
            + ([oi // name.units] if with_oi else [])
            for start, open_, high, low, close, volume, oi in candles
            if first.timestamp() <= start <= last.timestamp()
        ]
        return success({"candles": rows})


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> ZerodhaDialect:
    """Return Kite's server for one account."""
    return ZerodhaDialect(account, tokens, clock, seed)


def _moment(request: DialectRequest, field: str) -> datetime:
    text = request.first(field) or ""
    for layout in ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d"):
        try:
            return datetime.strptime(text, layout).replace(tzinfo=IST)
        except ValueError:
            continue
    raise Refused(400, "InputException", f"invalid {field} date")
