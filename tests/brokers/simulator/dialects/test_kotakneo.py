"""Kotak Neo's server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

from datetime import datetime, timedelta
from decimal import Decimal
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import Access, OrderChange
from onebroker.brokers.events import BooksMoved, Heartbeat, Ready, Ticks
from onebroker.brokers.kotakneo import (
    books,
    candles,
    feed,
    instruments,
    login,
    margins,
    order_feed,
    orders,
    portfolio,
    quotes,
)
from onebroker.brokers.kotakneo.broker import KOTAKNEO
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerRefusal, RefusalKind, WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.kotakneo import build, envelopes
from onebroker.brokers.simulator.dialects.kotakneo.naming import name_of
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import OrderType, Outcome, Product, Side, Validity
from tests.support.dialect_client import BASE, START, DialectClient, Wire

TAG = "ob0123456789ab"


class KotakNeo(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(KOTAKNEO, build, name_of)
        self.access = self.bare

    def log_in(self):
        made = self.result(login.log_in(self.bare, "", self.now))
        self.access = Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)
        return made

    def open(self, codec):
        """Open the socket of a feed and send it the codec's first messages."""
        address = self.result(codec.address(self.access, self.now))
        wire = Wire()
        session = self.dialect.open_socket(self.request("GET", address.url.replace("ws://", "http://")), wire)
        for message in codec.opening_messages(self.access):
            session.received(message)
        return wire, session, codec.decoder(self.access, address, self.listings())

    def listing(self, name):
        return self.listings()[name.key]


@pytest.fixture
def neo():
    client = KotakNeo()
    client.log_in()
    return client


@pytest.fixture(scope="module")
def lasting():
    """One client for all examples of a property."""
    client = KotakNeo()
    client.log_in()
    return client


# --- login -------------------------------------------------------------------------------------------------------------


def test_a_login_goes_from_the_code_by_the_mpin_to_a_session_with_its_host(neo):
    made = neo.log_in()
    assert made.user_id == neo.account.client_id
    assert made.tokens["baseUrl"] == BASE
    assert made.expires_at == datetime(2026, 11, 24, 6, 0, tzinfo=IST).timestamp()
    assert not {"token", "sid", "rid"} & set(made.profile)
    profile = login.parse_profile(neo.send(login.profile_request(neo.access)), made)
    assert profile["ucc"] == neo.account.client_id
    assert profile["greetingName"] == neo.account.client_name


@pytest.mark.parametrize(
    ("field", "value", "kind"),
    [
        ("access_token", "wrong", RefusalKind.BAD_CREDENTIALS),
        ("mobile_number", "+910000000000", RefusalKind.BAD_CREDENTIALS),
        ("ucc", "OTHER", RefusalKind.BAD_CREDENTIALS),
        ("totp_secret", "JBSWY3DPEHPK3PXP", RefusalKind.BAD_TOTP),
        ("mpin", "000001", RefusalKind.BAD_CREDENTIALS),
    ],
)
def test_every_credential_is_checked_and_its_refusal_is_told_apart(neo, field, value, kind):
    wrong = {**neo.dialect.credentials, field: value}
    with pytest.raises(BrokerRefusal) as refusal:
        neo.drive(login.log_in(Access(endpoints=neo.endpoints, credentials=wrong, login=None), "", neo.now))
    assert refusal.value.kind is kind


def test_a_code_of_another_minute_is_refused(neo):
    with pytest.raises(BrokerRefusal) as refusal:
        neo.drive(login.log_in(neo.bare, "", neo.now - timedelta(minutes=2)))
    assert refusal.value.kind is RefusalKind.BAD_TOTP


def test_a_view_session_may_not_trade(neo):
    flow = login.log_in(neo.bare, "", neo.now)
    view = msgspec.json.decode(neo.send(next(flow)).body)["data"]
    headers = {"Auth": view["token"], "Sid": view["sid"]}
    answer = neo.dialect.handle(neo.request("GET", f"{BASE}/quick/user/orders", headers))
    assert msgspec.json.decode(answer.body)["stCode"] == 100022


def test_the_minted_session_works_and_lives_over_a_restart_until_morning(neo):
    session = neo.dialect.session()
    neo.dialect = neo.build()
    headers = {"Auth": session["token"], "Sid": session["sid"]}
    request = neo.request("GET", f"{BASE}/portfolio/v1/holdings", headers)
    assert len(msgspec.json.decode(neo.dialect.handle(request).body)["data"]) == 8
    neo.wall.now += timedelta(hours=20, minutes=1).total_seconds()
    assert msgspec.json.decode(neo.dialect.handle(request).body)["stCode"] == 100022


def test_an_expired_session_is_refused_everywhere_and_its_sockets_are_closed(neo):
    market, *_market = neo.open(feed)
    stream, *_stream = neo.open(order_feed)
    placed = neo.place(neo.listed("equities"))
    row = neo.row(placed.order_id)
    neo.dialect.expire_session()
    assert market.closed is not None
    assert stream.closed is not None
    for flow, parse in (
        (books.order_requests, lambda answers: books.parse_orders(answers, {})),
        (books.trade_requests, lambda answers: books.parse_trades(answers, {})),
        (portfolio.position_requests, lambda answers: portfolio.parse_positions(answers, {})),
        (portfolio.holding_requests, portfolio.parse_holdings),
        (portfolio.fund_requests, portfolio.parse_funds),
    ):
        with pytest.raises(BrokerRefusal) as refusal:
            parse(neo.answers(flow(neo.access, neo.now)))
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    answer = orders.parse_order_answer(neo.send(orders.cancel_request(neo.access, row, neo.now)))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    assert neo.account.order(placed.order_id).status == "open"


def test_a_session_at_the_login_host_is_told_that_it_is_the_wrong_one(neo):
    headers = {"Auth": neo.access.token("token"), "Sid": neo.access.token("sid")}
    answer = neo.dialect.handle(neo.request("GET", f"{BASE}/mis/quick/user/orders", headers))
    assert msgspec.json.decode(answer.body)["stCode"] == 200032


# --- what is listed ----------------------------------------------------------------------------------------------------


def test_the_files_name_every_contract_as_the_exchange_knows_it(neo):
    rows = {row["broker_token"]: row for row in neo.frame().rows(named=True)}
    names = [name_of(contract) for contract in neo.account.contracts()]
    assert set(rows) == {name.key for name in names}
    assert {name.segment for name in names} == {"nse_cm", "bse_cm", "nse_fo", "bse_fo", "cde_fo", "mcx_fo"}
    for name in names:
        contract, row = name.contract, rows[name.key]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id, row
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["freeze_quantity"], row["contract_units"]) == (contract.freeze_quantity, name.units)
            assert row["isin"] == contract.isin
        assert (row["other_names"] is not None) == contract.is_index


def test_the_path_of_a_file_is_also_told_to_the_access_token(neo):
    headers = {"Authorization": neo.dialect.credentials["access_token"]}
    url = f"{BASE}/script-details/1.0/masterscrip/file-paths"
    paths = msgspec.json.decode(neo.dialect.handle(neo.request("GET", url, headers)).body)["data"]["filesPaths"]
    first, *files = (request.url for request in instruments.file_requests(neo.bare, neo.now))
    assert (first, set(files)) == (url, set(paths))
    assert neo.dialect.handle(neo.request("GET", url)).status == 401
    tomorrow = paths[0].replace("2026-11-23", "2026-11-24")
    assert neo.dialect.handle(neo.request("GET", tomorrow)).status == 404


# --- an order's life ---------------------------------------------------------------------------------------------------


def test_an_order_is_placed_shown_changed_and_cancelled(neo):
    name = neo.listed("equities")
    placed = neo.place(name, quantity=7, disclosed_quantity=1)
    assert placed.outcome is Outcome.ACCEPTED
    row = neo.row(placed.order_id)
    assert (row.status, row.quantity, row.disclosed_quantity, row.tag, row.product) == ("OPEN", 7, 1, TAG, "CNC")
    assert (row.order_type, row.validity, row.instrument_token, row.exchange) == ("LIMIT", "DAY", name.key, "nse_cm")
    assert row.order_timestamp == "2026-11-23T10:00:00+05:30"
    price = Decimal(repr(row.price)) + name.contract.tick_size
    change = OrderChange(row=row, listing=neo.listing(name), segment="nse_equities", quantity=9, price=price)
    changed = orders.parse_order_answer(neo.send(orders.modify_request(neo.access, change, neo.now)))
    assert (changed.outcome, changed.order_id) == (Outcome.ACCEPTED, placed.order_id)
    order = neo.account.order(placed.order_id)
    assert (order.quantity, order.price, order.disclosed_quantity) == (9, price, 1)
    row = neo.row(placed.order_id)
    cancelled = orders.parse_order_answer(neo.send(orders.cancel_request(neo.access, row, neo.now)))
    assert cancelled.outcome is Outcome.ACCEPTED
    row = neo.row(placed.order_id)
    assert (row.status, row.pending_quantity, row.cancelled_quantity) == ("CANCELLED", 0, 9)
    again = orders.parse_order_answer(neo.send(orders.cancel_request(neo.access, row, neo.now)))
    assert again.outcome is Outcome.REJECTED


def test_a_market_order_fills_and_its_trades_are_named_by_their_order(neo):
    name = neo.listed("equities")
    placed = neo.place(name, order_type="MARKET", price=None, quantity=3)
    row = neo.row(placed.order_id)
    truth = neo.account.order(placed.order_id)
    assert (row.status, row.order_type, row.filled_quantity) == ("COMPLETE", "MARKET", 3)
    assert row.average_price == pytest.approx(float(truth.average_price), abs=0.005)
    trades = books.parse_trades(neo.answers(books.trade_requests(neo.access, neo.now)), neo.listings())
    mine = [trade for trade in trades if trade.order_id == placed.order_id]
    fills = [fill for fill in neo.account.fills() if fill.order_id == placed.order_id]
    assert [(trade.quantity, trade.price, trade.instrument_token) for trade in mine] == [
        (fill.quantity, float(fill.price), name.key) for fill in fills
    ]
    assert mine[0].trade_timestamp == "23-Nov-2026 10:00:00"


@pytest.mark.parametrize(
    ("bare", "exchange"),
    [
        ("equities", "bse"),
        ("equity_index_futures", "nse"),
        ("equity_index_options", "bse"),
        ("commodity_futures", "mcx"),
    ],
)
def test_every_segment_is_traded_in_units(neo, bare, exchange):
    name = neo.listed(bare, exchange)
    placed = neo.place(name)
    assert placed.outcome is Outcome.ACCEPTED, placed
    assert neo.account.order(placed.order_id).quantity == name.contract.lot_size
    assert neo.row(placed.order_id).quantity == name.contract.lot_size


def test_a_stop_waits_as_pending_and_an_after_market_order_says_what_it_is(neo):
    name = neo.listed("equities")
    market = neo.account.market(name.contract.instrument_id)
    tick = name.contract.tick_size
    stop = neo.place(
        name, order_type="SL", trigger_price=market.upper_circuit - 2 * tick, price=market.upper_circuit - tick
    )
    row = neo.row(stop.order_id)
    assert (row.status, row.order_type) == ("PENDING", "SL")
    assert row.trigger_price == float(market.upper_circuit - 2 * tick)
    later = neo.place(name, after_market=True)
    assert later.outcome is Outcome.ACCEPTED
    assert neo.account.order(later.order_id).new.after_market is True
    row = neo.row(later.order_id)
    assert row.variety == "AMO"
    cancelled = orders.parse_order_answer(neo.send(orders.cancel_request(neo.access, row, neo.now)))
    assert cancelled.outcome is Outcome.ACCEPTED


@pytest.mark.parametrize(
    "changes",
    [{"price": Decimal("0.03")}, {"listing": None}],
    ids=["off the tick", "unknown symbol"],
)
def test_a_refused_order_is_rejected_with_the_reason(neo, changes):
    name = neo.listed("equities")
    if "listing" in changes:
        changes = {"listing": Listing(broker_token="nse_cm|1", tradingsymbol="NOBODY-EQ", exchange="nse_cm")}
    answer = neo.place(name, **changes)
    assert answer.outcome is Outcome.REJECTED
    assert answer.status_message
    assert answer.order_id is None


def test_an_order_taken_and_then_rejected_says_why_in_the_book(neo):
    placed = neo.place(neo.listed("equities"), quantity=10_000_000)
    assert placed.outcome is Outcome.ACCEPTED
    row = neo.row(placed.order_id)
    assert (row.status, row.pending_quantity) == ("REJECTED", 0)
    assert row.status_message == neo.account.order(placed.order_id).status_message


def test_empty_books_are_refusals_that_mean_nothing_is_there():
    empty = envelopes.book([])
    assert msgspec.json.decode(empty.body)["stCode"] == 5203
    assert books.parse_orders([empty], {}) == books.parse_trades([empty], {}) == []
    assert portfolio.parse_positions([empty], {}) == []


# --- portfolio ---------------------------------------------------------------------------------------------------------


def test_positions_are_those_of_the_exchange(neo):
    name = neo.listed("equity_futures")
    neo.place(name, order_type="MARKET", price=None)
    rows = portfolio.parse_positions(neo.answers(portfolio.position_requests(neo.access, neo.now)), neo.listings())
    net = {row.position_key: row for row in rows if row.view == "net"}
    day = {row.position_key: row for row in rows if row.view == "day"}
    positions = neo.account.positions()
    assert len(net) == len(positions)
    assert any(position.overnight_quantity < 0 for position in positions)
    for position in positions:
        named = neo.dialect._names.by_id[position.instrument_id]
        market = neo.account.market(position.instrument_id)
        row = net[f"{named.key}:{position.product}"]
        assert (row.quantity, row.overnight_quantity) == (position.quantity, position.overnight_quantity)
        carried = position.overnight_quantity
        if carried:
            assert row.close_price == float(market.previous_close)
        bought = position.day_buy_value + max(carried, 0) * market.previous_close
        buys = position.day_buy_quantity + max(carried, 0)
        if position.quantity > 0:
            assert row.average_price == pytest.approx(float(bought / buys), abs=0.005)
        assert row.buy_value == pytest.approx(float(bought))
        assert row.last_price == float(market.last_price)
        sold = position.day_sell_value + max(-carried, 0) * market.previous_close
        result = sold - bought + position.quantity * market.last_price
        assert row.realized + row.unrealized == pytest.approx(float(result), abs=0.02)
        traded = position.day_buy_quantity or position.day_sell_quantity
        assert (row.position_key in day) == bool(traded)


def test_carried_shares_take_their_cost_from_the_holdings(neo):
    rows = [
        {
            "exSeg": "nse_cm", "tok": "14366", "trdSym": "IDEA-EQ", "prod": "CNC", "cfBuyQty": "10", "cfSellQty": "0",
            "cfBuyAmt": "93.00", "cfSellAmt": "0.00", "flBuyQty": "0", "flSellQty": "0", "ltp": "0",
        }
    ]  # fmt: skip
    flow = portfolio.position_requests(neo.access, neo.now)
    next(flow)
    second = flow.send(WireResponse(status=200, body=msgspec.json.encode({"stat": "ok", "stCode": 200, "data": rows})))
    assert second.url == f"{BASE}/portfolio/v1/holdings"


def test_holdings_and_funds_are_those_of_the_exchange(neo):
    rows = portfolio.parse_holdings(neo.answers(portfolio.holding_requests(neo.access, neo.now)))
    truth = neo.account.holdings()
    assert len(rows) == len(truth) == 8
    for row, holding in zip(rows, truth, strict=True):
        name = neo.dialect._names.by_id[holding.instrument_id]
        market = neo.account.market(holding.instrument_id)
        assert (row.instrument_token, row.settled_quantity) == (name.key, holding.total_quantity)
        assert row.average_price == float(holding.average_price)
        assert (row.last_price, row.close_price) == (float(market.last_price), float(market.previous_close))
    funds = portfolio.parse_funds(neo.answers(portfolio.fund_requests(neo.access, neo.now)))
    held = neo.account.funds()
    assert funds.available_balance == pytest.approx(float(held.available))
    assert funds.margin_utilized == pytest.approx(float(held.used), abs=0.01)
    assert funds.cash_balance == pytest.approx(float(held.opening_cash), abs=0.01)
    assert funds.unrealized == pytest.approx(float(held.unrealized), abs=0.01)
    assert funds.segments["derivatives"].span_margin == pytest.approx(float(held.span), abs=0.01)


def test_the_margin_of_an_order_says_what_is_lacking(neo):
    future = neo.listed("equity_index_futures")
    lot, money = future.contract.lot_size, neo.account.funds()
    for lots in (1, 1000):
        ticket = neo.ticket(future, quantity=lots * lot, product="NRML")
        answer = neo.send(margins.margin_request(neo.access, ticket, ticket.price, neo.now))
        body, needed = msgspec.json.decode(answer.body), margins.parse_margin(answer)
        assert float(body["totMrgnUsd"]) == pytest.approx(float(money.used + needed), abs=0.01)
        assert float(body["insufFund"]) == pytest.approx(max(float(needed - money.available), 0.0), abs=0.01)
        assert body["rmsVldtd"] == ("OK" if lots == 1 else "NOT_OK")


# --- market data -------------------------------------------------------------------------------------------------------


def chosen(neo):
    kinds = (
        ("equities", "nse"), ("equity_indices", "nse"), ("equity_index_options", "nse"), ("currency_futures", "nse"),
        ("commodity_futures", "mcx"), ("equity_indices", "bse"),
    )  # fmt: skip
    return [neo.listed(*kind) for kind in kinds]


def test_quotes_are_those_of_the_exchange_in_units(neo):
    names = chosen(neo)
    listings = [neo.listing(name) for name in names]
    answer = neo.send(quotes.quote_request(neo.bare, listings))
    ticks = quotes.parse_quotes(answer, listings)
    assert set(ticks) == {name.key for name in names}
    for name in names:
        tick, market = ticks[name.key], neo.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert (tick.open, tick.high, tick.low) == (float(market.open), float(market.high), float(market.low))
        if name.contract.is_index:
            assert (tick.volume, tick.oi, tick.buy) == (None, None, None)
            continue
        assert tick.volume == market.volume // name.units * name.units
        assert tick.oi == (None if name.is_cash else market.oi // name.units * name.units)
        assert [(each.price, each.orders) for each in tick.buy] == [
            (float(each.price), each.orders) for each in market.buy
        ]


def test_a_quote_of_nobody_is_refused_and_one_of_several_left_out(neo):
    share = neo.listing(neo.listed("equities"))
    nobody = Listing(broker_token="nse_cm|0", tradingsymbol="X", exchange="nse_cm")
    both = neo.send(quotes.quote_request(neo.access, [share, nobody]))
    assert set(quotes.parse_quotes(both, [share, nobody])) == {share.broker_token}
    with pytest.raises(BrokerRefusal):
        quotes.parse_quotes(neo.send(quotes.quote_request(neo.access, [nobody])), [nobody])


@pytest.mark.parametrize("interval", sorted(candles.INTERVALS))
def test_candles_of_every_interval_are_those_of_the_exchange(neo, interval):
    neo.keep_candles()
    name = neo.listed("equities")
    first, last = START.date() - timedelta(days=3), START.date()
    requests = candles.candle_requests(neo.bare, neo.listing(name), interval, first, last)
    rows = candles.parse_candles([neo.send(request) for request in requests], neo.listing(name))
    truth = neo.account.candles(name.contract.instrument_id, interval, first, last)
    assert [(row.start, row.open, row.close, row.volume) for row in rows] == [
        (start, open_, close, volume) for start, open_, _, _, close, volume, _ in truth
    ]
    assert rows


def test_a_span_longer_than_the_broker_allows_is_cut_and_weeks_are_made_of_days(neo):
    name = neo.listed("equities")
    listing = neo.listing(name)
    first = START.date() - timedelta(days=100)
    requests = candles.candle_requests(neo.bare, listing, "1minute", first, START.date())
    assert len(requests) == 4
    assert neo.send(requests[0]).status == 200  # as many days as are allowed
    headers = {"Authorization": neo.dialect.credentials["access_token"]}

    def ask(**changes):
        query = {"neosymbol": name.key, "interval": "W", "fromdate": "2026-10-01", "todate": "2026-11-20", **changes}
        url = f"{BASE}/market-data/1.0/historical/details?{urlencode(query)}"
        return neo.dialect.handle(neo.request("GET", url, headers))

    weeks = msgspec.json.decode(ask().body)["data"]["candles"]
    assert len(weeks) == 8
    assert weeks[0][0].endswith("+0530")
    assert ask(interval="7min").status == 400
    assert ask(interval="1min").status == 400


# --- sockets -----------------------------------------------------------------------------------------------------------


def test_the_market_stream_gets_ready_and_ticks_are_those_of_the_exchange(neo):
    wire, session, decoder = neo.open(feed)
    assert [type(event) for event in decoder.receive(wire.frames.pop())] == [Ready]
    names = chosen(neo)
    for message in feed.subscribe_messages(neo.access, [neo.listing(name) for name in names]):
        session.received(message)
    ticks = {}
    for frame in wire.frames:
        for event in decoder.receive(frame):
            assert isinstance(event, Ticks)
            ticks |= {tick.broker_token: tick for tick in event.ticks}
    assert set(ticks) == {name.key for name in names}
    for name in names:
        tick, market = ticks[name.key], neo.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        assert (tick.open, tick.high, tick.low) == (float(market.open), float(market.high), float(market.low))
        assert tick.last_trade_time == int(market.last_trade_time)
        if not name.contract.is_index:
            assert tick.volume == market.volume // name.units * name.units
            assert tick.oi == (None if name.is_cash else market.oi // name.units * name.units)
            assert [each.price for each in tick.buy] == [float(each.price) for each in market.buy]
            assert [each.quantity for each in tick.sell] == [
                each.quantity // name.units * name.units for each in market.sell
            ]
    wire.frames.clear()
    share = names[0].contract.instrument_id
    session.markets_moved(frozenset({share}))
    assert len(wire.frames) == 1
    for message in feed.unsubscribe_messages(neo.access, [neo.listing(names[0])]):
        session.received(message)
    session.markets_moved(frozenset({share}))
    assert len(wire.frames) == 1


def test_the_market_stream_says_nothing_to_a_stranger(neo):
    wire = Wire()
    session = neo.dialect.open_socket(neo.request("GET", f"{BASE}/apifeed"), wire)
    session.received('{"event":"subscribeDepth","inputtoken":"nse_cm|1001"}')
    assert wire.frames == []
    assert wire.closed[0] == 1008


def test_the_order_stream_greets_and_says_that_the_books_moved(neo):
    wire, _session, decoder = neo.open(order_feed)
    assert [type(event) for event in decoder.receive(wire.frames.pop(0))] == [Ready]
    wire.frames.clear()
    neo.account.place(
        NewOrder(
            instrument_id=neo.listed("equities").contract.instrument_id, side=Side.BUY, product=Product.CNC,
            order_type=OrderType.MARKET, validity=Validity.DAY, quantity=1,
        )
    )  # fmt: skip
    order = neo.account.orders()[-1]
    fill = neo.account.fills()[-1]
    _session.order_changed(order, fill)
    frames = [msgspec.json.decode(frame) for frame in wire.frames]
    assert [frame["type"] for frame in frames] == ["order", "order", "order", "position"]
    assert frames[0]["data"]["ordSt"] == "put order req received"
    assert frames[2]["data"]["ordSt"] == "complete"
    assert frames[2]["data"]["updRecvTm"] > 2**53
    kinds = [type(event) for frame in wire.frames for event in decoder.receive(frame)]
    assert kinds == [BooksMoved] * 4
    again = [type(event) for frame in wire.frames[:3] for event in decoder.receive(frame)]
    assert again == [Heartbeat] * 3


def test_the_order_stream_takes_the_greeting_as_json_too_and_pushes_what_stands(neo):
    neo.place(neo.listed("equities"))
    wire = Wire()
    session = neo.dialect.open_socket(neo.request("GET", f"{BASE}/realtime"), wire)
    greeting = {"type": "cn", "Authorization": neo.access.token("token"), "Sid": neo.access.token("sid"), "src": "WEB"}
    session.received(msgspec.json.encode(greeting).decode())
    frames = [msgspec.json.decode(frame) for frame in wire.frames]
    assert frames[0] == {"ak": "ok", "type": "cn", "task": "cn", "msg": "connected"}
    assert {frame["data"]["ordSt"] for frame in frames[1:]} >= {"open"}
    stranger = Wire()
    neo.dialect.open_socket(neo.request("GET", f"{BASE}/realtime"), stranger).received("{type:cn,Authorization:x}")
    assert stranger.closed[0] == 1008


# --- whatever comes ----------------------------------------------------------------------------------------------------

PATHS = (
    "/mis/login/1.0/tradeApiLogin", "/mis/login/1.0/tradeApiValidate", "/quick/order/rule/ms/place",
    "/quick/order/vr/modify", "/quick/order/cancel", "/quick/order/history", "/quick/user/limits",
    "/quick/user/check-margin", "/quick/user/orders", "/lapi/5config/config", "/apim/login/2.0/logout",
    "/script-details/1.0/quotes/neosymbol/nse_cm|1001/all", "/market-data/1.0/historical/details", "/portfolio/v1/holdings",
    "/lapi/wso2-scripmaster/v1/prod/2026-13-99/transformed/nse_fo.csv",
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.dictionaries(
    st.sampled_from(["am", "dq", "es", "mp", "pc", "pr", "pt", "qt", "rt", "vd", "tp", "ts", "tt", "ig", "no", "on", "nOrdNo", "mobileNumber", "ucc", "totp", "mpin", "exSeg", "tok", "qty", "prc", "prcTp", "prod", "trnsTp", "trgPrc"]),
    JSON | st.sampled_from(["nse_cm", "L", "MKT", "DAY", "B", "CNC", "1", "0.05", "NaN", "1e999", "٣"]),
    max_size=12,
)  # fmt: skip


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_the_server_answers_whatever_it_is_sent(lasting, data):
    neo = lasting
    method = data.draw(st.sampled_from(["GET", "POST", "PUT"]))
    path = data.draw(st.sampled_from(PATHS) | st.text(max_size=30).map(lambda text: f"/{text}"))
    headers = data.draw(
        st.dictionaries(st.sampled_from(["auth", "sid", "authorization", "neo-fin-key"]), st.text(max_size=30))
    )
    if data.draw(st.booleans()):
        headers |= {
            "auth": neo.access.token("token"), "sid": neo.access.token("sid"), "neo-fin-key": "neotradeapi",
            "authorization": neo.dialect.credentials["access_token"],
        }  # fmt: skip
    try:
        jdata = msgspec.json.encode(data.draw(FIELDS))
    except ValueError:
        jdata = b"{}"
    body = data.draw(st.sampled_from([jdata, urlencode({"jData": jdata.decode()}).encode()]) | st.binary(max_size=40))
    query = tuple(
        data.draw(st.lists(st.tuples(st.sampled_from(["interval", "fromdate"]), st.text(max_size=12)), max_size=3))
    )
    request = DialectRequest(method=method, base=BASE, path=path, query=query, headers=headers, body=body)
    answer = neo.dialect.handle(request)
    assert isinstance(answer, WireResponse)
    orders.parse_order_answer(answer)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    messages=st.lists(st.text(max_size=60) | st.binary(max_size=60) | JSON.map(repr), max_size=5), feed_=st.booleans()
)
def test_the_sockets_take_whatever_they_are_sent(lasting, messages, feed_):
    neo = lasting
    neo.log_in()  # the server's fuzz may have logged out
    wire, session, _ = neo.open(feed if feed_ else order_feed)
    for message in messages:
        session.received(message)
    assert wire.closed is None
