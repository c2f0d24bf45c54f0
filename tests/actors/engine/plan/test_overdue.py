"""What is due and cannot happen, as the machine tells it: it is said after two seconds, a close then goes without a price, and nothing that
rests is ended for an order that could not leave (order-engine 1.10)."""

from datetime import time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.execution_kinds import Daily
from onebroker.actors.engine.plan.machine.advance import advance
from onebroker.actors.engine.plan.machine.exposure import with_nets
from onebroker.actors.engine.plan.machine.leg_actions import NewLeg
from onebroker.actors.engine.plan.machine.look import Rules
from onebroker.actors.engine.plan.machine.position_closes import FoundRows, with_rows
from onebroker.actors.engine.plan.parts import (
    Direction,
    FromFill,
    FromPosition,
    JointPnl,
    Lifetime,
    OnEnd,
    PriceAt,
    QuoteField,
    Rule,
    Since,
    TimeOfDay,
)
from onebroker.actors.engine.plan.price_kinds import Cap, Fixed, Marketable, Milestone, NativeStop, Stages, Trail
from onebroker.config.messages import plan_life as texts
from tests.actors.engine.plan.test_positions import BOUNDED, PositionRunner, closes, hedging
from tests.actors.engine.plan.trees import oco, order
from tests.actors.engine.plan.world import DAY, MORNING, Runner

NO_QUOTE = "no live quote exists for this instrument, so the SELL could not be priced and nothing was sent"
NOBODY = "nobody is bidding for this instrument, so the SELL could not be priced and nothing was sent"
WATCH = "no live quote exists for the instrument that is watched"
HALTED = "trading is halted: by hand"


def below(level, **more):
    return PriceAt(instrument_id="I", field=QuoteField.LAST_PRICE, level=D(str(level)), direction=Direction.BELOW)


def hidden(**more):
    price = more.pop("price", Marketable(follow=True))
    return order(more.pop("path", "root"), "SELL", 10, price, when=below(95), is_exit=True, **more)


def backed():
    backstop = order("root.children.1", "SELL", 10, NativeStop(trigger_price=D(93), limit_price=D(92)), is_exit=True)
    return oco("root", hidden(path="root.children.0"), backstop, rule=Rule.TRIGGER)


def blind(run, of="I"):
    run.world.quotes.pop(of, None)
    return run.look()


def bracket(**more):
    exits = oco(
        "root.each_fill",
        order("root.each_fill.children.0", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)),
              is_exit=True, known_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), Fixed(D(110)), is_exit=True, known_exit=True),
    )  # fmt: skip
    return order(price=100, each_fill=exits, **more)


def filled_bracket(**more):
    run = Runner(bracket(**more))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    assert [leg.leg_id for leg in run.resting] == ["A2", "A3"]
    run.sent()
    return run


def trouble(run):
    return dict(run.outcome.unprotected), run.outcome.untold


# --- said ----------------------------------------------------------------------------------------------------------------


def test_a_guard_that_has_no_quote_is_said_after_two_seconds_and_is_over_with_the_next_quote():
    run = Runner(hidden())
    run.quote(100, 99.95, 100.05)
    blind(run)
    run.at(1.9)
    assert (trouble(run), run.outcome.blind) == (({}, ()), {"I"})
    run.at(2)
    assert trouble(run) == ({"I": 10}, (f"what is due waits: {WATCH}",))
    assert run.parts["root"].held_up == WATCH
    run.quote(100, 99.95, 100.05)
    assert (trouble(run), run.parts["root"].held_up, run.outcome.blind) == (({}, ()), None, frozenset())


def test_a_guard_is_not_due_outside_of_its_session():
    run = Runner(hidden(lifetime=Lifetime(after_days=5)))
    run.quote(100, 99.95, 100.05)
    run.at(DAY.closes - MORNING + 10)
    blind(run)
    run.at(DAY.closes - MORNING + 600)
    assert trouble(run) == ({}, ())


def test_an_entry_that_waits_for_a_quote_is_no_trouble():
    run = Runner(order(price=Marketable(), when=below(95)))
    run.look()
    run.at(60)
    assert (trouble(run), run.parts["root"].held_up) == (({}, ()), None)


def test_a_trail_that_cannot_follow_is_said_while_its_stop_still_guards():
    trail = Trail(points=D(2), limit_offset=D("0.5"))
    run = Runner(order(side="SELL", price=trail, is_exit=True))
    run.quote(100, 99.95, 100.05)
    blind(run)
    run.at(2)
    assert trouble(run) == (
        {},
        ("what is due waits: no live quote exists for this instrument, so its stop does not follow the market",),
    )


TRAIL = Trail(points=D(2), limit_offset=D("0.5"))
STEPPED = Stages(
    entry_price=D(100), stop_price=D(98), limit_offset=D("0.5"), rules=(Milestone(gain=D(2), stop_at_gain=D(1)),)
)


@pytest.mark.parametrize("where", [None, "alpha"])
@pytest.mark.parametrize("price", [TRAIL, STEPPED])
def test_a_stop_that_should_follow_and_cannot_be_moved_is_said_until_it_can(price, where):
    run = Runner(order(side="SELL", price=price, is_exit=True))
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha SELL 10 SL 98/97.5 -> A1"]
    run.at(5)
    run.world.exit_locks[where] = HALTED
    run.at(60)
    assert trouble(run) == ({}, ()), "nothing is to be moved"
    run.quote(103, 102.95, 103.05)
    run.at(61.9)
    assert trouble(run) == ({}, ())
    run.at(62)
    assert (run.sent(), trouble(run)) == ([], ({}, (f"what is due waits: {HALTED}",)))
    run.world.exit_locks.clear()
    run.at(63)
    assert (run.sent(), trouble(run)) == (["MODIFY A1 SL 101/100.5"], ({}, ()))


UNMOVED = "an order of 10 units at alpha could not be changed or cancelled: no"


def test_a_stop_whose_move_its_broker_refuses_is_said_and_each_move_is_asked_for_once():
    run = Runner(order(side="SELL", price=TRAIL, is_exit=True))
    run.quote(100, 99.95, 100.05)
    run.at(5)
    run.sent()
    run.refuse_changes.add("A1")
    run.quote(103, 102.95, 103.05)
    run.at(60)
    assert (run.sent(), trouble(run)) == (["MODIFY A1 SL 101/100.5"], ({}, (UNMOVED,)))
    run.refuse_changes.clear()
    run.at(62).quote(104, 103.95, 104.05)
    run.at(64)
    assert (run.sent(), trouble(run)) == (["MODIFY A1 SL 102/101.5"], ({}, ()))


def test_an_exit_that_is_to_be_filled_asks_again_for_a_refused_move():
    run = Runner(hidden())
    run.quote(94, None, 94.05)
    run.at(2.1)
    run.sent()
    run.refuse_changes.add("A1")
    run.at(10).quote(93, 92.50, 93.05)
    run.at(24.9)
    assert run.sent() == ["MODIFY A1 price 92.4"]
    assert UNMOVED in trouble(run)[1]
    run.refuse_changes.clear()
    run.at(25)
    assert run.sent() == ["MODIFY A1 price 92.4"]
    assert UNMOVED not in trouble(run)[1]


def test_an_entry_whose_move_is_refused_is_no_trouble():
    run = Runner(order(price=Marketable(follow=True)))
    run.quote(100, 99.95, 100.05)
    run.refuse_changes.add("A1")
    run.at(20).quote(103, 102.95, 103.05)
    run.at(60)
    assert (len(run.sent()), trouble(run)) == (2, ({}, ()))


def test_a_stop_that_waits_for_its_next_change_is_no_trouble():
    run = Runner(order(side="SELL", price=TRAIL, is_exit=True), rules=Rules(move_interval_seconds=60))
    run.quote(100, 99.95, 100.05)
    run.at(1).quote(103, 102.95, 103.05)
    run.at(2).quote(105, 104.95, 105.05)
    run.at(50)
    assert trouble(run) == ({}, ())


@pytest.mark.parametrize("where", [None, "alpha"])
def test_an_exit_that_cannot_grow_with_the_fills_of_its_entry_is_said_and_grows_once_it_can(where):
    run = Runner(bracket())
    run.quote(100, 99.95, 100.00)
    run.book("A1", filled=4)
    run.sent()
    run.world.exit_locks[where] = HALTED
    run.book("A1", "complete")
    run.at(2)
    assert (run.sent(), trouble(run)) == ([], ({"I": 6}, (f"what is due waits: {HALTED}",)))
    run.world.exit_locks.clear()
    run.at(3)
    assert sorted(run.sent()) == ["MODIFY A2 quantity 10", "MODIFY A3 quantity 10"]
    assert trouble(run) == ({}, ())


def test_units_that_filled_without_their_hedge_are_said_while_the_hedge_has_no_price():
    hedge = order("root.each_fill", "SELL", FromFill(), Marketable(follow=True), of="J", uncovered="unhedged")
    run = Runner(order(price=100, each_fill=hedge))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    run.at(1.9)
    assert trouble(run) == ({}, ())
    run.at(2)
    assert "10 units are unhedged" in run.outcome.untold
    run.quote(50, 49.95, 50.05, of="J")
    assert run.sent()[-1] == "PLACE alpha SELL 10 J LIMIT 49.85 -> A2"
    assert trouble(run) == ({}, ())


def joint_loss():
    return JointPnl(
        instrument_ids=("I",),
        every_instrument=False,
        product=None,
        since=Since.PLACEMENT,
        loss=D(100),
        profit=None,
        give_back=None,
    )


def test_a_joint_figure_that_cannot_be_read_is_said():
    run = PositionRunner(closes(when=joint_loss()))
    run.world.unread = ("zerodha", "dhan")
    run.quote(100, 99.95, 100.05)
    run.at(2)
    assert run.outcome.untold == (
        "what is due waits: the positions of dhan, zerodha cannot be read, so their joint profit or loss is not known",
    )
    run.world.joint = 0
    run.at(3)
    assert run.outcome.untold == ()


def test_fills_one_after_the_other_are_read_for_five_seconds_before_a_joint_figure_counts_as_not_known():
    """Each fill needs a new read of the positions. That is no trouble until the reads never come to an end."""
    run = PositionRunner(closes(when=joint_loss()))
    run.world.filled_at = run.started
    run.quote(100, 99.95, 100.05)
    run.at(1.5)
    run.world.filled_at = run.started + 1.5
    for seconds in (2, 3.4):
        run.at(seconds)
        assert run.outcome.untold == ()
    run.world.filled_at = run.started + 3.4
    run.at(4.9)
    assert run.outcome.untold == ()
    run.world.filled_at = run.started + 4.9
    for seconds in (5, 6):
        run.at(seconds)
        assert len(run.outcome.untold) == 1


def test_a_joint_figure_that_is_not_known_two_seconds_after_the_last_fill_is_said_and_stays_said():
    run = PositionRunner(closes(when=joint_loss()))
    run.world.filled_at = run.started
    run.quote(100, 99.95, 100.05)
    run.at(1.9)
    assert run.outcome.untold == ()
    run.at(2)
    assert len(run.outcome.untold) == 1
    run.world.filled_at = run.started + 2.1
    run.at(2.2)
    assert len(run.outcome.untold) == 1


def test_a_joint_figure_has_five_seconds_after_a_login():
    """The first tick, and two reads of the positions, take about three; a restart logs in again (model 110000010)."""
    run = PositionRunner(closes(when=joint_loss()))
    run.world.began_at = run.started - 0.1
    run.quote(100, 99.95, 100.05)
    for seconds, told in ((4.8, 0), (5, 1)):
        run.at(seconds)
        assert len(run.outcome.untold) == told


def held_up(run, path, *, since=0.0, reason=HALTED, **held):
    """A look while the orders that the plan asks for now wait: their last try failed; those of `path` at `since` (seconds from the start) for the first time."""
    asked = advance(run.root, run.inputs)
    placing = tuple(action for action in asked.actions if isinstance(action, NewLeg))
    waits = {"held_up": {path: reason}, "held_since": {path: run.started + since}, **held}
    return advance(run.root, attrs.evolve(run.inputs, parts=asked.parts, placing=placing, **waits))


def with_a_held_target():
    exits = oco(
        "root.each_fill",
        order("root.each_fill.children.0", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)),
              is_exit=True, known_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), Fixed(D(110)), hold=True, is_exit=True, known_exit=True),
    )  # fmt: skip
    run = Runner(order(price=100, each_fill=exits))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    return run


def test_a_target_that_cannot_leave_is_said_after_two_seconds_although_the_stop_guards():
    run = with_a_held_target()
    target = "root.each_fill.children.1"
    run.world.quotes["I"] = attrs.evolve(run.world.quotes["I"], last_price=D(111))
    run.world.now += 1.9
    soon = held_up(run, target)
    assert (soon.unprotected, soon.untold, soon.wake_at) == ({}, (), run.started + 2)
    run.world.now = run.started + 2
    told = held_up(run, target)
    assert (told.unprotected, told.untold) == ({}, (f"what is due waits: {HALTED}",))


def test_an_exit_that_is_not_asked_for_any_more_is_no_trouble():
    run = with_a_held_target()
    run.world.now += 60
    assert held_up(run, "root.each_fill.children.1").untold == ()


def test_an_entry_that_could_not_leave_is_no_trouble():
    run = Runner(order(price=100))
    run.world.now += 60
    assert held_up(run, "root").untold == ()


def test_a_hedge_that_could_not_leave_is_said():
    hedge = order("root.each_fill", "SELL", FromFill(), Marketable(follow=True), of="J", uncovered="unhedged")
    run = Runner(order(price=100, each_fill=hedge))
    run.quote(100, 99.95, 100.00)
    run.world.quotes["J"] = attrs.evolve(run.world.quotes["I"])
    run.put(attrs.evolve(run.leg("A1"), state=LegState.COMPLETE, filled=10, average=D(100)))
    run.world.now += 60
    assert sorted(held_up(run, "root.each_fill").untold) == ["10 units are unhedged", f"what is due waits: {HALTED}"]


UNKNOWN = "what is due waits: the positions of alpha cannot be read, so the exposure is not known and not hedged"


def test_a_hedge_whose_exposure_cannot_be_read_is_said_until_it_is_read():
    run = hedging()
    run.nets(A=0)
    run.at(5)
    run.nets()
    run.at(6.9)
    assert trouble(run) == ({}, ())
    run.at(7)
    assert trouble(run) == ({}, (UNKNOWN,))
    run.at(10)
    run.nets()
    run.restarted()
    assert trouble(run) == ({}, (UNKNOWN,))
    run.at(15)
    run.nets(A=60)
    assert (run.sent(), trouble(run)) == (["PLACE alpha SELL 30 LIMIT 199.85 -> A1"], ({}, ()))


def test_a_hedge_whose_units_no_two_reads_have_shown_yet_is_no_trouble():
    run = hedging()
    run.parts["root"] = with_nets(run.parts["root"], None, ("alpha",), run.world.now)
    run.look()
    run.at(4.9)
    assert trouble(run) == ({}, ())


def waiting_hedge(every_seconds):
    """A hedge for which nobody bids; its trouble is told."""
    run = hedging(every_seconds=every_seconds)
    run.nets(A=0)
    run.quote(200, None, 200.05)
    read_exposure(run, run.world.now + every_seconds + 2, A=60)
    assert trouble(run) == ({}, (f"what is due waits: {NOBODY}",))
    return run


def read_exposure(run, until, **nets):
    """Come to `until` (epoch seconds) and hand over what is read; return what was told after each look, without repetitions."""
    told = []
    while run.world.now < until:
        run.at(run.world.now + 0.25 - run.started)
        told.append(trouble(run))
        if run.asks():
            run.nets(**nets)
            told.append(trouble(run))
    return [one for number, one in enumerate(told) if number == 0 or one != told[number - 1]]


@pytest.mark.parametrize("every_seconds", [2, 5, 60])
def test_a_hedge_that_waits_for_a_price_is_one_trouble_until_it_leaves(every_seconds):
    run = waiting_hedge(every_seconds)
    assert read_exposure(run, run.world.now + 60, A=60) == [({}, (f"what is due waits: {NOBODY}",))]
    run.quote(200, 199.95, 200.05)
    read_exposure(run, run.world.now + 1, A=60)
    assert run.sent() == ["PLACE alpha SELL 30 LIMIT 199.85 -> A1"]
    assert trouble(run) == ({}, ())


def test_a_hedge_that_waits_is_no_trouble_any_more_when_the_exposure_is_in_its_band():
    run = waiting_hedge(5)
    until = run.world.now + 20
    assert read_exposure(run, until, A=0) == [({}, (f"what is due waits: {NOBODY}",)), ({}, ())]
    assert (run.parts["root"].waits_since, run.sent()) == (None, [])


def test_a_hedge_that_waits_stays_told_over_a_restart_and_while_no_two_reads_agree():
    run = waiting_hedge(5)
    run.restarted()
    assert (trouble(run), run.asks()) == (({}, (f"what is due waits: {NOBODY}",)), True)
    run.parts["root"] = with_nets(run.parts["root"], None, ("alpha",), run.world.now)
    run.look()
    assert trouble(run) == ({}, (f"what is due waits: {NOBODY}",))
    assert read_exposure(run, run.world.now + 20, A=60) == [({}, (f"what is due waits: {NOBODY}",))]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"waits": {"I": NOBODY}}, NOBODY),
        ({"waits": {"I": HALTED}}, HALTED),
        ({"unread": ("alpha",)}, texts.positions_unread("alpha")),
    ],
)
def test_a_close_whose_positions_wait_is_one_trouble_while_they_are_read_each_second(found, said):
    run = PositionRunner(closes(price=BOUNDED))
    run.look()
    told = []
    while run.world.now < run.started + 30:
        if run.asks():
            rows = FoundRows(rows=(), nets={}, message=None, at=run.world.now, **found)
            run.parts["root"] = with_rows(run.parts["root"], [], (), rows)
            run.look()
        told.append((run.world.now - run.started >= 2.5, trouble(run)))
        run.at(run.world.now + 0.25 - run.started)
    assert {one for late, one in map(late_words, told) if late} == {f"what is due waits: {said}"}


def late_words(one):
    late, (_, words) = one
    return late, "; ".join(words)


def test_an_exposure_without_a_price_is_one_trouble():
    run = hedging()
    run.world.quotes.pop("A")
    run.nets(A=60)
    read_exposure(run, run.world.now + 3, A=60)
    (said,) = read_exposure(run, run.world.now + 60, A=60)
    assert said == ({}, (f"what is due waits: {texts.EXPOSURE_UNPRICED}",))


def test_that_positions_cannot_be_read_is_not_said_of_positions_that_were_read():
    run = hedging()
    run.nets(A=0)
    run.at(5)
    run.nets()
    run.at(8)
    assert trouble(run) == ({}, (UNKNOWN,))
    run.at(10)
    run.parts["root"] = with_nets(run.parts["root"], None, ("alpha",), run.world.now)
    run.look()
    assert trouble(run) == ({}, ())


@pytest.mark.parametrize("state", [LegState.SENDING, LegState.UNKNOWN])
def test_a_stop_of_which_its_broker_tells_nothing_is_said_after_five_seconds_until_it_is_known(state):
    run = filled_bracket()
    run.put(attrs.evolve(run.leg("A2"), state=state, sent_at=run.world.now))
    run.look()
    run.at(4.9)
    assert trouble(run) == ({}, ())
    assert run.outcome.wake_at <= run.started + 5
    run.at(5)
    assert trouble(run) == ({}, ("alpha has not told whether it has the SELL order of 10 units",))
    run.put(attrs.evolve(run.leg("A2"), state=LegState.PENDING))
    assert trouble(run.look()) == ({}, ())


def test_an_entry_of_which_its_broker_tells_nothing_is_no_trouble():
    run = Runner(order(price=100))
    run.quote(100, 99.95, 100.05)
    run.put(attrs.evolve(run.leg("A1"), state=LegState.UNKNOWN))
    run.at(30)
    assert trouble(run) == ({}, ())


def test_a_stop_that_the_market_has_jumped_over_guards_nothing():
    run = filled_bracket()
    run.quote(90, 89.95, 90.05)
    run.at(1.9)
    assert trouble(run) == ({}, ())
    run.at(2)
    assert trouble(run) == (
        {"I": 10},
        ("what is due waits: the market is past the limit 94 of the stop, so its order guards nothing",),
    )
    run.quote(94, 94.00, 94.05)
    assert trouble(run) == ({}, ())


def test_a_stop_that_was_jumped_over_stays_one_while_there_is_no_quote():
    run = filled_bracket()
    run.quote(90, 89.95, 90.05)
    run.at(2)
    said = trouble(run)
    assert said[0] == {"I": 10}
    blind(run)
    run.at(3)
    assert trouble(run) == said
    run.at(30)
    assert trouble(run) == said
    run.quote(94, 94.00, 94.05)
    assert trouble(run) == ({}, ())


def test_a_stop_that_was_not_jumped_over_says_nothing_while_there_is_no_quote():
    run = filled_bracket()
    run.quote(94.5, 94.45, 94.55)
    run.at(2)
    blind(run)
    run.at(30)
    assert trouble(run) == ({}, ())


UNFILLED = (
    "what is due waits: the stop with the limit 94 has triggered and has not filled, and the market's price is not known, so its order"
    " guards nothing"
)


def triggered(run, leg_id="A2"):
    """The broker's book shows the stop triggered now."""
    run.put(attrs.evolve(run.leg(leg_id), triggered_at=run.world.now))
    return run.look()


def test_a_stop_that_its_book_shows_triggered_guards_nothing_where_no_price_was_told_since():
    run = filled_bracket()
    run.at(10)
    triggered(run)
    assert run.outcome.blind == {"I"}, "a quote over REST is asked for at once"
    run.at(11.9)
    assert trouble(run) == ({}, ())
    run.at(12)
    assert (trouble(run), run.outcome.blind) == (({"I": 10}, (UNFILLED,)), {"I"})
    blind(run)
    run.at(400)
    assert trouble(run) == ({"I": 10}, (UNFILLED,))
    run.quote(90, 89.95, 90.05)
    assert "the market is past the limit 94" in trouble(run)[1][0]
    run.quote(94, 94.00, 94.05)
    assert (trouble(run), run.outcome.blind) == (({}, ()), frozenset())


def test_a_stop_that_its_book_shows_triggered_first_waits_for_the_next_tick():
    run = filled_bracket()
    run.at(9)
    run.quote(96, 95.95, 96.00)
    run.at(10)
    triggered(run)
    assert run.outcome.blind == frozenset()
    assert run.outcome.wake_at <= run.started + 11.5
    run.quote(94.5, 94.50, 94.55)
    run.at(60)
    assert (trouble(run), run.outcome.blind) == (({}, ()), frozenset()), (
        "a price since then says that it may still fill"
    )


def test_a_trail_that_was_jumped_over_stays_so_while_there_is_no_quote():
    trail = Trail(points=D(5), limit_offset=D(1))
    run = Runner(order(side="SELL", price=trail, is_exit=True))
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha SELL 10 SL 95/94 -> A1"]
    run.quote(90, 89.95, 90.05)
    run.at(2)
    said = trouble(run)
    assert said[0] == {"I": 10}
    blind(run)
    run.at(30)
    assert trouble(run) == said


def test_a_resting_stop_that_guards_is_watched_over_rest_and_an_entry_s_is_not():
    run = filled_bracket()
    assert run.outcome.guarded == {"I"}
    entry = Runner(order(side="SELL", price=NativeStop(trigger_price=D(95), limit_price=D(94))))
    entry.quote(100, 99.95, 100.05)
    assert entry.resting
    assert entry.look().outcome.guarded == frozenset()


def test_a_daily_stop_that_goes_out_behind_the_market_says_so():
    stop = NativeStop(trigger_price=D(95), limit_price=D(94))
    execution = Daily(arm_at=time(9, 20), valid_days=30)
    run = Runner(order(side="SELL", price=stop, execution=execution, is_exit=True))
    run.quote(80, 79.95, 80.05)
    run.at(1)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 94 -> A1"]
    run.at(4)
    assert trouble(run)[0] == {"I": 10}


@pytest.mark.parametrize("arms_later", [True, False])
def test_a_daily_stop_that_is_refused_at_its_time_is_told(arms_later):
    """Also at once after its placement: its caller was told that it is armed."""
    stop = NativeStop(trigger_price=D(95), limit_price=D(94))
    execution = Daily(arm_at=time(9, 21) if arms_later else time(9, 20), valid_days=30)
    run = Runner(order(side="SELL", price=stop, execution=execution, is_exit=True))
    run.quote(100, 99.95, 100.05)
    run.at(61)
    assert len(run.sent()) == 1
    run.book("A1", "rejected", message="order entry is blocked")
    run.at(64)
    units, sentences = trouble(run)
    assert not run.over()
    assert (units, sentences) == (
        {"I": 10},
        ("what is due waits: alpha has refused the order: order entry is blocked",),
    )


# --- the last resort -------------------------------------------------------------------------------------------------------


def test_an_overdue_close_goes_at_the_market_without_a_quote():
    run = PositionRunner(closes())
    run.look()
    run.found(("alpha", "I", 10, 10))
    run.at(1.9)
    assert run.sent() == []
    run.at(2)
    assert run.sent() == ["PLACE alpha SELL 10 MARKET -> A1"]
    run.at(30).quote(100, 99.95, 100.05)
    assert run.sent() == []
    run.book("A1", "complete", average=100)
    assert run.state() == "completed"


def test_on_an_empty_side_it_rests_at_the_last_price_and_follows_who_comes_back():
    run = Runner(hidden())
    run.quote(94, None, 94.05)
    run.at(2.1)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 94 -> A1"]
    run.at(10).quote(93, 92.50, 93.05)
    assert run.sent() == ["MODIFY A1 price 92.4"]


@pytest.mark.parametrize(
    ("price", "sent"),
    [
        (Cap(of=Marketable(), worst_price=D(90)), ["PLACE alpha SELL 10 LIMIT 90 -> A1"]),
        (Marketable(maximum_cost_bps=D(20)), []),
    ],
)
def test_a_bound_of_the_caller_is_never_given_up(price, sent):
    run = PositionRunner(closes(price=price))
    run.look()
    run.found(("alpha", "I", 10, 10))
    run.at(60)
    assert run.sent() == sent


def test_a_restart_does_not_begin_the_wait_anew():
    run = PositionRunner(closes())
    run.look()
    run.found(("alpha", "I", 10, 10))
    run.at(1)
    run.restarted()
    run.at(2)
    run.found(("alpha", "I", 10, 10))
    assert run.sent() == ["PLACE alpha SELL 10 MARKET -> A1"]


@pytest.mark.parametrize("changed", [None, D(112)])
def test_a_resting_exit_whose_time_is_over_goes_to_the_last_price_where_nobody_bids(changed):
    """It rested at its caller's limit, three per cent away, without a word (fifth stranger)."""
    lifetime = Lifetime(at_time=time(9, 21), on_end=OnEnd.MARKETABLE)
    run = Runner(order(side="SELL", price=110, is_exit=True, known_exit=True, lifetime=lifetime))
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 110 -> A1"]
    if changed is not None:  # its caller has moved it meanwhile
        run.parts["root"] = attrs.evolve(run.parts["root"], price=changed)
        run.put(attrs.evolve(run.leg("A1"), price=changed))
    run.at(50).quote(100, None, 100.05)
    run.at(61)
    assert run.sent() == []
    run.at(63.1)
    assert run.sent() == ["MODIFY A1 price 100"]


# --- nothing is ended for what could not leave -------------------------------------------------------------------------------


def test_the_backstop_stays_until_the_exit_that_fired_has_a_price():
    run = Runner(backed())
    run.quote(97, 96.95, 97.05)
    run.sent()
    run.quote(94.9)
    assert run.sent() == []
    run.at(1).quote(94.9, 94.85, 94.95)
    assert run.sent() == ["CANCEL A1"]


def test_a_fired_exit_whose_backstop_the_engine_has_ended_goes_again_after_a_refusal():
    run = Runner(backed())
    run.quote(97, 96.95, 97.05)
    run.sent()
    run.at(1).quote(94.9, 94.85, 94.95)
    assert run.sent() == ["CANCEL A1"]
    run.book("A1", "cancelled")
    assert [line.split(" -> ")[1] for line in run.sent()] == ["A2"]
    run.put(attrs.evolve(run.leg("A2"), state=LegState.REJECTED, ended_at=run.world.now))
    run.look()
    run.at(2.9)
    assert (run.sent(), run.over(), run.outcome.unprotected) == ([], False, {"I": 10})
    run.at(3.1)
    assert len(run.sent()) == 1
    run.book("A3", "complete")
    assert run.state() == "completed"


def test_the_backstop_stays_while_trading_is_halted():
    run = Runner(backed())
    run.quote(97, 96.95, 97.05)
    run.sent()
    run.world.exit_locks[None] = HALTED
    run.quote(94.9, 94.85, 94.95)
    run.at(60)
    assert run.sent() == []
    assert run.outcome.untold == (f"what is due waits: {HALTED}",)
    run.world.exit_locks.clear()
    run.at(61)
    assert run.sent() == ["CANCEL A1"]


@pytest.mark.parametrize("where", [None, "alpha"])
def test_a_trail_that_may_not_be_changed_any_more_keeps_its_order_while_nothing_can_leave(where):
    trail = Trail(points=D(2), limit_offset=D("0.5"))
    run = Runner(order(side="SELL", price=trail, is_exit=True))
    last = 100
    for n in range(1, 30):
        run.at(n * 2).quote(last + n, last + n - 0.05, last + n + 0.05)
        if n == 25:
            run.world.exit_locks[where] = HALTED
    assert not any(line.startswith("CANCEL") for line in run.log)
    assert HALTED in run.outcome.untold[0]
    run.world.exit_locks.clear()
    run.at(100).quote(150, 149.95, 150.05)
    assert any(line.startswith("CANCEL") for line in run.sent())


def test_a_lifetime_that_closes_keeps_the_exits_until_its_close_can_leave():
    run = filled_bracket(lifetime=Lifetime(after_minutes=D(1), on_end=OnEnd.CLOSE_FILLED))
    run.world.exit_locks["alpha"] = "alpha has no login in Redis"
    run.at(120)
    assert run.sent() == []
    assert run.outcome.untold == ("what is due waits: alpha has no login in Redis",)
    run.world.exit_locks.clear()
    run.at(121)
    assert sorted(run.sent()) == ["CANCEL A2", "CANCEL A3"]


def test_positions_are_not_read_and_so_nothing_at_them_is_cancelled_while_no_exit_can_leave():
    form = FromPosition(product="intraday", instrument_ids=("I",))
    close = order(side="SELL", quantity=form, price=Marketable(follow=True), is_exit=True, when=TimeOfDay(time(9, 21)))
    run = PositionRunner(close)
    run.quote(100, 99.95, 100.05)
    run.world.exit_locks[None] = HALTED
    run.at(120)
    assert not run.asks()
    assert run.outcome.untold == (f"what is due waits: {HALTED}",)
    run.world.exit_locks.clear()
    run.at(121)
    assert run.asks()


# --- cancels that are refused ------------------------------------------------------------------------------------------------


def test_an_order_that_cannot_be_cancelled_is_said_and_asked_for_again_as_long_as_it_takes():
    run = filled_bracket()
    run.refuse_cancels.add("A2")
    run.book("A3", "complete")
    run.at(600)
    cancels = [line for line in run.sent() if line == "CANCEL A2"]
    assert len(cancels) > 35
    assert run.outcome.untold == ("alpha refuses to cancel a live order of 10 units that is not wanted any more",)
    run.refuse_cancels.clear()
    run.at(620)
    run.book("A2", "cancelled")
    assert (run.state(), run.outcome.untold) == ("completed", ())


@pytest.mark.parametrize("knows", [True, False])
def test_a_daily_stop_whose_order_of_yesterday_still_seems_to_rest_is_told_when_it_is_due(knows):
    """Its broker could not be read since: an order of yesterday guards nothing today."""
    stop = NativeStop(trigger_price=D(95), limit_price=D(94))
    run = Runner(order(side="SELL", price=stop, execution=Daily(arm_at=time(9, 20), valid_days=30), is_exit=True))
    run.quote(100, 99.95, 100.05)
    run.at(61)
    assert len(run.sent()) == 1
    run.book("A1", "pending")
    run.put(attrs.evolve(run.leg("A1"), sent_at=run.world.now - 86_400 if not knows else run.world.now))
    run.look()
    run.at(64)
    units, sentences = trouble(run)
    if knows:
        assert (units, sentences) == ({}, ())
    else:
        said = f"what is due waits: {texts.old_order('alpha')}"
        assert (units, sentences) == ({"I": 10}, (said,))


@pytest.mark.parametrize("hangs", [True, False])
def test_a_trail_that_waits_for_its_activation_is_not_due(hangs):
    trail = Trail(percent=D(2), limit_offset=D(1), activate_at=D(110))
    exit_order = order("root.each_fill" if hangs else "root", "SELL", FromFill() if hangs else 10, trail, is_exit=True)
    run = Runner(order(price=100, each_fill=exit_order) if hangs else exit_order)
    run.quote(100, 99.95, 100.00)
    if hangs:
        run.book("A1", "complete")
    for second in range(1, 30):
        run.at(second)
    assert trouble(run) == ({}, ())


@pytest.mark.parametrize(("side", "level", "limit", "last"), [("SELL", 98, 97, 95), ("BUY", 102, 103, 105)])
def test_an_exit_of_the_engine_whose_own_limit_the_market_has_jumped_over_is_told(side, level, limit, last):
    """A close_on_trigger with a limit, or a gtt that closes: fired, and nobody trades at its limit any more."""
    when = PriceAt(instrument_id="I", level=D(level), direction=Direction.BELOW if side == "SELL" else Direction.ABOVE)
    run = Runner(order("root", side, 10, Fixed(D(limit)), is_exit=True, when=when))
    run.quote(100, 99.95, 100.05)
    run.quote(last, last - 0.05, last + 0.05)
    run.look()
    run.at(4)
    said = f"what is due waits: {texts.jumped_over(D(limit))}"
    assert trouble(run) == ({"I": 10}, (said,))
    run.quote(limit, limit - 0.05, limit + 0.05).at(6)
    assert trouble(run)[1] == ()
