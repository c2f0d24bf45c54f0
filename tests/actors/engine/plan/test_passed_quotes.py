"""Quotes that were replaced before a plan looked: what is judged by last prices comes to the same, however the ticks fall on looks."""

from datetime import time
from decimal import Decimal as D

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onebroker.actors.engine.plan.market import Level, Seen
from onebroker.actors.engine.plan.parts import AllOf, BarClosed, Direction, PriceAt, QuoteField, TimeOfDay
from onebroker.actors.engine.plan.price_kinds import Atr, Fixed, Marketable, Milestone, Stages, Trail
from onebroker.config.vocabulary import Side
from tests.actors.engine.plan.trees import order, together
from tests.actors.engine.plan.world import MORNING, Runner

TICKS = st.lists(st.tuples(st.floats(0.1, 40), st.integers(-40, 40)), min_size=1, max_size=25)
"""Seconds since the one before, and where the last price then is: ticks from 100."""
SPLITS = st.sets(st.integers(0, 24))
"""Numbers of ticks after which a look comes; one comes after the last."""


def seen(last, at, *passed):
    last = D(str(last))
    return Seen(
        last_price=last, received_at=at, buy=(Level(last - D("0.05"), 100),), sell=(Level(last + D("0.05"), 100),), passed=passed
    )  # fmt: skip


class Heard:
    """A runner that looks when it is told to or asked to, at all ticks since it looked last."""

    def __init__(self, root, first=100):
        self.run = Runner(root)
        self.waiting = []
        self.tick(0, first)
        self.look(0)

    def tick(self, seconds, last):
        at = MORNING + seconds
        while self.run.outcome is not None and self.run.outcome.wake_at < at:
            self.look(self.run.outcome.wake_at - MORNING)
        self.waiting.append(seen(last, at))

    def look(self, seconds):
        self.run.world.now = max(self.run.world.now, MORNING + seconds)
        if self.waiting:
            *passed, newest = self.waiting
            self.run.world.quotes["I"] = attrs.evolve(newest, passed=tuple(passed))
        self.run.look()
        # What a look has seen is not given to the next one.
        self.run.world.quotes["I"] = attrs.evolve(self.run.world.quotes["I"], passed=())
        self.waiting = []

    @property
    def record(self):
        return self.run.parts["root"]


def heard(root, ticks, split):
    told, seconds = Heard(root), 0.5
    for number, (gap, price) in enumerate(ticks):
        seconds += gap
        told.tick(seconds, 100 + D(price) / 20)
        if number in split or number == len(ticks) - 1:
            told.look(seconds)
    return told


def one_by_one(root, ticks):
    return heard(root, ticks, set(range(len(ticks))))


@given(TICKS, SPLITS, st.integers(-30, 30), st.sampled_from(Direction))
@example([(1, -30), (1, 0)], set(), -20, Direction.BELOW)
@example([(1, 30), (1, 0)], set(), 20, Direction.ABOVE)
def test_any_split_of_the_ticks_over_looks_fires_the_same_price_conditions(ticks, split, level, direction):
    when = PriceAt(instrument_id="I", level=100 + D(level) / 20, direction=direction)
    root = order(side="SELL", price=Marketable(), when=when)
    assert heard(root, ticks, split).record.fired == one_by_one(root, ticks).record.fired
    prices = [0, *(price for _, price in ticks)]
    reached = any(price >= level if direction is Direction.ABOVE else price <= level for price in prices)
    assert heard(root, ticks, split).record.fired == reached


TRAILS = st.builds(
    Trail, points=st.sampled_from([D(1), D("0.3")]), limit_offset=st.just(D(1)), step_ticks=st.sampled_from([1, 5]),
    atr=st.sampled_from([None, Atr(periods=2, bar_minutes=D(1), multiple=D(2))]),
)  # fmt: skip
WAITING_TRAILS = st.builds(
    Trail, points=st.just(D(1)), limit_offset=st.just(D(1)), activate_at=st.sampled_from([D("99.50"), D("100.50")])
)


@given(TICKS, SPLITS, TRAILS | WAITING_TRAILS, st.sampled_from(["BUY", "SELL"]))
@example([(1, 30), (1, 0)], set(), Trail(points=D(1), limit_offset=D(1)), "SELL")
@example([(1, 12), (1, 0)], set(), Trail(points=D(1), limit_offset=D(1), activate_at=D("100.50")), "SELL")
def test_any_split_of_the_ticks_over_looks_leaves_the_same_trail(ticks, split, trail, side):
    root = order(side=side, price=trail)
    assert_same_stop(heard(root, ticks, split), one_by_one(root, ticks))


def assert_same_stop(one, other):
    """Once a stop has gone at the market there is no trigger any more; until then it is where the last prices put it."""
    if not one.record.marketable and not other.record.marketable:
        assert one.record.memory == other.record.memory


RULES = (Milestone(gain=D("0.5"), stop_at_gain=D(0)), Milestone(gain=D(1), trail_points=D("0.4")))


@given(TICKS, SPLITS, st.sampled_from([1, 6]), st.sampled_from(list(Side)))
@example([(1, 12), (1, 0)], set(), 1, Side.SELL)
def test_any_split_of_the_ticks_over_looks_leaves_the_same_stages(ticks, split, step, side):
    stages = Stages(
        entry_price=D(100), stop_price=D(100 + 3 * side.sign), limit_offset=D(1), rules=RULES, step_ticks=step
    )
    root = order(side=side.value, price=stages)
    assert_same_stop(heard(root, ticks, split), one_by_one(root, ticks))


@given(TICKS, SPLITS, st.integers(-20, 20), st.sampled_from(Direction))
@example([(60, 0), (1, 30), (40, 0), (1, 10), (60, 0), (40, 0)], {0, 3, 5}, 20, Direction.ABOVE)
def test_any_split_of_the_ticks_over_looks_gives_the_same_bars_and_fires_by_them(ticks, split, level, direction):
    when = BarClosed(instrument_id="I", level=100 + D(level) / 20, direction=direction, bar_minutes=D(1))
    root = order(side="SELL", price=Marketable(), when=when)
    told, plain = heard(root, ticks, split), one_by_one(root, ticks)
    assert told.record.fired == plain.record.fired
    if not plain.record.fired:
        assert told.record.condition_bars == plain.record.condition_bars


# --- one by one ---------------------------------------------------------------------------------------------------------


def stop(**more):
    return order(
        side="SELL", price=Marketable(), when=PriceAt(instrument_id="I", level=D(98), direction=Direction.BELOW), **more
    )


def test_a_stop_that_was_touched_for_a_moment_sells_at_the_price_there_is_now():
    told = Heard(stop())
    told.tick(1, 97)
    told.tick(1, 101)
    told.look(1)
    assert told.run.sent() == ["PLACE alpha SELL 10 LIMIT 100.85 -> A1"]


def test_what_passed_before_the_part_was_armed_does_not_fire_it():
    run = Runner(stop())
    run.world.now = MORNING + 1
    run.world.quotes["I"] = seen(100, MORNING + 1, seen(97, MORNING + 0.5))
    run.look()
    assert not run.parts["root"].fired
    run.world.now = MORNING + 2
    run.world.quotes["I"] = seen(100, MORNING + 2, seen(97, MORNING + 0.9), seen(97, MORNING + 1))
    run.look()
    assert (run.parts["root"].fired, run.sent()) == (False, [])


def test_a_trail_does_not_begin_with_what_passed_before_it_was_there():
    run = Runner(order(side="SELL", price=Trail(points=D(1), limit_offset=D(1))))
    run.world.now = MORNING + 1
    run.world.quotes["I"] = seen(100, MORNING + 1, seen(120, MORNING + 0.5))
    run.look()
    assert run.parts["root"].memory.watermark == 100


def test_a_touch_while_it_is_being_armed_is_kept():
    """It stands armed for a moment before it sends: a touch within that is acted on after it."""
    told = Heard(stop())
    told.tick(0.01, 97)
    told.look(0.01)
    told.tick(0.02, 100)
    told.look(0.02)
    assert told.run.sent() == []
    told.look(0.06)
    assert told.run.sent() == ["PLACE alpha SELL 10 LIMIT 99.85 -> A1"]


def test_conditions_that_are_all_wanted_have_to_be_true_at_one_time():
    def both(low, high):
        levels = [(low, Direction.BELOW), (high, Direction.ABOVE)]
        return AllOf(tuple(PriceAt(instrument_id="I", level=D(level), direction=way) for level, way in levels))

    for when, is_fired in ((both(98, 102), False), (both(98, 96), True)):
        told = Heard(order(side="SELL", price=Marketable(), when=when))
        for last in (97, 103, 100):
            told.tick(1, last)
        told.look(1)
        assert told.record.fired is is_fired


def test_a_price_of_before_the_time_does_not_go_with_the_time():
    at = PriceAt(instrument_id="I", level=D(98), direction=Direction.BELOW)
    for touched, is_fired in ((59.9, False), (60.1, True)):
        told = Heard(order(side="SELL", price=Marketable(), when=AllOf((at, TimeOfDay(at=time(9, 21))))))
        told.waiting = [seen(97, MORNING + touched), seen(100, MORNING + 60.2)]
        told.look(60.3)
        assert told.record.fired is is_fired


def test_a_touch_of_another_field_is_seen_too():
    when = PriceAt(instrument_id="I", level=D("96.95"), direction=Direction.BELOW, field=QuoteField.BID)
    told = Heard(order(side="SELL", price=Marketable(), when=when))
    told.tick(1, 97)
    told.tick(1, 100)
    told.look(1)
    assert told.record.fired


@pytest.mark.parametrize(("low", "sent"), [(98, 1), (99, 0)])
def test_a_held_limit_is_released_by_a_touch(low, sent):
    told = Heard(order(price=Fixed(D("98.50")), hold=True))
    told.tick(1, low)
    told.tick(1, 100)
    told.look(1)
    assert len(told.run.sent()) == sent


def test_a_group_s_condition_is_judged_by_what_passed():
    when = PriceAt(instrument_id="I", level=D(98), direction=Direction.BELOW)
    told = Heard(together("root", order("root.children.0", price=90), when=when))
    told.tick(1, 97)
    told.tick(1, 100)
    told.look(1)
    assert told.run.sent() == ["PLACE alpha BUY 10 LIMIT 90 -> A1"]
