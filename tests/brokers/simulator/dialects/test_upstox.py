"""Upstox' server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

from datetime import datetime, timedelta
from decimal import Decimal
from urllib.parse import parse_qsl, urlencode

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login, OrderChange
from onebroker.brokers.events import Heartbeat, OrderUpdate, Ticks
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BrokerRefusal, RefusalKind, StreamAddress
from onebroker.brokers.simulator.dialects.upstox import build
from onebroker.brokers.simulator.dialects.upstox.naming import name_of
from onebroker.brokers.upstox import (
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
from onebroker.brokers.upstox.broker import UPSTOX
from onebroker.brokers.upstox.proto import FeedResponse
from onebroker.brokers.upstox.wire import ENDPOINTS
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE, START, DialectClient
from tests.support.every_case import every_case

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")
NOW = datetime(2026, 11, 20, 10, tzinfo=IST)


class Upstox(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(UPSTOX, build, name_of)
        self.session = self.dialect.session()

    @property
    def access(self):
        made = Login(
            tokens={"access_token": self.session["access_token"]}, user_id="", logged_in_at=0.0, expires_at=0.0
        )
        return Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def get(self, path, **query):
        headers = {"Authorization": f"Bearer {self.session['access_token']}"}
        answer = self.dialect.handle(self.request("GET", f"{BASE}{path}?{urlencode(query)}", headers))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self, flow):
        """Follow an authorize flow and open the socket it leads to."""
        request = next(flow)
        with pytest.raises(StopIteration) as done:
            flow.send(self.send(request))
        return self.open_at(done.value.value.url)

    def listing(self, name):
        return Listing(
            broker_token=name.key, tradingsymbol=name.tradingsymbol, exchange=name.segment, contract_units=name.units
        )


@pytest.fixture
def upstox():
    return Upstox()


def test_a_login_goes_from_the_page_by_the_code_to_a_token_that_works_once(upstox):
    page = upstox.dialect.handle(upstox.request("GET", login.login_page(upstox.access)))
    assert page.status == 302
    flow = login.log_in(upstox.access, page.headers["location"], upstox.now)
    request = next(flow)
    answer = upstox.send(request)
    assert "data" not in msgspec.json.decode(answer.body)
    with pytest.raises(StopIteration) as done:
        flow.send(answer)
    upstox.session = {"access_token": done.value.value.tokens["access_token"]}
    profile = login.parse_profile(upstox.send(login.profile_request(upstox.access)), LOGIN)
    assert profile["user_id"] == done.value.value.user_id == upstox.account.client_id
    assert upstox.send(request).status == 401


@pytest.mark.parametrize("field", ["client_id", "client_secret", "redirect_uri", "code", "grant_type"])
def test_every_field_of_the_exchange_is_checked(upstox, field):
    flow = login.log_in(upstox.access, f"https://127.0.0.1/?code={upstox.session['code']}", upstox.now)
    form = dict(parse_qsl(next(flow).body.decode())) | {field: "wrong"}
    url = f"{BASE}/v2/login/authorization/token"
    answer = upstox.dialect.handle(upstox.request("POST", url, body=urlencode(form).encode()))
    assert answer.status in (400, 401)
    assert msgspec.json.decode(answer.body)["errors"][0]["error_code"].startswith("UDAPI")


def test_a_token_lives_until_half_past_three_and_over_a_restart_of_the_simulator(upstox):
    upstox.dialect = upstox.build()
    assert login.parse_profile(upstox.send(login.profile_request(upstox.access)), LOGIN)
    upstox.wall.now += timedelta(hours=17, minutes=31).total_seconds()
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(upstox.send(login.profile_request(upstox.access)), LOGIN)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_refused_everywhere_and_its_sockets_are_closed(upstox):
    wire, _ = upstox.open(feed.address(upstox.access, upstox.now))
    upstox.dialect.expire_session()
    assert wire.closed is not None
    assert upstox.get("/v2/user/profile")[1]["errors"][0]["errorCode"] == "UDAPI100050"
    answer = orders.parse_order_answer(upstox.send(orders.cancel_request(upstox.access, _row("1"), upstox.now)))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    assert upstox.get("/v3/feed/market-data-feed/authorize")[0] == 401


def _row(order_id):
    return books.order_row(
        {
            "order_id": order_id, "status": "open", "instrument_token": "NSE_EQ|X", "quantity": 1, "filled_quantity": 0, "trading_symbol": "X",
            "exchange": "NSE",
        },
        {},
    )  # fmt: skip


def test_the_instrument_file_names_every_contract_as_the_exchange_knows_it(upstox):
    answer = upstox.send(next(instruments.file_requests(upstox.access, NOW)))
    assert answer.body.startswith(b"\x1f\x8b")
    rows = {row["broker_token"]: row for row in instruments.read_files([answer.body]).rows(named=True)}
    names = [name_of(contract) for contract in upstox.account.contracts()]
    assert set(rows) == {name.key for name in names}
    for name in names:
        contract, row = name.contract, rows[name.key]
        shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
        identity = Identity(
            row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
            row["expiry_date"], row["strike_price"], row["option_type"],
        )  # fmt: skip
        assert identity.instrument_id == contract.instrument_id
        if not contract.is_index:
            assert (row["lot_size"], row["tick_size"]) == (contract.lot_size, float(contract.tick_size))
            assert (row["freeze_quantity"], row["contract_units"]) == (contract.freeze_quantity, name.units)
            assert row["isin"] == contract.isin


def test_an_order_is_placed_shown_changed_and_cancelled(upstox):
    name = upstox.listed("equities")
    placed = upstox.place(name, quantity=7)
    assert placed.outcome is Outcome.ACCEPTED
    assert "latency" in placed.broker_response["metadata"]
    row = next(row for row in upstox.book() if row.order_id == placed.order_id)
    assert (row.status, row.quantity, row.tag, row.product) == ("OPEN", 7, "ob0123456789ab", "CNC")
    change = OrderChange(row=row, listing=upstox.listing(name), segment="nse_equities", quantity=9)
    changed = orders.parse_order_answer(upstox.send(orders.modify_request(upstox.access, change, upstox.now)))
    assert changed.outcome is Outcome.ACCEPTED
    cancelled = orders.parse_order_answer(upstox.send(orders.cancel_request(upstox.access, row, upstox.now)))
    assert (cancelled.outcome, cancelled.order_id) == (Outcome.ACCEPTED, placed.order_id)
    row = next(row for row in upstox.book() if row.order_id == placed.order_id)
    assert (row.status, row.quantity, row.cancelled_quantity, row.price) == (
        "CANCELLED",
        9,
        9,
        float(upstox.ticket(name).price),
    )
    again = orders.parse_order_answer(upstox.send(orders.cancel_request(upstox.access, row, upstox.now)))
    assert again.outcome is Outcome.REJECTED


@pytest.mark.parametrize(("bare", "exchange"), [("commodity_futures", "mcx"), ("currency_futures", "nse")])
def test_contracts_go_over_the_wire_as_contracts_and_come_back_in_units(upstox, bare, exchange):
    name = upstox.listed(bare, exchange)
    request = orders.place_request(upstox.access, upstox.ticket(name, quantity=2 * name.units), upstox.now)
    assert msgspec.json.decode(request.body)["quantity"] == 2
    answer = orders.parse_order_answer(upstox.send(request))
    assert upstox.account.order(answer.order_id).quantity == 2 * name.units
    row = next(row for row in upstox.book() if row.order_id == answer.order_id)
    assert (row.quantity, row.pending_quantity, row.contract_units) == (2 * name.units, 2 * name.units, name.units)


def test_a_trade_is_in_the_trade_book_the_position_and_on_the_portfolio_stream(upstox):
    name = upstox.listed("commodity_futures", "mcx")
    wire, session = upstox.open(order_feed.address(upstox.access, upstox.now))
    placed = upstox.place(name, order_type="MARKET", price=None)
    order = upstox.account.order(placed.order_id)
    assert order.filled_quantity == name.units
    for state in upstox.account.order_history(placed.order_id):
        session.order_changed(state, None)
    listings = upstox.listings()
    events = [event for frame in wire.frames for event in order_feed.decoder(ACCESS, ADDRESS, listings).receive(frame)]
    assert all(isinstance(event, OrderUpdate) for event in events)
    assert (events[0].order.status, events[0].order.filled_quantity) == ("PENDING", 0)
    assert (events[-1].order.status, events[-1].order.filled_quantity) == ("COMPLETE", name.units)
    trades = books.parse_trades(upstox.send_all(books.trade_requests(upstox.access, NOW)), listings)
    assert sum(each.quantity for each in trades if each.order_id == placed.order_id) == name.units
    rows = portfolio.parse_positions(upstox.send_all(portfolio.position_requests(upstox.access, NOW)), {})
    day = next(row for row in rows if row.view == "day" and row.instrument_token == name.key)
    assert (day.quantity, day.buy_quantity) == (name.units, name.units)
    assert day.buy_value == pytest.approx(float(order.filled_value))


def test_positions_holdings_and_funds_are_the_exchanges_truth(upstox):
    positions = portfolio.parse_positions(upstox.send_all(portfolio.position_requests(upstox.access, NOW)), {})
    net = {row.instrument_token: row for row in positions if row.view == "net"}
    for held in upstox.account.positions():
        row = net[name_of(upstox.account.contract(held.instrument_id)).key]
        assert (row.quantity, row.overnight_quantity) == (held.quantity, held.overnight_quantity)
    rows = portfolio.parse_holdings(upstox.send_all(portfolio.holding_requests(upstox.access, NOW)))
    by_isin = {row.isin: row for row in rows}
    for held in upstox.account.holdings():
        row = by_isin[upstox.account.contract(held.instrument_id).isin]
        assert row.settled_quantity + row.t1_quantity == held.total_quantity
        assert (row.collateral_quantity, row.average_price) == (held.collateral_quantity, float(held.average_price))
    funds, truth = (
        portfolio.parse_funds(upstox.send_all(portfolio.fund_requests(upstox.access, NOW))),
        upstox.account.funds(),
    )
    assert funds.available_balance == float(truth.available)
    assert funds.collateral_value == float(truth.collateral)
    assert funds.realized == float(truth.realized)
    assert funds.span_margin == float(truth.span + truth.exposure)


def test_refusals_are_in_upstox_words_and_clear(upstox):
    unknown = orders.parse_order_answer(upstox.send(orders.cancel_request(upstox.access, _row("99"), upstox.now)))
    assert (unknown.outcome, unknown.broker_response["errors"][0]["errorCode"]) == (Outcome.REJECTED, "UDAPI100010")
    full = orders.parse_order_answer(upstox.dialect.rate_limited())
    assert (full.outcome, full.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(upstox.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    ("change", "code"),
    [
        ({"order_type": "STOP"}, "UDAPI1056"),
        ({"order_type": None}, "UDAPI1004"),
        ({"validity": "GTC"}, "UDAPI1055"),
        ({"validity": ""}, "UDAPI1007"),
        ({"order_type": "MARKET", "market_protection": 0}, "UDAPI1158"),
        ({"instrument_token": "NSE_EQ|nobody"}, "UDAPI100011"),
        ({"quantity": "7"}, "UDAPI1052"),
        ({"tag": "x" * 41}, "UDAPI100036"),
    ],
)
def test_a_body_upstox_would_refuse_is_refused_with_its_code(upstox, change, code):
    request = orders.place_request(upstox.access, upstox.ticket(upstox.listed("equities")), upstox.now)
    body = msgspec.json.encode(msgspec.json.decode(request.body) | change)
    answer = upstox.dialect.handle(upstox.request("POST", request.url, request.headers, body))
    assert (answer.status, msgspec.json.decode(answer.body)["errors"][0]["errorCode"]) == (400, code)


def test_an_order_the_exchange_refuses_has_an_id_and_is_rejected_in_the_book(upstox):
    name = upstox.listed("equities")
    placed = upstox.place(name, price=upstox.account.market(name.contract.instrument_id).upper_circuit * 2)
    row = next(row for row in upstox.book() if row.order_id == placed.order_id)
    assert (placed.outcome, row.status, row.pending_quantity) == (Outcome.ACCEPTED, "REJECTED", 0)
    assert row.status_message


def test_slicing_answers_one_order_id_for_each_part(upstox):
    name = upstox.listed("equity_index_options")
    lot, most = name.contract.lot_size, name.contract.freeze_quantity
    request = orders.place_request(upstox.access, upstox.ticket(name), upstox.now)
    body = msgspec.json.decode(request.body) | {"slice": True, "quantity": most + lot, "price": 0.05}
    answer = upstox.dialect.handle(upstox.request("POST", request.url, request.headers, msgspec.json.encode(body)))
    ids = msgspec.json.decode(answer.body)["data"]["order_ids"]
    assert [upstox.account.order(each).quantity for each in ids] == [most, lot]


def test_history_begins_with_the_order_received_and_is_found_by_tag(upstox):
    placed = upstox.place(upstox.listed("equities"))
    _, by_id = upstox.get("/v2/order/history", order_id=placed.order_id)
    assert by_id["data"][0]["status"] == "put order req received"
    assert by_id["data"][-1]["status"] == "open"
    assert upstox.get("/v2/order/history", tag="ob0123456789ab")[1]["data"] == by_id["data"]
    assert upstox.get("/v2/order/details", order_id=placed.order_id)[1]["data"]["order_id"] == placed.order_id
    assert upstox.get("/v2/order/history", tag="nobody")[0] == 404


def test_quotes_are_the_market_in_units(upstox):
    names = [upstox.listed("equities"), upstox.listed("commodity_futures", "mcx"), upstox.listed("equity_indices")]
    listings = [upstox.listing(name) for name in names]
    ticks = quotes.parse_quotes(upstox.send(quotes.quote_request(upstox.access, listings)), listings)
    for name in names:
        tick, market = ticks[name.key], upstox.account.market(name.contract.instrument_id)
        assert (tick.last_price, tick.previous_close) == (float(market.last_price), float(market.previous_close))
        if not name.contract.is_index:
            assert tick.volume == market.volume // name.units * name.units
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert [level.orders for level in tick.sell] == [level.orders for level in market.sell]


def test_candles_are_answered_without_a_token_for_complete_days(upstox):
    name = upstox.listed("equities")
    last = START.date()
    requests = candles.candle_requests(upstox.access, upstox.listing(name), "day", last - timedelta(days=9), last)
    rows = candles.parse_candles(upstox.send_all(requests), upstox.listing(name))
    assert rows == sorted(rows, key=lambda row: row.start)
    assert rows[-1].start < datetime(2026, 11, 23, tzinfo=IST).timestamp()
    answer = upstox.dialect.handle(upstox.request("GET", f"{BASE}/v3/historical-candle/intraday/{name.key}/minutes/5"))
    times = [row[0] for row in msgspec.json.decode(answer.body)["data"]["candles"]]
    assert times == sorted(times, reverse=True)
    assert times[0].startswith("2026-11-23T")


def test_a_candle_call_over_the_span_or_of_an_unknown_interval_is_refused(upstox):
    key = upstox.listed("equities").key
    for path in (
        f"{key}/minutes/1/2026-10-31/2026-09-01",
        f"{key}/minutes/7/2026-10-31/2026-10-30",
        "X|1/days/1/2026-10-31",
    ):
        answer = upstox.dialect.handle(upstox.request("GET", f"{BASE}/v3/historical-candle/{path}"))
        assert answer.status == 400


def test_the_market_socket_says_the_state_of_the_markets_then_a_snapshot_then_changes(upstox):
    share, crude = upstox.listed("equities"), upstox.listed("commodity_futures", "mcx")
    index = upstox.listed("equity_indices")
    wire, session = upstox.open(feed.address(upstox.access, upstox.now))
    (request,) = feed.subscribe_messages(ACCESS, [upstox.listing(name) for name in (share, crude, index)])
    session.received(request)
    session.markets_moved(frozenset({crude.contract.instrument_id, "nobody"}))
    assert [FeedResponse.FromString(frame).type for frame in wire.frames] == [2, 0, 1]
    decoder = feed.decoder(ACCESS, ADDRESS, upstox.listings())
    state, snapshot, change = (decoder.receive(frame)[0] for frame in wire.frames)
    assert state == Heartbeat()
    assert isinstance(snapshot, Ticks)
    assert {tick.broker_token for tick in snapshot.ticks} == {share.key, crude.key, index.key}
    (tick,) = change.ticks
    market = upstox.account.market(crude.contract.instrument_id)
    assert (tick.broker_token, tick.last_price, tick.open) == (crude.key, float(market.last_price), float(market.open))
    assert [level.quantity for level in tick.sell] == [level.quantity for level in market.sell]
    assert (tick.volume, tick.oi) == (
        market.volume // crude.units * crude.units,
        market.oi // crude.units * crude.units,
    )
    session.received(feed.unsubscribe_messages(ACCESS, [upstox.listing(crude)])[0])
    session.markets_moved(frozenset({crude.contract.instrument_id}))
    assert len(wire.frames) == 3


def test_a_margin_is_refused_in_the_codes_of_its_page(upstox):
    future = upstox.listed("equity_index_futures")
    request = margins.margin_request(upstox.access, upstox.ticket(future, quantity=1), Decimal(100), upstox.now)
    with pytest.raises(BrokerRefusal, match="multiple of lot size") as refused:
        margins.parse_margin(upstox.send(request))
    assert refused.value.code == "UDAPI1104"
    sent = msgspec.json.decode(request.body)["instruments"][0]
    for count, code in ((0, "UDAPI100036"), (2, "UDAPI1103"), (21, "UDAPI1102")):
        body = msgspec.json.encode({"instruments": [sent] * count})
        answer = upstox.dialect.handle(upstox.request("POST", request.url, request.headers, body))
        assert (answer.status, msgspec.json.decode(answer.body)["errors"][0]["errorCode"]) == (400, code)


def test_text_requests_are_not_read_and_nonsense_is_answered_with_an_error(upstox):
    wire, session = upstox.open(feed.address(upstox.access, upstox.now))
    (request,) = feed.subscribe_messages(ACCESS, [upstox.listing(upstox.listed("equities"))])
    session.received(request.decode())
    assert len(wire.frames) == 1
    for nonsense in (
        b"",
        b"[]",
        b"{}",
        b'{"method":"sub","data":[]}',
        b'{"method":"dance","data":{"instrumentKeys":[]}}',
    ):
        session.received(nonsense)
        assert msgspec.json.decode(wire.frames[-1])["status"] == "failed"


def test_the_documented_addresses_redirect_to_an_address_that_opens_once(upstox):
    headers = {"Authorization": f"Bearer {upstox.session['access_token']}"}
    _, answer = upstox.open_at(upstox.endpoints.stream_url, headers)
    assert answer.status == 302
    url = answer.headers["location"]
    assert url.startswith("ws://127.0.0.1:9001/")
    _, session = upstox.open_at(url)
    assert hasattr(session, "markets_moved")
    assert upstox.open_at(url)[1].status == 401
    assert upstox.open_at(upstox.endpoints.stream_url)[1].status == 401


def test_the_portfolio_stream_sends_only_the_updates_asked_for(upstox):
    headers = {"Authorization": f"Bearer {upstox.session['access_token']}"}
    url = f"{upstox.endpoints.order_stream_url}?update_types=position%2Cholding"
    _, answer = upstox.open_at(url, headers)
    wire, session = upstox.open_at(answer.headers["location"])
    placed = upstox.place(upstox.listed("equity_index_futures"), order_type="MARKET", price=None, product="MIS")
    fill = next(fill for fill in upstox.account.fills() if fill.order_id == placed.order_id)
    session.order_changed(upstox.account.order(placed.order_id), fill)
    frames = [msgspec.json.decode(frame) for frame in wire.frames]
    assert {frame["update_type"] for frame in frames} == {"position"}
    assert all("last_price" not in frame for frame in frames)


def test_an_unknown_route_and_a_wrong_method_are_told_apart(upstox):
    assert upstox.get("/v2/nothing")[0] == 404
    assert upstox.get("/v3/order/place")[0] == 405


def test_prices_leave_with_the_digits_of_the_tick(upstox):
    name = upstox.listed("currency_futures")
    placed = upstox.place(
        name, price=upstox.account.market(name.contract.instrument_id).lower_circuit + Decimal("0.0025")
    )
    assert placed.outcome is Outcome.ACCEPTED
    assert upstox.account.order(placed.order_id).price % Decimal("0.0025") == 0
