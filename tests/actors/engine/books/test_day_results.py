"""The day's result of positions that were carried in counts from the previous close, at the brokers whose funds tell none, to the paisa.

Each example carries futures in, long or short, and trades on them: less, more, through zero, closed and opened again; shares are
bought, sold short and sold out of the holdings beside. The dialects render the accounts in their brokers' words, the codecs read them,
and the exchange's fills and marks judge. No sockets, no sessions.
"""

from collections import defaultdict
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from types import SimpleNamespace

import attrs
import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, Phase, example, given
from hypothesis import strategies as st

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.books.day_results import DayResults
from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.kernel.published import Published
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.broker import Broker
from onebroker.brokers.records import PositionRow
from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.world.model import NewOrder, SimPosition, SimRefusal
from onebroker.config.clock import IST, Clock
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.support.every_case import every_case
from tests.support.further import searched
from tests.support.ten_accounts import Ten, markets, snapshot

UNTOLD = ("dhan", "fivepaisa", "fyers", "groww", "icicidirect")
"""Brokers whose funds do not tell the day's result."""
EXAMPLES = searched(
    10, 40, phases=(Phase.explicit, Phase.reuse, Phase.generate), suppress_health_check=[HealthCheck.too_slow]
)
LAKHS = Decimal(1_000_000_000)


def futures():
    """Two index futures that every one of the brokers lists."""
    every = [snapshot().at(row) for row in range(snapshot().count)]
    listed = [one for one in every if set(UNTOLD) <= set(one.listings)]
    ours = [one for one in listed if one.identity.segment == "nse_equity_index_futures"]
    return ours[:2]


class Quotes:
    """The exchange's marks, as a feed with a previous close tells them."""

    def __init__(self, exchange, code):
        self.exchange, self.code = exchange, code

    def usable_quote(self, instrument_id):
        market = self.exchange.account(self.code).market(instrument_id)
        tick = SimpleNamespace(last_price=float(market.last_price), previous_close=float(market.previous_close))
        return SimpleNamespace(tick=tick)


class Days:
    """One day at the five brokers. Positions are carried in lots by `carried`: one count for each of the two futures."""

    def __init__(self, carried):
        self.ten = Ten()
        self.exchange = self.ten.exchange
        self.ten.services = {code: service for code, service in self.ten.services.items() if code in UNTOLD}
        for code in UNTOLD:
            account = self.exchange.account(code)
            state = attrs.evolve(account.state, cash=LAKHS, positions=[*self._carried(carried), *seeded(account)])
            account.begin_day(state)

    def _carried(self, carried):
        for future, lots in zip(futures(), carried, strict=True):
            contract = self.exchange.contract(future.instrument_id)
            if lots:
                yield SimPosition(
                    instrument_id=future.instrument_id, product=Product.NRML, overnight_quantity=lots * contract.lot_size,
                    overnight_price=contract.base_price + 40 * contract.tick_size, day_buy_quantity=0, day_sell_quantity=0,
                    day_buy_value=Decimal(0), day_sell_value=Decimal(0),
                )  # fmt: skip

    async def act(self, kind, number, units, ticks):
        """Trade at the market at every broker, and move the price before."""
        for code in UNTOLD:
            account = self.exchange.account(code)
            if kind == "future":
                contract = self.exchange.contract(futures()[number % 2].instrument_id)
                product, units_of = Product.NRML, contract.lot_size
            elif kind == "holding":
                held = account.holdings()
                contract = self.exchange.contract(held[number % len(held)].instrument_id)
                product, units_of, units = Product.CNC, 1, -abs(units)
            else:
                contract = self.exchange.contract(markets()[number % 5].instrument_id)
                product, units_of = (Product.CNC if units > 0 else Product.MIS), 1
            market = account.market(contract.instrument_id)
            price = market.last_price + ticks * contract.tick_size
            price = min(max(price, market.lower_circuit), market.upper_circuit)
            self.ten.simulator.set_price(contract.instrument_id, price, hold_seconds=3600)
            order = NewOrder(
                instrument_id=contract.instrument_id, side=Side.BUY if units > 0 else Side.SELL, product=product,
                validity=Validity.DAY, quantity=abs(units) * units_of, order_type=OrderType.MARKET, price=None,
            )  # fmt: skip
            try:
                account.place(order)
            except SimRefusal:
                continue
        await trio.sleep(0.25)

    def hold(self):
        """Let every price stand still, so that the reads and the ledger are of one moment."""
        for one in {p.instrument_id for code in UNTOLD for p in self.exchange.account(code).positions()}:
            last = self.exchange.last_price(self.exchange.contract(one))
            self.ten.simulator.set_price(one, last, hold_seconds=3600)

    async def views(self):
        """Read positions, and orders some seconds later; return what each broker's session shows."""
        self.hold()
        await trio.sleep(60)  # every broker's limit of calls has room again
        began = self.ten.clock.monotonic()
        positions = await self.ten.rows(snapshot(), "positions")
        await trio.sleep(4)
        orders_began = self.ten.clock.monotonic()
        orders = await self.ten.rows(snapshot(), "orders")
        return {
            code: SessionView(
                broker=code,
                positions=tuple(positions[code]),
                positions_read_started=began,
                orders={row.order_id: row for row in orders[code]},
                orders_read_started=orders_began,
            )
            for code in UNTOLD
        }

    def results(self, code, view):
        handle = SessionHandle(broker=self.ten.services[code].broker, address=NoMailbox(), view=Published(view))
        return DayResults(
            sessions={code: handle}, catalogue=Published(CatalogueState(latest=snapshot(), published_today=True, reason="")),
            quotes=Quotes(self.exchange, code), clock=self.ten.clock,
        )  # fmt: skip

    def true_paise(self, code):
        """Return what the exchange says: sold - bought + what is left at the last price - what there was before at the close before."""
        account, total = self.exchange.account(code), Decimal(0)
        for position in account.positions():
            market = account.market(position.instrument_id)
            out = max(0, -position.quantity) if position.product is Product.CNC else 0
            total += position.day_sell_value - position.day_buy_value + (position.quantity + out) * market.last_price
            total -= (position.overnight_quantity + out) * market.previous_close
        return total * 100

    def lost_paise(self, code):
        """Return how much of the traded values the averages that the broker tells leave out, at most: of an order, or of all that was
        bought or sold in an instrument."""
        places = Decimal("0.01") if code == "icicidirect" else Decimal("0.0001")
        orders, rows = defaultdict(list), defaultdict(list)
        for fill in self.exchange.account(code).fills():
            orders[fill.order_id].append(fill)
            rows[fill.instrument_id, fill.product, fill.side].append(fill)
        return max(sum(abs(_left_out(one, places)) for one in by.values()) for by in (orders, rows)) * Decimal(100)


def _left_out(fills, places):
    units, value = sum(fill.quantity for fill in fills), sum(fill.quantity * fill.price for fill in fills)
    return value - units * (value / units).quantize(places, ROUND_HALF_UP)


def seeded(account):
    return [one for one in account.positions() if one.overnight_quantity]


class NoMailbox:
    def replace(self, key, message):
        pass


def play(carried, actions, look):
    """Play a day, then `look` at each broker: the days, the code, its view."""
    markets()  # read from the brokers' files once, in a run of its own

    async def run():
        days = Days(carried)
        await days.ten.log_in()
        for action in actions:
            await days.act(*action)
        views = await days.views()
        for code in UNTOLD:
            look(days, code, views[code])

    trio.run(run, clock=trio.testing.MockClock(autojump_threshold=0))


def judge(days, code, view):
    """To the paisa, but for what the broker's own averages leave out and half a paisa for each value that is rounded."""
    figure = days.results(code, view).of(code)
    assert figure is not None, code
    lost = days.lost_paise(code)
    off = abs(figure.paise - days.true_paise(code))
    assert off <= lost + Decimal(len(days.exchange.account(code).fills())) / 2, code


trades = st.tuples(
    st.sampled_from(("future", "future", "future", "holding", "share")), st.integers(0, 9),
    st.integers(-4, 4).filter(bool), st.integers(-30, 30),
)  # fmt: skip


@EXAMPLES
@given(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.lists(trades, max_size=6))
@example((2, -2), [])
@example((3, -3), [("future", 0, -1, 20), ("future", 1, 1, -20)])  # closed in part
@example((1, -1), [("future", 0, -3, 20), ("future", 1, 3, -20)])  # turned
@example(
    (1, -1), [("future", 0, -1, 20), ("future", 0, 1, 20), ("future", 1, 1, -9), ("future", 1, -2, -9)]
)  # and again
@example((1, -1), [("future", 0, 2, 20), ("future", 1, -2, -20)])  # more of it
@example((0, 0), [("holding", 2, 5, -20), ("share", 1, 4, 9), ("share", 2, -4, 9)])
def test_the_days_result_is_what_the_exchange_says(carried, actions):
    play(carried, actions, judge)


NOW = datetime(2026, 11, 23, 11, 0, tzinfo=IST)
ROW = PositionRow(
    position_key="F:NRML", view="net", product="NRML", instrument_token="F", tradingsymbol="F", exchange="NFO", quantity=10,
    overnight_quantity=10, buy_quantity=10, sell_quantity=0, buy_value=900.0, sell_value=0.0, average_price=90.0,
    last_price=103.0,
)  # fmt: skip


class OneListing:
    def by_token(self, code, token):
        return token


class Told:
    """A feed of one instrument; None where nothing is told."""

    def __init__(self, last, close):
        self.last, self.close = last, close

    def usable_quote(self, instrument_id):
        if self.last is None:
            return None
        return SimpleNamespace(tick=SimpleNamespace(last_price=self.last, previous_close=self.close))


def row(**more):
    return type(ROW)(**{name: getattr(ROW, name) for name in ROW.__struct_fields__} | more)


def results_of(rows, quotes, *, code="dhan", clock=None, **more):
    clock = clock or Clock.following_trio(NOW)
    now = clock.monotonic()
    view = SessionView(broker=code, positions=tuple(rows), positions_read_started=now, **more)
    broker: Broker = build_registry()[code]
    return DayResults(
        sessions={code: SessionHandle(broker=broker, address=NoMailbox(), view=Published(view))}, quotes=quotes, clock=clock,
        catalogue=Published(SimpleNamespace(latest=OneListing())),
    )  # fmt: skip


TODAY = {
    "view": "day",
    "overnight_quantity": 0,
    "buy_quantity": 0,
    "sell_quantity": 4,
    "buy_value": 0.0,
    "sell_value": 408.0,
    "quantity": -4,
}
LESS = {"quantity": 6, "sell_quantity": 4, "sell_value": 408.0}


@every_case(
    ("rows", "last", "close", "paise"),
    [
        ([row()], 103.5, 100.0, 3_500),  # and not the 13,000 since it was opened
        ([row()], None, None, None),
        ([row()], 103.5, None, None),
        ([row(overnight_quantity=None)], 103.5, 100.0, None),
        ([row(**LESS), row(**TODAY)], 103.5, 100.0, 40_800 + 62_100 - 100_000),
        ([row(**LESS), row(**TODAY | {"sell_value": None})], 103.5, 100.0, None),
        ([row(**LESS), row(**TODAY | {"sell_quantity": None})], 103.5, 100.0, None),
        ([row(**LESS), row(**TODAY | {"sell_quantity": 5})], 103.5, 100.0, None),
        ([row(**LESS)], 103.5, 100.0, None),  # the row of today is missing
        ([row(quantity=None, overnight_quantity=None)], 103.5, 100.0, None),
        ([row(overnight_quantity=0, realized=5.0)], 999.0, 100.0, 500 + 13_000),  # of today: its own figures
        ([row(overnight_quantity=0, quantity=-10, buy_quantity=0, sell_quantity=10, product="CNC"),
          row(view="day", overnight_quantity=0, quantity=-10, buy_quantity=0, buy_value=0.0, sell_quantity=10, sell_value=990.0, product="CNC")],
         103.5, 100.0, -1_000),  # out of the holdings: done with
        ([row(overnight_quantity=-5, quantity=-5, buy_quantity=0, buy_value=0.0, sell_quantity=5, sell_value=500.0, product="CNC")],
         103.5, 100.0, 0),  # sold yesterday
        (
            [
                row(overnight_quantity=-5, quantity=0, sell_quantity=5, sell_value=500.0, buy_quantity=5, buy_value=500.0, product="CNC"),
                row(**TODAY | {"quantity": 5, "sell_quantity": 0, "sell_value": 0.0, "buy_quantity": 5, "buy_value": 500.0}, product="CNC"),
            ],
            103.5,
            100.0,
            1_750,
        ),  # sold yesterday, and bought anew
    ],
)  # fmt: skip
async def test_a_row_that_does_not_tell_all_of_it_gives_no_figure(rows, last, close, paise, autojump_clock):
    figure = results_of(rows, Told(last, close)).of("dhan")
    assert (None if figure is None else figure.paise) == paise


async def test_one_row_without_a_figure_leaves_the_broker_without(autojump_clock):
    rows = [row(overnight_quantity=0), row(position_key="G:NRML", instrument_token="G", overnight_quantity=None)]
    assert results_of(rows, Told(103.0, 100.0)).of("dhan") is None


async def test_a_previous_close_is_remembered_until_the_next_broking_day(autojump_clock):
    clock = Clock.following_trio(NOW)
    results = results_of([row()], Told(103.5, 100.0), clock=clock)
    view = results.sessions["dhan"].view
    assert results.of("dhan").paise == 3_500
    results.quotes.last = None  # the feed is silent: the last price of the row stands in for it
    assert results.of("dhan").paise == 3_000
    await trio.sleep(86_400)
    view.set(attrs.evolve(view.value, positions_read_started=clock.monotonic()))
    assert results.of("dhan") is None


@every_case(
    ("rows", "realized", "unrealized"),
    [
        ([row()], 0, 3_500),
        ([row(quantity=0, sell_quantity=10), row(**TODAY | {"sell_quantity": 10, "sell_value": 1_010.0, "quantity": -10})], 1_000, 0),
        ([row(**LESS), row(**TODAY)], None, None),
        ([row(overnight_quantity=0, realized=5.0)], 500, 13_000),
        ([row(overnight_quantity=0)], 0, 13_000),
        ([row(overnight_quantity=0, quantity=6, sell_quantity=4, sell_value=400.0)], None, None),
        ([row(overnight_quantity=0, quantity=0, sell_quantity=10, sell_value=1_000.0)], 10_000, 0),
        ([], 0, 0),
    ],
)  # fmt: skip
async def test_what_is_realized_of_it_is_told_where_it_is_known(rows, realized, unrealized, autojump_clock):
    figure = results_of(rows, Told(103.5, 100.0)).of("dhan")
    assert (figure.realized_paise, figure.unrealized_paise) == (realized, unrealized)


async def test_nothing_is_taken_for_carried_in_before_both_lists_are_of_one_moment(autojump_clock):
    """A fill that the positions show and the orders do not yet would count from the previous close."""
    clock = Clock.following_trio(NOW)
    bought = row(overnight_quantity=None)
    results = results_of(
        [bought], Told(103.5, 90.0), code="icicidirect", clock=clock, orders_read_started=clock.monotonic()
    )
    view = results.sessions["icicidirect"].view
    assert results.of("icicidirect") is None
    await trio.sleep(3)
    view.set(attrs.evolve(view.value, orders_read_started=clock.monotonic()))
    assert results.of("icicidirect").paise == 13_500
    view.set(
        attrs.evolve(
            view.value, positions=(row(overnight_quantity=None, quantity=25),), positions_read_started=clock.monotonic()
        )
    )
    assert results.of("icicidirect").paise == 13_500, "what was bought since counts when the orders tell it"


@pytest.mark.parametrize("code", UNTOLD)
async def test_the_feeds_tell_all_that_it_takes(day, autojump_clock, code):
    day.__init__(brokers=("zerodha", code), number=150)
    account = day.exchange.account(code)
    async with day.market(), day.service(quotes=True):
        for one in account.positions():
            last = day.exchange.market(one.instrument_id).last_price
            day.simulator.set_price(one.instrument_id, last, hold_seconds=86_400)
        context = day.engine_context
        results = DayResults(
            sessions=context.sessions, catalogue=context.catalogue, quotes=context.quotes, clock=context.clock
        )
        await day.until(lambda: results.of(code) is not None, 120)
        await trio.sleep(90)  # what was read before the prices stood still is read again
        truth = Decimal(0)
        for position in account.positions():
            market = account.market(position.instrument_id)
            truth += position.day_sell_value - position.day_buy_value + position.quantity * market.last_price
            truth -= position.overnight_quantity * market.previous_close
        assert any(position.overnight_quantity for position in account.positions())
        assert results.of(code).paise == truth * 100
