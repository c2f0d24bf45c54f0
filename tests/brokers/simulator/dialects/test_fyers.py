"""Fyers' server over the real exchange, judged by its documentation and read by our codecs; the official client judges it in
tests/sdk."""

import struct
from datetime import datetime, timedelta
from decimal import Decimal
from urllib.parse import parse_qs, urlencode, urlsplit

import attrs
import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, Login, OrderChange
from onebroker.brokers.codec.jwt_claims import expiry
from onebroker.brokers.events import (
    BooksMoved,
    CorruptFrame,
    Heartbeat,
    OrderUpdate,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
    TradeUpdate,
)
from onebroker.brokers.fyers import (
    books,
    candles,
    feed,
    hsm,
    login,
    order_feed,
    orders,
    portfolio,
    quotes,
)
from onebroker.brokers.fyers.broker import FYERS
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerRefusal, RefusalKind, StreamAddress, WireResponse
from onebroker.brokers.simulator.dialects.fyers import build, data_socket
from onebroker.brokers.simulator.dialects.fyers.naming import name_of
from onebroker.brokers.simulator.exchange.faults import Faults
from onebroker.brokers.simulator.exchange.limits import CallLimits
from onebroker.brokers.simulator.host.gateway import Gateway
from onebroker.brokers.simulator.world.brokers import Limit
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE, START, DialectClient, Wire
from tests.support.every_case import every_case

ADDRESS = StreamAddress(url="ws://feed")
LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)


class Fyers(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(FYERS, build, name_of)
        self.session = self.dialect.session()

    @property
    def access(self):
        tokens = {name: self.session[name] for name in ("access_token", "refresh_token")}
        made = Login(tokens=tokens, user_id="", logged_in_at=0.0, expires_at=0.0)
        return Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def headers(self):
        return {"Authorization": f"{self.dialect.credentials['app_id']}:{self.session['access_token']}"}

    def get(self, path, **query):
        answer = self.dialect.handle(self.request("GET", f"{BASE}{path}?{urlencode(query)}", self.headers()))
        return answer.status, msgspec.json.decode(answer.body)

    def post(self, path, body, **headers):
        headers = {**self.headers(), **headers}
        answer = self.dialect.handle(self.request("POST", f"{BASE}{path}", headers, msgspec.json.encode(body)))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self, flow):
        """Open the socket at the address a flow ends with."""
        with pytest.raises(StopIteration) as done:
            next(flow)
        address = done.value.value
        return self.open_at(address.url, address.headers)

    def open_at(self, url, headers=None):
        wire = Wire()
        return wire, self.dialect.open_socket(self.request("GET", url.replace("ws://", "http://"), headers), wire)

    def open_market(self, *names):
        """Return wire, session and decoder of a market socket that follows `names`, opened as our session opens it."""
        wire, session = self.open(feed.address(self.access, self.now))
        decoder = feed.decoder(self.access, ADDRESS, self.listings())
        for message in feed.opening_messages(self.access):
            session.received(message)
        for message in feed.subscribe_messages(self.access, [self.listing(name) for name in names]):
            session.received(message)
        return wire, session, decoder

    def token(self, name):
        tail = name.contract.name if name.contract.is_index else name.contract.exchange_token
        return f"{name.stream_segment}|{tail}"

    def listing(self, name):
        return Listing(
            broker_token=self.token(name), tradingsymbol=name.ticker, exchange=name.ticker.partition(":")[0],
            contract_units=name.units,
        )  # fmt: skip

    def modify(self, row, name, **changes):
        change = OrderChange(row=row, listing=self.listing(name), segment=name.contract.identity.segment, **changes)
        return orders.parse_order_answer(self.send(orders.modify_request(self.access, change, self.now)))

    def cancel(self, row):
        return orders.parse_order_answer(self.send(orders.cancel_request(self.access, row, self.now)))

    def row(self, order_id):
        return next(row for row in self.book() if row.order_id == order_id)


@pytest.fixture
def fyers():
    return Fyers()


# --- login -------------------------------------------------------------------------------------------------------------


def test_a_login_goes_from_the_page_by_the_code_to_tokens_that_work(fyers):
    page = fyers.dialect.handle(fyers.request("GET", login.login_page(fyers.access)))
    assert page.status == 302
    redirect = page.headers["location"]
    assert parse_qs(urlsplit(redirect).query)["s"] == ["ok"]
    made = fyers.result(login.log_in(fyers.access, redirect, fyers.now))
    assert made.user_id == fyers.account.client_id
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    fyers.session = made.tokens
    profile = login.parse_profile(fyers.send(login.profile_request(fyers.access)), LOGIN)
    assert profile["fy_id"] == fyers.account.client_id
    again = login.log_in(fyers.access, redirect, fyers.now)
    request = next(again)
    with pytest.raises(BrokerRefusal, match="invalid auth code"):
        again.send(fyers.send(request))


@pytest.mark.parametrize(("field", "code"), [("grant_type", -50), ("appIdHash", -352), ("code", -437)])
def test_every_field_of_the_exchange_is_checked(fyers, field, code):
    request = next(login.log_in(fyers.access, f"https://127.0.0.1/?auth_code={fyers.session['auth_code']}", fyers.now))
    body = msgspec.json.encode(msgspec.json.decode(request.body) | {field: "wrong"})
    answer = fyers.dialect.handle(fyers.request("POST", request.url, {}, body))
    assert (answer.status, msgspec.json.decode(answer.body)["code"]) == (400, code)


def test_a_refresh_token_and_the_pin_renew_without_a_person_as_often_as_wanted(fyers):
    fyers.dialect.expire_session()
    for _ in range(2):
        made = fyers.result(login.renew(fyers.access, fyers.now))
        assert made.tokens["refresh_token"] == fyers.session["refresh_token"]
    fyers.session = made.tokens
    assert fyers.get("/api/v3/profile")[0] == 200


@pytest.mark.parametrize(("field", "value"), [("pin", "0"), ("refresh_token", "x.y.z"), ("refresh_token", "access")])
def test_a_renewal_with_a_wrong_pin_or_another_token_is_refused(fyers, field, value):
    request = next(login.renew(fyers.access, fyers.now))
    body = msgspec.json.decode(request.body)
    body[field] = fyers.session["access_token"] if value == "access" else value
    status, answer = fyers.post("/api/v3/validate-refresh-token", body)
    assert (status, answer["code"]) == (400, -501)


def test_a_refresh_token_ends_after_fifteen_days(fyers):
    request = next(login.renew(fyers.access, fyers.now))
    fyers.wall.now += timedelta(days=15, seconds=1).total_seconds()
    assert login.renew(fyers.access, fyers.now) is None
    assert fyers.send(request).status == 400


def test_a_token_lives_until_six_and_over_a_restart_of_the_simulator(fyers):
    fyers.dialect = fyers.build()
    assert login.parse_profile(fyers.send(login.profile_request(fyers.access)), LOGIN)
    assert expiry(fyers.session["access_token"]) == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    fyers.wall.now += timedelta(hours=20, minutes=1).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(fyers.send(login.profile_request(fyers.access)), LOGIN)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_refused_in_each_hosts_words_and_its_sockets_are_closed(fyers):
    market, ticking = fyers.open(feed.address(fyers.access, fyers.now))
    updates, telling = fyers.open(order_feed.address(fyers.access, fyers.now))
    assert ticking is not telling  # the host keeps both alive
    fyers.dialect.expire_session()
    assert market.closed is not None
    assert updates.closed is not None
    assert fyers.get("/api/v3/profile") == (
        401, {"s": "error", "code": -16, "message": "Could not authenticate the user"},
    )  # fmt: skip
    assert fyers.get("/data/quotes", symbols="NSE:X-EQ") == (
        401, {"s": "error", "code": -15, "message": "Please provide valid token"},
    )  # fmt: skip
    answer = fyers.place(fyers.listed("equities"))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    _, refused = fyers.open(order_feed.address(fyers.access, fyers.now))
    assert (refused.status, refused.body) == (403, b"")
    wire, _, decoder = fyers.open_market()
    assert [type(event) for event in decoder.receive(wire.frames[0])] == [SessionDead]
    assert wire.closed is not None


@every_case("spoil", ["app", "signature", "payload", "bare", "refresh", "empty"])
def test_only_the_apps_own_whole_token_is_let_in(fyers, spoil):
    token, app = fyers.session["access_token"], fyers.dialect.credentials["app_id"]
    head, payload, signature = token.split(".")
    header = {
        "app": f"XXXXXXXXXX-100:{token}",
        "signature": f"{app}:{head}.{payload}.{signature[:-2]}AA",
        "payload": f"{app}:{head}.{payload[:-4]}AAAA.{signature}",
        "bare": token,
        "refresh": f"{app}:{fyers.session['refresh_token']}",
        "empty": "",
    }[spoil]
    request = fyers.request("GET", f"{BASE}/api/v3/profile", {"Authorization": header})
    assert fyers.dialect.handle(request).status == 401


def test_logging_out_ends_the_token(fyers):
    assert fyers.post("/api/v3/logout", {})[0] == 200
    assert fyers.get("/api/v3/profile")[0] == 401


# --- instruments -------------------------------------------------------------------------------------------------------


def test_the_instrument_files_name_every_contract_as_the_exchange_knows_it(fyers):
    rows = {row["broker_token"]: row for row in fyers.frame().rows(named=True)}
    names = [name for name in map(name_of, fyers.account.contracts()) if name is not None]
    assert set(rows) == {fyers.token(name) for name in names}
    assert len({name.ticker for name in names}) == len(names)
    for name in names:
        contract, row = name.contract, rows[fyers.token(name)]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id
        assert (row["raw.fytoken"], row["tradingsymbol"]) == (name.fy_token, name.ticker)
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["freeze_quantity"], row["contract_units"]) == (contract.freeze_quantity, name.units)
            assert row["isin"] == contract.isin


def test_the_masters_have_no_header_and_speak_lots_of_currency_and_commodity(fyers):
    answer = fyers.dialect.handle(fyers.request("GET", f"{BASE}/sym_details/MCX_COM.csv"))
    first = answer.body.splitlines()[0].decode().split(",")
    assert (len(first), first[3], first[6], first[10:12]) == (21, "1", "0900-2330|1815-1915:", ["11", "20"])
    assert fyers.dialect.handle(fyers.request("GET", f"{BASE}/sym_details/NCDEX.csv")).status == 404


# --- orders ------------------------------------------------------------------------------------------------------------


def test_an_order_is_placed_shown_changed_and_cancelled(fyers):
    name = fyers.listed("equities")
    placed = fyers.place(name, quantity=7)
    assert placed.outcome is Outcome.ACCEPTED
    assert placed.broker_response["code"] == 1101
    row = fyers.row(placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, "ob0123456789ab", "CNC")
    price = fyers.ticket(name).price + name.contract.tick_size
    assert fyers.modify(row, name, quantity=9, price=price).outcome is Outcome.ACCEPTED
    truth = fyers.account.order(placed.order_id)
    assert (truth.quantity, truth.price) == (9, price)
    cancelled = fyers.cancel(row)
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = fyers.row(placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity, row.price) == ("CANCELLED", 9, 9, float(price))
    assert row.order_timestamp == START.isoformat()
    assert fyers.cancel(row).outcome is Outcome.REJECTED


def test_a_stop_waits_for_its_trigger_and_can_become_a_limit_order(fyers):
    name = fyers.listed("equities")
    tick, market = name.contract.tick_size, fyers.account.market(name.contract.instrument_id)
    high = market.upper_circuit - 2 * tick
    placed = fyers.place(name, order_type="SL", trigger_price=high, price=high + tick)
    row = fyers.row(placed.order_id)
    assert (row.order_type, row.status, row.trigger_price) == ("SL", "PENDING", float(high))
    low = fyers.ticket(name).price
    assert fyers.modify(row, name, order_type="LIMIT", price=low).outcome is Outcome.ACCEPTED
    row = fyers.row(placed.order_id)
    assert (row.order_type, row.status, row.price) == ("LIMIT", "OPEN", float(low))


@pytest.mark.parametrize(("bare", "exchange"), [("commodity_futures", "mcx"), ("currency_futures", "nse")])
def test_contracts_go_over_the_wire_as_lots_and_come_back_in_units(fyers, bare, exchange):
    name = fyers.listed(bare, exchange)
    request = orders.place_request(fyers.access, fyers.ticket(name, quantity=2 * name.units), fyers.now)
    assert msgspec.json.decode(request.body)["qty"] == 2
    answer = orders.parse_order_answer(fyers.send(request))
    assert fyers.account.order(answer.order_id).quantity == 2 * name.units
    row = fyers.row(answer.order_id)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (2 * name.units, 2 * name.units, name.units)


def test_a_trade_is_in_the_trade_book_the_position_and_on_the_order_socket(fyers):
    name = fyers.listed("commodity_futures", "mcx")
    wire, session = fyers.open(order_feed.address(fyers.access, fyers.now))
    for message in order_feed.opening_messages(fyers.access):
        session.received(message)
    placed = fyers.place(name, order_type="MARKET", price=None)
    order = fyers.account.order(placed.order_id)
    fills = [fill for fill in fyers.account.fills() if fill.order_id == placed.order_id]
    assert order.filled_quantity == name.units == sum(fill.quantity for fill in fills)
    for state in fyers.account.order_history(placed.order_id):
        session.order_changed(state, fills[-1] if state.filled_quantity else None)
    listings = fyers.listings()
    decoder = order_feed.decoder(fyers.access, ADDRESS, listings)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert events[0] == Heartbeat()
    updates = [event.order for event in events if isinstance(event, OrderUpdate)]
    assert (updates[-1].status, updates[-1].filled_quantity) == ("COMPLETE", name.units)
    assert updates[-1].average_price == float(order.average_price)
    assert updates[-1] == fyers.row(placed.order_id)
    told = [event.trade for event in events if isinstance(event, TradeUpdate)]
    trades = books.parse_trades(fyers.send_all(books.trade_requests(fyers.access, fyers.now)), listings)
    mine = [trade for trade in trades if trade.order_id == placed.order_id]
    assert told[-1] == mine[-1]
    assert sum(trade.quantity for trade in mine) == name.units
    assert any(isinstance(event, BooksMoved) for event in events)  # the position
    rows = portfolio.parse_positions(fyers.send_all(portfolio.position_requests(fyers.access, fyers.now)), {})
    day = next(row for row in rows if row.view == "day" and row.instrument_token == fyers.token(name))
    assert (day.quantity, day.buy_quantity, day.multiplier) == (name.units, name.units, name.units)
    assert day.buy_value == pytest.approx(float(order.filled_value))


def test_an_order_seen_first_on_the_socket_is_the_order_the_book_shows(fyers):
    name = fyers.listed("equities")
    wire, session = fyers.open(order_feed.address(fyers.access, fyers.now))
    for message in order_feed.opening_messages(fyers.access):
        session.received(message)
    placed = fyers.place(name)
    fyers.cancel(fyers.row(placed.order_id))
    for state in fyers.account.order_history(placed.order_id):
        session.order_changed(state, None)
    decoder = order_feed.decoder(fyers.access, ADDRESS, fyers.listings())
    updates = [event for frame in wire.frames[1:] for event in decoder.receive(frame)]
    assert [event.order.status for event in updates] == ["OPEN", "CANCELLED"]
    assert updates[-1].order == fyers.row(placed.order_id)


def test_positions_holdings_and_funds_are_the_exchanges_truth(fyers):
    positions = portfolio.parse_positions(
        fyers.send_all(portfolio.position_requests(fyers.access, fyers.now)), fyers.listings()
    )
    net = {row.instrument_token: row for row in positions if row.view == "net"}
    for held in fyers.account.positions():
        row = net[fyers.token(name_of(fyers.account.contract(held.instrument_id)))]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        if held.overnight_quantity > 0:
            assert row.average_price in (None, pytest.approx(float(held.overnight_price)))
    rows = portfolio.parse_holdings(fyers.send_all(portfolio.holding_requests(fyers.access, fyers.now)))
    for held in fyers.account.holdings():
        mine = [row for row in rows if row.isin == fyers.account.contract(held.instrument_id).isin]
        assert sum(row.settled_quantity for row in mine) == held.settled_quantity + held.collateral_quantity
        assert sum(row.t1_quantity for row in mine) == held.t1_quantity
        assert sum(row.collateral_quantity for row in mine) == held.collateral_quantity
        assert {row.average_price for row in mine} == {float(held.average_price)}
        assert {row.instrument_token for row in mine} == {
            fyers.token(name_of(fyers.account.contract(held.instrument_id)))
        }
    funds = portfolio.parse_funds(fyers.send_all(portfolio.fund_requests(fyers.access, fyers.now)))
    truth = fyers.account.funds()
    assert funds.available_balance == pytest.approx(float(truth.available))
    assert funds.collateral_value == float(truth.collateral)
    assert funds.margin_utilized == pytest.approx(float(truth.used))
    assert funds.pools == {"equity": float(truth.available), "commodity": 0.0}


def test_refusals_are_in_fyers_words_and_clear(fyers):
    row = msgspec.structs.replace(fyers.row(fyers.place(fyers.listed("equities")).order_id), order_id="99")
    unknown = fyers.cancel(row)
    assert (unknown.outcome, unknown.broker_response["code"]) == (Outcome.REJECTED, -51)
    full = orders.parse_order_answer(fyers.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(fyers.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    ("change", "code"),
    [
        ({"symbol": "NSE:NOBODY-EQ"}, -300), ({"symbol": 7}, -300), ({"type": 9}, -50), ({"type": None}, -50),
        ({"type": True}, -50), ({"side": 0}, -50), ({"productType": "MTF"}, -50), ({"validity": "GTC"}, -50),
        ({"qty": "7"}, -50), ({"qty": -1}, -50), ({"qty": 0}, -50), ({"limitPrice": "high"}, -50),
        ({"orderTag": "x" * 31}, -50), ({"orderTag": "a b"}, -50),
    ],
)  # fmt: skip
def test_a_body_fyers_would_refuse_is_refused_with_its_code(fyers, change, code):
    request = orders.place_request(fyers.access, fyers.ticket(fyers.listed("equities")), fyers.now)
    status, answer = fyers.post("/api/v3/orders/sync", msgspec.json.decode(request.body) | change)
    assert (status, answer["s"], answer["code"]) == (400, "error", code)


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(fyers):
    name = fyers.listed("equities")
    placed = fyers.place(name, price=fyers.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = fyers.row(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert row.status_message


def test_the_book_can_be_asked_for_an_id_or_a_tag(fyers):
    placed = fyers.place(fyers.listed("equities"))
    for query in ({"id": placed.order_id}, {"order_tag": "1:ob0123456789ab"}, {"order_tag": "ob0123456789ab"}):
        assert [row["id"] for row in fyers.get("/api/v3/orders", **query)[1]["orderBook"]] == [placed.order_id]
    assert fyers.get("/api/v3/orders", id="99")[1]["orderBook"] == []


def test_prices_leave_with_the_digits_of_the_tick(fyers):
    name = fyers.listed("currency_futures")
    placed = fyers.place(
        name, price=fyers.account.market(name.contract.instrument_id).lower_circuit + Decimal("0.0025")
    )
    assert placed.outcome is Outcome.ACCEPTED
    assert fyers.account.order(placed.order_id).price % Decimal("0.0025") == 0


# --- market data -------------------------------------------------------------------------------------------------------


def test_quotes_are_the_market_in_units(fyers):
    names = [fyers.listed("equities"), fyers.listed("commodity_futures", "mcx"), fyers.listed("equity_indices")]
    listings = [fyers.listing(name) for name in names]
    nobody = msgspec.structs.replace(listings[0], tradingsymbol="NSE:NOBODY-EQ", broker_token="nse_cm|1")
    response = fyers.send(quotes.quote_request(fyers.access, [*listings, nobody]))
    ticks = quotes.parse_quotes(response, [*listings, nobody])
    assert set(ticks) == {fyers.token(name) for name in names}
    for name in names:
        tick, market = ticks[fyers.token(name)], fyers.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        if not name.contract.is_index:
            assert tick.volume == market.volume // name.units * name.units


def test_more_than_fifty_symbols_are_refused(fyers):
    status, answer = fyers.get("/data/quotes", symbols=",".join(f"NSE:X{n}-EQ" for n in range(51)))
    assert (status, answer["code"]) == (400, -50)


def test_depth_is_asked_for_one_symbol(fyers):
    name = fyers.listed("equities")
    _, answer = fyers.get("/data/depth", symbol=name.ticker, ohlcv_flag="1")
    row = answer["d"][name.ticker]
    market = fyers.account.market(name.contract.instrument_id)
    assert (len(row["bids"]), len(row["ask"]), row["c"]) == (5, 5, float(market.previous_close))


@pytest.mark.parametrize("interval", sorted(candles.INTERVALS))
def test_candles_are_the_exchanges_in_units_and_begin_where_every_brokers_do(fyers, interval):
    fyers.keep_candles()
    name = fyers.listed("commodity_futures", "mcx")
    last = START.date()
    first = last - timedelta(days=3)
    requests = candles.candle_requests(fyers.access, fyers.listing(name), interval, first, last)
    rows = candles.parse_candles(fyers.send_all(requests), fyers.listing(name))
    truth = fyers.account.candles(name.contract.instrument_id, interval, first, last)
    assert [(row.start, row.open, row.high, row.low, row.close) for row in rows] == [tuple(each[:5]) for each in truth]
    assert [row.volume for row in rows] == [each[5] // name.units * name.units for each in truth]
    assert all(row.oi is not None for row in rows)


@every_case(
    ("change", "code"),
    [
        ({"resolution": "7"}, -50), ({"range_from": "yesterday"}, -50), ({"range_from": "2026-01-01"}, -50),
        ({"range_to": "2026-11-19"}, -50), ({"date_format": "9"}, -50), ({"symbol": "NSE:NOBODY-EQ"}, -300),
    ],
)  # fmt: skip
def test_a_candle_call_over_the_span_or_of_an_unknown_kind_is_refused(fyers, change, code):
    query = {
        "symbol": fyers.listed("equities").ticker, "resolution": "5", "date_format": "1", "range_from": "2026-11-20",
        "range_to": "2026-11-23", "cont_flag": "0", **change,
    }  # fmt: skip
    status, answer = fyers.get("/data/history", **query)
    assert (status, answer["code"]) == (400, code)


def test_a_span_without_trades_says_no_data(fyers):
    name = fyers.listed("equities")
    day = START.date() + timedelta(days=30)
    (request,) = candles.candle_requests(fyers.access, fyers.listing(name), "day", day, day)
    response = fyers.send(request)
    assert msgspec.json.decode(response.body)["s"] == "no_data"
    assert candles.parse_candles([response], fyers.listing(name)) == []


def test_symbols_are_turned_into_tokens_under_the_bare_token(fyers):
    name = fyers.listed("equities")
    body = {"symbols": [name.ticker, "NSE:NOBODY-EQ"]}
    _, answer = fyers.post("/data/symbol-token", body, Authorization=fyers.session["access_token"])
    assert answer["validSymbol"] == {name.ticker: name.fy_token}
    assert answer["invalidSymbol"] == ["NSE:NOBODY-EQ"]


# --- the data socket ---------------------------------------------------------------------------------------------------


def test_the_market_socket_answers_key_and_mode_then_topics_with_a_snapshot_then_changes(fyers):
    share, crude = fyers.listed("equities"), fyers.listed("commodity_futures", "mcx")
    index, pair = fyers.listed("equity_indices"), fyers.listed("currency_futures")
    wire, session, decoder = fyers.open_market(share, crude, index, pair)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert [type(event) for event in events[:3]] == [Heartbeat, Ready, Heartbeat]
    ticks = {tick.broker_token: tick for event in events if isinstance(event, Ticks) for tick in event.ticks}
    assert set(ticks) == {fyers.token(name) for name in (share, crude, index, pair)}
    for name in (share, crude, pair):
        assert_market(ticks[fyers.token(name)], name, fyers.account.market(name.contract.instrument_id))
    market = fyers.account.market(index.contract.instrument_id)
    tick = ticks[fyers.token(index)]
    assert (tick.last_price, tick.open, tick.buy) == (float(market.last_price), float(market.open), None)
    wire.frames.clear()
    moved = market_after(fyers, crude)
    session.markets_moved(frozenset({crude.contract.instrument_id, "nobody"}))
    (frame,) = wire.frames
    (event,) = (event for event in decoder.receive(frame) if isinstance(event, Ticks))
    (tick,) = event.ticks
    assert_market(tick, crude, moved)
    session.markets_moved(frozenset({crude.contract.instrument_id}))
    assert len(wire.frames) == 1  # nothing moved since


def assert_market(tick, name, market):
    """A tick is the market of one instrument, quantities in whole lots."""
    units = name.units
    assert (tick.last_price, tick.open, tick.previous_close) == (
        float(market.last_price), float(market.open), float(market.previous_close),
    )  # fmt: skip
    assert (tick.volume, tick.buy_quantity) == (market.volume // units * units, market.buy_quantity // units * units)
    assert tick.oi == (None if name.segment == 10 else market.oi // units * units)
    assert [(level.price, level.quantity, level.orders) for level in tick.buy] == [
        (float(level.price), level.quantity, level.orders) for level in market.buy
    ]
    assert [level.quantity for level in tick.sell] == [level.quantity for level in market.sell]
    assert tick.exchange_time == int(market.exchange_time)


def market_after(fyers, name):
    """Trade once at the market and return what it is then."""
    fyers.place(name, order_type="MARKET", price=None)
    return fyers.account.market(name.contract.instrument_id)


def test_frames_are_acknowledged_as_often_as_the_server_asks(fyers):
    name = fyers.listed("commodity_futures", "mcx")
    wire, session, decoder = fyers.open_market(name)
    for _ in range(12):
        market_after(fyers, name)
        session.markets_moved(frozenset({name.contract.instrument_id}))
    replies = [event for frame in wire.frames for event in decoder.receive(frame) if isinstance(event, Reply)]
    for reply in replies:
        session.received(reply.message)
    assert len(replies) == 2
    assert session.acknowledged == 10


def test_what_is_unsubscribed_is_sent_no_more(fyers):
    name, other = fyers.listed("commodity_futures", "mcx"), fyers.listed("equities")
    wire, session, decoder = fyers.open_market(name, other)
    for message in feed.unsubscribe_messages(fyers.access, [fyers.listing(name)]):
        session.received(message)
    assert decoder.receive(wire.frames[-1]) == [Heartbeat()]
    wire.frames.clear()
    market_after(fyers, name)
    session.markets_moved(frozenset({name.contract.instrument_id}))
    assert wire.frames == []


def test_in_lite_mode_only_last_prices_come(fyers):
    name = fyers.listed("commodity_futures", "mcx")
    wire, session, decoder = fyers.open_market()
    lite = hsm.mode_message()[:-1] + b"L"
    session.received(lite)
    for message in feed.subscribe_messages(fyers.access, [fyers.listing(name)]):
        session.received(message)
    for frame in wire.frames:
        decoder.receive(frame)
    wire.frames.clear()
    before = fyers.account.market(name.contract.instrument_id).last_price
    fyers.exchange.set_price(name.contract.instrument_id, before + name.contract.tick_size)
    session.markets_moved(frozenset({name.contract.instrument_id}))
    (frame,) = wire.frames
    assert frame[9] == 76
    ticks = [event for event in decoder.receive(frame) if isinstance(event, Ticks)]
    assert ticks[0].ticks[0].last_price == float(fyers.account.market(name.contract.instrument_id).last_price)


def test_more_topics_than_the_plan_allows_are_refused_in_a_message_of_their_own(fyers, monkeypatch):
    wire, session, decoder = fyers.open_market()
    every = [name for name in map(name_of, fyers.account.contracts()) if name is not None]
    topics = [topic for name in every for topic in name.topics]
    monkeypatch.setattr(data_socket, "MOST_TOPICS", len(topics))
    session.received(hsm.topics_message(hsm.Kind.SUBSCRIBE, topics))
    session.received(hsm.topics_message(hsm.Kind.SUBSCRIBE, topics[:5]))
    assert not [each for each in map(decoder.receive, wire.frames) if isinstance(each[-1], StreamRefused)]
    session.received(hsm.topics_message(hsm.Kind.SUBSCRIBE, ["sf|nse_cm|0"]))
    (event,) = decoder.receive(wire.frames[-1])
    assert isinstance(event, StreamRefused)
    assert "51001" in event.message


def test_a_socket_without_its_key_is_closed(fyers):
    wire, session = fyers.open(feed.address(fyers.access, fyers.now))
    session.received(hsm.mode_message())
    assert wire.closed is not None


def test_pings_and_nonsense_are_passed_over(fyers):
    wire, session, _ = fyers.open_market()
    known = len(wire.frames)
    for message in (feed.ping_message(), b"", b"\x00", "text", b"\x00\x00\x04\x02\x01\xff\xff", b"\x00\x00\xff\x00"):
        session.received(message)
    assert len(wire.frames) == known
    assert wire.closed is None


def test_the_reference_bytes_of_the_official_client_are_understood(fyers):
    """Its full mode, and its subscription, whose length is not the message's."""
    wire, session, decoder = fyers.open_market()
    name = fyers.listed("equities")
    topic = f"sf|nse_cm|{name.contract.exchange_token}".encode()
    for message in (
        bytes.fromhex("00000c02010008000000000000080002000146"),
        struct.pack(">H", 1234) + b"\x04\x02\x01" + struct.pack(">HHB", 3 + len(topic), 1, len(topic)) + topic + b"\x02\x00\x01\x0b",
    ):  # fmt: skip
        session.received(message)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert isinstance(events[-1], Ticks)


# --- whatever comes ----------------------------------------------------------------------------------------------------

PATHS = [
    "/api/v3/generate-authcode", "/api/v3/validate-authcode", "/api/v3/validate-refresh-token", "/api/v3/orders/sync",
    "/api/v3/orders", "/api/v3/profile", "/data/quotes", "/data/depth", "/data/history",
    "/api/v3/multiorder/margin", "/data/symbol-token", "/sym_details/NSE_CM.csv", "/nothing",
]  # fmt: skip
VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.lists(st.text(max_size=3), max_size=2)
)
FIELDS = st.sampled_from(
    ["symbol", "qty", "type", "side", "productType", "limitPrice", "stopPrice", "validity", "disclosedQty", "id", "orderTag",
     "grant_type", "appIdHash", "code", "pin", "refresh_token", "symbols"]
)  # fmt: skip
BODIES = st.binary(max_size=40) | st.dictionaries(FIELDS, VALUES, max_size=8).map(msgspec.json.encode)
QUERIES = st.lists(
    st.tuples(
        st.sampled_from(["symbols", "symbol", "resolution", "range_from", "range_to", "date_format", "client_id"]),
        st.text(max_size=12) | st.sampled_from(["D", "0", "1", "2026-11-20", "99999999999999"]),
    ),
    max_size=4,
)
SHARED = Fyers()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    method=st.sampled_from(["GET", "POST", "PATCH", "DELETE", "PUT"]), path=st.sampled_from(PATHS), query=QUERIES,
    body=BODIES, header=st.none() | st.text(st.characters(max_codepoint=255), max_size=30), with_ticker=st.booleans(),
)  # fmt: skip
def test_no_request_whatever_makes_the_server_raise(method, path, query, body, header, with_ticker):
    headers = SHARED.headers() if header is None else {"Authorization": header}
    if with_ticker:
        query = [*query, ("symbol", SHARED.listed("equities").ticker)]
    request = attrs.evolve(SHARED.request(method, f"{BASE}{path}", headers, body), query=query)
    response = SHARED.dialect.handle(request)
    assert isinstance(response, WireResponse)


@settings(max_examples=300, deadline=None)
@given(message=st.binary(max_size=60) | st.text(max_size=30), flips=st.lists(st.integers(0, 60), max_size=3))
def test_no_message_whatever_makes_a_socket_raise(message, flips):
    wire, session, _ = SHARED.open_market()
    _, updates = SHARED.open(order_feed.address(SHARED.access, SHARED.now))
    spoiled = bytearray(hsm.topics_message(hsm.Kind.SUBSCRIBE, ["sf|nse_cm|1001", "dp|nse_cm|1001"]))
    for place in flips:
        spoiled[place % len(spoiled)] ^= 0xFF
    for each in (message, bytes(spoiled)):
        session.received(each)
        updates.received(each)
    assert wire.frames


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_cut_or_spoiled_frame_of_the_server_is_corrupt_or_read_and_never_raises(data):
    name = SHARED.listed("equities")
    wire, _, decoder = SHARED.open_market(name, SHARED.listed("equity_indices"))
    frame = data.draw(st.sampled_from(wire.frames))
    end = data.draw(st.integers(0, len(frame)))
    for event in decoder.receive(frame[:end]):
        assert not isinstance(event, Ticks) or end == len(frame)
    spoiled = bytearray(frame)
    spoiled[data.draw(st.integers(0, len(frame) - 1))] ^= data.draw(st.integers(1, 255))
    for event in decoder.receive(bytes(spoiled)):
        assert isinstance(event, (Ticks, Heartbeat, Ready, Reply, CorruptFrame, SessionDead, StreamRefused))


def test_what_orders_need_is_told_by_themselves_and_with_what_is_used(fyers):
    """The official SDK has no method for it."""
    name = fyers.listed("commodity_futures", "mcx")
    one = {
        "symbol": name.ticker, "qty": 1, "side": -1, "type": 2, "productType": "MARGIN", "limitPrice": 0.0, "stopLoss": 0.0,
        "stopPrice": 0.0, "takeProfit": 0.0,
    }  # fmt: skip
    status, answer = fyers.post("/api/v3/multiorder/margin", {"data": [one]})
    told = answer["data"]
    assert (status, answer["s"]) == (200, "ok")
    funds = fyers.account.funds()
    assert told["margin_new_order"] - told["margin_total"] == pytest.approx(float(funds.used))
    _, two = fyers.post("/api/v3/multiorder/margin", {"data": [one, one]})
    assert two["data"]["margin_total"] == pytest.approx(2 * told["margin_total"]) != 0


@pytest.mark.parametrize(
    ("body", "code"),
    [({}, -50), ({"data": []}, -50), ({"data": [1]}, -50), ({"data": [{"symbol": "NSE:NOBODY-EQ"}]}, -300)],
)
def test_a_margin_call_that_cannot_be_is_refused(fyers, body, code):
    status, answer = fyers.post("/api/v3/multiorder/margin", body)
    assert (status, answer["s"], answer["code"]) == (400, "error", code)


async def test_files_cost_nothing_of_the_calls_a_second(fyers, autojump_clock):
    clock = Clock.following_trio(START)
    limits = CallLimits((Limit(1, 10, orders_only=False),), clock, day_limits=False)
    gateway = Gateway("fyers", fyers.dialect, fyers.exchange, Faults(clock), limits)
    file, profile = (
        fyers.request("GET", f"{BASE}{path}", fyers.headers())
        for path in ("/sym_details/NSE_CM.csv", "/api/v3/profile")
    )
    with trio.fail_after(5):
        assert [(await gateway.handle(file)).response.status for _ in range(15)] == [200] * 15
        statuses = [(await gateway.handle(profile)).response.status for _ in range(11)]
    assert statuses == [200] * 10 + [429]
