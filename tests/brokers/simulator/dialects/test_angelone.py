"""SmartAPI's server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

import struct
from datetime import datetime, timedelta
from decimal import Decimal

import attrs
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.angelone import books, candles, feed, instruments, login, order_feed, orders, portfolio, quotes
from onebroker.brokers.angelone.broker import ANGELONE
from onebroker.brokers.broker import Access, Login, OrderChange
from onebroker.brokers.codec.totp import totp
from onebroker.brokers.events import Heartbeat, OrderUpdate, StreamRefused, Ticks
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerRefusal, RefusalKind, StreamAddress
from onebroker.brokers.simulator.dialects.angelone import build
from onebroker.brokers.simulator.dialects.angelone.naming import name_of
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE, START, DialectClient, Wire
from tests.support.every_case import every_case

ADDRESS = StreamAddress(url="ws://feed")


class AngelOne(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(ANGELONE, build, name_of)
        self.session = self.dialect.session()

    @property
    def access(self):
        made = Login(tokens=self.session, user_id=self.account.client_id, logged_in_at=0.0, expires_at=0.0)
        return Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def open(self, codec=feed, **headers):
        """Open a socket with the codec's own headers, some of them replaced."""
        flow = codec.address(self.access, self.now)
        with pytest.raises(StopIteration) as done:
            next(flow)
        address = done.value.value
        wire = Wire()
        url = address.url.replace("ws://", "http://")
        return wire, self.dialect.open_socket(self.request("GET", url, {**address.headers, **headers}), wire)

    def call(self, method, path, body=None, **headers):
        given = {
            "Authorization": f"Bearer {self.session['jwtToken']}", "X-PrivateKey": self.dialect.credentials["api_key"],
            "X-UserType": "USER", **headers,
        }  # fmt: skip
        content = b"" if body is None else msgspec.json.encode(body)
        return self.dialect.handle(self.request(method, f"{BASE}/rest/secure/angelbroking{path}", given, content))

    def asked(self, method, path, body=None, **headers):
        return msgspec.json.decode(self.call(method, path, body, **headers).body)

    def listing(self, name):
        return Listing(
            broker_token=f"{name.exchange}|{name.token}", tradingsymbol=name.tradingsymbol, exchange=name.exchange,
            lot_size=name.contract.lot_size, contract_units=name.units,
        )  # fmt: skip

    def book(self, order_id):
        rows = books.parse_orders(self.answers(books.order_requests(self.access, START)), self.listings())
        return next(row for row in rows if row.order_id == order_id)

    def trades(self, order_id):
        rows = books.parse_trades(self.answers(books.trade_requests(self.access, START)), self.listings())
        return [row for row in rows if row.order_id == order_id]

    def positions(self):
        return portfolio.parse_positions(self.answers(portfolio.position_requests(self.access, START)), self.listings())

    def profile(self):
        return login.parse_profile(self.send(login.profile_request(self.access)), self.access.login)


@pytest.fixture
def angel():
    return AngelOne()


# login ----------------------------------------------------------------------------------------------------------------


def test_pin_and_one_time_code_make_a_login_that_the_profile_proves(angel):
    made = angel.result(login.log_in(angel.access, "", angel.now))
    assert set(made.tokens) == {"jwtToken", "refreshToken", "feedToken"}
    assert made.expires_at == datetime(2026, 11, 24, 5, 0, tzinfo=IST).timestamp()
    angel.session = made.tokens
    assert angel.profile()["clientcode"] == made.user_id == angel.account.client_id


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("client_code", "X1", RefusalKind.BAD_CREDENTIALS),
        ("pin", "0", RefusalKind.BAD_CREDENTIALS),
        ("totp_secret", "MFRGGZDFMZTWQ2LK", RefusalKind.BAD_TOTP),
        ("api_key", "nobody", RefusalKind.BAD_CREDENTIALS),
    ],
)
def test_a_refused_login_says_what_it_has_against_us(angel, field, value, kind):
    access = attrs.evolve(angel.access, credentials={**angel.dialect.credentials, field: value})
    flow = login.log_in(access, "", angel.now)
    request = next(flow)
    with pytest.raises(BrokerRefusal) as refusal:
        flow.send(angel.send(request))
    assert refusal.value.kind is kind


@pytest.mark.parametrize(("late", "works"), [(0, True), (29, True), (61, False)])
def test_a_one_time_code_is_good_for_a_minute_at_most(angel, late, works):
    code = totp(angel.dialect.credentials["totp_secret"], angel.now)
    angel.wall.now += late
    body = {"clientcode": angel.account.client_id, "password": angel.dialect.credentials["pin"], "totp": code}
    url = f"{BASE}/rest/auth/angelbroking/user/v1/loginByPassword"
    headers = {"X-PrivateKey": angel.dialect.credentials["api_key"], "X-UserType": "USER"}
    answer = angel.dialect.handle(angel.request("POST", url, headers, msgspec.json.encode(body)))
    assert msgspec.json.decode(answer.body)["status"] is works


def test_a_refresh_token_renews_once_even_when_the_token_beside_it_is_dead(angel):
    angel.dialect.expire_session()
    before = angel.access
    made = angel.result(login.renew(before, angel.now))
    angel.session = made.tokens
    assert angel.profile()["clientcode"] == angel.account.client_id
    flow = login.renew(before, angel.now)
    with pytest.raises(BrokerRefusal, match="Refresh"):
        flow.send(angel.send(next(flow)))


def test_tokens_live_until_five_in_the_morning_and_over_a_restart_of_the_simulator(angel):
    angel.dialect = angel.build()
    assert angel.profile()
    angel.wall.now += timedelta(hours=19, minutes=1).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        angel.profile()
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_refused_in_every_form_and_its_sockets_are_closed(angel):
    opened = [angel.open(codec) for codec in (feed, order_feed)]
    angel.dialect.expire_session()
    assert [wire.closed is not None for wire, _ in opened] == [True, True]
    answers = [
        angel.call("GET", path) for path in ("/order/v1/getOrderBook", "/portfolio/v1/getAllHolding", "/user/v1/getRMS")
    ]
    assert [answer.status for answer in answers] == [200, 403, 200]
    assert "success" in msgspec.json.decode(answers[0].body)
    for parse, answer in zip((books.parse_orders, None, None), answers, strict=True):
        with pytest.raises(BrokerRefusal) as refusal:
            parse([answer], {}) if parse else portfolio.parse_funds([answer])
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    refused = angel.place(angel.listed("equities"))
    assert (refused.outcome, refused.session_dead) == (Outcome.REJECTED, True)
    assert {angel.open(codec)[1].status for codec in (feed, order_feed)} == {401}
    assert angel.call("GET", "/user/v1/getRMS", Authorization="").status == 401


def test_logging_out_ends_the_token(angel):
    assert angel.asked("POST", "/user/v1/logout", {"clientcode": angel.account.client_id})["status"] is True
    with pytest.raises(BrokerRefusal):
        angel.profile()


# instruments ----------------------------------------------------------------------------------------------------------


def test_the_instrument_file_names_every_contract_as_the_exchange_knows_it(angel):
    (answer,) = angel.answers(instruments.file_requests(angel.access, START))
    assert all(isinstance(value, str) for row in msgspec.json.decode(answer.body) for value in row.values())
    rows = {row["broker_token"]: row for row in instruments.read_files([answer.body]).rows(named=True)}
    names = [name_of(contract) for contract in angel.account.contracts()]
    assert set(rows) == {f"{name.exchange}|{name.token}" for name in names}
    assert {name.exchange for name in names} == {"NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCDEX"}
    for name in names:
        contract, row = name.contract, rows[f"{name.exchange}|{name.token}"]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            # On MCX a quantity is known only where a lot is one trading unit (gold): lots and trading units are the same then.
            unsettled = name.exchange == "MCX" and identity.underlying_symbol != "GOLD"
            assert row["contract_units"] == (None if unsettled else name.units)


def gold(angel):
    """A contract of MCX in which one of SmartAPI's quantities is known (`values.UNSETTLED`)."""
    return angel.listed("commodity_futures", "mcx", "GOLD")


# orders ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("order_type", "variety"), [("LIMIT", "NORMAL"), ("SL", "STOPLOSS"), ("SL-M", "STOPLOSS")])
def test_an_order_is_placed_shown_changed_and_cancelled_under_its_variety(angel, order_type, variety):
    name = angel.listed("equities")
    market, tick = angel.account.market(name.contract.instrument_id), name.contract.tick_size
    values = {"order_type": order_type, "quantity": 7}
    if order_type != "LIMIT":
        values |= {"trigger_price": market.upper_circuit - 4 * tick, "price": None}
    if order_type == "SL":
        values["price"] = market.upper_circuit - 2 * tick
    placed = angel.place(name, **values)
    assert placed.outcome is Outcome.ACCEPTED
    row = angel.book(placed.order_id)
    status = "OPEN" if order_type == "LIMIT" else "PENDING"
    assert (row.status, row.quantity, row.tag, row.product) == (status, 7, "ob0123456789ab", "CNC")
    assert (row.order_type, row.variety) == (order_type, variety)
    change = OrderChange(row=row, listing=angel.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(angel.send(orders.modify_request(angel.access, change, angel.now)))
    assert changed.outcome is Outcome.ACCEPTED
    held = angel.account.order(placed.order_id)
    assert (held.quantity, held.price, held.trigger_price) == (
        9,
        angel.ticket(name, **values).price,
        values.get("trigger_price"),
    )
    cancelled = orders.parse_order_answer(angel.send(orders.cancel_request(angel.access, row, angel.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = angel.book(placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity, row.pending_quantity) == ("CANCELLED", 9, 9, 0)
    again = orders.parse_order_answer(angel.send(orders.cancel_request(angel.access, row, angel.now)))
    assert again.outcome is Outcome.REJECTED


def test_an_order_is_changed_and_cancelled_only_under_the_variety_it_was_placed_with(angel):
    placed = angel.place(angel.listed("equities"))
    row = msgspec.structs.replace(angel.book(placed.order_id), variety="AMO")
    answer = orders.parse_order_answer(angel.send(orders.cancel_request(angel.access, row, angel.now)))
    assert (answer.outcome, answer.broker_response["errorcode"]) == (Outcome.REJECTED, "AB1008")


def test_an_after_market_order_keeps_its_variety(angel):
    placed = angel.place(angel.listed("equities"), after_market=True)
    assert placed.outcome is Outcome.ACCEPTED
    assert angel.account.order(placed.order_id).new.after_market
    row = angel.book(placed.order_id)
    assert row.variety == "AMO"
    assert (
        orders.parse_order_answer(angel.send(orders.cancel_request(angel.access, row, angel.now))).outcome
        is Outcome.ACCEPTED
    )


@pytest.mark.parametrize(
    ("bare", "exchange"),
    [
        ("commodity_futures", "ncdex"),
        ("currency_futures", "nse"),
        ("currency_options", "nse"),
    ],
)
def test_lots_go_over_the_wire_and_units_come_back(angel, bare, exchange):
    name = angel.listed(bare, exchange)
    request = orders.place_request(angel.access, angel.ticket(name, quantity=2 * name.units), angel.now)
    assert msgspec.json.decode(request.body)["quantity"] == "2"
    answer = orders.parse_order_answer(angel.send(request))
    assert angel.account.order(answer.order_id).quantity == 2 * name.units
    row = angel.book(answer.order_id)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (2 * name.units, 2 * name.units, name.units)
    assert row.price == float(angel.account.order(answer.order_id).price)


@pytest.mark.parametrize(
    ("bare", "exchange"), [("commodity_futures", "ncdex"), ("currency_futures", "nse"), ("equities", "nse")]
)
def test_a_trade_is_in_the_trade_book_the_position_and_on_the_order_socket(angel, bare, exchange):
    name = angel.listed(bare, exchange)
    wire, session = angel.open(order_feed)
    placed = angel.place(name, order_type="MARKET", price=None, product="MIS")
    order = angel.account.order(placed.order_id)
    assert order.filled_quantity == name.contract.lot_size
    for state in angel.account.order_history(placed.order_id):
        session.order_changed(state, None)
    decoder = order_feed.decoder(angel.access, ADDRESS, angel.listings())
    greeting, *events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert greeting == Heartbeat()
    assert all(isinstance(event, OrderUpdate) for event in events)
    assert (events[0].order.status, events[0].order.filled_quantity) == ("PENDING", 0)
    assert (events[-1].order.status, events[-1].order.filled_quantity) == ("COMPLETE", name.contract.lot_size)
    assert events[-1].order.average_price == float(order.average_price)
    trades = angel.trades(placed.order_id)
    assert {row.instrument_token for row in trades} == {f"{name.exchange}|{name.token}"}
    assert sum(row.quantity for row in trades) == name.contract.lot_size
    assert all(len(row.trade_timestamp) == 8 for row in trades)
    rows = [
        row
        for row in angel.positions()
        if row.instrument_token == f"{name.exchange}|{name.token}" and row.product == "MIS"
    ]
    for row in rows:
        assert (row.quantity, row.buy_quantity) == (name.contract.lot_size, name.contract.lot_size)
        assert row.buy_value == pytest.approx(float(order.filled_value))
        assert row.average_price == pytest.approx(float(order.average_price))
    assert [row.view for row in rows] == ["net", "day"]


def test_the_order_book_is_asked_for_the_tokens_of_trades_only_when_another_order_has_traded(angel):
    name = angel.listed("equities")
    angel.place(name, order_type="MARKET", price=None)
    versions = []
    for _ in range(2):
        flow = books.trade_requests(angel.access, angel.now)
        versions.append(flow.send(angel.send(next(flow))).version)
    angel.place(name, order_type="MARKET", price=None)
    flow = books.trade_requests(angel.access, angel.now)
    versions.append(flow.send(angel.send(next(flow))).version)
    assert versions[0] == versions[1] != versions[2]


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(angel):
    name = angel.listed("equities")
    placed = angel.place(name, price=angel.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = angel.book(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert row.status_message


@every_case(
    ("change", "code"),
    [
        ({"variety": "TURBO"}, "AB1008"),
        ({"variety": "ROBO"}, "AB2002"),
        ({"variety": "STOPLOSS"}, "AB1008"),
        ({"producttype": "MARGIN"}, "AB1012"),
        ({"symboltoken": "1"}, "AB1009"),
        ({"tradingsymbol": "ANOTHER-EQ"}, "AB1009"),
        ({"exchange": None}, "AB1009"),
        ({"ordertag": "x" * 20}, "AB4008"),
        ({"quantity": "seven"}, ""),
        ({"quantity": "0"}, ""),
        ({"price": "NaN"}, ""),
        ({"price": []}, ""),
        ({"ordertype": "STOP"}, ""),
    ],
)
def test_a_body_smartapi_would_refuse_is_refused_in_a_200(angel, change, code):
    request = orders.place_request(angel.access, angel.ticket(angel.listed("equities")), angel.now)
    body = msgspec.json.encode(msgspec.json.decode(request.body) | change)
    response = angel.dialect.handle(angel.request("POST", request.url, request.headers, body))
    answer = orders.parse_order_answer(response)
    assert (response.status, answer.outcome, answer.broker_response["errorcode"]) == (200, Outcome.REJECTED, code)


def test_numbers_are_taken_for_texts(angel):
    request = orders.place_request(angel.access, angel.ticket(angel.listed("equities")), angel.now)
    body = msgspec.json.decode(request.body)
    body |= {"quantity": int(body["quantity"]), "price": float(body["price"]), "symboltoken": int(body["symboltoken"])}
    response = angel.dialect.handle(angel.request("POST", request.url, request.headers, msgspec.json.encode(body)))
    assert orders.parse_order_answer(response).outcome is Outcome.ACCEPTED


def test_one_order_is_found_by_its_unique_id(angel):
    placed = angel.place(angel.listed("equities"))
    unique = placed.broker_response["data"]["uniqueorderid"]
    assert angel.asked("GET", f"/order/v1/details/{unique}")["data"]["orderid"] == placed.order_id
    assert angel.asked("GET", "/order/v1/details/nobody")["errorcode"] == "AB1013"


def test_the_rate_limit_is_plain_text_with_403_and_the_generic_refusal_is_clear(angel):
    full = orders.parse_order_answer(angel.dialect.rate_limited())
    assert (full.outcome, full.rate_limited, full.session_dead) == (Outcome.REJECTED, True, False)
    assert orders.parse_order_answer(angel.dialect.refusal_in_200()).outcome is Outcome.REJECTED


def test_an_unknown_route_and_a_wrong_method_are_told_apart(angel):
    assert angel.call("GET", "/order/v1/nothing").status == 404
    assert angel.call("GET", "/order/v1/placeOrder").status == 405


# the account ----------------------------------------------------------------------------------------------------------


def test_positions_holdings_and_funds_are_the_exchanges_truth(angel):
    rows = {(row.instrument_token, row.product): row for row in angel.positions() if row.view == "net"}
    for held in angel.account.positions():
        name = name_of(angel.account.contract(held.instrument_id))
        row = rows[f"{name.exchange}|{name.token}", held.product.value]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        assert row.last_price == float(angel.account.market(held.instrument_id).last_price)
        if held.overnight_quantity and held.quantity == held.overnight_quantity:
            assert row.average_price == pytest.approx(float(held.overnight_price))
    assert any(row.overnight_quantity < 0 for row in rows.values())
    holdings = portfolio.parse_holdings(angel.answers(portfolio.holding_requests(angel.access, START)))
    by_isin = {row.isin: row for row in holdings}
    for held in angel.account.holdings():
        row = by_isin[angel.account.contract(held.instrument_id).isin]
        assert (row.settled_quantity + row.t1_quantity, row.t1_quantity) == (held.total_quantity, held.t1_quantity)
        assert (row.collateral_quantity, row.average_price) == (held.collateral_quantity, float(held.average_price))
    funds = portfolio.parse_funds(angel.answers(portfolio.fund_requests(angel.access, START)))
    truth = angel.account.funds()
    assert funds.available_balance == pytest.approx(float(truth.available), abs=0.01)
    assert funds.cash_balance == pytest.approx(float(truth.opening_cash + truth.realized), abs=0.02)
    assert (funds.collateral_value, funds.realized) == (
        float(truth.collateral),
        pytest.approx(float(truth.realized), abs=0.01),
    )
    assert funds.margin_utilized == pytest.approx(float(truth.used), abs=0.01)


def test_an_account_without_orders_answers_null(angel):
    for order in angel.account.orders():
        assert order.status.finished
    empty = attrs.evolve(angel.access, login=None)
    assert empty.login is None
    answer = angel.asked("GET", "/order/v1/getOrderBook")
    assert answer["status"] is True


# market data ----------------------------------------------------------------------------------------------------------


def four(angel):
    return [
        angel.listed("equities"), gold(angel), angel.listed("equity_indices"),
        angel.listed("currency_futures"), angel.listed("commodity_futures", "ncdex"), angel.listed("equity_index_options"),
    ]  # fmt: skip


def test_quotes_are_the_market_in_units_and_what_is_unknown_is_left_out(angel):
    names = four(angel)
    listings = [angel.listing(name) for name in names]
    unknown = Listing(broker_token="NSE|1", tradingsymbol="X", exchange="NSE")
    response = angel.send(quotes.quote_request(angel.access, [*listings, unknown]))
    (missing,) = msgspec.json.decode(response.body)["data"]["unfetched"]
    assert (missing["symbolToken"], missing["errorCode"]) == ("1", "AB4018")
    ticks = quotes.parse_quotes(response, [*listings, unknown])
    assert set(ticks) == {listing.broker_token for listing in listings}
    for name, listing in zip(names, listings, strict=True):
        tick, market = ticks[listing.broker_token], angel.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert tick.exchange_time == int(market.exchange_time)
        if name.contract.is_index:
            assert tick.volume is None
        else:
            assert tick.volume == market.volume // name.units * name.units
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert [level.orders for level in tick.sell] == [level.orders for level in market.sell]


@pytest.mark.parametrize("mode", ["LTP", "OHLC"])
def test_the_shorter_quotes_are_parts_of_the_full_one(angel, mode):
    share = angel.listed("equities")
    wanted = {"mode": mode, "exchangeTokens": {"NSE": [share.token]}}
    (short,) = angel.asked("POST", "/market/v1/quote", wanted)["data"]["fetched"]
    (full,) = angel.asked("POST", "/market/v1/quote/", {**wanted, "mode": "FULL"})["data"]["fetched"]
    assert short.items() <= full.items()


def test_the_older_calls_for_one_price_and_for_symbols_answer(angel):
    share = angel.listed("equities")
    one = angel.asked("POST", "/order/v1/getLtpData", {"exchange": "NSE", "symboltoken": share.token})["data"]
    assert one["ltp"] == float(angel.account.market(share.contract.instrument_id).last_price)
    found = angel.asked(
        "POST", "/order/v1/searchScrip", {"exchange": "NSE", "searchscrip": share.tradingsymbol.lower()}
    )
    assert share.token in {row["symboltoken"] for row in found["data"]}
    assert angel.asked("POST", "/order/v1/searchScrip", {"exchange": "NSE", "searchscrip": "NOSUCH"})["data"] is None


@pytest.mark.parametrize(("interval", "days"), [("day", 9), ("5minute", 2), ("60minute", 5)])
def test_candles_are_oldest_first_and_in_units(angel, interval, days):
    angel.keep_candles()
    name = gold(angel)
    last = START.date()
    requests = candles.candle_requests(angel.access, angel.listing(name), interval, last - timedelta(days=days), last)
    rows = candles.parse_candles([angel.send(request) for request in requests], angel.listing(name))
    truth = angel.account.candles(name.contract.instrument_id, interval, last - timedelta(days=days), last)
    assert [row.start for row in rows] == [each[0] for each in truth]
    assert [row.close for row in rows] == [each[4] for each in truth]
    assert [row.volume for row in rows] == [each[5] // name.units * name.units for each in truth]


def test_open_interest_is_a_call_of_its_own(angel):
    name = gold(angel)
    body = {
        "exchange": "MCX", "symboltoken": name.token, "interval": "ONE_DAY", "fromdate": "2026-11-17 00:00",
        "todate": "2026-11-20 23:59",
    }  # fmt: skip
    rows = angel.asked("POST", "/historical/v1/getOIData", body)["data"]
    assert rows
    assert all(set(row) == {"time", "oi"} for row in rows)


@pytest.mark.parametrize(
    "change",
    [
        {"interval": "SEVEN_MINUTE"}, {"fromdate": "2026-01-01 00:00"}, {"fromdate": "yesterday"},
        {"fromdate": "2026-11-21 00:00"}, {"symboltoken": "1"},
    ],
)  # fmt: skip
def test_a_candle_call_that_cannot_be_is_refused(angel, change):
    body = {
        "exchange": "NSE", "symboltoken": angel.listed("equities").token, "interval": "ONE_MINUTE",
        "fromdate": "2026-11-20 09:15", "todate": "2026-11-20 15:30", **change,
    }  # fmt: skip
    assert angel.asked("POST", "/historical/v1/getCandleData", body)["status"] is False


# sockets --------------------------------------------------------------------------------------------------------------


def test_the_market_socket_sends_a_packet_for_every_instrument_and_every_change(angel):
    names = four(angel)
    listings = [angel.listing(name) for name in names]
    wire, session = angel.open()
    for message in feed.subscribe_messages(angel.access, listings):
        session.received(message)
    assert [len(frame) for frame in wire.frames] == [379] * len(names)
    crude = names[1]
    session.markets_moved(frozenset({crude.contract.instrument_id, "nobody"}))
    assert len(wire.frames) == len(names) + 1
    decoder = feed.decoder(angel.access, ADDRESS, angel.listings())
    events = [decoder.receive(frame)[0] for frame in wire.frames]
    assert all(isinstance(event, Ticks) for event in events)
    ticks = {tick.broker_token: tick for event in events for tick in event.ticks}
    for name, listing in zip(names, listings, strict=True):
        tick, market = ticks[listing.broker_token], angel.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.open, tick.previous_close) == (
            float(market.last_price), float(market.open), float(market.previous_close),
        )  # fmt: skip
        assert tick.exchange_time == pytest.approx(market.exchange_time, abs=0.001)
        if name.contract.is_index:
            assert (tick.volume, tick.oi, tick.buy) == (None, None, None)
            continue
        assert tick.volume == market.volume // name.units * name.units
        assert tick.oi == (None if name.is_cash else market.oi // name.units * name.units)
        assert [(level.price, level.quantity, level.orders) for level in tick.buy] == [
            (float(level.price), level.quantity, level.orders) for level in market.buy
        ]
        assert [level.quantity for level in tick.sell] == [level.quantity for level in market.sell]
    for message in feed.unsubscribe_messages(angel.access, [angel.listing(crude)]):
        session.received(message)
    session.markets_moved(frozenset({crude.contract.instrument_id}))
    assert len(wire.frames) == len(names) + 1


def subscription(tokens, mode=3, kind=1, **changes):
    params = {"mode": mode, "tokenList": [{"exchangeType": kind, "tokens": tokens}]}
    return msgspec.json.encode({"correlationID": "abcde12345", "action": 1, "params": params, **changes}).decode()


@pytest.mark.parametrize(("mode", "size"), [(1, 51), (2, 123), (3, 379), (4, 443)])
def test_every_mode_has_its_packet(angel, mode, size):
    wire, session = angel.open()
    share = angel.listed("equities")
    session.received(subscription([share.token], mode))
    (frame,) = wire.frames
    assert (len(frame), frame[0], frame[1]) == (size, mode, 1)
    assert frame[2:27].rstrip(b"\0").decode() == share.token
    if mode == 4:
        market = angel.account.market(share.contract.instrument_id)
        quantity, price, _ = struct.unpack_from("<iih", frame, 43)
        assert (quantity, price) == (market.buy[0].quantity, market.buy[0].price * 100)
        assert struct.unpack_from("<ii", frame, 243) == (market.sell[0].quantity, market.sell[0].price * 100)


def test_a_thousand_pairs_of_token_and_mode_is_the_most_of_one_socket(angel):
    wire, session = angel.open()
    session.received(subscription([str(n) for n in range(500)], 3))
    session.received(subscription([str(n) for n in range(500)], 2))
    assert wire.frames == []
    session.received(subscription(["900001"], 3))
    (event,) = feed.decoder(angel.access, ADDRESS, {}).receive(wire.frames[0])
    assert msgspec.json.decode(wire.frames[0])["errorCode"] == "E1002"
    assert isinstance(event, StreamRefused)
    deep, other = angel.open()
    other.received(subscription([str(n) for n in range(51)], 4))
    assert msgspec.json.decode(deep.frames[0])["errorCode"] == "E1002"


def test_three_sockets_of_a_kind_are_the_most_and_a_closed_one_makes_room(angel):
    opened = [angel.open() for _ in range(3)]
    assert angel.open()[1].status == 429
    assert angel.open(order_feed)[1] is not None
    assert hasattr(angel.open(order_feed)[1], "received")
    opened[0][0].gone = True
    assert hasattr(angel.open()[1], "received")


@every_case(
    ("header", "fault"),
    [
        ("Authorization", "Auth token"), ("x-client-code", "Client Code"), ("x-api-key", "API Key"),
        ("x-feed-token", "Feed Token"),
    ],
)  # fmt: skip
@every_case("codec", [feed, order_feed])
def test_a_handshake_with_a_wrong_header_is_refused_and_says_which(angel, codec, header, fault):
    _, answer = angel.open(codec, **{header: "wrong"})
    assert (answer.status, answer.headers["x-error-message"]) == (401, f"Invalid Header - Invalid {fault}")


def test_a_browser_opens_the_market_socket_by_its_query(angel):
    key, client = angel.dialect.credentials["api_key"], angel.account.client_id
    url = f"{BASE}/smart-stream?clientCode={client}&feedToken={angel.session['feedToken']}&apiKey={key}"
    assert hasattr(angel.dialect.open_socket(angel.request("GET", url), Wire()), "received")


def test_a_text_ping_is_answered_and_nonsense_is_an_error(angel):
    wire, session = angel.open()
    session.received(feed.ping_message())
    assert feed.decoder(angel.access, ADDRESS, {}).receive(wire.frames[0]) == [Heartbeat()]
    for nonsense in ("", "[]", "{}", subscription([], 9), subscription([], 3, 99), subscription(["1"], 4, 2), b"\xff"):
        session.received(nonsense)
        assert msgspec.json.decode(wire.frames[-1])["errorCode"] == "E1001"
    orders_wire, order_session = angel.open(order_feed)
    order_session.received("ping")
    assert orders_wire.frames[-1] == "pong"


# anything -------------------------------------------------------------------------------------------------------------

PATHS = [
    "/rest/auth/angelbroking/user/v1/loginByPassword", "/rest/auth/angelbroking/jwt/v1/generateTokens",
    *(
        f"/rest/secure/angelbroking/{path}"
        for path in (
            "order/v1/placeOrder", "order/v1/modifyOrder", "order/v1/cancelOrder", "order/v1/getLtpData",
            "order/v1/searchScrip", "market/v1/quote/", "historical/v1/getCandleData", "historical/v1/getOIData",
            "user/v1/logout", "margin/v1/batch", "order/v1/details/x", "user/v1/getRMS",
        )
    ),
    "/OpenAPI_File/files/OpenAPIScripMaster.json", "/",
]  # fmt: skip
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
VALUES = SCALARS | st.lists(SCALARS, max_size=3) | st.dictionaries(st.text(max_size=3), SCALARS, max_size=3)
FIELDS = st.sampled_from(
    ["variety", "exchange", "symboltoken", "tradingsymbol", "quantity", "price", "orderid", "mode", "exchangeTokens",
     "interval", "fromdate", "todate", "clientcode", "password", "totp", "refreshToken", "params", "action"]
)  # fmt: skip
BODIES = st.binary(max_size=20) | st.dictionaries(FIELDS, VALUES).map(msgspec.json.encode)


@pytest.fixture(scope="module")
def shared():
    return AngelOne()


@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(method=st.sampled_from(["GET", "POST", "PUT"]), path=st.sampled_from(PATHS) | st.text(max_size=9), body=BODIES)
def test_whatever_comes_is_answered(shared, method, path, body):
    headers = {
        "authorization": f"Bearer {shared.session['jwtToken']}", "x-privatekey": shared.dialect.credentials["api_key"],
        "x-usertype": "USER",
    }  # fmt: skip
    for sent in (headers, {}, {"authorization": path}):
        request = DialectRequest(method=method, base=BASE, path=path, query=(), headers=sent, body=body)
        assert 200 <= shared.dialect.handle(request).status < 500
        if "logout" in path:
            shared.session = shared.dialect.session()


@settings(max_examples=200, suppress_health_check=list(HealthCheck))
@given(message=st.text(max_size=20) | st.binary(max_size=20) | st.dictionaries(FIELDS, VALUES).map(msgspec.json.encode))
def test_whatever_comes_on_a_socket_is_answered_or_left(shared, message):
    for codec in (feed, order_feed):
        wire, session = shared.open(codec)
        session.received(message)
        wire.gone = True


def test_prices_leave_with_the_digits_of_the_tick(angel):
    name = angel.listed("currency_futures")
    low = angel.account.market(name.contract.instrument_id).lower_circuit
    placed = angel.place(name, price=low + Decimal("0.0025"))
    assert placed.outcome is Outcome.ACCEPTED
    assert angel.account.order(placed.order_id).price == low + Decimal("0.0025")
