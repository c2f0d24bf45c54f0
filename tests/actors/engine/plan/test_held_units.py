"""Exits ask whether there is still something to exit: they follow the settled position, and say what has gone (order-engine 1.13)."""

from datetime import time
from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.orders.part_state import PartRecord
from onebroker.actors.engine.plan.execution_kinds import Ladder
from onebroker.actors.engine.plan.machine.held_units import closing_sides
from onebroker.actors.engine.plan.machine.look import Rules
from onebroker.actors.engine.plan.parts import Direction, FromFill, Lifetime, OnEnd, PriceAt, SequencePart, Share
from onebroker.actors.engine.plan.price_kinds import ExitOrder, FillBasis, Fixed, FromFillPrice, NativeStop
from tests.actors.engine.plan.trees import oco, order, together
from tests.actors.engine.plan.world import Runner

LESS = "alpha holds 40 of the 100 units that this order guards"


def bracket():
    exits = oco(
        "root.each_fill",
        order("root.each_fill.children.0", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)),
              is_exit=True, known_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), Fixed(D(110)), is_exit=True, known_exit=True),
    )  # fmt: skip
    return order(quantity=100, price=100, each_fill=exits)


def filled(**rules):
    run = Runner(bracket(), rules=Rules(**rules))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    run.sent()
    return run


def holds(run, units, broker="alpha"):
    run.world.holdings[broker] = units
    return run.look()


def test_exits_become_as_small_as_the_position_and_say_so():
    run = filled()
    holds(run, 100)
    assert (run.sent(), run.outcome.untold) == ([], ())
    holds(run, 40)
    assert sorted(run.sent()) == ["MODIFY A2 quantity 40", "MODIFY A3 quantity 40"]
    assert (run.outcome.untold, run.outcome.unprotected) == ((LESS,), {})


def test_what_an_exit_of_unknown_outcome_may_have_sold_has_not_gone():
    """Its broker took the target and did not answer; the position shows the fill before anybody knows the order."""
    run = filled()
    run.book("A2", "open")
    run.put(attrs.evolve(run.leg("A3"), state=LegState.UNKNOWN))
    holds(run, 0)
    assert (run.sent(), run.outcome.untold) == ([], ())
    run.put(attrs.evolve(run.leg("A3"), state=LegState.OPEN))
    run.look()
    assert sorted(run.sent()) == ["CANCEL A2", "CANCEL A3"]


def test_exits_of_a_position_that_has_gone_end_and_nothing_is_without_a_stop():
    run = filled()
    holds(run, 0)
    assert sorted(run.sent()) == ["CANCEL A2", "CANCEL A3"]
    run.book("A2", "cancelled")
    run.book("A3", "cancelled")
    assert (run.over(), run.outcome.unprotected) == (True, {})


def test_what_is_not_settled_moves_nothing():
    run = filled()
    run.world.holdings.clear()
    run.at(60)
    assert (run.sent(), run.outcome.untold) == ([], ())


def test_exits_that_shall_not_follow_stay_and_the_position_is_told():
    run = filled(exits_follow=False)
    holds(run, 40)
    assert (run.sent(), run.outcome.untold) == ([], (LESS,))


def test_an_exit_s_own_fill_is_no_news():
    run = filled()
    holds(run, 100)
    run.book("A3", filled=30)
    assert run.sent() == ["MODIFY A2 quantity 70"]
    holds(run, 70)
    assert (run.sent(), run.outcome.untold) == ([], ())


def test_after_the_broker_has_squared_off_no_unit_is_without_a_stop():
    run = filled()
    run.book("A2", "cancelled")
    assert run.outcome.unprotected == {"I": 100}
    holds(run, 0)
    assert run.outcome.unprotected == {}


def stop(**more):
    price = NativeStop(trigger_price=D(95), limit_price=D(94))
    return order(side="SELL", quantity=100, price=price, is_exit=True, broker="alpha", **more)


@pytest.mark.parametrize(("armed", "sent"), [(100, ["MODIFY A1 quantity 40"]), (0, []), (None, [])])
def test_a_stop_follows_what_was_held_when_it_was_armed_and_over_nothing_it_is_an_entry(armed, sent):
    run = Runner(stop())
    if armed is not None:
        run.world.holdings["alpha"] = armed
    run.quote(100, 99.95, 100.05)
    run.sent()
    holds(run, 40)
    assert run.sent() == sent


@pytest.mark.parametrize("armed", [100, 0, None])
def test_what_its_caller_says_it_closes_was_held_although_the_positions_could_not_be_read_then(armed):
    """A person has sold 60 before the first read."""
    run = Runner(stop(), rules=Rules(closes=True))
    if armed is not None:
        run.world.holdings["alpha"] = armed
    run.quote(100, 99.95, 100.05)
    run.sent()
    holds(run, 40)
    assert run.sent() == ["MODIFY A1 quantity 40"]


@pytest.mark.parametrize(
    ("asked", "held", "others", "then", "left"),
    [
        (20, 120, 100, (90, 100), 0),  # a person sold 30: the plan that has bought its 100 keeps them
        (20, 120, 100, (110, 100), 10),
        (20, 120, 100, (20, 0), 20),  # the other plan's stop has sold its 100
        (20, 120, 100, (220, 200), 20),  # a further plan has bought and guards 100
        (100, 100, 100, (100, 100), 100),  # a second stop over guarded units is its caller's decision
        (100, 100, 100, (60, 100), 60),
        (100, 120, 100, (120, 100), 100),
        (100, 120, 100, (110, 100), 90),
    ],
)
def test_a_stop_without_an_entry_gives_way_to_plans_that_have_bought_their_units(asked, held, others, then, left):
    stop = order(
        "root", "SELL", asked, NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True, broker="alpha"
    )
    run = Runner(stop)
    run.world.holdings["alpha"], run.world.others["alpha"] = held, others
    run.quote(100, 99.95, 100.00)
    assert run.sent() == [f"PLACE alpha SELL {asked} SL 95/94 -> A1"]
    run.world.holdings["alpha"], run.world.others["alpha"] = then
    run.look()
    expected = {asked: [], 0: ["CANCEL A1"]}
    assert run.sent() == expected.get(left, [f"MODIFY A1 quantity {left}"])


def test_a_stop_that_rested_over_a_position_that_has_gone_does_not_say_that_it_was_never_sent():
    run = Runner(stop())
    run.world.holdings["alpha"] = 100
    run.quote(100, 99.95, 100.05)
    holds(run, 0)
    assert run.sent() == ["PLACE alpha SELL 100 SL 95/94 -> A1", "CANCEL A1"]
    said = run.parts["root"].status_message
    assert said == "alpha does not hold what this exit would close any more, so it has ended"


# --- a plan whose other parts go on ------------------------------------------------------------------------------------------


def beside_another(first):
    """A plan of two: `first` at root.children.0, and an order in another instrument that rests."""
    run = Runner(together("root", first, order("root.children.1", "BUY", 20, 50, of="OTHER")))
    run.quote(100, 99.95, 100.00).quote(50, 49.95, 50.05, of="OTHER")
    return run


def entry(side="BUY", **more):
    sign = 1 if side == "BUY" else -1
    closing = "SELL" if side == "BUY" else "BUY"
    stop = NativeStop(trigger_price=D(100 - 5 * sign), limit_price=D(100 - 6 * sign))
    link = order("root.children.0.each_fill", closing, FromFill(), stop, is_exit=True, known_exit=True)
    return order("root.children.0", side, 100, 100, **{"each_fill": link, **more})


@pytest.mark.parametrize("side", ["BUY", "SELL"])
def test_a_position_that_has_gone_is_told_until_its_exits_have_ended(side):
    """The rest of the plan goes on: a close within limits has taken this position, and the order guards nothing there any more."""
    run = beside_another(entry(side))
    run.book("A1", "complete")
    holds(run, 100)
    (stop,) = [leg.leg_id for leg in run.resting if leg.part == "root.children.0.each_fill"]
    holds(run, 0)
    assert run.outcome.untold == ("alpha holds 0 of the 100 units that this order guards",)
    run.book(stop, "cancelled")
    assert (run.over(), run.outcome.untold, run.outcome.unprotected) == (False, (), {})


def test_of_what_is_still_held_without_its_exit_only_the_open_units_are_told():
    run = beside_another(entry())
    run.book("A1", "complete")
    holds(run, 40)
    assert run.outcome.untold == (LESS,)
    (stop,) = [leg.leg_id for leg in run.resting if leg.part == "root.children.0.each_fill"]
    run.book(stop, "cancelled")
    assert (run.outcome.untold, run.outcome.unprotected) == ((), {"I": 40})


def test_a_position_that_has_gone_is_told_while_the_end_of_a_lifetime_is_to_close_it():
    ends = Lifetime(at_time=time(15), on_end=OnEnd.CLOSE_FILLED)
    run = beside_another(entry(each_fill=None, lifetime=ends))
    run.book("A1", "complete")
    holds(run, 40)
    assert run.outcome.untold == (LESS,)


# --- several plans over one position ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("held", "older", "left"), [(200, 100, 100), (140, 100, 40), (80, 100, 0), (140, 0, 100), (None, 100, 100)]
)
def test_a_newer_plan_guards_what_the_older_ones_leave(held, older, left):
    run = filled()
    run.world.older["alpha"] = older
    if held is not None:
        holds(run, held)
    for leg in list(run.resting):
        if leg.state is LegState.CANCELLING:
            run.book(leg.leg_id, "cancelled")
    assert {leg.quantity for leg in run.resting} == ({left} if left else set())


@pytest.mark.parametrize(("held", "open_units"), [(100, 100), (30, 30), (0, 0), (None, 100)])
def test_units_that_no_broker_holds_any_more_are_not_open_without_the_stop_that_was_cancelled(held, open_units):
    """A group without an entry, whose stop its holder has cancelled, while its target waits in the engine."""
    stop = order("root.children.0", "SELL", 100, NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True)
    run = Runner(oco("root", stop, order("root.children.1", "SELL", 100, 110, is_exit=True, hold=True)))
    holds(run, 100)
    run.quote(100, 99.95, 100.00)
    run.book("A1", "open")
    run.at(5)
    run.book("A1", "cancelled")
    if held is None:
        run.world.holdings.clear()
        run.look()
    else:
        holds(run, held)
    assert run.outcome.unprotected == ({"I": open_units} if open_units else {})


@pytest.mark.parametrize("left", [20, 50])
def test_a_closing_ladder_that_has_become_smaller_sends_nothing_more(left):
    """It is cut anew, and its rungs no longer fit what rests: it must not fill the small rungs up beside the large order that has stayed."""
    ladder = Ladder(from_price=D(110), to_price=D(112), steps=3)
    run = Runner(order("root", "SELL", 90, 110, execution=ladder, is_exit=True, broker="alpha"))
    run.world.holdings["alpha"] = 90
    run.quote(100, 99.95, 100.05)
    for leg in run.legs:
        run.book(leg.leg_id, "open")
    run.sent()
    holds(run, left)
    for leg in run.resting:
        if any(f"CANCEL {leg.leg_id}" in sent for sent in run.log):
            run.book(leg.leg_id, "cancelled")
    for second in range(1, 30):
        run.at(second)
    assert sum(leg.unfilled for leg in run.resting) == left
    assert not any(sent.startswith("PLACE") for sent in run.sent())


@pytest.mark.parametrize("left", [0, 5, 10, 15, 17])
def test_exits_for_single_fills_send_nothing_more_once_they_have_become_smaller(left):
    """Two fills of 10 have an exit each. What has gone is taken off the newest; its fill must not ask for it again."""
    profit = FromFillPrice(distance=D(2), order=ExitOrder.LIMIT, basis=FillBasis.LIMIT)
    link = order("root.each_fill", "SELL", FromFill(), profit, is_exit=True, known_exit=True)
    ladder = Ladder(from_price=D(100), to_price=D(99), steps=2)
    run = Runner(order(quantity=20, price=100, execution=ladder, each_fill=link))
    run.quote(100.5, 100.45, 100.55)
    for leg in run.resting:
        run.book(leg.leg_id, "complete")
    for leg in run.resting:
        run.book(leg.leg_id, "open")
    assert [leg.quantity for leg in run.resting] == [10, 10]
    run.sent()
    holds(run, left)
    for leg in run.resting:
        if any(f"CANCEL {leg.leg_id}" in sent for sent in run.log):
            run.book(leg.leg_id, "cancelled")
    since = len(run.log)
    for second in range(1, 30):
        run.at(second)
    assert sum(leg.unfilled for leg in run.resting) == left
    assert len(run.log) - since <= 1, run.log


def half(path, target, size):
    return oco(
        path,
        order(f"{path}.children.0", "SELL", size, NativeStop(trigger_price=D(95), limit_price=D(94)),
              is_exit=True, known_exit=True),
        order(f"{path}.children.1", "SELL", size, Fixed(D(target)), is_exit=True, known_exit=True),
    )  # fmt: skip


def resting_halves(size):
    """An entry of 40 that has filled, with two groups of exits of half of it each, which rest."""
    link = together("root.each_fill", *(half(f"root.each_fill.children.{n}", 110 + n, size) for n in (0, 1)))
    run = Runner(order(quantity=40, price=100, each_fill=link))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    for leg in run.resting:
        run.book(leg.leg_id, "open")
    return run


@pytest.mark.parametrize("left", [0, 1, 20, 27, 33, 39, 40])
@pytest.mark.parametrize(
    ("size", "target_filled"),
    [(FromFill(ratio=D("0.5")), False), (FromFill(ratio=D("0.5")), True), (Share(D("0.5")), False)],
)
def test_exits_side_by_side_share_what_is_left(left, size, target_filled):
    """Two groups of half the entry each: neither may have all that is left."""
    run = resting_halves(size)
    if target_filled:
        target = next(leg for leg in run.resting if leg.trigger is None)
        run.book(target.leg_id, "complete")
        _book_cancels(run)
        left = min(left, 20)
    holds(run, left)
    for _ in range(3):
        _book_cancels(run)
        run.look()
    assert sum(leg.unfilled for leg in run.resting if leg.trigger is not None) == left
    # In a group of shares their sum is kept, the last first: then the targets go.
    targets = sum(leg.unfilled for leg in run.resting if leg.trigger is None)
    assert targets == left or isinstance(size, Share)


@pytest.mark.parametrize("size", [FromFill(ratio=D("0.5")), Share(D("0.5"))])
def test_stops_side_by_side_are_together_no_more_than_a_target_leaves(size):
    """The nearer target of one group closes its half. Nothing has gone, and yet the stops of both groups may not be for all that was bought."""
    run = resting_halves(size)
    run.book(next(leg.leg_id for leg in run.resting if leg.trigger is None), "complete")
    for _ in range(3):
        _book_cancels(run)
        run.look()
    assert sum(leg.unfilled for leg in run.resting if leg.trigger is not None) == 20


def test_two_whole_stops_side_by_side_guard_the_entry_once():
    """A market that jumps over both would else sell twice what was bought."""
    stops = [
        order(f"root.each_fill.children.{n}", "SELL", FromFill(), NativeStop(trigger_price=D(95 - n), limit_price=D(90)),
              is_exit=True, known_exit=True)
        for n in (0, 1)
    ]  # fmt: skip
    run = Runner(order(quantity=40, price=100, each_fill=together("root.each_fill", *stops)))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    assert [leg.unfilled for leg in run.resting] == [20, 20]


def guarded_entry(path, units):
    return order(path, quantity=units, price=100, each_fill=half(f"{path}.each_fill", 110, FromFill()))


@pytest.mark.parametrize("left", [0, 12, 20, 27, 32, 40])
@pytest.mark.parametrize("kind", ["entries", "sequence"])
def test_exits_of_several_entries_are_together_no_more_than_is_held(kind, left):
    """Each entry alone would still be covered by what is left. Nobody can tell whose units have gone: the first one keeps its exits."""
    if kind == "entries":
        root = together("root", *(guarded_entry(f"root.children.{n}", 20) for n in (0, 1)))
    else:
        root = SequencePart(path="root", first=guarded_entry("root.first", 20), then=guarded_entry("root.then", 20))
    run = Runner(root)
    run.quote(100, 99.95, 100.00)
    for _ in range(6):
        for leg in run.resting:
            run.book(leg.leg_id, "complete" if leg.side == "BUY" else "open")
    holds(run, left)
    for _ in range(4):
        _book_cancels(run)
        run.look()
    for stops in (True, False):
        rests = [leg.unfilled for leg in run.resting if (leg.trigger is not None) is stops]
        assert sum(rests) == left
        assert max(rests, default=0) == min(left, 20)


@pytest.mark.parametrize("left", [0, 12, 20, 27, 32, 40])
def test_exits_without_an_entry_side_by_side_are_together_no_more_than_is_held(left):
    pairs = [
        oco(
            f"root.children.{n}",
            order(f"root.children.{n}.children.0", "SELL", 20, NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True),
            order(f"root.children.{n}.children.1", "SELL", 20, 110 + n, is_exit=True),
        )
        for n in (0, 1)
    ]  # fmt: skip
    run = Runner(together("root", *pairs))
    run.world.holdings["alpha"] = 40
    run.quote(100, 99.95, 100.00)
    for leg in run.resting:
        run.book(leg.leg_id, "open")
    holds(run, left)
    for _ in range(4):
        _book_cancels(run)
        run.look()
    for stops in (True, False):
        assert sum(leg.unfilled for leg in run.resting if (leg.trigger is not None) is stops) == left


def test_what_a_sibling_has_sold_has_not_gone():
    """The stop of an oco over held units fills; its target's cancel is not confirmed yet."""
    pair = oco(
        "root",
        order("root.children.0", "SELL", 20, NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True),
        order("root.children.1", "SELL", 20, 110, is_exit=True),
    )
    run = Runner(pair)
    run.world.holdings["alpha"] = 20
    run.quote(100, 99.95, 100.00)
    for leg in run.resting:
        run.book(leg.leg_id, "open")
    holds(run, 20)
    run.book("A1", "complete")
    holds(run, 0)
    assert (run.outcome.untold, run.outcome.unprotected) == ((), {})


def _book_cancels(run):
    for leg in run.resting:
        if any(f"CANCEL {leg.leg_id}" in sent for sent in run.log):
            run.book(leg.leg_id, "cancelled")


def test_a_whole_stop_beside_half_targets_still_guards_all_that_is_left():
    stop = order("root.each_fill.children.0", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)),
                 is_exit=True, known_exit=True)  # fmt: skip
    targets = [
        order(f"root.each_fill.children.{n}", "SELL", Share(D("0.5")), 110 + n, is_exit=True, known_exit=True)
        for n in (1, 2)
    ]
    run = Runner(order(quantity=40, price=100, each_fill=together("root.each_fill", stop, *targets)))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    for leg in run.resting:
        run.book(leg.leg_id, "open")
    holds(run, 20)
    assert sorted((leg.trigger is not None, leg.unfilled) for leg in run.resting) == [
        (False, 10),
        (False, 10),
        (True, 20),
    ]


def test_a_hedge_beside_a_stop_takes_no_share_of_what_is_left():
    """It waits for a price as a hidden stop does, but it closes nothing of the entry."""
    stop = order("root.each_fill.children.0", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)),
                 is_exit=True, known_exit=True)  # fmt: skip
    when = PriceAt(instrument_id="I", level=D(90), direction=Direction.BELOW)
    hedge = order("root.each_fill.children.1", "SELL", FromFill(), 50, of="H", when=when)
    run = Runner(order(quantity=40, price=100, each_fill=together("root.each_fill", stop, hedge)))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    for leg in run.resting:
        run.book(leg.leg_id, "open")
    holds(run, 20)
    assert [leg.unfilled for leg in run.resting] == [20]


@pytest.mark.parametrize(("against", "sides"), [(None, {"root.first": "SELL", "root.then": "SELL"}), (20, {})])
def test_what_a_second_order_sells_is_held_by_its_plan(against, sides):
    """A lone exit beside it gives way. Where the first order has closed units of others, nothing is held."""
    then = order("root.then", "SELL", FromFill(), Fixed(D(110)))
    root = SequencePart(path="root", first=order("root.first", quantity=100, price=100), then=then)
    assert closing_sides(root, {"root.first": PartRecord(armed_against=against)}) == sides


def test_what_the_end_of_a_lifetime_closes_is_held_by_its_plan():
    life = Lifetime(at_time=time(15), on_end=OnEnd.CLOSE_FILLED)
    assert closing_sides(order(quantity=100, price=100, lifetime=life), {}) == {"root": "SELL"}


def test_an_order_at_a_holder_does_not_grow_by_units_that_are_doubted_and_shrink_by_settled_ones():
    """The exchange has annulled a sale of ten that the broker's book still shows as filled."""
    stop = order("root", "SELL", 40, NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True)
    run = Runner(stop)
    run.world.holdings.update(alpha=30, beta=10)
    run.world.doubted["alpha"] = 10
    run.quote(100, 99.95, 100.00)
    run.book("A1", "pending")
    run.sent()
    said = []
    for _ in range(6):
        run.look()
        said += run.sent()
    assert sum(one.startswith("MODIFY A1") for one in said) <= 1, said
