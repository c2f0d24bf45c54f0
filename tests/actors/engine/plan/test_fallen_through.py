"""Stops that follow the market, when it falls through the trigger to which they were to be moved before it stands there."""

from decimal import Decimal as D

import attrs
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from onebroker.actors.engine.plan.market import Seen
from onebroker.actors.engine.plan.parts import BarClosed, Direction, PriceAt
from onebroker.actors.engine.plan.price_kinds import Marketable, Milestone, NativeStop, Stages, Trail
from tests.actors.engine.plan.test_passed_quotes import SPLITS, TICKS, Heard, seen
from tests.actors.engine.plan.trees import order
from tests.actors.engine.plan.world import MORNING, Runner

TRAIL = Trail(percent=D(2), limit_offset=D(1))
STAGES = Stages(
    entry_price=D(100), stop_price=D(98), limit_offset=D(1),
    rules=(Milestone(gain=D(3), stop_at_gain=D(2)),),
)  # fmt: skip


def up_and_back(run, high, low):
    """The market goes up and comes back before anybody looks."""
    run.world.now = MORNING + 5
    passed = seen(high, MORNING + 4)
    run.world.quotes["I"] = seen(low, MORNING + 5, passed)
    return run.look()


@pytest.mark.parametrize(("price", "trigger"), [(TRAIL, "103.85"), (STAGES, "102")])
def test_a_stop_whose_new_trigger_is_passed_goes_at_the_market(price, trigger):
    run = Runner(order(side="SELL", price=price, is_exit=True))
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha SELL 10 SL 98/97 -> A1"]
    up_and_back(run, 106, 100)
    run.book("A1", "cancelled")
    assert run.sent() == ["CANCEL A1", "PLACE alpha SELL 10 LIMIT 99.85 -> A2"]
    message = (
        f"the market fell through the stop's new trigger {trigger} before it stood there, so it goes at the market"
    )
    assert run.parts["root"].status_message == message
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_of_a_short_the_words_say_that_the_market_rose():
    run = Runner(order(side="BUY", price=TRAIL, is_exit=True))
    run.quote(100, 99.95, 100.05)
    run.sent()
    up_and_back(run, 94, 100)
    assert run.parts["root"].status_message.startswith("the market rose through the stop's new trigger 95.9 ")


def test_a_stop_that_filled_while_it_was_being_replaced_is_not_sold_twice():
    run = Runner(order(side="SELL", price=TRAIL, is_exit=True))
    run.quote(100, 99.95, 100.05)
    up_and_back(run, 106, 97)
    run.book("A1", "complete", average=97)
    assert run.sent() == ["PLACE alpha SELL 10 SL 98/97 -> A1", "CANCEL A1"]
    assert run.state() == "completed"


def test_the_old_stop_stays_while_nobody_is_there_and_while_the_price_is_not_known():
    run = Runner(order(side="SELL", price=TRAIL, is_exit=True))
    run.quote(100, 99.95, 100.05)
    run.sent()
    run.world.now = MORNING + 5
    run.world.quotes["I"] = Seen(
        last_price=D(100), received_at=MORNING + 5, buy=(), sell=(), passed=(seen(106, MORNING + 4),)
    )
    assert run.look().sent() == []
    run.world.quotes.clear()
    assert run.at(8).sent() == []
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["CANCEL A1"]


def test_a_stop_that_begins_behind_the_market_goes_at_the_market_too():
    run = Runner(order(side="SELL", price=Trail(points=D(2), limit_offset=D(1), activate_at=D(105)), is_exit=True))
    run.quote(100, 99.95, 100.05)
    up_and_back(run, 106, 100)
    assert run.at(6).sent() == ["PLACE alpha SELL 10 LIMIT 99.85 -> A1"]


class Watched(Heard):
    """Writes down each trigger that a stop is sent or moved to, beside the last price at that moment."""

    def look(self, seconds):
        before = {leg.leg_id: leg.trigger for leg in self.run.legs}
        super().look(seconds)
        last = self.run.world.quotes["I"].last_price
        for leg in self.run.legs:
            if leg.trigger is not None and leg.trigger != before.get(leg.leg_id):
                assert (last - leg.trigger) * leg.side.sign < 0, (last, leg.trigger)


@given(TICKS, SPLITS, st.sampled_from(["BUY", "SELL"]), st.sampled_from([D(1), D("0.3")]))
@example([(1, 30), (1, 0)], set(), "SELL", D(1))
@example([(0.2, 30), (0.2, 0)], {0, 1}, "SELL", D(1))
def test_no_stop_is_ever_moved_to_a_trigger_that_the_market_has_passed(ticks, split, side, points):
    told, seconds = Watched(order(side=side, price=Trail(points=points, limit_offset=D(1)))), 0.5
    for number, (gap, price) in enumerate(ticks):
        seconds += gap
        told.tick(seconds, 100 + D(price) / 20)
        if number in split or number == len(ticks) - 1:
            told.look(seconds)


# --- last prices that may not be acted on ---------------------------------------------------------------------------------


def doubted(run, at):
    """A quote whose last price strays: only its book is there."""
    run.world.now = MORNING + at
    run.world.quotes["I"] = attrs.evolve(seen(100, MORNING + at), last_price=None)
    return run.look()


STOP = NativeStop(trigger_price=D(98), limit_price=D(97))
BELOW = PriceAt(instrument_id="I", level=D(97), direction=Direction.BELOW)
BAR = BarClosed(instrument_id="I", level=D(97), direction=Direction.BELOW, bar_minutes=D(1))


@pytest.mark.parametrize(
    ("price", "when"), [(TRAIL, None), (STAGES, None), (STOP, None), (Marketable(), BELOW), (Marketable(), BAR)]
)
def test_a_last_price_that_may_not_be_acted_on_moves_and_fires_nothing(price, when):
    run = Runner(order(side="SELL", price=price, when=when, is_exit=True))
    doubted(run, 1)
    first = run.sent()
    doubted(run, 2)
    assert run.sent() == []
    assert first == (["PLACE alpha SELL 10 SL 98/97 -> A1"] if price in (STOP, STAGES) else [])
    run.at(3).quote(100, 99.95, 100.05)
    assert run.sent() == (["PLACE alpha SELL 10 SL 98/97 -> A1"] if price is TRAIL else [])
    doubted(run, 4)
    assert run.sent() == []
