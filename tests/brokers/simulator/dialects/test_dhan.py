"""Dhan's server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

from datetime import timedelta
from decimal import Decimal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, OrderChange
from onebroker.brokers.codec.jwt_claims import expiry
from onebroker.brokers.dhan import (
    books,
    candles,
    feed,
    login,
    order_feed,
    orders,
    portfolio,
    quotes,
)
from onebroker.brokers.dhan import broker as dhan_broker
from onebroker.brokers.events import OrderUpdate, SessionDead, StreamRefused, Ticks
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerRefusal, RefusalKind
from onebroker.brokers.simulator.dialects.dhan import build
from onebroker.brokers.simulator.dialects.dhan.naming import name_of
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE, START, DialectClient, Wire
from tests.support.every_case import every_case


class Dhan(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(dhan_broker.DHAN, build, name_of)
        self.access = self.bare
        self.log_in()

    def log_in(self):
        made = self.result(login.log_in(self.bare, "", self.now))
        self.access = Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def call(self, method, path, body=None):
        headers = {"access-token": self.access.token("access_token"), "client-id": self.account.client_id}
        content = b"" if body is None else msgspec.json.encode(body)
        answer = self.dialect.handle(self.request(method, f"{BASE}/v2{path}", headers, content))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self, codec, **changes):
        """Open a codec's socket, say its opening messages, and return (wire, session, address)."""
        address = self.result(codec.address(self.access, self.now))
        wire = Wire()
        session = self.dialect.open_socket(self.request("GET", address.url.replace("ws://", "http://")), wire)
        for message in codec.opening_messages(self.access):
            session.received(message)
        return wire, session, address

    def listing(self, name):
        """The listing as the catalogue would hold it: the units of a lot filled from other brokers."""
        return Listing(
            broker_token=f"{name.segment}:{name.security_id}", tradingsymbol=name.tradingsymbol, exchange=name.segment,
            other_names=None if name.part in "EI" else name.instrument,
            contract_units=name.units, tick_size=float(name.contract.tick_size),
        )  # fmt: skip

    def listings(self):
        names = [name_of(contract) for contract in self.account.contracts()]
        return {(listing := self.listing(name)).broker_token: listing for name in names}


@pytest.fixture
def dhan():
    return Dhan()


# --- login ---------------------------------------------------------------------------------------------------------------


def test_pin_and_code_make_a_token_of_a_day_that_the_profile_proves(dhan):
    made = dhan.access.login
    profile = login.parse_profile(dhan.send(login.profile_request(dhan.access)), made)
    assert profile["dhanClientId"] == made.user_id == dhan.account.client_id
    assert profile["tokenValidity"] == "24/11/2026 10:00"
    assert made.expires_at == dhan.now.timestamp() + 86_400
    assert expiry(made.tokens["access_token"]) == made.expires_at


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"pin": "999999x"}, RefusalKind.BAD_CREDENTIALS),
        ({"client_id": "1"}, RefusalKind.BAD_CREDENTIALS),
        ({"totp_secret": "JBSWY3DPEHPK3PXP"}, RefusalKind.BAD_TOTP),
    ],
)
def test_a_refused_login_says_what_was_wrong(dhan, change, kind):
    access = Access(endpoints=dhan.endpoints, credentials={**dhan.dialect.credentials, **change}, login=None)
    with pytest.raises(BrokerRefusal) as refusal:
        dhan.result(login.log_in(access, "", dhan.now))
    assert refusal.value.kind is kind


def test_a_token_lives_a_day_and_over_a_restart_of_the_simulator(dhan):
    dhan.dialect = dhan.build()
    assert login.parse_profile(dhan.send(login.profile_request(dhan.access)), dhan.access.login)
    dhan.wall.now += timedelta(hours=24, minutes=1).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(dhan.send(login.profile_request(dhan.access)), dhan.access.login)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_a_pasted_token_is_renewed_while_it_lives_and_the_old_one_ends(dhan):
    pasted = {"client_id": dhan.account.client_id, "access_token": dhan.dialect.session()["accessToken"]}
    bare = Access(endpoints=dhan.endpoints, credentials=pasted, login=None)
    first = dhan.result(login.log_in(bare, "", dhan.now))
    old = Access(endpoints=dhan.endpoints, credentials=pasted, login=first)
    second = dhan.result(login.renew(old, dhan.now))
    new = Access(endpoints=dhan.endpoints, credentials=pasted, login=second)
    assert login.parse_profile(dhan.send(login.profile_request(new)), second)
    assert dhan.send(login.profile_request(old)).status == 401


def test_an_expired_session_is_refused_everywhere_in_the_words_of_each_family_and_its_sockets_end(dhan):
    market_wire, market_session, address = dhan.open(feed)
    order_wire, order_session, _ = dhan.open(order_feed)
    name = dhan.listed("equities")
    dhan.dialect.expire_session()
    (event,) = feed.decoder(dhan.access, address, {}).receive(market_wire.frames[-1])
    assert isinstance(event, SessionDead)
    (event,) = order_feed.decoder(dhan.access, address, {}).receive(order_wire.frames[-1])
    assert isinstance(event, SessionDead)
    assert (market_session.socket, order_session.socket) == (market_wire, order_wire)  # held open up to here
    assert market_wire.closed is not None
    assert order_wire.closed is not None
    listing = dhan.listing(name)
    for parse, request in (
        (lambda answer: books.parse_orders([answer], {}), next(books.order_requests(dhan.access, dhan.now))),
        (lambda answer: quotes.parse_quotes(answer, [listing]), quotes.quote_request(dhan.access, [listing])),
        (
            lambda answer: candles.parse_candles([answer], listing),
            candles.candle_requests(dhan.access, listing, "day", START.date(), START.date())[0],
        ),
    ):
        with pytest.raises(BrokerRefusal) as refusal:
            parse(dhan.send(request))
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    answer = dhan.place(name)
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    for codec in (feed, order_feed):
        wire, _, _ = dhan.open(codec)
        assert wire.closed is not None
        (event,) = codec.decoder(dhan.access, address, {}).receive(wire.frames[-1])
        assert isinstance(event, SessionDead)


# --- instruments -----------------------------------------------------------------------------------------------------------


def test_the_two_instrument_files_name_every_contract_as_the_exchange_knows_it(dhan):
    rows = {row["broker_token"]: row for row in dhan.frame().rows(named=True)}
    names = {dhan.listing(name).broker_token: name for name in map(name_of, dhan.account.contracts())}
    assert set(rows) == set(names)
    for token, name in names.items():
        contract, row = name.contract, rows[token]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        if contract.bare == "mutual_funds":  # listed like a fund's units, and told apart by the series
            assert row["segment"] in ("mutual_funds", "exchange_traded_funds")
        else:
            assert identity.instrument_id == contract.instrument_id
        listing = dhan.listing(name)
        assert (row["broker_exchange"], row["other_names"]) == (listing.exchange, listing.other_names)
        assert row["tradingsymbol"] == name.tradingsymbol
        if contract.is_index:
            continue
        assert row["tick_size"] == pytest.approx(float(contract.tick_size), abs=1e-9)
        assert row["isin"] == contract.isin
        assert float(row["raw.SM_UPPER_LIMIT"]) > float(row["raw.SM_LOWER_LIMIT"])
        if contract.quoted_in_lots:
            assert (row["lot_size"], row["freeze_quantity"], row["contract_units"]) == (None, None, None)
        else:
            assert (row["lot_size"], row["contract_units"]) == (contract.lot_size, 1)
            assert row["freeze_quantity"] == contract.freeze_quantity


# --- orders ------------------------------------------------------------------------------------------------------------------


def test_an_order_is_placed_shown_changed_and_cancelled(dhan):
    name = dhan.listed("equities")
    placed = dhan.place(name, quantity=7)
    assert (placed.outcome, placed.broker_response["orderStatus"]) == (Outcome.ACCEPTED, "TRANSIT")
    row = dhan.row(placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, "ob0123456789ab", "CNC")
    change = OrderChange(row=row, listing=dhan.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(dhan.send(orders.modify_request(dhan.access, change, dhan.now)))
    assert (changed.outcome, changed.order_id) == (Outcome.ACCEPTED, placed.order_id)
    cancelled = orders.parse_order_answer(dhan.send(orders.cancel_request(dhan.access, row, dhan.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = dhan.row(placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity, row.price) == (
        "CANCELLED", 9, 9, float(dhan.ticket(name).price),
    )  # fmt: skip
    again = orders.parse_order_answer(dhan.send(orders.cancel_request(dhan.access, row, dhan.now)))
    assert again.outcome is Outcome.REJECTED


@pytest.mark.parametrize(
    ("order_type", "word"), [("SL", "STOP_LOSS"), ("SL-M", "STOP_LOSS_MARKET"), ("MARKET", "MARKET")]
)
def test_every_order_type_reaches_the_exchange_as_it_was_meant(dhan, order_type, word):
    name = dhan.listed("equities")
    market = dhan.account.market(name.contract.instrument_id)
    price = market.last_price + 20 * name.contract.tick_size
    terms = {
        "price": price if order_type == "SL" else None,
        "trigger_price": price if order_type.startswith("SL") else None,
    }
    placed = dhan.place(name, order_type=order_type, product="MIS", **terms)
    order = dhan.account.order(placed.order_id)
    assert (order.order_type, order.new.product, order.trigger_price) == (order_type, "MIS", terms["trigger_price"])
    row = dhan.row(placed.order_id)
    assert (row.order_type, row.product) == (order_type, "MIS")
    assert dhan.call("GET", f"/orders/{placed.order_id}")[1]["orderType"] == word


@pytest.mark.parametrize(("bare", "exchange"), [("commodity_futures", "mcx"), ("currency_futures", "nse")])
def test_lots_go_over_the_wire_as_lots_and_come_back_in_units(dhan, bare, exchange):
    name = dhan.listed(bare, exchange)
    request = orders.place_request(dhan.access, dhan.ticket(name, quantity=2 * name.units), dhan.now)
    assert msgspec.json.decode(request.body)["quantity"] == 2
    answer = orders.parse_order_answer(dhan.send(request))
    assert dhan.account.order(answer.order_id).quantity == 2 * name.units
    row = dhan.row(answer.order_id)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (2 * name.units, 2 * name.units, name.units)


def test_a_trade_is_in_the_trade_book_the_position_and_on_the_order_stream(dhan):
    name = dhan.listed("commodity_futures", "mcx")
    wire, session, address = dhan.open(order_feed)
    placed = dhan.place(name, order_type="MARKET", price=None)
    order = dhan.account.order(placed.order_id)
    assert order.filled_quantity == name.units
    fill = next(fill for fill in dhan.account.fills() if fill.order_id == placed.order_id)
    for state in dhan.account.order_history(placed.order_id):
        session.order_changed(state, fill if state.filled_quantity else None)
    listings = dhan.listings()
    decoder = order_feed.decoder(dhan.access, address, listings)
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    assert all(isinstance(event, OrderUpdate) for event in events)
    assert (events[0].order.status, events[0].order.filled_quantity) == ("PENDING", 0)
    assert (events[-1].order.status, events[-1].order.filled_quantity) == ("COMPLETE", name.units)
    booked = dhan.row(placed.order_id)
    assert msgspec.structs.replace(events[-1].order, status_message=None) == booked
    trades = books.parse_trades(dhan.send_all(books.trade_requests(dhan.access, dhan.now)), listings)
    assert sum(each.quantity for each in trades if each.order_id == placed.order_id) == name.units
    rows = portfolio.parse_positions(dhan.send_all(portfolio.position_requests(dhan.access, dhan.now)), {})
    token = dhan.listing(name).broker_token
    day = next(row for row in rows if row.view == "day" and row.instrument_token == token)
    assert (day.quantity, day.buy_quantity) == (name.units, name.units)
    assert day.buy_value == pytest.approx(float(order.filled_value))
    assert day.average_price == pytest.approx(float(order.average_price))


def test_an_order_the_exchange_refuses_is_refused_in_the_answer_and_rejected_in_the_book(dhan):
    name = dhan.listed("equities")
    placed = dhan.place(name, price=dhan.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = dhan.row(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.REJECTED, "REJECTED", 0)
    assert row.status_message == placed.status_message


def test_refusals_are_in_dhans_words_and_clear(dhan):
    row = dhan.row(dhan.place(dhan.listed("equities")).order_id)
    unknown = msgspec.structs.replace(row, order_id="99")
    answer = orders.parse_order_answer(dhan.send(orders.cancel_request(dhan.access, unknown, dhan.now)))
    assert (answer.outcome, answer.broker_response["errorCode"]) == (Outcome.REJECTED, "DH-906")
    full = orders.parse_order_answer(dhan.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(dhan.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    "change",
    [
        {"orderType": "STOP"}, {"orderType": None}, {"validity": "GTC"}, {"productType": "MTF"}, {"quantity": 0},
        {"quantity": "many"}, {"quantity": 1.5}, {"quantity": True}, {"securityId": "nobody"}, {"exchangeSegment": "IDX_I"},
        {"correlationId": "x" * 31}, {"correlationId": "a/b"}, {"dhanClientId": "1"}, {"disclosedQuantity": 1, "quantity": 100},
        {"afterMarketOrder": True, "amoTime": "NOON"}, {"price": "NaN"}, {"price": 1e300},
    ],
)  # fmt: skip
def test_a_body_dhan_would_refuse_is_bad_input(dhan, change):
    request = orders.place_request(dhan.access, dhan.ticket(dhan.listed("equities")), dhan.now)
    before = dhan.account.orders()
    status, body = dhan.call("POST", "/orders", msgspec.json.decode(request.body) | change)
    assert (status, body["errorCode"]) == (400, "DH-905")
    assert dhan.account.orders() == before


def test_numbers_may_come_as_texts_and_absent_ones_as_empty_texts(dhan):
    """As the documents' own example writes them."""
    request = orders.place_request(dhan.access, dhan.ticket(dhan.listed("equities")), dhan.now)
    body = msgspec.json.decode(request.body)
    body |= {
        "quantity": "3",
        "disclosedQuantity": "",
        "triggerPrice": "",
        "boProfitValue": "",
        "price": str(body["price"]),
    }
    status, answer = dhan.call("POST", "/orders", body)
    assert status == 200
    assert dhan.account.order(answer["orderId"]).quantity == 3


def test_slicing_answers_a_list_with_an_order_for_each_part(dhan):
    name = dhan.listed("equity_index_options")
    lot, most = name.contract.lot_size, name.contract.freeze_quantity
    request = orders.place_request(dhan.access, dhan.ticket(name), dhan.now)
    body = msgspec.json.decode(request.body) | {"quantity": most + lot, "price": 0.05}
    _, answers = dhan.call("POST", "/orders/slicing", body)
    assert [dhan.account.order(each["orderId"]).quantity for each in answers] == [most, lot]


def test_an_order_is_found_by_its_tag(dhan):
    placed = dhan.place(dhan.listed("equities"))
    assert dhan.call("GET", "/orders/external/ob0123456789ab")[1]["orderId"] == placed.order_id
    assert dhan.call("GET", "/orders/external/nobody")[0] == 400


def test_trades_are_answered_with_and_without_the_slash(dhan):
    placed = dhan.place(dhan.listed("equities"), order_type="MARKET", price=None)
    _, rows = dhan.call("GET", "/trades")
    assert rows
    assert dhan.call("GET", "/trades/")[1] == rows
    own = [row for row in rows if row["orderId"] == placed.order_id]
    assert own
    assert dhan.call("GET", f"/trades/{placed.order_id}")[1] == own


# --- portfolio and funds -----------------------------------------------------------------------------------------------------


def test_positions_holdings_and_funds_are_the_exchanges_truth(dhan):
    rows = portfolio.parse_positions(dhan.send_all(portfolio.position_requests(dhan.access, dhan.now)), {})
    net = {row.instrument_token: row for row in rows if row.view == "net"}
    for held in dhan.account.positions():
        row = net[dhan.listing(name_of(dhan.account.contract(held.instrument_id))).broker_token]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        if held.quantity and not (held.day_buy_quantity or held.day_sell_quantity):
            assert row.average_price == pytest.approx(float(held.overnight_price))
    rows = portfolio.parse_holdings(dhan.send_all(portfolio.holding_requests(dhan.access, dhan.now)))
    by_isin = {row.isin: row for row in rows}
    for held in dhan.account.holdings():
        name = name_of(dhan.account.contract(held.instrument_id))
        row = by_isin[name.contract.isin]
        assert row.instrument_token == dhan.listing(name).broker_token
        assert row.settled_quantity + row.t1_quantity == held.total_quantity
        assert (row.t1_quantity, row.collateral_quantity) == (held.t1_quantity, held.collateral_quantity)
        assert row.average_price == float(held.average_price)
    funds = portfolio.parse_funds(dhan.send_all(portfolio.fund_requests(dhan.access, dhan.now)))
    truth = dhan.account.funds()
    assert funds.available_balance == float(truth.available)
    assert funds.collateral_value == float(truth.collateral)
    assert funds.margin_utilized == pytest.approx(float(truth.used - truth.realized))


# --- market data -------------------------------------------------------------------------------------------------------------


def test_quotes_are_the_market_in_units(dhan):
    names = [dhan.listed("equities"), dhan.listed("commodity_futures", "mcx"), dhan.listed("equity_indices")]
    listings = [dhan.listing(name) for name in names]
    ticks = quotes.parse_quotes(dhan.send(quotes.quote_request(dhan.access, listings)), listings)
    for name, listing in zip(names, listings, strict=True):
        tick, market = ticks[listing.broker_token], dhan.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert tick.last_trade_time == int(market.last_trade_time)
        if not name.contract.is_index:
            assert tick.volume == market.volume // name.units * name.units
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert [level.orders for level in tick.sell] == [level.orders for level in market.sell]


def test_an_instrument_nobody_knows_is_absent_from_the_quotes_and_too_many_are_refused(dhan):
    unknown = Listing(broker_token="NSE_EQ:999999", tradingsymbol="X", exchange="NSE_EQ")
    assert quotes.parse_quotes(dhan.send(quotes.quote_request(dhan.access, [unknown])), [unknown]) == {}
    many = [Listing(broker_token=f"NSE_EQ:{n}", tradingsymbol="X", exchange="NSE_EQ") for n in range(1, 1002)]
    with pytest.raises(BrokerRefusal):
        quotes.parse_quotes(dhan.send(quotes.quote_request(dhan.access, many)), many)


@pytest.mark.parametrize(
    ("bare", "exchange"),
    [("equities", "nse"), ("equity_index_options", "nse"), ("commodity_futures", "mcx"), ("equity_indices", "nse"),
     ("currency_futures", "nse")],
)  # fmt: skip
def test_candles_are_the_exchanges_for_every_kind_of_instrument(dhan, bare, exchange):
    dhan.keep_candles()
    name = dhan.listed(bare, exchange)
    listing = dhan.listing(name)
    last = START.date()
    first = last - timedelta(days=4)
    for interval in ("day", *candles.INTRADAY):
        requests = candles.candle_requests(dhan.access, listing, interval, first, last)
        rows = candles.parse_candles(dhan.send_all(requests), listing)
        truth = dhan.account.candles(name.contract.instrument_id, interval, first, last)
        assert [(row.start, row.open, row.close) for row in rows] == [(each[0], each[1], each[4]) for each in truth]
        if not name.contract.is_index:
            assert [row.volume for row in rows] == [each[5] // name.units * name.units for each in truth]


def test_a_candle_call_over_the_span_of_a_wrong_kind_or_interval_is_refused_and_no_data_is_an_empty_list(dhan):
    listing = dhan.listing(dhan.listed("equities"))
    (request,) = candles.candle_requests(dhan.access, listing, "5minute", START.date(), START.date())
    good = msgspec.json.decode(request.body)
    for change in (
        {"fromDate": "2026-08-01 00:00:00"}, {"interval": "7"}, {"instrument": "FUTIDX"}, {"fromDate": "yesterday"},
    ):  # fmt: skip
        assert dhan.call("POST", "/charts/intraday", good | change)[1]["errorCode"] == "DH-905"
    after = START.date() + timedelta(days=30)
    (request,) = candles.candle_requests(dhan.access, listing, "5minute", after, after)
    answer = dhan.send(request)
    assert msgspec.json.decode(answer.body)["errorCode"] == "DH-907"
    assert candles.parse_candles([answer], listing) == []


# --- sockets -----------------------------------------------------------------------------------------------------------------


def test_the_market_socket_sends_previous_closes_and_full_packets(dhan):
    share, crude, index = (
        dhan.listed("equities"), dhan.listed("commodity_futures", "mcx"), dhan.listed("equity_indices"),
    )  # fmt: skip
    wire, session, address = dhan.open(feed)
    (request,) = feed.subscribe_messages(dhan.access, [dhan.listing(name) for name in (share, crude, index)])
    session.received(request)
    decoder = feed.decoder(dhan.access, address, dhan.listings())
    events = [event for frame in wire.frames for event in decoder.receive(frame)]
    ticks = {tick.broker_token: tick for event in events if isinstance(event, Ticks) for tick in event.ticks}
    first = len(wire.frames)
    for name in (share, crude, index):
        tick, market = ticks[dhan.listing(name).broker_token], dhan.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert (tick.open, tick.high, tick.low) == (float(market.open), float(market.high), float(market.low))
        assert tick.last_trade_time == int(market.last_trade_time)
        if name is index:
            assert (tick.volume, tick.buy) == (None, None)
        else:
            assert [(level.price, level.quantity, level.orders) for level in tick.sell] == [
                (float(level.price), level.quantity, level.orders) for level in market.sell
            ]
            assert tick.volume == market.volume // name.units * name.units
    assert ticks[dhan.listing(crude).broker_token].oi is not None
    assert ticks[dhan.listing(share).broker_token].oi is None
    session.markets_moved(frozenset({crude.contract.instrument_id, "nobody"}))
    (event,) = decoder.receive(wire.frames[first])
    assert [tick.broker_token for tick in event.ticks] == [dhan.listing(crude).broker_token]
    session.received(feed.unsubscribe_messages(dhan.access, [dhan.listing(crude)])[0])
    session.markets_moved(frozenset({crude.contract.instrument_id}))
    assert len(wire.frames) == first + 1


def test_many_packets_go_several_in_a_message(dhan):
    wire, session, address = dhan.open(feed)
    names = [name_of(each) for each in dhan.account.contracts() if each.bare == "equities"][:30]
    session.received(feed.subscribe_messages(dhan.access, [dhan.listing(name) for name in names])[0])
    decoder = feed.decoder(dhan.access, address, {})
    ticks = [tick for frame in wire.frames for event in decoder.receive(frame) for tick in event.ticks]
    assert len(wire.frames) < 5
    assert {tick.broker_token for tick in ticks} == {dhan.listing(name).broker_token for name in names}
    assert all(tick.previous_close for tick in ticks)


def test_a_sixth_market_socket_ends_the_oldest_and_only_that(dhan):
    opened = [dhan.open(feed) for _ in range(6)]
    (event,) = feed.decoder(dhan.access, opened[0][2], {}).receive(opened[0][0].frames[-1])
    assert event == StreamRefused("too many connections")
    assert opened[0][0].closed is not None
    assert all(wire.closed is None for wire, _, _ in opened[1:])


def test_more_than_a_hundred_instruments_in_a_message_end_the_socket(dhan):
    wire, session, address = dhan.open(feed)
    one = {"ExchangeSegment": "NSE_EQ", "SecurityId": "1"}
    session.received(msgspec.json.encode({"RequestCode": 21, "InstrumentList": [one] * 101}).decode())
    (event,) = feed.decoder(dhan.access, address, {}).receive(wire.frames[-1])
    assert isinstance(event, StreamRefused)
    assert wire.closed is not None


def test_the_order_stream_is_silent_until_the_login_and_says_every_state(dhan):
    address = dhan.result(order_feed.address(dhan.access, dhan.now))
    wire = Wire()
    session = dhan.dialect.open_socket(dhan.request("GET", address.url.replace("ws://", "http://")), wire)
    placed = dhan.place(dhan.listed("equities"))
    session.order_changed(dhan.account.order(placed.order_id), None)
    assert wire.frames == []
    session.received(order_feed.opening_messages(dhan.access)[0])
    dhan.account.cancel(placed.order_id)
    session.order_changed(dhan.account.order(placed.order_id), None)
    (event,) = order_feed.decoder(dhan.access, address, {}).receive(wire.frames[-1])
    assert (event.order.status, event.order.cancelled_quantity) == ("CANCELLED", 1)


# --- anything at all -----------------------------------------------------------------------------------------------------------


def test_an_unknown_route_and_a_wrong_method_are_told_apart(dhan):
    assert dhan.call("GET", "/nothing")[0] == 404
    assert dhan.call("PUT", "/positions")[0] == 405


def test_prices_leave_with_the_digits_of_the_tick(dhan):
    name = dhan.listed("currency_futures")
    lowest = dhan.account.market(name.contract.instrument_id).lower_circuit
    placed = dhan.place(name, price=lowest + Decimal("0.0025"))
    assert placed.outcome is Outcome.ACCEPTED
    assert dhan.account.order(placed.order_id).price == lowest + Decimal("0.0025")


PATHS = (
    "/orders", "/orders/slicing", "/orders/1", "/orders/external/x", "/trades", "/marketfeed/quote", "/marketfeed/ltp",
    "/charts/historical", "/charts/intraday", "/profile", "/RenewToken", "/positions", "/margincalculator",
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["dhanClientId", "securityId", "exchangeSegment", "instrument", "quantity", "price", "orderType", "NSE_EQ", "fromDate",
     "toDate", "interval", "expiryCode", "correlationId"]
)  # fmt: skip


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH"]),
    path=st.sampled_from(PATHS),
    body=st.binary(max_size=30) | st.dictionaries(FIELDS, VALUES, max_size=6).map(
        lambda fields: msgspec.json.encode(fields)
    ),
    token=st.none() | st.text(max_size=30),
)  # fmt: skip
def test_no_request_makes_the_server_raise(method, path, body, token):
    dhan = SHARED
    good = dhan.access.token("access_token")
    headers = {"access-token": good if token is None else token, "client-id": dhan.account.client_id}
    if path == "/RenewToken" and token is None:
        return  # would end the shared token
    answer = dhan.dialect.handle(dhan.request(method, f"{BASE}/v2{path}", headers, body))
    assert 200 <= answer.status < 500
    msgspec.json.decode(answer.body)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    message=st.binary(max_size=40) | st.text(max_size=40) | VALUES.map(lambda each: msgspec.json.encode(each).decode())
)
def test_no_message_makes_a_socket_raise(message):
    for path in ("/market-feed", "/order-update"):
        query = f"?token={SHARED.access.token('access_token')}&clientId={SHARED.account.client_id}"
        session = SHARED.dialect.open_socket(SHARED.request("GET", f"{BASE}{path}{query}"), Wire())
        session.received(message)
        session.beat()


SHARED = Dhan()
"""One server for what hypothesis sends; nothing it may do changes what another example sees."""
