"""ICICI Direct's REST routes over one account, and the doors to its streams. All hosts are one server, told apart by their paths."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession, TokenStore
from onebroker.brokers.simulator.dialects.icicidirect import answers, forms
from onebroker.brokers.simulator.dialects.icicidirect.envelopes import (
    Refused,
    body_of,
    day_of,
    error,
    found,
    success,
    word,
)
from onebroker.brokers.simulator.dialects.icicidirect.login import LoginDesk
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames, Name, security_master
from onebroker.brokers.simulator.dialects.icicidirect.streams import CANDLES, MARKET, ORDERS, StreamDesk
from onebroker.brokers.simulator.dialects.rest import NoRoute, Route, answer
from onebroker.brokers.simulator.dialects.tokens import Tokens
from onebroker.brokers.simulator.world.model import SimFill, SimOrder, SimRefusal
from onebroker.config.clock import IST, Clock, from_epoch

V1, V2 = "/breezeapi/api/v1/", "/api/v2/"
MASTER = "/MotherAppMaster/SecurityMaster.zip"
MOST_CANDLES = 1000

_EXPIRY = time(0, 0)
_V1_INTERVALS = {"minute": "1minute", "5minute": "5minute", "30minute": "30minute", "day": "day"}
_V2_INTERVALS = {"1minute": "1minute", "5minute": "5minute", "30minute": "30minute", "1day": "day"}


class IciciDirectDialect:
    """ICICI Direct for one account."""

    code = "icicidirect"

    def __init__(self, account: AccountView, store: TokenStore, clock: Clock, seed: int) -> None:
        self._account = account
        self._clock = clock
        self._tokens = Tokens(store, clock, f"icicidirect|{seed}", expiry=_EXPIRY, length=16)
        app, secret = (
            hashlib.sha256(f"icicidirect|{part}|{seed}".encode()).hexdigest() for part in ("app key", "secret")
        )
        # Real keys contain characters that must be encoded in the login address.
        self.credentials: Mapping[str, str] = {
            "app_key": f"{app[:12]}&{app[12:30]}^",
            "secret_key": f"{secret[:20]}#{secret[20:31]}",
        }
        self._login = LoginDesk(account, self._tokens, self.credentials, clock)
        self._names = IciciNames(account)
        self._streams = StreamDesk(account, self._names, clock, self._login.is_user)
        self._routes = self._table()

    # the host's side ------------------------------------------------------------------------------------------------

    def addresses(self, base: str) -> Mapping[str, str]:
        return {
            "rest_url": f"{base}{V1}",
            "rest_v2_url": f"{base}{V2}",
            "login_url": f"{base}/apiuser/login",
            "stream_url": f"{base}{_host(MARKET)}",
            "order_stream_url": f"{base}{_host(ORDERS)}",
            "ohlc_stream_url": f"{base}{_host(CANDLES)}",
            "instruments_url": f"{base}{MASTER}",
        }

    def session(self) -> Mapping[str, str]:
        return {"API_Session": self._login.new_session()}

    def handle(self, request: DialectRequest) -> WireResponse:
        try:
            return answer(self._routes, request, self._login.check)
        except NoRoute as missing:
            # A POST to customerdetails is answered 405.
            return error(
                "Method not allowed" if missing.status == 405 else "Not found",
                status=missing.status,
                http_status=missing.status,
            )
        except Refused as refused:
            return refused.answer
        except SimRefusal as refusal:
            return error(refusal.message)

    def open_socket(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        return self._streams.open(request, socket)

    def expire_session(self) -> None:
        self._tokens.expire_all()
        self._streams.close_all()

    def refusal_in_200(self) -> WireResponse:
        return error("The request was refused.")

    def rate_limited(self) -> WireResponse:
        return error("Limit exceed: API call per minute:Try after some time", status=5, http_status=401)

    # routes ---------------------------------------------------------------------------------------------------------

    def _table(self) -> Sequence[Route]:
        return (
            Route("GET", "/apiuser/login", self._login.page, is_open=True),
            Route("GET", MASTER, self._master, is_open=True),
            Route("GET", f"{V1}customerdetails", self._login.customer, is_open=True),
            Route("GET", f"{V2}historicalcharts", self._candles_v2, is_open=True),
            Route("GET", f"{V1}historicalcharts", self._candles_v1),
            Route("GET", f"{V1}funds", self._funds),
            Route("GET", f"{V1}margin", self._margin),
            Route("POST", f"{V1}margincalculator", self._margin_calculator),
            Route("GET", f"{V1}dematholdings", self._demat),
            Route("GET", f"{V1}portfolioholdings", self._portfolio),
            Route("GET", f"{V1}portfoliopositions", self._positions),
            Route("GET", f"{V1}order", self._orders),
            Route("POST", f"{V1}order", self._place),
            Route("PUT", f"{V1}order", self._modify),
            Route("DELETE", f"{V1}order", self._cancel),
            Route("GET", f"{V1}trades", self._trades),
            Route("GET", f"{V1}quotes", self._quotes),
        )

    # account --------------------------------------------------------------------------------------------------------

    def _funds(self, request: DialectRequest) -> WireResponse:
        return success(answers.funds(self._account.funds()))

    def _margin(self, request: DialectRequest) -> WireResponse:
        forms.exchange_of(body_of(request))
        funds = self._account.funds()
        return success(
            {
                "limit_list": [],
                "cash_limit": float(funds.opening_cash),
                "amount_allocated": float(funds.available + funds.used),
                "block_by_trade": float(funds.used),
                "isec_margin": 0.0,
            }
        )

    def _margin_calculator(self, request: DialectRequest) -> WireResponse:
        """Answer a margin calculation. Each position is calculated by itself; savings between positions are not computed here."""
        orders = forms.margin_orders(self._names, body_of(request))
        rows = [answers.calculated_row(self._names.by_id[each.instrument_id], each) for each in orders]
        needed = sum((self._account.margin(each).total for each in orders), Decimal(0))
        return success(answers.margin_calculation(rows, needed))

    def _demat(self, request: DialectRequest) -> WireResponse:
        held = self._account.holdings()
        rows = [answers.demat_row(each, self._names.by_id[each.instrument_id]) for each in held]
        return found([row for row in rows if row["quantity"] != "0"])

    def _portfolio(self, request: DialectRequest) -> WireResponse:
        """Answer the portfolio. The shares are under NSE; the account has nothing on the other exchanges."""
        if forms.exchange_of(body_of(request)) != "NSE":
            return found([])
        return found(
            [
                answers.portfolio_row(
                    each, self._names.by_id[each.instrument_id], self._account.market(each.instrument_id)
                )
                for each in self._account.holdings()
            ]
        )

    def _positions(self, request: DialectRequest) -> WireResponse:
        return found(
            [
                answers.position_row(
                    each, self._names.by_id[each.instrument_id], self._account.market(each.instrument_id)
                )
                for each in self._account.positions()
            ]
        )

    def _orders(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        exchange = forms.exchange_of(body)
        if word(body, "order_id"):
            return found([self._order_row(self._known(body, exchange))])
        first, last = _days(body)
        orders = [order for order in self._account.orders() if first <= order.placed_at.astimezone(IST).date() <= last]
        return found([self._order_row(each) for each in orders if self._name(each).exchange == exchange])

    def _trades(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        exchange = forms.exchange_of(body)
        if word(body, "order_id"):
            order = self._known(body, exchange)
            return found([answers.fill_row(each, self._name(order)) for each in self._fills(order.order_id)])
        _days(body)
        rows = []
        for order in self._account.orders():
            name, fills = self._name(order), self._fills(order.order_id)
            if fills and name.exchange == exchange:
                rows.append(answers.trade_row(fills, name, self._account.market(order.new.instrument_id)))
        return found(rows)

    def _fills(self, order_id: str) -> list[SimFill]:
        return [fill for fill in self._account.fills() if fill.order_id == order_id]

    def _name(self, order: SimOrder) -> Name:
        return self._names.by_id[order.new.instrument_id]

    def _order_row(self, order: SimOrder) -> answers.Row:
        return answers.order_row(order, self._name(order))

    def _known(self, body: Mapping[str, object], exchange: str) -> SimOrder:
        order = self._account.order(word(body, "order_id"))
        if order is None or self._name(order).exchange != exchange:
            raise Refused("Order not found")
        return order

    # orders ---------------------------------------------------------------------------------------------------------

    def _place(self, request: DialectRequest) -> WireResponse:
        new = forms.new_order(self._names, body_of(request))
        order = self._account.place(new)
        name = self._name(order)
        text = (
            f"Equity CASH Order placed successfully through RI reference no {order.order_id}"
            if name.kind == "cash"
            else "Successfully Placed the order"
        )
        return success({"order_id": order.order_id, "message": text, "user_remark": order.new.tag})

    def _modify(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._known(body, forms.exchange_of(body))
        self._account.modify(order.order_id, **forms.changes(body, order.order_type))
        return success({"message": "Successfully Modified the order", "order_id": order.order_id})

    def _cancel(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        order = self._known(body, forms.exchange_of(body))
        self._account.cancel(order.order_id)
        return success({"order_id": order.order_id, "message": "Your Order Canceled successfully."})

    # market data ----------------------------------------------------------------------------------------------------

    def _master(self, request: DialectRequest) -> WireResponse:
        body = security_master(self._names.by_id.values())
        return WireResponse(status=200, headers={"content-type": "application/x-zip-compressed"}, body=body)

    def _quotes(self, request: DialectRequest) -> WireResponse:
        """Answer quotes. A share that both exchanges list gets both rows, NSE's first."""
        body = body_of(request)
        exchange = forms.exchange_of(body)
        cash = exchange in ("NSE", "BSE")
        named = [forms.instrument(self._names, code, body) for code in (("NSE", "BSE") if cash else (exchange,))]
        if cash and not any(name is not None and name.exchange == exchange for name in named):
            named = []
        return success(
            [
                answers.quote_row(name, self._account.market(name.contract.instrument_id))
                for name in named
                if name is not None
            ]
        )

    def _candles_v1(self, request: DialectRequest) -> WireResponse:
        body = body_of(request)
        return self._candle_rows(body, forms.exchange_of(body), _V1_INTERVALS, texts=True)

    def _candles_v2(self, request: DialectRequest) -> WireResponse:
        self._login.check_historical(request)
        query: dict[str, object] = dict(request.query)
        return self._candle_rows(query, forms.exchange_of(query, "exch_code"), _V2_INTERVALS, texts=False)

    def _candle_rows(
        self, body: Mapping[str, object], exchange: str, intervals: Mapping[str, str], *, texts: bool
    ) -> WireResponse:
        """Answer candles. If there are more rows than one call may answer, the last ones are kept."""
        interval = intervals.get(word(body, "interval").lower())
        if interval is None:
            raise Refused(f"Interval should be either {', '.join(intervals)}")
        first, last = _moment(body, "from_date"), _moment(body, "to_date")
        name = forms.instrument(self._names, exchange, body)
        if name is None:
            return success([])
        candles = self._account.candles(name.contract.instrument_id, interval, first.date(), last.date())
        wanted = [each for each in candles if first <= from_epoch(each[0]) <= last]
        return success([answers.candle_row(name, each, texts=texts) for each in wanted[-MOST_CANDLES:]])


def build(account: AccountView, tokens: TokenStore, clock: Clock, seed: int) -> IciciDirectDialect:
    """Return ICICI Direct's server for one account."""
    return IciciDirectDialect(account, tokens, clock, seed)


def _host(path: str) -> str:
    """Return the path prefix that represents a separate host: `/livestream`."""
    return path[: path.index("/", 1)]


def _days(body: Mapping[str, object]) -> tuple[date, date]:
    try:
        return day_of(word(body, "from_date")), day_of(word(body, "to_date"))
    except (ValueError, IndexError) as failure:
        raise Refused("From-Date cannot be empty") from failure


def _moment(body: Mapping[str, object], field: str) -> datetime:
    """Read a moment of a candle call. It is Indian time, even if it ends with a Z."""
    try:
        return datetime.fromisoformat(word(body, field).replace("Z", "")).replace(tzinfo=IST)
    except ValueError as failure:
        raise Refused(f"{field} cannot be empty") from failure
