"""Our codecs talk to the simulated exchange through Kite's dialect; what they read is judged by the exchange's own truth.

The dialect itself is proved by Kite's official SDK (tests/sdk), so that it and the codecs cannot be wrong together.
"""

from datetime import date, datetime
from decimal import Decimal
from urllib.parse import parse_qsl, urlsplit

import attrs
import pytest

from onebroker.brokers.broker import Access, Endpoints, Login, OrderChange, OrderTicket
from onebroker.brokers.events import Heartbeat, OrderUpdate, Ticks
from onebroker.brokers.records import DepthLevel, Listing
from onebroker.brokers.requests import BrokerRefusal, RefusalKind, StreamAddress
from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.zerodha import build
from onebroker.brokers.simulator.exchange.exchange import Exchange
from onebroker.brokers.simulator.exchange.faults import Faults
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.brokers.zerodha import books, candles, feed, instruments, login, orders, portfolio, quotes
from onebroker.brokers.zerodha.wire import ENDPOINTS
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import prefixed_segment
from onebroker.config.vocabulary import Outcome

LOGIN = Login(tokens={}, user_id="", logged_in_at=0.0, expires_at=0.0)

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")

BASE = "http://127.0.0.1:9001"
NOW = datetime(2026, 11, 23, 10, 0, tzinfo=IST)


class Wire:
    def __init__(self):
        self.frames = []

    def send(self, frame):
        self.frames.append(frame)

    def close(self, code, reason):
        self.frames.append((code, reason))


class World:
    """An exchange, its dialect, and an `Access` of ours that has logged in."""

    def __init__(self):
        clock = Clock(wall=NOW.timestamp)
        self.exchange = Exchange(
            brokers=("zerodha",), number=300, seed=1, calendar=always_open(), clock=clock, journal=MemoryJournal(),
            faults=Faults(clock),
        )  # fmt: skip
        self.account = self.exchange.account("zerodha")
        self.dialect = build(self.account, self.exchange.tokens("zerodha"), clock, 1)
        endpoints = Endpoints(**self.dialect.addresses(BASE))
        self.access = Access(endpoints=endpoints, credentials=self.dialect.credentials, login=None)
        self.access = attrs.evolve(self.access, login=self.log_in())
        frame = instruments.read_files([self.send(next(instruments.file_requests(self.access, NOW))).body])
        self.rows = {row["broker_token"]: row for row in frame.iter_rows(named=True)}
        self.listings = {
            token: Listing(
                broker_token=token, tradingsymbol=row["tradingsymbol"], exchange=row["broker_exchange"],
                lot_size=row["lot_size"], tick_size=row["tick_size"], contract_units=row["contract_units"],
            )
            for token, row in self.rows.items()
        }  # fmt: skip
        self.contracts = {each.instrument_id: each for each in self.account.contracts()}

    def send(self, request):
        parts = urlsplit(request.url)
        return self.dialect.handle(
            DialectRequest(
                method=request.method, base=BASE, path=parts.path, query=tuple(parse_qsl(parts.query)),
                headers={name.lower(): value for name, value in request.headers.items()}, body=request.body,
            )
        )  # fmt: skip

    def log_in(self):
        page = urlsplit(login.login_page(self.access))
        request = DialectRequest(
            method="GET", base=BASE, path=page.path, query=tuple(parse_qsl(page.query)), headers={}, body=b""
        )
        flow = login.log_in(self.access, self.dialect.handle(request).headers["location"], NOW)
        with pytest.raises(StopIteration) as stopped:
            flow.send(self.send(next(flow)))
        return stopped.value.value

    def token_of(self, contract):
        """The listing of a contract, found by its identity: never by the dialect's own numbers."""
        identity = contract.identity
        return next(
            token for token, row in self.rows.items()
            if prefixed_segment(row["exchange"], row["segment"]) == identity.segment
            and (row["symbol"], row["underlying_symbol"], row["expiry_date"], row["strike_price"], row["option_type"])
            == (identity.symbol, identity.underlying_symbol, identity.expiry_date, identity.strike_price, identity.option_type)
        )  # fmt: skip

    def first(self, bare):
        return next(each for each in self.account.contracts() if each.bare == bare)

    def tradable(self, bare):
        """The first contract of a segment whose price is far above the lowest that may be bid."""
        return next(
            each
            for each in self.account.contracts()
            if each.bare == bare
            and (market := self.account.market(each.instrument_id)).last_price
            > market.lower_circuit + 40 * each.tick_size
        )

    def ticket(self, contract, **changes):
        market = self.account.market(contract.instrument_id)
        values = {
            "listing": self.listings[self.token_of(contract)], "segment": contract.identity.segment,
            "transaction_type": "BUY", "product": "MIS", "order_type": "LIMIT", "validity": "DAY",
            "quantity": contract.lot_size, "price": market.lower_circuit + contract.tick_size, "token": "ob0a1b", **changes,
        }  # fmt: skip
        return OrderTicket(**values)

    def place(self, contract, **changes):
        answer = orders.parse_order_answer(
            self.send(orders.place_request(self.access, self.ticket(contract, **changes), NOW))
        )
        assert answer.outcome is Outcome.ACCEPTED, answer
        return answer.order_id

    def book(self):
        return {
            row.order_id: row
            for row in books.parse_orders([self.send(next(books.order_requests(self.access, NOW)))], self.listings)
        }


@pytest.fixture
def world():
    return World()


KINDS = (
    "equities", "exchange_traded_funds", "equity_index_futures", "equity_options", "currency_futures", "currency_options",
    "commodity_futures",
)  # fmt: skip


@pytest.mark.parametrize("bare", KINDS)
def test_an_order_is_as_many_units_at_the_exchange_as_we_said(world, bare):
    contract = world.tradable(bare)
    order_id = world.place(contract, quantity=2 * contract.lot_size)
    truth, row = world.account.order(order_id), world.book()[order_id]
    assert truth.quantity == row.quantity == row.pending_quantity == 2 * contract.lot_size
    assert (row.status, row.tag, row.price) == ("OPEN", "ob0a1b", float(truth.price))
    change = OrderChange(
        row=row,
        listing=world.listings[row.instrument_token],
        segment=contract.identity.segment,
        quantity=contract.lot_size,
    )
    answer = orders.parse_order_answer(world.send(orders.modify_request(world.access, change, NOW)))
    assert answer.outcome is Outcome.ACCEPTED
    assert world.account.order(order_id).quantity == contract.lot_size
    answer = orders.parse_order_answer(world.send(orders.cancel_request(world.access, row, NOW)))
    assert answer.outcome is Outcome.ACCEPTED
    row = world.book()[order_id]
    assert (row.status, row.pending_quantity, row.cancelled_quantity) == ("CANCELLED", 0, contract.lot_size)
    again = orders.parse_order_answer(world.send(orders.cancel_request(world.access, row, NOW)))
    assert (again.outcome, again.order_id) == (Outcome.REJECTED, None)


@pytest.mark.parametrize("bare", ["equities", "currency_futures", "commodity_futures"])
def test_fills_are_trades_and_positions_in_units(world, bare):
    contract = world.tradable(bare)
    order_id = world.place(contract, order_type="MARKET", price=None)
    trades = books.parse_trades([world.send(next(books.trade_requests(world.access, NOW)))], world.listings)
    ours = [(row.quantity, Decimal(repr(row.price))) for row in trades if row.order_id == order_id]
    assert ours == [(fill.quantity, fill.price) for fill in world.account.fills() if fill.order_id == order_id]
    rows = portfolio.parse_positions([world.send(next(portfolio.position_requests(world.access, NOW)))], {})
    net = {(row.instrument_token, row.product): row for row in rows if row.view == "net"}
    positions = world.account.positions()
    assert len(net) == len(positions) > 3
    for truth in positions:
        row = net[world.token_of(world.contracts[truth.instrument_id]), truth.product]
        assert row.quantity == truth.quantity
        assert row.overnight_quantity == truth.overnight_quantity
        assert row.buy_quantity - row.sell_quantity == truth.quantity
        spent = truth.day_buy_value - truth.day_sell_value + truth.overnight_quantity * truth.overnight_price
        assert row.buy_value - row.sell_value == pytest.approx(float(spent))
        if truth.quantity:
            assert row.realized + row.unrealized == pytest.approx(
                float(truth.quantity) * row.last_price - float(spent), abs=0.01
            )


def test_holdings_and_funds_are_the_accounts(world):
    rows = portfolio.parse_holdings([world.send(next(portfolio.holding_requests(world.access, NOW)))])
    held = {world.token_of(world.contracts[each.instrument_id]): each for each in world.account.holdings()}
    assert {row.instrument_token for row in rows} == set(held)
    for row in rows:
        truth = held[row.instrument_token]
        assert row.settled_quantity == truth.settled_quantity + truth.collateral_quantity
        assert row.settled_quantity + row.t1_quantity == truth.total_quantity
        assert row.collateral_quantity == truth.collateral_quantity
    funds = portfolio.parse_funds([world.send(next(portfolio.fund_requests(world.access, NOW)))])
    truth = world.account.funds()
    assert funds.available_balance == pytest.approx(float(truth.available), abs=0.01)
    assert funds.span_margin == pytest.approx(float(truth.span), abs=0.01)


def test_quotes_and_the_socket_show_the_same_market_in_units(world):
    picked = [world.first(bare) for bare in ("equities", "equity_indices", *KINDS[2:])]
    listings = [world.listings[world.token_of(each)] for each in picked]
    ticks = quotes.parse_quotes(world.send(quotes.quote_request(world.access, listings)), listings)
    wire = Wire()
    flow = feed.address(world.access, NOW)
    with pytest.raises(StopIteration) as stopped:
        next(flow)
    query = tuple(parse_qsl(urlsplit(stopped.value.value.url).query))
    session = world.dialect.open_socket(
        DialectRequest(method="GET", base=BASE, path="/", query=query, headers={}, body=b""), wire
    )
    for message in feed.subscribe_messages(ACCESS, listings):
        session.received(message)
    (event,) = feed.decoder(ACCESS, ADDRESS, world.listings).receive(wire.frames[-1])
    assert isinstance(event, Ticks)
    streamed = {tick.broker_token: tick for tick in event.ticks}
    assert set(streamed) == set(ticks) == {listing.broker_token for listing in listings}
    for contract, listing in zip(picked, listings, strict=True):
        market = world.account.market(contract.instrument_id)
        for tick in (ticks[listing.broker_token], streamed[listing.broker_token]):
            assert tick.last_price == pytest.approx(float(market.last_price))
            assert tick.previous_close == pytest.approx(float(market.previous_close))
            assert tick.exchange_time == int(market.exchange_time)
            if contract.is_index:
                continue
            unit = contract.lot_size if contract.quoted_in_lots else 1
            assert tick.volume == market.volume // unit * unit
            assert [level.quantity for level in tick.buy] == [level.quantity for level in market.buy]
            assert tick.sell[0] == DepthLevel(
                pytest.approx(float(market.sell[0].price)), market.sell[0].quantity, market.sell[0].orders
            )


def test_an_order_update_of_the_socket_equals_the_books_row(world):
    wire = Wire()
    query = (("api_key", world.access.credentials["api_key"]), ("access_token", world.access.token("access_token")))
    session = world.dialect.open_socket(
        DialectRequest(method="GET", base=BASE, path="/", query=query, headers={}, body=b""), wire
    )
    order_id = world.place(world.first("commodity_futures"))
    session.order_changed(world.account.order(order_id), None)
    (event,) = feed.decoder(ACCESS, ADDRESS, world.listings).receive(wire.frames[-1])
    assert event == OrderUpdate(world.book()[order_id])
    session.beat()
    assert feed.decoder(ACCESS, ADDRESS, world.listings).receive(wire.frames[-1]) == [Heartbeat()]


def test_candles_are_the_exchanges(world):
    contract = world.first("commodity_futures")
    listing = world.listings[world.token_of(contract)]
    span = (date(2026, 11, 1), date(2026, 11, 22))
    rows = candles.parse_candles(
        [world.send(each) for each in candles.candle_requests(world.access, listing, "day", *span)], listing
    )
    truth = world.account.candles(contract.instrument_id, "day", *span)
    assert [(row.start, row.open, row.high, row.low, row.close) for row in rows] == [each[:5] for each in truth]
    assert [row.volume for row in rows] == [each[5] // contract.lot_size * contract.lot_size for each in truth]


def test_a_dead_session_is_known_as_one_everywhere(world):
    world.dialect.expire_session()
    for request, parse in (
        (login.profile_request(world.access), lambda answer: login.parse_profile(answer, LOGIN)),
        (next(portfolio.fund_requests(world.access, NOW)), lambda answer: portfolio.parse_funds([answer])),
    ):
        with pytest.raises(BrokerRefusal) as refused:
            parse(world.send(request))
        assert refused.value.kind is RefusalKind.SESSION_DEAD
    answer = orders.parse_order_answer(
        world.send(orders.place_request(world.access, world.ticket(world.first("equities")), NOW))
    )
    assert (answer.outcome, answer.session_dead) == (Outcome.REJECTED, True)


def test_the_hosts_refusals_are_known(world):
    with pytest.raises(BrokerRefusal) as refused:
        books.parse_orders([world.dialect.rate_limited()], {})
    assert refused.value.kind is RefusalKind.RATE_LIMITED
    with pytest.raises(BrokerRefusal) as refused:
        books.parse_orders([world.dialect.refusal_in_200()], {})
    assert refused.value.kind is RefusalKind.REFUSED
