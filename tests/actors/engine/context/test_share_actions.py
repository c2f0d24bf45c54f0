"""The corporate actions of a share since a day: what the store and the feeds tell, and what they do not."""

from datetime import date, datetime
from decimal import Decimal as D
from types import SimpleNamespace

import attrs
import pytest
import trio

from onebroker.actors.engine.context.share_actions import StoredShareActions, told_by
from onebroker.actors.engine.plan.market import NO_ACTION, FiguresSince, ShareAction
from onebroker.actors.history.interface import MICROSECONDS, HistoryError
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.intervals import DAY_MINUTES
from onebroker.config.late_modules import pl

MONDAY = datetime(2026, 11, 23, 9, 0, tzinfo=IST)
TODAY = MONDAY.date()
FRIDAY, THURSDAY, WEDNESDAY = date(2026, 11, 20), date(2026, 11, 19), date(2026, 11, 18)
NSE = ("nse", "equity")


class Weekdays:
    def is_session_day(self, exchange, calendar, day):
        return day.weekday() < 5


def tick(previous, last):
    return SimpleNamespace(previous_close=previous, last_price=last)


class Quotes:
    def __init__(self):
        self.tick = None

    def usable_quote(self, instrument_id):
        return None if self.tick is None else SimpleNamespace(tick=self.tick)


@attrs.define
class House:
    clock: Clock
    folder: object
    history: MemoryHistory = attrs.field(factory=MemoryHistory)
    durable: MemoryDurable = attrs.field(factory=MemoryDurable)
    quotes: Quotes = attrs.field(factory=Quotes)
    actions: StoredShareActions = None

    def __attrs_post_init__(self):
        self.actions = StoredShareActions(self.history, self.durable, self.quotes, Weekdays(), self.clock)

    async def close(self, day, price, instrument_id="i", **others):
        midnight = int(datetime(day.year, day.month, day.day, tzinfo=IST).timestamp()) * MICROSECONDS
        row = {"instrument_id": instrument_id, "minutes": DAY_MINUTES, "time": midnight, "volume": 1, "oi": None}
        frame = pl.DataFrame([row | dict.fromkeys(("open", "high", "low", "close"), price) | others])
        frame = frame.with_columns(pl.col("minutes").cast(pl.Int32), pl.col("oi").cast(pl.Int64))
        order = ("instrument_id", "minutes", "time", "open", "high", "low", "close", "volume", "oi")
        frame.select(order).write_parquet(self.folder / "candles")
        await self.history.put_candles(self.folder / "candles")

    async def factor(self, price, units, *, day=TODAY, instrument_id="i", kind="split"):
        await self.durable.put_factors(
            [
                Factor(
                    instrument_id=instrument_id, ex_date=day, kind=kind, price_factor=D(price), volume_factor=D(units),
                    source="test",
                )
            ]
        )  # fmt: skip

    async def learn(self, given=FRIDAY, seen=None):
        since = FiguresSince(given, seen or given)
        await self.actions.learn({"i": NSE}, since.seen)
        return self.actions.of("i", since)

    def of(self, given=FRIDAY, seen=None):
        return self.actions.of("i", FiguresSince(given, seen or given))


@pytest.fixture
async def house(tmp_path):
    return House(Clock.following_trio(MONDAY), tmp_path)


@pytest.mark.parametrize(
    ("previous", "last", "told"),
    [
        (100, 90, NO_ACTION),  # the market fell, and nothing else happened
        (98.01, 98, NO_ACTION),
        (97.9, 97.5, ShareAction(happened=True)),
        (20, 20.4, ShareAction(happened=True)),
        (90.9, 91.5, ShareAction(happened=True)),
        (20, 99, None),  # one odd figure: the market trades at yesterday's prices
        (None, 20, None),
        (0, 20, None),
    ],
)
def test_what_a_tick_tells_beside_a_close_of_100(previous, last, told):
    assert told_by(tick(previous, last), 100.0) == told


async def test_a_factor_with_todays_ex_date_is_known_before_the_market_opens(house, autojump_clock):
    await house.close(FRIDAY, 100.0)
    await house.factor("0.2", "5")
    await house.factor("0.5", "2", kind="bonus")
    found = await house.learn()
    assert found == ShareAction(happened=True, price_factor=D("0.10"), units_factor=D(10))


async def test_other_days_and_other_shares_say_nothing(house, autojump_clock):
    await house.close(FRIDAY, 100.0)
    await house.factor("0.2", "5", day=FRIDAY)
    await house.factor("0.2", "5", instrument_id="other")
    house.quotes.tick = tick(100, 100)
    assert await house.learn() == NO_ACTION


async def test_a_factor_under_the_earlier_name_of_a_share_counts(house, autojump_clock):
    await house.factor("0.2", "5", instrument_id="old")
    await house.durable.put_renames([Rename(old_id="old", new_id="i", from_day=MONDAY.date(), source="test")])
    assert (await house.learn()).price_factor == D("0.2")


async def test_the_previous_close_tells_once_it_comes_and_its_first_answer_stands(house, autojump_clock):
    await house.close(FRIDAY, 100.0)
    asked = house.of()
    assert (asked.is_known, asked.asked_at) == (False, MONDAY.timestamp())
    await trio.sleep(5)
    assert await house.learn() == asked
    house.quotes.tick = tick(20, 20.1)
    assert house.of() == ShareAction(happened=True)
    house.quotes.tick = tick(100, 100)
    assert house.of() == ShareAction(happened=True)


@pytest.mark.parametrize("stored", [None, THURSDAY])
async def test_without_the_close_of_the_last_session_there_is_nothing_to_compare(stored, house, autojump_clock):
    if stored is not None:
        await house.close(stored, 100.0)
    house.quotes.tick = tick(20, 20)
    assert await house.learn() == NO_ACTION


async def test_a_factor_that_is_loaded_in_the_morning_is_read_again(house, autojump_clock):
    await house.close(FRIDAY, 100.0)
    assert not (await house.learn()).is_known
    await house.factor("0.2", "5")
    await trio.sleep(601)
    assert (await house.learn()).price_factor == D("0.2")


async def test_a_store_that_cannot_be_read_leaves_it_unknown_and_is_asked_again(house, autojump_clock):
    house.history.fail_with(HistoryError("away"))
    assert not (await house.learn()).is_known
    house.history.come_back()
    assert await house.learn() == NO_ACTION


async def test_each_day_begins_anew(house, autojump_clock):
    await house.factor("0.2", "5")
    assert (await house.learn()).happened
    await trio.sleep(86_400)
    assert not house.of().is_known
    await house.close(MONDAY.date(), 20.0)
    house.quotes.tick = tick(20, 20)
    assert await house.learn(given=TODAY) == NO_ACTION


async def test_every_market_that_is_always_open_has_a_last_session_day(autojump_clock):
    actions = StoredShareActions(
        MemoryHistory(), MemoryDurable(), Quotes(), always_open(), Clock.following_trio(MONDAY)
    )
    assert actions._last_session_day(NSE, MONDAY.date()) == date(2026, 11, 22)


# --- days on which the service was away ------------------------------------------------------------------------------------


async def test_the_factors_of_all_days_since_the_figures_are_multiplied(house, autojump_clock):
    await house.close(WEDNESDAY, 100.0)
    await house.close(THURSDAY, 50.0)
    await house.close(FRIDAY, 45.5)
    await house.factor("0.5", "2", day=THURSDAY)
    await house.factor("0.9090909", "1.1", day=FRIDAY)
    found = await house.learn(given=WEDNESDAY)
    assert found == ShareAction(happened=True, price_factor=D("0.45454545"), units_factor=D("2.2"), until=FRIDAY)


async def test_today_is_asked_for_once_the_days_before_are_in_the_figures(house, autojump_clock):
    await house.close(WEDNESDAY, 100.0)
    await house.factor("0.5", "2", day=THURSDAY)
    assert (await house.learn(given=WEDNESDAY)).until == THURSDAY
    await house.close(FRIDAY, 50.0)
    await trio.sleep(601)
    assert not (await house.learn(given=THURSDAY)).is_known
    house.quotes.tick = tick(25, 25)
    assert house.of(given=THURSDAY) == ShareAction(happened=True)


async def test_an_ex_date_of_the_days_figures_or_before_is_in_them(house, autojump_clock):
    await house.close(WEDNESDAY, 100.0)
    await house.close(THURSDAY, 50.0)
    await house.close(FRIDAY, 50.0)
    await house.factor("0.5", "2", day=THURSDAY)
    house.quotes.tick = tick(50, 50)
    assert await house.learn(given=THURSDAY) == NO_ACTION


async def test_a_factor_that_came_after_the_session_of_its_ex_date_still_counts(house, autojump_clock):
    await house.factor("0.5", "2", day=THURSDAY)
    assert (await house.learn(given=WEDNESDAY, seen=FRIDAY)).price_factor == D("0.5")


@pytest.mark.parametrize(
    ("high", "told"),
    [(50.0, ShareAction(happened=True)), (79.9, ShareAction(happened=True)), (80.1, NO_ACTION)],
    ids=["it stayed far away", "it came not near", "it came near"],
)
async def test_a_stored_day_that_began_far_from_the_close_before_shows_an_action(high, told, house, autojump_clock):
    await house.close(WEDNESDAY, 100.0)
    await house.close(THURSDAY, 50.0, high=high)
    await house.close(FRIDAY, 50.0)
    house.quotes.tick = tick(50, 50)
    assert await house.learn(given=WEDNESDAY) == told
    assert await house.learn(given=WEDNESDAY, seen=THURSDAY) == NO_ACTION


async def test_a_gap_that_no_factor_explains_counts_beside_a_known_factor(house, autojump_clock):
    for day, close in ((WEDNESDAY, 100.0), (THURSDAY, 50.0), (FRIDAY, 10.0)):
        await house.close(day, close)
    await house.factor("0.5", "2", day=THURSDAY)
    assert await house.learn(given=WEDNESDAY) == ShareAction(happened=True)


@pytest.mark.parametrize(("previous", "told"), [(50, ShareAction(happened=True)), (91, NO_ACTION), (99, NO_ACTION)])
async def test_the_close_of_the_last_day_seen_is_compared_where_none_is_stored_since(
    previous, told, house, autojump_clock
):
    await house.close(THURSDAY, 100.0)
    house.quotes.tick = tick(previous, previous)
    assert await house.learn(given=THURSDAY) == told


async def test_a_close_from_before_a_factor_is_compared_as_it_would_be_today(house, autojump_clock):
    await house.close(FRIDAY, 100.0)
    await house.factor("0.5", "2", day=date(2026, 11, 22))  # a Sunday
    house.quotes.tick = tick(50, 50)
    assert await house.learn(given=date(2026, 11, 22)) == NO_ACTION


async def test_a_plan_that_asks_for_more_days_makes_the_store_be_read_again(house, autojump_clock):
    await house.close(WEDNESDAY, 100.0)
    await house.close(THURSDAY, 50.0)
    await house.close(FRIDAY, 50.0)
    await house.learn(given=FRIDAY)
    assert not house.of(given=WEDNESDAY).is_known
    assert await house.learn(given=WEDNESDAY) == ShareAction(happened=True)
    house.quotes.tick = tick(50, 50)
    assert await house.learn(given=FRIDAY) == NO_ACTION
