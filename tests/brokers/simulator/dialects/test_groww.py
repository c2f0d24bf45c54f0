"""Groww's server over the real exchange, judged by the broker's page and read by our codecs; the official SDK judges it in tests/sdk."""

from collections import Counter
from datetime import datetime, timedelta
from urllib.parse import urlencode

import attrs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import OrderChange
from onebroker.brokers.events import (
    BooksMoved,
    CorruptFrame,
    Heartbeat,
    Ready,
    Reply,
    SessionDead,
    StreamRefused,
    Ticks,
)
from onebroker.brokers.groww import books, candles, feed, instruments, login, orders, portfolio, quotes
from onebroker.brokers.groww.broker import GROWW
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind, WireResponse
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.groww import build
from onebroker.brokers.simulator.dialects.groww.naming import name_of
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE, START, DialectClient, Wire
from tests.support.every_case import every_case

TOTP, APPROVAL = ("totp_key", "totp_secret"), ("api_key", "api_secret")


class Line:
    """An open stream with our decoder at its end: replies go back, as the session sends them."""

    def __init__(self, groww, address):
        self.wire = Wire()
        self.session = groww.dialect.open_socket(groww.request("GET", address.url.replace("ws:", "http:")), self.wire)
        self.decoder = feed.decoder(groww.access, address, {})
        self.read = 0

    def events(self):
        heard = []
        while self.read < len(self.wire.frames):
            frame = self.wire.frames[self.read]
            self.read += 1
            for event in self.decoder.receive(frame):
                heard.append(event)
                if isinstance(event, Reply):
                    self.session.received(event.message)
        return heard

    def send(self, messages):
        for message in messages:
            self.session.received(message)


class Groww(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(GROWW, build, name_of)
        self.access = attrs.evolve(self.bare, login=self.log_in(self.bare))
        self.number = 0

    def requests(self, flow):
        """Send what a flow yields; return the requests."""
        requests = [next(flow)]
        try:
            while True:
                requests.append(flow.send(self.send(requests[-1])))
        except StopIteration:
            return requests

    def log_in(self, access):
        return self.result(login.log_in(access, "", self.now))

    def get(self, path, **query):
        headers = {"Authorization": f"Bearer {self.access.token('token')}"}
        answer = self.dialect.handle(self.request("GET", f"{BASE}/v1{path}?{urlencode(query)}", headers))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self):
        return Line(self, self.result(feed.address(self.access, self.now)))

    def listed(self, bare, exchange="nse", n=0):
        found = [
            name_of(each)
            for each in self.account.contracts()
            if each.bare == bare and each.identity.exchange == exchange
        ]
        return found[n]

    def listing(self, name):
        return Listing(
            broker_token=token(name), tradingsymbol=name.trading_symbol, exchange=name.exchange,
            other_names=f"{name.token}|{name.groww_symbol}",
        )  # fmt: skip

    def trades(self):
        return books.parse_trades(self.answers(books.trade_requests(self.access, self.now)), {})


def token(name):
    segment = "IDX" if name.contract.is_index else name.segment
    return f"{name.exchange}:{segment}:{name.trading_symbol}"


@pytest.fixture
def groww():
    return Groww()


# --- login -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keys", [TOTP, APPROVAL])
def test_either_kind_of_key_becomes_a_token_until_six_in_the_morning(groww, keys):
    credentials = {key: groww.dialect.credentials[key] for key in keys}
    made = groww.log_in(attrs.evolve(groww.bare, credentials=credentials))
    assert made.user_id == groww.account.client_id
    assert made.expires_at == datetime(2026, 11, 24, 6, tzinfo=IST).timestamp()
    access = attrs.evolve(groww.bare, login=made)
    profile = login.parse_profile(groww.send(login.profile_request(access)), made)
    assert profile["ucc"] == groww.account.client_id
    groww.wall.now = made.expires_at + 1
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(groww.send(login.profile_request(access)), made)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        ({"totp_secret": "JBSWY3DPEHPK3PXP"}, RefusalKind.BAD_TOTP),
        ({"totp_key": "nobody"}, RefusalKind.BAD_CREDENTIALS),
        ({"totp_key": "", "totp_secret": None, "api_key": "nobody"}, RefusalKind.BAD_CREDENTIALS),
        ({"totp_secret": None, "api_secret": "guess"}, RefusalKind.BAD_CREDENTIALS),
    ],
)
def test_a_wrong_key_or_proof_is_refused_by_its_kind(groww, wrong, kind):
    credentials = {key: value for key, value in {**groww.bare.credentials, **wrong}.items() if value is not None}
    with pytest.raises(BrokerRefusal) as refusal:
        groww.log_in(attrs.evolve(groww.bare, credentials=credentials))
    assert refusal.value.kind is kind


def test_an_expired_session_is_refused_everywhere_and_its_stream_is_ended(groww):
    line = groww.open()
    line.events()
    groww.dialect.expire_session()
    assert [type(event) for event in line.events()] == [SessionDead]
    assert line.wire.closed is not None
    answer = groww.place(groww.listed("equities"))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    for flow in (books.order_requests, books.trade_requests, portfolio.position_requests, feed.address):
        with pytest.raises(BrokerRefusal) as refusal:
            portfolio.parse_positions(groww.answers(flow(groww.access, groww.now)), {})
        assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_a_token_outlives_a_restart_of_the_simulator(groww):
    groww.dialect = groww.build()
    assert groww.get("/user/detail")[0] == 200
    assert groww.dialect.session()["token"] == groww.access.token("token")


# --- instruments -------------------------------------------------------------------------------------------------------


def test_the_instrument_file_names_every_contract_as_the_exchange_knows_it(groww):
    (answer,) = groww.answers(instruments.file_requests(groww.bare, groww.now))
    rows = {row["broker_token"]: row for row in instruments.read_files([answer.body]).rows(named=True)}
    names = [name for contract in groww.account.contracts() if (name := name_of(contract)) is not None]
    assert set(rows) == {token(name) for name in names}
    for name in names:
        contract, row = name.contract, rows[token(name)]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id, (identity, contract.identity)
        assert row["other_names"] == f"{name.token}|{name.groww_symbol}"
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["contract_units"], row["freeze_quantity"], row["isin"]) == (1, None, contract.isin)


# --- orders ------------------------------------------------------------------------------------------------------------


def test_an_order_is_placed_shown_changed_and_cancelled(groww):
    name = groww.listed("equities")
    ticket = groww.ticket(name, quantity=7)
    request = orders.place_request(groww.access, ticket, groww.now)
    placed = orders.parse_order_answer(groww.send(request))
    assert placed.outcome is Outcome.ACCEPTED
    assert groww.account.order(placed.order_id).quantity == 7
    row = groww.row(placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, ticket.token, "CNC")
    assert (row.instrument_token, row.order_timestamp[-6:]) == (token(name), "+05:30")
    change = OrderChange(row=row, listing=groww.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(groww.send(orders.modify_request(groww.access, change, groww.now)))
    assert changed.outcome is Outcome.ACCEPTED
    assert (groww.account.order(row.order_id).quantity, groww.account.order(row.order_id).price) == (9, ticket.price)
    cancelled = orders.parse_order_answer(groww.send(orders.cancel_request(groww.access, row, groww.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = groww.row(placed.order_id)
    assert (row.status, row.cancelled_quantity, row.price) == ("CANCELLED", 9, float(ticket.price))
    again = orders.parse_order_answer(groww.send(orders.cancel_request(groww.access, row, groww.now)))
    assert again.outcome is Outcome.REJECTED
    # The same reference again says that the order is in, not that it is not.
    twice = orders.parse_order_answer(groww.send(request))
    assert (twice.outcome, twice.broker_response["error"]["code"]) == (Outcome.UNKNOWN, "GA007")


@pytest.mark.parametrize(
    ("order_type", "word"), [("MARKET", "MARKET"), ("LIMIT", "LIMIT"), ("SL", "SL"), ("SL-M", "SL_M")]
)
def test_every_order_type_reaches_the_exchange(groww, order_type, word):
    name = groww.listed("equities")
    market = groww.account.market(name.contract.instrument_id)
    trigger = market.last_price - 20 * name.contract.tick_size
    prices = {"price": trigger - name.contract.tick_size, "trigger_price": trigger}
    sent = {
        "price": prices["price"] if order_type in ("LIMIT", "SL") else None,
        "trigger_price": prices["trigger_price"] if order_type in ("SL", "SL-M") else None,
    }
    placed = groww.place(name, order_type=order_type, transaction_type="SELL", product="MIS", **sent)
    order = groww.account.order(placed.order_id)
    assert (order.order_type.value, order.price, order.trigger_price) == (order_type, *sent.values())
    assert groww.get(f"/order/detail/{placed.order_id}", segment="CASH")[1]["payload"]["order_type"] == word
    assert groww.row(placed.order_id).order_type == order_type


def test_a_trade_is_in_the_trade_book_the_position_and_announced_on_the_stream(groww):
    name = groww.listed("equity_index_futures")
    line = groww.open()
    assert [type(each) for each in line.events()] == [Reply, Reply, Ready]
    placed = groww.place(name, order_type="MARKET", price=None)
    order = groww.account.order(placed.order_id)
    assert order.filled_quantity == name.contract.lot_size
    fill = next(fill for fill in groww.account.fills() if fill.order_id == placed.order_id)
    line.session.order_changed(order, fill)
    assert line.events() == [BooksMoved(), BooksMoved()]
    traded = [each for each in groww.trades() if each.order_id == placed.order_id]
    assert sum(each.quantity for each in traded) == order.filled_quantity
    assert {each.instrument_token for each in traded} == {token(name)}
    rows = portfolio.parse_positions(groww.answers(portfolio.position_requests(groww.access, groww.now)), {})
    day = next(row for row in rows if row.view == "day" and row.instrument_token == token(name))
    assert (day.quantity, day.buy_quantity) == (order.filled_quantity, order.filled_quantity)
    assert day.buy_value == pytest.approx(float(order.filled_value))


def test_a_long_book_is_read_page_by_page_and_no_order_is_lost_or_doubled(groww):
    name = groww.listed("equities")
    for number in range(130):
        groww.place(name, token=f"obpage{number:06d}")
    answers = groww.answers(books.order_requests(groww.access, groww.now))
    rows = books.parse_orders(answers, {})
    assert sorted(row.order_id for row in rows) == sorted(order.order_id for order in groww.account.orders())
    assert len(answers) > 3


def test_trades_are_asked_again_only_for_orders_that_filled_more(groww):
    name = groww.listed("equities")
    groww.place(name, order_type="MARKET", price=None, quantity=3)
    seen = groww.requests(books.trade_requests(groww.access, groww.now))
    versions = {request.url.split("/trades/")[1][:19]: request.version for request in seen if request.version}
    assert set(versions.values()) >= {"3"}
    assert len(versions) == sum(bool(order.filled_quantity) for order in groww.account.orders())


def test_a_trade_book_with_a_hole_is_no_trade_book(groww):
    groww.place(groww.listed("equities"), order_type="MARKET", price=None, quantity=3)
    answers = groww.answers(books.trade_requests(groww.access, groww.now))
    emptied = WireResponse(status=200, body=b'{"status":"SUCCESS","payload":{"trade_list":[]}}')
    place = next(n for n, answer in enumerate(answers) if b'"groww_trade_id"' in answer.body)
    with pytest.raises(BadAnswer, match="fewer than what it filled"):
        books.parse_trades([*answers[:place], emptied, *answers[place + 1 :]], {})


def test_positions_holdings_and_funds_are_the_exchanges_truth(groww):
    rows = portfolio.parse_positions(groww.answers(portfolio.position_requests(groww.access, groww.now)), {})
    net = {row.instrument_token: row for row in rows if row.view == "net"}
    assert any(held.quantity < 0 for held in groww.account.positions())
    for held in groww.account.positions():
        row = net[token(name_of(groww.account.contract(held.instrument_id)))]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
        assert (row.buy_quantity - row.sell_quantity, row.last_price) == (held.quantity, None)
    rows = portfolio.parse_holdings(groww.answers(portfolio.holding_requests(groww.access, groww.now)))
    by_isin = {row.isin: row for row in rows}
    for held in groww.account.holdings():
        row = by_isin[groww.account.contract(held.instrument_id).isin]
        assert row.settled_quantity + row.t1_quantity == held.total_quantity
        assert (row.collateral_quantity, row.average_price) == (held.collateral_quantity, float(held.average_price))
    funds = portfolio.parse_funds(groww.answers(portfolio.fund_requests(groww.access, groww.now)))
    truth = groww.account.funds()
    assert (funds.available_balance, funds.collateral_value) == (float(truth.available), float(truth.collateral))
    assert (funds.span_margin, funds.exposure_margin) == (float(truth.span), float(truth.exposure))
    assert funds.margin_utilized == float(truth.used)


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(groww):
    name = groww.listed("equities")
    placed = groww.place(name, price=groww.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = groww.row(placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert placed.status_message == row.status_message != ""


def test_refusals_are_in_growws_words_and_clear(groww):
    full = orders.parse_order_answer(groww.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(groww.dialect.refusal_in_200()).outcome is Outcome.REJECTED
    placed = groww.place(groww.listed("equities"))
    row = groww.row(placed.order_id)
    elsewhere = msgspec.structs.replace(row, instrument_token="NSE:FNO:X")
    answer = orders.parse_order_answer(groww.send(orders.cancel_request(groww.access, elsewhere, groww.now)))
    assert (answer.outcome, answer.broker_response["error"]["code"]) == (Outcome.REJECTED, "GA004")


@every_case(
    "change",
    [
        {"order_type": "STOP"}, {"order_type": None}, {"validity": "GTX"}, {"quantity": "7"}, {"quantity": 0},
        {"price": -1}, {"trading_symbol": "NOBODY"}, {"segment": "X"}, {"order_reference_id": "short"},
        {"order_reference_id": None}, {"transaction_type": "B"}, {"product": "X"},
    ],
)  # fmt: skip
def test_a_body_groww_would_refuse_is_refused(groww, change):
    request = orders.place_request(groww.access, groww.ticket(groww.listed("equities")), groww.now)
    body = msgspec.json.encode(msgspec.json.decode(request.body) | change)
    answer = groww.dialect.handle(groww.request("POST", request.url, request.headers, body))
    assert (answer.status, msgspec.json.decode(answer.body)["error"]["code"]) == (400, "GA001")


def test_the_two_lookups_of_one_order_find_it(groww):
    ticket = groww.ticket(groww.listed("equities"))
    placed = orders.parse_order_answer(groww.send(orders.place_request(groww.access, ticket, groww.now)))
    for path in (f"/order/status/{placed.order_id}", f"/order/status/reference/{ticket.token}"):
        _, answer = groww.get(path, segment="CASH")
        assert (answer["payload"]["groww_order_id"], answer["payload"]["order_status"]) == (placed.order_id, "OPEN")
    assert groww.get("/order/status/reference/nobodyatall", segment="CASH")[0] == 404


# --- quotes and candles ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bare", "exchange"), [("equities", "nse"), ("equity_indices", "nse"), ("commodity_futures", "mcx")]
)
def test_a_quote_is_the_market(groww, bare, exchange):
    name = groww.listed(bare, exchange)
    listing, market = groww.listing(name), groww.account.market(name.contract.instrument_id)
    ticks = quotes.parse_quotes(groww.send(quotes.quote_request(groww.access, [listing])), [listing])
    tick = ticks[token(name)]
    assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
    assert (tick.open, tick.high, tick.low) == (float(market.open), float(market.high), float(market.low))
    if name.contract.is_index:
        assert (tick.volume, tick.buy) == (None, None)
    else:
        assert tick.volume == market.volume
        assert [(level.price, level.quantity, level.orders) for level in tick.buy] == [
            (float(level.price), level.quantity, None) for level in market.buy
        ]
        assert tick.oi == (None if bare == "equities" else market.oi)


def test_ltp_and_ohlc_take_a_list_or_a_repeated_name(groww):
    names = [groww.listed("equities", n=n) for n in range(2)]
    asked = [name.quote_name for name in names]
    _, listed = groww.get("/live-data/ltp", segment="CASH", exchange_symbols=",".join([*asked, "NSE_NOBODY"]))
    assert set(listed["payload"]) == set(asked)
    headers = {"Authorization": f"Bearer {groww.access.token('token')}"}
    query = urlencode([("segment", "CASH"), *(("exchange_symbols", each) for each in asked)])
    answer = groww.dialect.handle(groww.request("GET", f"{BASE}/v1/live-data/ohlc?{query}", headers))
    texts = msgspec.json.decode(answer.body)["payload"]
    assert {float(quotes.ohlc(text)["close"]) > 0 for text in texts.values()} == {True}


@pytest.mark.parametrize("interval", sorted(candles.INTERVALS))
def test_candles_of_every_interval_are_the_exchanges(groww, interval):
    groww.keep_candles()
    name = groww.listed("equity_index_futures")
    last = START.date()
    first = last - timedelta(days=20)
    requests = candles.candle_requests(groww.access, groww.listing(name), interval, first, last)
    rows = candles.parse_candles([groww.send(request) for request in requests], groww.listing(name))
    truth = groww.account.candles(name.contract.instrument_id, interval, first, last)
    now = groww.clock.epoch()
    assert [(row.start, row.close, row.volume, row.oi) for row in rows] == [
        (start, close, volume, oi) for start, _, _, _, close, volume, oi in truth if start <= now
    ]
    assert rows


def test_weeks_months_the_older_call_and_too_long_spans(groww):
    name = groww.listed("equities")
    query = {
        "exchange": "NSE", "segment": "CASH", "groww_symbol": name.groww_symbol, "start_time": "2026-08-01 00:00:00",
        "end_time": "2026-11-20 23:59:59",
    }  # fmt: skip
    counts = {
        word: len(groww.get("/historical/candles", candle_interval=word, **query)[1]["payload"]["candles"])
        for word in ("1day", "1week", "1month")
    }
    assert counts["1day"] > counts["1week"] > counts["1month"] >= 4
    assert groww.get("/historical/candles", candle_interval="1minute", **query)[0] == 400
    old = {**query, "trading_symbol": name.trading_symbol, "start_time": "2026-11-18 00:00:00"}
    _, answer = groww.get("/historical/candle/range", interval_in_minutes="60", **old)
    assert all(len(row) == 6 and isinstance(row[0], int) for row in answer["payload"]["candles"])


# --- stream ------------------------------------------------------------------------------------------------------------


def test_the_stream_lets_in_who_signs_and_sends_price_day_and_book_of_what_is_subscribed(groww):
    share, future, index = (groww.listed(bare) for bare in ("equities", "equity_index_futures", "equity_indices"))
    commodity = groww.listed("commodity_futures", "mcx")
    line = groww.open()
    assert [type(each) for each in line.events()] == [Reply, Reply, Ready]
    names = (share, future, index, commodity)
    line.send(feed.subscribe_messages(groww.access, [groww.listing(name) for name in names]))
    line.session.markets_moved(frozenset(name.contract.instrument_id for name in names))
    newest = {tick.broker_token: tick for event in line.events() for tick in event.ticks}
    assert set(newest) == {token(share), token(future), token(index)}  # MCX has no subjects
    for name in (share, future):
        tick, market = newest[token(name)], groww.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.open, tick.volume) == (
            float(market.last_price),
            float(market.open),
            market.volume or None,
        )
        assert [(level.price, level.quantity) for level in tick.buy] == [
            (float(level.price), level.quantity) for level in market.buy
        ]
        assert tick.exchange_time == pytest.approx(market.exchange_time)
        assert tick.oi == (None if name is share else market.oi)
    line.send(feed.unsubscribe_messages(groww.access, [groww.listing(share)]))
    line.session.markets_moved(frozenset({share.contract.instrument_id}))
    assert line.events() == []


def test_frames_cut_anywhere_say_the_same(groww):
    name = groww.listed("equities")
    line = groww.open()
    line.events()
    line.send(feed.subscribe_messages(groww.access, [groww.listing(name)]))
    line.session.markets_moved(frozenset({name.contract.instrument_id}))
    flow = b"".join(line.wire.frames)
    whole, cut = (feed.StreamDecoder(line.decoder._handed) for _ in range(2))
    pieces = [event for n in range(len(flow)) for event in cut.receive(flow[n : n + 1])]
    together = whole.receive(flow)
    ticks = [tick for event in pieces if isinstance(event, Ticks) for tick in event.ticks]
    assert ticks == list(together[0].ticks)
    assert Counter(map(type, pieces)) == Counter(map(type, together)) + Counter({Ticks: len(ticks) - 1})


def test_the_server_pings_and_cuts_off_who_does_not_answer(groww):
    line = groww.open()
    line.events()
    for _ in range(120):
        line.session.beat()
    assert line.events() == [Reply(b"PONG\r\n"), Heartbeat()]
    for _ in range(360):
        line.session.beat()
    assert line.wire.closed is not None
    assert StreamRefused("Stale Connection") in line.events()


@pytest.mark.parametrize(
    "spoil", [{"jwt": "other"}, {"seed": "00" * 32}], ids=["a token of nobody's", "a signature by another key"]
)
def test_who_cannot_prove_the_key_is_not_let_in(groww, spoil):
    address = groww.result(feed.address(groww.access, groww.now))
    line = Line(groww, attrs.evolve(address, handed={**address.handed, **spoil}))
    assert [type(each) for each in line.events()] == [Reply, SessionDead]
    assert line.wire.closed is not None


def test_other_peoples_orders_and_more_than_a_thousand_subjects_are_refused(groww):
    line = groww.open()
    line.events()
    line.session.received(b"SUB stocks/order/updates.apex.somebody 1\r\nSUB /ld/> 2\r\n")
    assert [type(each) for each in line.events()] == [StreamRefused, StreamRefused]
    names = [name for each in groww.account.contracts() if (name := name_of(each)) is not None]
    listings = [groww.listing(name) for name in names if name.segment == "CASH" and not name.contract.is_index]
    line.send(feed.subscribe_messages(groww.access, [*listings] * 3)[:1])
    assert line.events() == []  # the same subjects again are the same subscriptions
    line.send([f"SUB /ld/eq/nse/price.{n} n{n}\r\n".encode() for n in range(1001)])
    assert any(isinstance(event, StreamRefused) for event in line.events())


@settings(max_examples=150, deadline=None)
@given(noise=st.lists(st.binary(max_size=60) | st.text(max_size=40) | st.sampled_from(
    [b"CONNECT {}\r\n", b"PING\r\n", b"SUB a\r\n", b"SUB /ld/eq/nse/price.1 1\r\n", b"UNSUB\r\n", b"PONG\r\n", b"PUB x 0\r\n"]
), max_size=6))  # fmt: skip
def test_no_message_on_the_stream_breaks_the_server(noise):
    groww = shared()
    line = groww.open()
    for message in noise:
        line.session.received(message)
    line.session.beat()
    line.session.markets_moved(frozenset(each.instrument_id for each in groww.account.contracts()[:5]))


_SHARED = []


def shared():
    """One server for random input: an exchange takes a while to make."""
    if not _SHARED:
        _SHARED.append(Groww())
    return _SHARED[0]


PATHS = [
    "/v1/token/api/access", "/v1/order/create", "/v1/order/modify", "/v1/order/cancel", "/v1/order/list", "/v1/order/detail/1",
    "/v1/order/trades/1", "/v1/margins/detail/orders", "/v1/positions/user", "/v1/live-data/quote", "/v1/live-data/ltp", "/v1/live-data/ohlc",
    "/v1/historical/candles", "/v1/historical/candle/range", "/v1/historical/expiries", "/v1/historical/contracts",
    "/v1/api/apex/v1/socket/token/create/", "/v1/nothing", "/v1/order/status/reference/x",
]  # fmt: skip
FIELDS = [
    "segment", "page", "page_size", "exchange", "trading_symbol", "groww_symbol", "start_time", "end_time", "candle_interval",
    "interval_in_minutes", "exchange_symbols", "expiry_date", "year", "month", "quantity", "price", "order_type",
    "groww_order_id", "socketKey", "key_type", "totp", "checksum", "timestamp",
]  # fmt: skip
WORDS = st.sampled_from(
    ["CASH", "NSE", "1day", "1minute", "2026-11-20 10:00:00", "0", "-1", "99999999999999999999", "totp"]
)
VALUES = WORDS | st.text(max_size=12) | st.integers() | st.floats() | st.none() | st.lists(st.none(), max_size=1)


@settings(max_examples=300, deadline=None)
@given(
    method=st.sampled_from(["GET", "POST", "PUT"]),
    path=st.sampled_from(PATHS),
    query=st.lists(st.tuples(st.sampled_from(FIELDS), WORDS | st.text(max_size=12)), max_size=6),
    body=st.binary(max_size=30) | st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6).map(msgspec.json.encode),
    known=st.booleans(),
)
def test_no_request_breaks_the_server(method, path, query, body, known):
    groww = shared()
    headers = {"authorization": f"Bearer {groww.access.token('token')}"} if known else {"authorization": "Bearer \x7f"}
    request = DialectRequest(method=method, base=BASE, path=path, query=query, headers=headers, body=body)
    answer = groww.dialect.handle(request)
    assert 200 <= answer.status < 500
    assert isinstance(msgspec.json.decode(answer.body), dict)


def test_an_unknown_route_and_a_wrong_method_are_told_apart(groww):
    assert groww.get("/nothing")[0] == 404
    assert groww.get("/order/create")[0] == 405
    assert groww.dialect.open_socket(groww.request("GET", f"{BASE}/elsewhere"), Wire()).status == 404


def test_expiries_and_contracts_are_those_listed(groww):
    name = groww.listed("equity_index_options")
    underlying = name.contract.identity.underlying_symbol
    _, answer = groww.get("/historical/expiries", exchange="NSE", underlying_symbol=underlying)
    day = name.contract.identity.expiry_date
    assert day in answer["payload"]["expiries"]
    _, answer = groww.get("/historical/contracts", exchange="NSE", underlying_symbol=underlying, expiry_date=day)
    assert name.groww_symbol in answer["payload"]["contracts"]


def test_nothing_that_is_damaged_is_taken_for_a_tick(groww):
    line = groww.open()
    line.events()
    events = line.decoder.receive(b"MSG /ld/eq/nse/price.1 0zz 3\r\nabc\r\n")
    assert [type(each) for each in events] == [CorruptFrame]
