"""Kite's REST routes over one account, and its ticker."""

from collections.abc import Callable, Mapping, Sequence
from datetime import time

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
from onebroker.brokers.simulator.dialects.rest import Refused, Route, as_csv, form_of
from onebroker.brokers.simulator.dialects.tokens import Kind
from onebroker.brokers.simulator.dialects.zerodha import forms, rows
from onebroker.brokers.simulator.dialects.zerodha.envelope import bad_input, error, refused, success
from onebroker.brokers.simulator.dialects.zerodha.login import LoginDesk
from onebroker.brokers.simulator.dialects.zerodha.naming import KiteNames, Name, instrument_file
from onebroker.brokers.simulator.dialects.zerodha.socket import TickerSession
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimFill, SimOrder, SimRefusal
from onebroker.config.clock import Clock, from_epoch

INTERVALS = {
    "minute": ("1minute", 60), "3minute": ("3minute", 100), "5minute": ("5minute", 100), "10minute": ("10minute", 100),
    "15minute": ("15minute", 200), "30minute": ("30minute", 200), "60minute": ("60minute", 400), "day": ("day", 2000),
}  # fmt: skip
"""Kite's interval -> the exchange's interval, and the most days of one call."""

_INPUT, _ORDER = "InputException", "OrderException"
_REFUSALS: Mapping[RefusalReason, str] = {
    RefusalReason.UNKNOWN_INSTRUMENT: _INPUT,
    RefusalReason.NOT_TRADABLE: _INPUT,
    RefusalReason.BAD_QUANTITY: _INPUT,
    RefusalReason.BAD_LOT: _INPUT,
    RefusalReason.BAD_TICK: _INPUT,
    RefusalReason.BAD_PRICE: _INPUT,
    RefusalReason.FREEZE: _ORDER,
    RefusalReason.PRICE_BAND: _ORDER,
    RefusalReason.MARKET_CLOSED: _ORDER,
    RefusalReason.NO_MARGIN: "MarginException",
    RefusalReason.NO_HOLDING: "HoldingException",
    RefusalReason.UNKNOWN_ORDER: _ORDER,
    RefusalReason.ORDER_FINISHED: _ORDER,
    RefusalReason.FORCED: _ORDER,
}

_QUOTE_KINDS: Mapping[str, tuple[Callable[[Name, Market], Row], int]] = {
    "": (rows.quote_row, 500),
    "/ohlc": (rows.ohlc_row, 1000),
    "/ltp": (rows.ltp_row, 1000),
}
"""Tail of /quote -> the function that makes its rows, and the most instruments of one call."""


class ZerodhaDialect(RestDialect[Name]):
    """Kite Connect for one account."""

    code = "zerodha"
    averages = Averages(products=("product",), fields=("average_price", "buy_price", "sell_price"))
    token_expiry, token_length = time(6, 0), 32
    _names: KiteNames

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        super().__init__(account, KiteNames(account), store, clock, seed)
        self.credentials: Mapping[str, str] = {
            "api_key": self._digest("key").hex()[:16],
            "api_secret": self._digest("secret").hex()[:32],
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._sockets: OpenSockets[TickerSession] = OpenSockets()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = stream_base(base)
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

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        key, token = request.first("api_key"), request.first("access_token")
        if request.path not in ("", "/"):
            return self._no_route(404)
        if not self._login.is_live(key, token):
            return error(403, "TokenException", "Incorrect `api_key` or `access_token`.")
        return self._sockets.keep(TickerSession(self._account, self._names, socket, self.credentials["api_secret"]))

    def refusal_in_200(self) -> WireResponse:
        return error(200, "InputException", "The request was refused.")

    def rate_limited(self) -> WireResponse:
        return error(429, "NetworkException", "Too many requests")

    # what the base asks for ------------------------------------------------------------------------------------------

    def _check(self, request: DialectRequest) -> None:
        self._login.check(request)

    def _no_route(self, status: int) -> WireResponse:
        return error(status, "GeneralException", "Route not found")

    def _refusal(self, refusal: SimRefusal) -> WireResponse:
        return error(400, _REFUSALS[refusal.reason], refusal.message)

    def _unknown_order(self) -> Refused:
        return refused(400, "OrderException", "Couldn't find that `order_id`.")

    def _close_sockets(self) -> None:
        self._sockets.close_all(1008, "access_token expired")

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
        purses = rows.margins(self._account.funds())
        if segment is None:
            return success(purses)
        if segment not in purses:
            raise bad_input("Invalid `segment`.")
        return success(purses[segment])

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        needed = []
        for form in forms.order_list(request.body):
            name = self._tradable(form)
            order = forms.new_order(form, name, form.get("variety", ""))
            needed.append(rows.order_margin(name, self._account.margin(order)))
        return success(needed)

    def _positions(self, request: DialectRequest) -> WireResponse:
        book = self._position_book()
        today = [row for row in book if row[0].day_buy_quantity or row[0].day_sell_quantity]
        return success(
            {
                "net": [rows.position_row(*row, day_only=False) for row in book],
                "day": [rows.position_row(*row, day_only=True) for row in today],
            }
        )

    def _holdings(self, request: DialectRequest) -> WireResponse:
        return success([rows.holding_row(*row) for row in self._holding_book()])

    def _orders(self, request: DialectRequest) -> WireResponse:
        return success([self._order_row(order) for order in self._order_book()])

    def _order_history(self, request: DialectRequest, order_id: str) -> WireResponse:
        """Answer the states of an order. They start with the state that every order begins with."""
        self._known(order_id)
        states = [self._order_row(order) for order in self._account.order_history(order_id)]
        first = {
            **states[0], "status": "PUT ORDER REQ RECEIVED", "exchange_order_id": None, "exchange_timestamp": None,
            "exchange_update_timestamp": None, "filled_quantity": 0, "pending_quantity": states[0]["quantity"],
            "cancelled_quantity": 0, "average_price": 0, "status_message": None, "status_message_raw": None,
        }  # fmt: skip
        return success([first, *states])

    def _trades(self, request: DialectRequest) -> WireResponse:
        return success([self._trade_row(fill) for fill in self._fills()])

    def _order_trades(self, request: DialectRequest, order_id: str) -> WireResponse:
        self._known(order_id)
        return success([self._trade_row(fill) for fill in self._fills(order_id)])

    def _order_row(self, order: SimOrder) -> Row:
        return rows.order_row(order, self._name(order.new.instrument_id), self._account.client_id)

    def _trade_row(self, fill: SimFill) -> Row:
        return rows.trade_row(fill, self._name(fill.instrument_id))

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest, variety: str) -> WireResponse:
        form = form_of(request)
        self._check_variety(variety)
        name = self._tradable(form)
        order = self._account.place(forms.new_order(form, name, variety))
        return success({"order_id": order.order_id})

    def _modify(self, request: DialectRequest, variety: str, order_id: str) -> WireResponse:
        self._check_variety(variety)
        order = self._known(order_id)
        wanted = forms.changes(form_of(request), self._name(order.new.instrument_id))
        return success({"order_id": self._account.modify(order_id, **wanted).order_id})

    def _cancel(self, request: DialectRequest, variety: str, order_id: str) -> WireResponse:
        self._check_variety(variety)
        self._known(order_id)
        return success({"order_id": self._account.cancel(order_id).order_id})

    def _check_variety(self, variety: str) -> None:
        if variety not in forms.VARIETIES:
            raise bad_input("Invalid `variety`.")

    def _tradable(self, form: Mapping[str, str]) -> Name:
        name = self._names.by_quote_name.get(f"{form.get('exchange', '')}:{form.get('tradingsymbol', '')}")
        if name is None or not name.tradable:
            message = "The instrument you are placing an order for has either expired or does not exist."
            raise bad_input(message)
        return name

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest, exchange: str | None) -> WireResponse:
        names = [name for name in self._names.in_files() if exchange in (None, name.exchange)]
        return as_csv(instrument_file(names))

    def _quote(self, request: DialectRequest, kind: str) -> WireResponse:
        """Answer quotes. Unknown instruments are left out of the answer."""
        row, most = _QUOTE_KINDS[kind]
        asked = [value for key, value in request.query if key == "i"]
        if not asked:
            raise bad_input("Missing or empty field `i`")
        if len(asked) > most:
            raise bad_input(f"Invalid `i`. At most {most} instruments are allowed.")
        by_token, by_quote_name = self._names.by_token, self._names.by_quote_name
        found = {}
        for text in asked:
            name = by_token.get(int(text)) if text.isdecimal() else by_quote_name.get(text)
            if name is not None:
                found[text] = row(name, self._market(name))
        return success(found)

    def _historical(self, request: DialectRequest, token: str, interval: str) -> WireResponse:
        name = self._names.by_token.get(int(token))
        if name is None:
            raise bad_input("invalid token")
        if interval not in INTERVALS:
            raise bad_input("Invalid `interval`.")
        ours, most_days = INTERVALS[interval]
        first, last = forms.moment(request, "from"), forms.moment(request, "to")
        if (last.date() - first.date()).days >= most_days:
            raise bad_input(f"interval exceeds max limit: {most_days} days")
        with_oi = request.first("oi") == "1"
        candles = self._account.candles(name.contract.instrument_id, ours, first.date(), last.date())
        bars = [
            [f"{from_epoch(start):%Y-%m-%dT%H:%M:%S%z}", open_, high, low, close, volume // name.units]
            + ([oi // name.units] if with_oi else [])
            for start, open_, high, low, close, volume, oi in candles
            if first.timestamp() <= start <= last.timestamp()
        ]
        return success({"candles": bars})


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> ZerodhaDialect:
    """Return Kite's server for one account."""
    return ZerodhaDialect(account, tokens, clock, seed)
