"""ICICI Direct's server over the real exchange, judged by the broker's page and read by our codecs; the official SDK judges it
in tests/sdk."""

import base64
import hashlib
import zipfile
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from io import BytesIO

import attrs
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.broker import OrderChange, OrderTicket
from onebroker.brokers.events import BooksMoved, CorruptFrame, Heartbeat, OrderUpdate, Ready, Reply, SessionDead, Ticks
from onebroker.brokers.icicidirect import (
    books,
    candles,
    feed,
    instruments,
    login,
    order_feed,
    orders,
    portfolio,
    quotes,
    wire,
)
from onebroker.brokers.icicidirect.broker import ICICIDIRECT
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, RefusalKind
from onebroker.brokers.simulator.dialects.icicidirect import build
from onebroker.brokers.simulator.world.model import SimStatus
from onebroker.config.clock import IST
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import BASE, START, DialectClient, Wire
from tests.support.every_case import every_case


class Icici(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(ICICIDIRECT, build, None)
        self.access = attrs.evolve(self.bare, login=self.log_in())
        self.rows = {row["broker_token"]: row for row in self.frame().iter_rows(named=True)}
        self.by_contract = {identity_of(row).instrument_id: token for token, row in self.rows.items()}

    def log_in(self):
        answer = self.dialect.handle(self.request("GET", login.login_page(self.bare)))
        return self.drive(login.log_in(self.bare, answer.headers["location"], self.now))[1]

    def tradable(self, bare, exchange="nse"):
        """The first contract of a segment whose price is far above the lowest that may be bid."""
        for each in self.account.contracts():
            if each.bare == bare and each.identity.exchange == exchange:
                market = self.account.market(each.instrument_id)
                if market.last_price > market.lower_circuit + 40 * each.tick_size:
                    return each
        raise AssertionError(bare)

    def listing(self, contract):
        return self.listings()[self.by_contract[contract.instrument_id]]

    def ticket(self, contract, **changes):
        market = self.account.market(contract.instrument_id)
        values = {
            "listing": self.listing(contract), "segment": contract.identity.segment, "transaction_type": "BUY",
            "product": "CNC" if contract.identity.shape is Shape.SECURITY else "NRML", "order_type": "LIMIT",
            "validity": "DAY", "quantity": contract.lot_size, "price": market.lower_circuit + contract.tick_size,
            "token": "ob0123456789ab", **changes,
        }  # fmt: skip
        return OrderTicket(**values)

    def bought(self, contract, quantity):
        """Buy at the best offer; return the order id."""
        offer = self.account.market(contract.instrument_id).sell[0]
        answer = self.place(contract, quantity=quantity, price=offer.price)
        assert answer.outcome is Outcome.ACCEPTED, answer
        return answer.order_id

    def book(self):
        answers = self.answers(books.order_requests(self.access, self.now))
        return {row.order_id: row for row in books.parse_orders(answers, self.listings())}

    def open(self, module):
        """Open one of the streams and go through its handshake; return socket, session and decoder."""
        _, address = self.drive(module.address(self.access, self.now))
        socket = Wire()
        session = self.dialect.open_socket(self.request("GET", address.url.replace("ws://", "http://")), socket)
        decoder = module.decoder(self.access, address, self.listings())
        (reply,) = decoder.receive(socket.frames[0])
        session.received(reply.message)
        assert decoder.receive(socket.frames[1]) == [Ready()]
        del socket.frames[:]
        return socket, session, decoder


def identity_of(row):
    shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
    return Identity(
        row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
        row["expiry_date"], row["strike_price"], row["option_type"],
    )  # fmt: skip


@pytest.fixture
def icici():
    return Icici()


def test_the_page_redirects_with_a_session_that_is_exchanged_and_proves_itself_all_day(icici):
    made = icici.access.login
    assert made.user_id == "ASHAV123"
    assert base64.b64decode(made.tokens["session_token"]).decode() == f"ASHAV123:{made.tokens['session_key']}"
    assert made.expires_at == datetime(2026, 11, 24, tzinfo=IST).timestamp()
    profile = login.parse_profile(icici.send(login.profile_request(icici.access)), made)
    assert profile["idirect_user_name"] == "ASHA VERMA"
    assert "session_token" not in profile
    icici.wall.now = datetime(2026, 11, 23, 23, 59, 30, tzinfo=IST).timestamp()
    login.parse_profile(icici.send(login.profile_request(icici.access)), made)
    icici.wall.now += 31
    with pytest.raises(BrokerRefusal) as refusal:
        login.parse_profile(icici.send(login.profile_request(icici.access)), made)
    assert refusal.value.kind is RefusalKind.SESSION_DEAD


def test_an_expired_session_is_dead_on_every_call_and_on_both_streams(icici):
    streams = [icici.open(module) for module in (feed, order_feed)]
    icici.dialect.expire_session()
    for request in (
        login.profile_request(icici.access),
        next(books.order_requests(icici.access, icici.now)),
        next(portfolio.fund_requests(icici.access, icici.now)),
        candles.candle_requests(icici.access, next(iter(icici.listings().values())), "day", START.date(), START.date())[
            0
        ],
    ):
        with pytest.raises(BrokerRefusal) as refusal:
            wire.data(icici.send(request))
        assert refusal.value.kind is RefusalKind.SESSION_DEAD
    answer = icici.place(icici.contract("equities"))
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)
    for socket, _, decoder in streams:
        assert isinstance(decoder.receive(socket.frames[-1])[0], SessionDead)
        assert socket.closed is not None
    _, address = icici.drive(order_feed.address(icici.access, icici.now))
    socket = Wire()
    session = icici.dialect.open_socket(icici.request("GET", address.url), socket)
    decoder = order_feed.decoder(icici.access, address, {})
    session.received(decoder.receive(socket.frames[0])[0].message)
    assert decoder.receive(socket.frames[1]) == [SessionDead("Could not authenticate credentials")]


def test_a_restarted_server_still_knows_its_sessions(icici):
    icici.dialect = icici.build()
    portfolio.parse_funds(icici.answers(portfolio.fund_requests(icici.access, icici.now)))


def test_signatures_are_checked_with_their_time_and_over_the_exact_body(icici):
    request = next(books.order_requests(icici.access, icici.now)).leaving(icici.now)

    def answered(headers, body=request.body):
        answer = icici.dialect.handle(icici.request("GET", request.url, headers, body))
        return msgspec.json.decode(answer.body)

    assert answered(request.headers)["Status"] == 200
    assert answered(request.headers, request.body + b" ")["Error"] == "Checksum mismatch"
    assert answered({**request.headers, "X-AppKey": "other"})["Error"] == "Public Key does not exist."
    assert answered({**request.headers, "X-SessionToken": "%%"})["Error"] == "Invalid session."
    late = (START + timedelta(seconds=61)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    secret = icici.dialect.credentials["secret_key"].encode()
    checksum = f"token {hashlib.sha256(late.encode() + request.body + secret).hexdigest()}"
    assert "timestamp" in answered({**request.headers, "X-Timestamp": late, "X-Checksum": checksum})["Error"]


def test_the_security_master_names_the_exchanges_own_instruments(icici):
    contracts = icici.account.contracts()
    assert icici.by_contract.keys() == {each.instrument_id for each in contracts if each.identity.exchange != "ncdex"}
    for contract in contracts:
        row = icici.rows[icici.by_contract[contract.instrument_id]]
        if contract.is_index:
            continue
        in_cash = row["broker_exchange"] in ("NSE", "BSE")
        assert row["tick_size"] == (None if in_cash else pytest.approx(float(contract.tick_size)))
        assert row["lot_size"] == (None if row["broker_exchange"] == "MCX" else contract.lot_size)
        assert row["isin"] == contract.isin
        assert row["freeze_quantity"] is None
    (answer,) = icici.answers(instruments.file_requests(icici.bare, icici.now))
    with zipfile.ZipFile(BytesIO(answer.body)) as archive:
        columns = {name: len(archive.read(name).split(b"\n")[0].split(b",")) for name in archive.namelist()}
    assert columns == {
        "NSEScripMaster.txt": 61, "BSEScripMaster.txt": 34, "FONSEScripMaster.txt": 69, "FOBSEScripMaster.txt": 69,
        "CDNSEScripMaster.txt": 69, "MCXScripMaster.txt": 27,
    }  # fmt: skip


KINDS = (
    ("equities", "nse"), ("equities", "bse"), ("exchange_traded_funds", "nse"), ("equity_index_futures", "nse"),
    ("equity_index_options", "nse"), ("equity_options", "nse"), ("equity_index_options", "bse"),
)  # fmt: skip


@pytest.mark.parametrize(("bare", "exchange"), KINDS)
def test_an_order_lives_from_place_to_cancel_as_many_units_as_we_said(icici, bare, exchange):
    contract = icici.tradable(bare, exchange)
    placed = icici.place(contract, quantity=2 * contract.lot_size)
    assert placed.outcome is Outcome.ACCEPTED
    truth, row = icici.account.order(placed.order_id), icici.book()[placed.order_id]
    assert truth.new.instrument_id == contract.instrument_id
    assert truth.quantity == row.quantity == row.pending_quantity == 2 * contract.lot_size
    assert (row.status, row.tag, row.price) == ("OPEN", "ob0123456789ab", float(truth.price))
    assert row.instrument_token == icici.by_contract[contract.instrument_id]
    assert row.order_timestamp == "2026-11-23T10:00:00+05:30"
    change = OrderChange(
        row=row, listing=icici.listing(contract), segment=contract.identity.segment, quantity=contract.lot_size,
        price=truth.price + contract.tick_size,
    )  # fmt: skip
    changed = orders.parse_order_answer(icici.send(orders.modify_request(icici.access, change, icici.now)))
    assert (changed.outcome, changed.order_id) == (Outcome.ACCEPTED, placed.order_id)
    now = icici.account.order(placed.order_id)
    assert (now.quantity, now.price) == (contract.lot_size, truth.price + contract.tick_size)
    cancelled = orders.parse_order_answer(icici.send(orders.cancel_request(icici.access, row, icici.now)))
    assert cancelled.outcome is Outcome.ACCEPTED
    assert icici.account.order(placed.order_id).status is SimStatus.CANCELLED
    row = icici.book()[placed.order_id]
    assert (row.status, row.pending_quantity, row.cancelled_quantity) == ("CANCELLED", 0, contract.lot_size)
    again = orders.parse_order_answer(icici.send(orders.cancel_request(icici.access, row, icici.now)))
    assert (again.outcome, again.order_id) == (Outcome.REJECTED, None)


def test_a_stop_waits_at_its_trigger_and_becomes_a_limit_order_by_modify(icici):
    contract = icici.contract("equities")
    market = icici.account.market(contract.instrument_id)
    trigger = market.upper_circuit - 4 * contract.tick_size
    placed = icici.place(
        contract, order_type="SL", trigger_price=trigger, price=trigger + contract.tick_size, quantity=5
    )
    row = icici.book()[placed.order_id]
    assert (row.order_type, row.trigger_price) == ("SL", float(trigger))
    assert icici.account.order(placed.order_id).trigger_price == trigger
    low = market.lower_circuit + contract.tick_size
    change = OrderChange(
        row=row, listing=icici.listing(contract), segment="nse_equities", order_type="LIMIT", price=low, validity="DAY"
    )
    assert (
        orders.parse_order_answer(icici.send(orders.modify_request(icici.access, change, icici.now))).outcome
        is Outcome.ACCEPTED
    )
    row = icici.book()[placed.order_id]
    assert (row.order_type, row.price, row.status) == ("LIMIT", float(low), "OPEN")


@pytest.mark.parametrize(("bare", "exchange"), [("equities", "nse"), ("equity_index_options", "nse")])
def test_fills_are_in_the_book_the_trade_book_the_positions_and_on_the_stream(icici, bare, exchange):
    socket, session, decoder = icici.open(order_feed)
    contract = icici.contract(bare, exchange)
    most = icici.account.market(contract.instrument_id).sell[0].quantity
    order_id = icici.bought(contract, most + contract.lot_size)  # the rest of it stays open
    for state in icici.account.order_history(order_id):
        session.order_changed(state, None)
    truth = icici.account.order(order_id)
    assert 0 < truth.filled_quantity < truth.quantity
    row = icici.book()[order_id]
    assert (row.status, row.filled_quantity, row.pending_quantity) == (
        "OPEN",
        truth.filled_quantity,
        truth.pending_quantity,
    )
    assert row.average_price == pytest.approx(float(truth.average_price))
    events = [event for frame in socket.frames for event in decoder.receive(frame)]
    last = events[-1]
    assert isinstance(last, OrderUpdate)
    assert last.order.instrument_token == row.instrument_token
    assert (last.order.order_id, last.order.filled_quantity, last.order.status) == (
        order_id,
        truth.filled_quantity,
        "OPEN",
    )
    assert (last.order.price, last.order.average_price) == (row.price, row.average_price)
    trades = books.parse_trades(icici.answers(books.trade_requests(icici.access, icici.now)), icici.listings())
    (trade,) = [each for each in trades if each.order_id == order_id]
    assert (trade.quantity, trade.price) == (truth.filled_quantity, pytest.approx(float(truth.average_price)))
    positions = portfolio.parse_positions(icici.answers(portfolio.position_requests(icici.access, icici.now)), {})
    held = {(row.instrument_token, row.product): row for row in positions}
    for each in icici.account.positions():
        row = held[icici.by_contract[each.instrument_id], each.product]
        assert row.quantity == each.quantity
        assert (row.average_price is None) == (each.quantity == 0)


def test_an_order_that_expires_partly_filled_is_asked_for_its_fills(icici):
    contract = icici.contract("equities")
    most = icici.account.market(contract.instrument_id).sell[0].quantity
    offer = icici.account.market(contract.instrument_id).sell[0].price
    placed = icici.place(contract, quantity=most + 7, price=offer)
    truth = icici.account.order(placed.order_id)
    expired = attrs.evolve(truth, status=SimStatus.EXPIRED)
    icici.dialect._account = ShowsInstead(icici.account, expired)
    answers = icici.answers(books.order_requests(icici.access, icici.now))
    assert len(answers) == 5
    row = next(row for row in books.parse_orders(answers, {}) if row.order_id == placed.order_id)
    assert (row.status, row.filled_quantity, row.pending_quantity) == ("EXPIRED", truth.filled_quantity, 0)
    assert row.cancelled_quantity == truth.quantity - truth.filled_quantity


class ShowsInstead:
    """An account that shows one order in another state."""

    def __init__(self, account, order):
        self._real, self._order = account, order

    def __getattr__(self, name):
        return getattr(self._real, name)

    def order(self, order_id):
        return self._order if order_id == self._order.order_id else self._real.order(order_id)

    def orders(self):
        return [self.order(each.order_id) for each in self._real.orders()]


def test_holdings_and_funds_are_the_accounts(icici):
    rows = portfolio.parse_holdings(icici.answers(portfolio.holding_requests(icici.access, icici.now)))
    truth = {icici.by_contract[each.instrument_id]: each for each in icici.account.holdings()}
    assert {row.instrument_token for row in rows} == truth.keys()
    assert any(row.t1_quantity for row in rows)
    assert any(row.collateral_quantity for row in rows)
    for row in rows:
        each = truth[row.instrument_token]
        assert row.settled_quantity == each.settled_quantity + each.collateral_quantity
        assert (row.t1_quantity, row.collateral_quantity) == (each.t1_quantity, each.collateral_quantity)
        assert row.isin == icici.account.contract(each.instrument_id).isin
        assert row.average_price == float(each.average_price)
    funds, money = (
        portfolio.parse_funds(icici.answers(portfolio.fund_requests(icici.access, icici.now))),
        icici.account.funds(),
    )
    assert funds.available_balance == pytest.approx(float(money.available), abs=0.01)
    assert funds.margin_utilized == pytest.approx(float(money.used), abs=0.01)
    assert funds.pools.keys() == {"equity", "derivatives", "currency", "commodity"}
    assert sum(funds.pools.values()) == pytest.approx(funds.available_balance)


def test_refusals_come_in_the_brokers_envelope_and_are_clear(icici):
    share, future = icici.contract("equities"), icici.contract("currency_futures")
    low = icici.account.market(share.instrument_id).lower_circuit
    assert icici.place(share, price=low + Decimal("0.01")).outcome is Outcome.REJECTED
    unknown = attrs.evolve(
        icici.ticket(share), listing=Listing(broker_token="NSE:NOBODY", tradingsymbol="", exchange="")
    )
    answer = orders.parse_order_answer(icici.send(orders.place_request(icici.access, unknown, icici.now)))
    assert (answer.outcome, answer.status_message) == (Outcome.REJECTED, "Stock code is invalid")
    assert "not allowed" in icici.place(future).status_message
    limited = orders.parse_order_answer(icici.dialect.rate_limited())
    assert (limited.outcome, limited.rate_limited) == (Outcome.REJECTED, True)
    assert orders.parse_order_answer(icici.dialect.refusal_in_200()).outcome is Outcome.REJECTED


@every_case(
    ("change", "words"),
    [
        ({"order_type": "market"}, "order_type should be either limit, stoploss"),
        ({"order_type": ""}, "order_type cannot be empty"),
        ({"product": "margin"}, "Product margin is prohibited"),
        ({"product": "futures"}, "Product should be"),
        ({"quantity": "1.5"}, "Invalid quantity"),
        ({"price": "cheap"}, "Invalid price"),
        ({"exchange_code": ""}, "Exchange-Code cannot be empty"),
        ({"exchange_code": "LSE"}, "Invalid exchange code"),
    ],
)
def test_a_body_the_broker_would_refuse_is_refused(icici, change, words):
    request = orders.place_request(icici.access, icici.ticket(icici.contract("equities")), icici.now)
    body = msgspec.json.decode(request.body) | change
    answer = orders.parse_order_answer(icici.send(wire.request(icici.access, request.kind, "POST", wire.ORDER, body)))
    assert answer.outcome is Outcome.REJECTED
    assert words in answer.status_message


def test_a_post_to_customerdetails_and_an_unknown_path_are_not_served(icici):
    assert icici.dialect.handle(icici.request("POST", f"{BASE}/breezeapi/api/v1/customerdetails")).status == 405
    assert icici.dialect.handle(icici.request("GET", f"{BASE}/breezeapi/api/v1/nothing")).status == 404
    assert icici.dialect.open_socket(icici.request("GET", f"{BASE}/nothing?EIO=4"), Wire()).status == 404
    old = icici.request("GET", f"{BASE}/livestream/socket.io/?EIO=3&transport=websocket")
    assert icici.dialect.open_socket(old, Wire()).status == 400


def test_a_share_on_both_exchanges_is_quoted_with_both_rows_and_we_take_the_one_asked_for(icici):
    share = icici.contract("equities", "bse")
    market = icici.account.market(share.instrument_id)
    answer = icici.send(quotes.quote_request(icici.access, [icici.listing(share)]))
    assert [row["exchange_code"] for row in msgspec.json.decode(answer.body)["Success"]] == ["NSE", "BSE"]
    (tick,) = quotes.parse_quotes(answer, [icici.listing(share)]).values()
    assert tick.broker_token == icici.by_contract[share.instrument_id]
    assert (tick.last_price, tick.volume) == (float(market.last_price), market.volume)
    assert tick.buy[0].price == float(market.buy[0].price)
    other = icici.listing(icici.contract("equity_index_futures"))
    with pytest.raises(BadAnswer):
        quotes.parse_quotes(answer, [other])


def test_candles_are_the_exchanges_of_the_days_asked_for(icici):
    icici.keep_candles()
    for bare, exchange in (("equities", "nse"), ("equity_index_options", "nse"), ("commodity_futures", "mcx")):
        contract = icici.contract(bare, exchange)
        listing = icici.listing(contract)
        first, last = START.date() - timedelta(days=3), START.date()
        for interval, word in (("day", "day"), ("30minute", "30minute"), ("1minute", "1minute")):
            requests = candles.candle_requests(icici.access, listing, interval, first, last)
            rows = candles.parse_candles([icici.send(each) for each in requests], listing)
            truth = icici.account.candles(contract.instrument_id, word, first, last)
            assert [(row.start, row.close, row.volume) for row in rows] == [
                (each[0], each[4], each[5]) for each in truth
            ]
            assert all((row.oi is None) == (bare == "equities") for row in rows)


STREAMED = (
    ("equities", "nse"), ("equities", "bse"), ("equity_index_options", "nse"), ("equity_index_options", "bse"),
    ("currency_futures", "nse"), ("commodity_futures", "mcx"), ("equity_indices", "nse"),
)  # fmt: skip


def test_a_joined_instrument_streams_its_whole_market(icici):
    socket, session, decoder = icici.open(feed)
    picked = [icici.contract(*kind) for kind in STREAMED]
    listings = [icici.listing(each) for each in picked]
    decoder.subscribing(listings)
    for message in feed.subscribe_messages(icici.access, listings):
        session.received(message)
    shown = {}
    for frame in socket.frames:
        (event,) = decoder.receive(frame)
        assert isinstance(event, Ticks)
        shown.update({tick.broker_token: tick for tick in event.ticks})
    for contract, listing in zip(picked, listings, strict=True):
        tick, market = shown[listing.broker_token], icici.account.market(contract.instrument_id)
        assert (tick.last_price, tick.open) == (float(market.last_price), float(market.open))
        assert (tick.high, tick.low, tick.previous_close) == tuple(
            map(float, (market.high, market.low, market.previous_close))
        )
        if contract.is_index:
            assert (tick.volume, tick.buy, tick.oi) == (None, None, None)
            continue
        assert (tick.volume, tick.buy_quantity, tick.sell_quantity) == (
            market.volume, market.buy_quantity, market.sell_quantity,
        )  # fmt: skip
        assert [(level.price, level.quantity) for level in tick.buy] == [
            (float(each.price), each.quantity) for each in market.buy
        ]
        assert [level.quantity for level in tick.sell] == [each.quantity for each in market.sell]
        orders_known = contract.identity.exchange != "bse" or contract.bare != "equities"
        assert [level.orders for level in tick.sell] == [each.orders if orders_known else None for each in market.sell]
        assert tick.oi == (market.oi if contract.identity.shape is not Shape.SECURITY else None)
    del socket.frames[:]
    for message in feed.unsubscribe_messages(icici.access, listings[:1]):
        session.received(message)
    session.markets_moved(frozenset(each.instrument_id for each in picked))
    tokens = {event.ticks[0].broker_token for frame in socket.frames for event in decoder.receive(frame)}
    assert tokens == {listing.broker_token for listing in listings[1:]}


def test_the_server_pings_and_hangs_up_on_a_client_that_does_not_answer(icici):
    socket, session, decoder = icici.open(feed)
    icici.wall.now += 25
    session.beat()
    assert decoder.receive(socket.frames[-1]) == [Reply("3"), Heartbeat()]
    session.received("3")
    icici.wall.now += 25
    session.beat()
    icici.wall.now += 21
    session.beat()
    assert socket.closed == (1000, "ping timeout")


def test_nobody_joins_or_hears_before_the_login(icici):
    _, address = icici.drive(feed.address(icici.access, icici.now))
    socket = Wire()
    session = icici.dialect.open_socket(icici.request("GET", address.url), socket)
    contract = icici.contract("equities")
    session.received(feed.subscribe_messages(icici.access, [icici.listing(contract)])[0])
    session.markets_moved(frozenset({contract.instrument_id}))
    assert len(socket.frames) == 1


@pytest.mark.parametrize("positions", [None, [], ["one"], [{}], [{"stock_code": "NOBODY"}], [None]])
@pytest.mark.parametrize("exchange", ["NFO", "NSE", "LSE"])
def test_a_margin_calculation_of_nothing_is_refused(icici, positions, exchange):
    body = {"list_of_positions": positions, "exchange_code": exchange}
    answer = icici.send(wire.request(icici.access, orders.CallKind.READ, "POST", wire.MARGIN_CALCULATOR, body))
    assert wire.refusal_of(answer) is not None


FIELDS = st.sampled_from(
    ["exchange_code", "stock_code", "order_id", "quantity", "price", "order_type", "from_date", "to_date", "interval",
     "expiry_date", "strike_price", "right", "product", "action", "validity", "SessionToken", "AppKey", "stoploss", "list_of_positions"]
)  # fmt: skip
VALUES = st.one_of(
    st.text(max_size=12), st.integers(), st.none(), st.booleans(), st.floats(), st.lists(st.integers(), max_size=2),
    st.sampled_from(["NSE", "NFO", "limit", "cash", "buy", "day", "2026-11-23T00:00:00.000Z", "27-Feb-2025", "--", "1E400"]),
)  # fmt: skip
PATHS = st.sampled_from(
    [
        "customerdetails",
        "order",
        "trades",
        "quotes",
        "funds",
        "portfolioholdings",
        "historicalcharts",
        "margin",
        "margincalculator",
        "x",
    ]
)


@pytest.fixture(scope="module")
def lasting():
    return Icici()


@settings(max_examples=300)
@given(method=st.sampled_from(["GET", "POST", "PUT", "DELETE"]), path=PATHS, body=st.dictionaries(FIELDS, VALUES))
def test_no_body_makes_the_server_raise(lasting, method, path, body):
    request = wire.request(lasting.access, orders.CallKind.READ, method, path, body)
    answer = lasting.send(request)
    assert {"Success", "Status", "Error"} == msgspec.json.decode(answer.body).keys()
    query = {name: str(value) for name, value in body.items()}
    parts = lasting.request("GET", f"{BASE}/api/v2/historicalcharts", {}, b"")
    headers = {
        "apikey": lasting.dialect.credentials["app_key"],
        "x-sessiontoken": lasting.access.token("session_token"),
    }
    lasting.dialect.handle(attrs.evolve(parts, query=list(query.items()), headers=headers))


@settings(max_examples=200)
@given(
    body=st.binary(max_size=40),
    headers=st.dictionaries(
        st.sampled_from(["x-appkey", "x-timestamp", "x-sessiontoken", "x-checksum"]), st.text(max_size=20)
    ),
)
def test_no_bytes_make_the_server_raise(lasting, body, headers):
    for method, path in (
        ("GET", "/breezeapi/api/v1/customerdetails"),
        ("POST", "/breezeapi/api/v1/order"),
        ("GET", "/apiuser/login"),
    ):
        lasting.dialect.handle(lasting.request(method, f"{BASE}{path}", headers, body))


@settings(max_examples=200)
@given(message=st.one_of(st.binary(max_size=20), st.text(max_size=20), st.text(max_size=20).map(lambda text: f"42{text}"),
       st.sampled_from(['42["join",[1,null,"4.1!1001"]]', '42["join"]', '42["leave",{}]', "42[]", "40[]", '40{"user":1}', "41", "3"])))  # fmt: skip
def test_no_socket_message_makes_the_server_raise(lasting, message):
    for module in (feed, order_feed):
        _, session, _ = lasting.open(module)
        session.received(message)
        session.beat()


def test_damaged_frames_are_events_and_never_ticks(icici):
    socket, session, decoder = icici.open(feed)
    listing = icici.listing(icici.contract("equities"))
    decoder.subscribing([listing])
    session.received(feed.subscribe_messages(icici.access, [listing])[0])
    for frame in socket.frames:
        for end in range(2, len(frame)):
            events = decoder.receive(frame[:end])
            assert all(isinstance(event, CorruptFrame) for event in events), frame[:end]
    order_socket, session, order_decoder = icici.open(order_feed)
    order_id = icici.bought(icici.contract("equities"), 1)
    session.order_changed(icici.account.order(order_id), None)
    for end in range(2, len(order_socket.frames[-1])):
        events = order_decoder.receive(order_socket.frames[-1][:end])
        assert not any(isinstance(event, OrderUpdate | BooksMoved) for event in events)
