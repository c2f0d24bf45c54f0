"""SmartAPI's REST routes over one account, and the doors to its two sockets."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.angelone import answers, forms
from onebroker.brokers.simulator.dialects.angelone.envelopes import (
    Refused,
    body_of,
    error,
    not_found,
    success,
    too_many_calls,
    word,
)
from onebroker.brokers.simulator.dialects.angelone.login import EXPIRY, LoginDesk
from onebroker.brokers.simulator.dialects.angelone.naming import Name, SmartNames, instrument_file
from onebroker.brokers.simulator.dialects.angelone.sockets import MARKET_SOCKET, ORDER_SOCKET, SocketDesk
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession, TokenStore
from onebroker.brokers.simulator.dialects.rest import NoRoute, Route, answer
from onebroker.brokers.simulator.dialects.tokens import Kind, Tokens
from onebroker.brokers.simulator.exchange.risk import NOTHING
from onebroker.brokers.simulator.world.model import Market, RefusalReason, SimOrder, SimRefusal
from onebroker.config.clock import IST, Clock, from_epoch

INTERVALS = {
    "ONE_MINUTE": ("1minute", 30), "THREE_MINUTE": ("3minute", 60), "FIVE_MINUTE": ("5minute", 100),
    "TEN_MINUTE": ("10minute", 100), "FIFTEEN_MINUTE": ("15minute", 200), "THIRTY_MINUTE": ("30minute", 200),
    "ONE_HOUR": ("60minute", 400), "ONE_DAY": ("day", 2000),
}  # fmt: skip
"""SmartAPI's interval -> the exchange's interval, and the most days of one call."""

MOST_QUOTES = 50
MOST_FOUND = 50

_QUOTES: Mapping[str, Callable[[Name, Market], answers.Row]] = {
    "FULL": answers.full_quote,
    "OHLC": answers.ohlc_quote,
    "LTP": answers.ltp_quote,
}

_REFUSALS: Mapping[RefusalReason, str] = {
    RefusalReason.UNKNOWN_INSTRUMENT: "AB1009",
    RefusalReason.NOT_TRADABLE: "AB1009",
    RefusalReason.UNKNOWN_ORDER: "AB1013",
    RefusalReason.ORDER_FINISHED: "AB1013",
}
"""Codes that the documents list. Every other refusal of the order system has its words and a blank code."""

_AUTH, _SECURE = "/rest/auth/angelbroking", "/rest/secure/angelbroking"


class AngelOneDialect:
    """SmartAPI for one account."""

    code = "angelone"

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        self._account = account
        self._tokens = Tokens(store, clock, f"angelone|{seed}", expiry=EXPIRY, length=64)
        key, pin, secret = (
            hashlib.sha256(f"angelone|{each}|{seed}".encode()).digest() for each in ("key", "pin", "totp")
        )
        self.credentials: Mapping[str, str] = {
            "api_key": key.hex()[:8],
            "client_code": account.client_id,
            "pin": str(int.from_bytes(pin[:4], "big") % 9000 + 1000),
            "totp_secret": base64.b32encode(secret[:16]).decode().rstrip("=")[:24],
        }
        self._login = LoginDesk(account, self._tokens, clock, self.credentials)
        self._names = SmartNames(account)
        self._sockets = SocketDesk(account, self._names, self._login)
        self._routes = self._table()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        stream = "ws" + base.removeprefix("http")
        return {
            "rest_url": base,
            "login_url": f"{base}/publisher-login",
            "stream_url": f"{stream}{MARKET_SOCKET}",
            "order_stream_url": f"{stream}{ORDER_SOCKET}",
            "instruments_url": f"{base}/OpenAPI_File/files/OpenAPIScripMaster.json",
        }

    def session(self) -> Mapping[str, str]:
        return self._login.tokens(self._tokens.newest(Kind.ACCESS))

    def handle(self, request: DialectRequest) -> WireResponse:
        try:
            return answer(self._routes, request, self._login.check)
        except NoRoute as missing:
            return not_found(missing.status)
        except Refused as refused:
            return refused.answer
        except SimRefusal as refusal:
            return error(_REFUSALS.get(refusal.reason, ""), refusal.message)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        return self._sockets.open(request, socket)

    def expire_session(self) -> None:
        self._tokens.expire_all()
        self._sockets.close_all()

    def refusal_in_200(self) -> WireResponse:
        return error("AB1018", "Failed to Get Symbol Details")

    def rate_limited(self) -> WireResponse:
        return too_many_calls()

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
        return success(answers.rms(self._account.funds()))

    def _order_margins(self, request: DialectRequest) -> WireResponse:
        needed = []
        for position in forms.positions(body_of(request)):
            name = self._names.by_key.get((word(position, "exchange"), word(position, "token")))
            if name is None or not name.tradable:
                raise Refused("AB1009", "Symbol Not Found")
            needed.append(self._account.margin(forms.margin_order(position, name)))
        return success(answers.order_margins(sum(needed, NOTHING)))

    def _positions(self, request: DialectRequest) -> WireResponse:
        names = self._names.by_id
        rows = [
            answers.position_row(each, names[each.instrument_id], self._account.market(each.instrument_id))
            for each in self._account.positions()
            if each.instrument_id in names  # an expired contract is settled and no longer shown
        ]
        return success(rows or None)

    def _holding_rows(self) -> list[answers.Row]:
        names = self._names.by_id
        return [
            answers.holding_row(each, names[each.instrument_id], self._account.market(each.instrument_id))
            for each in self._account.holdings()
        ]

    def _holdings(self, request: DialectRequest) -> WireResponse:
        return success(self._holding_rows() or None)

    def _all_holdings(self, request: DialectRequest) -> WireResponse:
        held = [(each, self._account.market(each.instrument_id)) for each in self._account.holdings()]
        return success(answers.all_holdings(self._holding_rows(), held))

    def _orders(self, request: DialectRequest) -> WireResponse:
        return success([self._order_row(order) for order in self._account.orders()] or None)

    def _trades(self, request: DialectRequest) -> WireResponse:
        names = self._names.by_id
        return success([answers.trade_row(fill, names[fill.instrument_id]) for fill in self._account.fills()] or None)

    def _details(self, request: DialectRequest, unique_id: str) -> WireResponse:
        for order in self._account.orders():
            if answers.unique_id(order) == unique_id:
                return success(self._order_row(order))
        raise Refused("AB1013", "Order not found")

    def _order_row(self, order: SimOrder) -> answers.Row:
        return answers.order_row(order, self._names.by_id[order.new.instrument_id])

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        name = self._tradable(body)
        order = self._account.place(forms.new_order(body, name))
        return _taken(order, script=name.tradingsymbol)

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._known(body)
        name = self._names.by_id[order.new.instrument_id]
        if (word(body, "exchange"), word(body, "symboltoken")) != name.key:
            raise Refused("AB1009", "Symbol Not Found")
        return _taken(self._account.modify(order.order_id, **forms.changes(body, name)))

    def _cancel(self, request: DialectRequest) -> WireResponse:
        return _taken(self._account.cancel(self._known(body_of(request)).order_id))

    def _known(self, body: dict[str, object]) -> SimOrder:
        """Return the order that a body names, under the variety with which it was placed. Finds orders that a late book does not show."""
        variety = forms.variety_of(body)
        states = self._account.order_history(word(body, "orderid"))
        if not states:
            raise Refused("AB1013", "Order not found")
        if answers.variety(states[-1]) != variety:
            raise Refused("AB1008", "Invalid Order Variety")
        return states[-1]

    def _tradable(self, body: dict[str, object]) -> Name:
        name = self._names.by_key.get((word(body, "exchange"), word(body, "symboltoken")))
        if name is None or not name.tradable or name.tradingsymbol != word(body, "tradingsymbol"):
            raise Refused("AB1009", "Symbol Not Found")
        return name

    # market data ----------------------------------------------------------------------------------------------------

    def _instruments(self, request: DialectRequest) -> WireResponse:
        body = instrument_file(self._names.by_id.values())
        return WireResponse(status=200, headers={"content-type": "application/json"}, body=body)

    def _quote(self, request: DialectRequest) -> WireResponse:
        """Answer quotes. Unknown tokens are listed separately from the fetched ones, and the answer still reports success."""
        body = body_of(request)
        row, wanted = _QUOTES.get(word(body, "mode")), body.get("exchangeTokens")
        if row is None or not isinstance(wanted, dict):
            raise Refused("", "Invalid mode or exchangeTokens")
        keys = [
            (exchange, str(token))
            for exchange, tokens in wanted.items()
            if isinstance(tokens, list)
            for token in tokens
        ]
        if len(keys) > MOST_QUOTES:
            raise Refused("", f"At most {MOST_QUOTES} tokens are allowed")
        by_key = self._names.by_key
        fetched = [
            row(by_key[key], self._account.market(by_key[key].contract.instrument_id)) for key in keys if key in by_key
        ]
        unfetched = [
            {"exchange": exchange, "symbolToken": token, "message": "Symbol token not found", "errorCode": "AB4018"}
            for exchange, token in keys
            if (exchange, token) not in by_key
        ]
        return success({"fetched": fetched, "unfetched": unfetched})

    def _ltp(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        name = self._named(body)
        return success(answers.single_ltp(name, self._account.market(name.contract.instrument_id)))

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
        name, rows = self._rows(request)
        return success(
            [
                [_iso(start), open_, high, low, close, volume // name.units]
                for start, open_, high, low, close, volume, _ in rows
            ]
            or None
        )

    def _interest(self, request: DialectRequest) -> WireResponse:
        name, rows = self._rows(request)
        return success([{"time": _iso(row[0]), "oi": row[6] // name.units} for row in rows] or None)

    def _rows(self, request: DialectRequest) -> tuple[Name, list[tuple[float, float, float, float, float, int, int]]]:
        """Return the instrument and the candles between a body's two moments. Raise `Refused`."""
        body = body_of(request)
        name = self._named(body)
        known = INTERVALS.get(word(body, "interval"))
        if known is None:
            raise Refused("", "Invalid interval")
        interval, most_days = known
        first, last = _moment(word(body, "fromdate")), _moment(word(body, "todate"))
        if first > last or (last.date() - first.date()).days >= most_days:
            raise Refused("", "Invalid date range")
        candles = self._account.candles(name.contract.instrument_id, interval, first.date(), last.date())
        return name, [row for row in candles if first.timestamp() <= row[0] <= last.timestamp()]

    def _named(self, body: dict[str, object]) -> Name:
        name = self._names.by_key.get((word(body, "exchange"), word(body, "symboltoken")))
        if name is None:
            raise Refused("AB1018", "Failed to Get Symbol Details")
        return name


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> AngelOneDialect:
    """Return SmartAPI's server for one account."""
    return AngelOneDialect(account, tokens, clock, seed)


def _taken(order: SimOrder, **more: object) -> WireResponse:
    return success({**more, "orderid": order.order_id, "uniqueorderid": answers.unique_id(order)})


def _iso(start: float) -> str:
    return from_epoch(start).isoformat(timespec="seconds")


def _moment(text: str) -> datetime:
    try:
        return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=IST)
    except ValueError as failure:
        raise Refused("", "Invalid date format") from failure
