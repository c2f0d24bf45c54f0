"""A stop and targets over shares that one sale reserves: the stop rests, a target that the market reaches is swapped in, and what the two
have out together is never more than the group guards (order-engine 1.12)."""

from decimal import Decimal as D

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.parts import FromFill, Share
from onebroker.actors.engine.plan.price_kinds import NativeStop, Trail
from onebroker.brokers.codec.refusals import says_shortage
from tests.actors.engine.plan.trees import oco, order
from tests.actors.engine.plan.world import Runner

STOP, TARGET = "root.children.0", "root.children.1"
WANT = "RMS: not enough holdings to sell"


def stop(path=STOP, quantity=10, **more):
    price = NativeStop(trigger_price=D(95), limit_price=D(94))
    return order(path, "SELL", quantity, price, product="CNC", is_exit=True, **more)


def target(path=TARGET, quantity=10, price=110, **more):
    return order(path, "SELL", quantity, price, product=more.pop("product", "CNC"), is_exit=True, **more)


def pair(*, hold=True):
    run = Reserving(oco("root", stop(), target(hold=hold)))
    return run.quote(100, 99.95, 100.05)


class Reserving(Runner):
    """A runner at a broker that blocks the shares of a resting sale: `held` shares are in the account."""

    held = 10

    def place(self, order):
        out = sum(leg.unfilled for leg in self.legs if leg.live and leg.side == "SELL")
        sold = sum(leg.filled for leg in self.legs if leg.side == "SELL")
        super().place(order)
        if order.side == "SELL" and out + order.quantity > self.held - sold:
            leg = self.legs[-1]
            self.put(
                attrs.evolve(
                    leg, state=LegState.REJECTED, status_message=WANT, shortage=True, ended_at=self.world.now
                )
            )  # fmt: skip
            self.log.append(f"REFUSED {leg.leg_id}")
        elif order.side == "SELL" and self.bound:
            self.check()

    bound = False

    def check(self):
        out = sum(leg.unfilled for leg in self.legs if leg.live and leg.side == "SELL")
        sold = sum(leg.filled for leg in self.legs if leg.side == "SELL")
        assert out + sold <= self.held, "more is out than is held"


def test_the_stop_rests_alone_and_makes_way_when_the_target_is_reached():
    run = pair()
    assert run.sent() == ["PLACE alpha SELL 10 SL 95/94 -> A1"]
    run.quote(110, 109.95, 110.05)
    assert run.sent() == ["CANCEL A1"]
    run.book("A1", "cancelled")
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 110 -> A2"]
    run.book("A2", "complete")
    assert (run.state(), run.sent()) == ("completed", [])


def refuse(run, leg_id, why="order entry is blocked"):
    run.put(
        attrs.evolve(run.leg(leg_id), state=LegState.REJECTED, status_message=why, ended_at=run.world.now)
    )  # fmt: skip
    return run.look()


def test_a_target_that_took_its_stops_place_goes_again_after_a_refusal_and_the_stop_stands_meanwhile():
    run = pair()
    run.quote(110, 109.95, 110.05)
    run.book("A1", "cancelled")
    assert run.sent()[-1] == "PLACE alpha SELL 10 LIMIT 110 -> A2"
    refuse(run, "A2")
    assert run.sent() == ["PLACE alpha SELL 10 SL 95/94 -> A3"]
    run.at(4.9)
    assert run.sent() == []
    run.at(5.1)
    assert run.sent() == ["CANCEL A3"], "the market is still there"
    run.book("A3", "cancelled")
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 110 -> A4"]
    run.book("A4", "complete")
    assert run.state() == "completed"


def filled_bracket():
    """Ten units with a stop that rests as A2, and a held target."""
    bracket = order(
        "root",
        each_fill=oco(
            "root.each_fill",
            order("root.each_fill.children.0", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)), is_exit=True, known_exit=True),
            order("root.each_fill.children.1", "SELL", FromFill(), 110, hold=True, is_exit=True, known_exit=True),
        ),
    )  # fmt: skip
    run = Runner(bracket).quote(100, 99.95, 100.05)
    run.book("A1", "complete")
    return run


def test_a_held_target_that_is_refused_beside_its_stop_is_told_as_long_as_its_units_are_open():
    run = filled_bracket()
    run.quote(111, 110.95, 111.05)
    assert run.sent()[-1] == "PLACE alpha SELL 10 LIMIT 110 -> A3"
    refuse(run, "A3")
    said = ("alpha has refused the target of 10 units, which is over: order entry is blocked",)
    assert (run.outcome.untold, run.outcome.unprotected, run.over()) == (said, {}, False)
    run.quote(94, 93.95, 94.05)
    run.book("A2", "complete")
    assert (run.outcome.untold, run.state()) == ((), "completed")


def test_a_held_target_that_no_broker_could_take_is_told_too():
    run = filled_bracket()
    path, why = "root.each_fill.children.1", "alpha cannot take this order: does not carry this instrument"
    run.parts[path] = attrs.evolve(run.parts[path], refusal=why)
    run.look()
    assert (run.outcome.untold, run.over()) == ((f"a target is over before it was sent: {why}",), False)


def test_a_target_that_the_market_leaves_goes_back_and_the_stop_stands_again():
    run = pair()
    run.quote(110, 109.95, 110.05)
    run.book("A1", "cancelled")
    run.sent()
    run.at(3).quote(109, 108.95, 109.05)
    assert run.sent() == []
    run.at(6)
    assert run.sent() == ["CANCEL A2"]
    run.book("A2", "cancelled")
    assert run.sent() == ["PLACE alpha SELL 10 SL 95/94 -> A3"]
    run.quote(110, 109.95, 110.05)
    run.at(20)
    assert run.sent() == ["CANCEL A3"]


def test_what_the_target_has_filled_is_not_guarded_again():
    run = pair()
    run.quote(110, 109.95, 110.05)
    run.book("A1", "cancelled")
    run.book("A2", filled=4)
    run.at(3).quote(109, 108.95, 109.05)
    run.at(6)
    run.book("A2", "cancelled")
    assert run.sent()[-1] == "PLACE alpha SELL 6 SL 95/94 -> A3"


def test_a_stop_that_fires_while_it_makes_way_leaves_the_target_nothing():
    run = pair()
    run.quote(110, 109.95, 110.05)
    run.sent()
    run.book("A1", "complete")
    assert (run.sent(), run.state()) == ([], "completed")


def test_a_target_that_its_broker_refuses_for_good_gives_the_stop_back():
    run = pair()
    run.quote(110, 109.95, 110.05)
    run.book("A1", "cancelled")
    run.book("A2", "rejected", message="price out of range")
    assert run.sent()[-1] == "PLACE alpha SELL 10 SL 95/94 -> A3"


def test_of_several_targets_only_the_reached_units_leave_the_stop():
    children = (
        stop(quantity=10),
        target("root.children.1", Share(D("0.5"), 10), 110, hold=True),
        target("root.children.2", Share(D("0.5"), 10), 120, hold=True),
    )
    run = Reserving(oco("root", *children)).quote(100, 99.95, 100.05)
    run.sent()
    run.quote(110, 109.95, 110.05)
    assert run.sent() == ["MODIFY A1 quantity 5", "PLACE alpha SELL 5 LIMIT 110 -> A2"]
    run.book("A2", "complete")
    run.quote(120, 119.95, 120.05)
    run.book("A1", "cancelled")
    assert run.sent()[-1] == "PLACE alpha SELL 5 LIMIT 120 -> A3"


def test_a_target_that_shall_rest_is_sent_after_the_stop_and_kept_when_it_is_refused():
    run = pair(hold=False)
    run.book("A1", "open")
    assert run.sent() == ["PLACE alpha SELL 10 SL 95/94 -> A1", "PLACE alpha SELL 10 LIMIT 110 -> A2", "REFUSED A2"]
    assert (run.state(), run.outcome.unprotected) == ("working", {})
    run.at(60)
    assert run.sent() == []
    run.quote(110, 109.95, 110.05)
    assert run.sent() == ["CANCEL A1"]
    run.book("A1", "cancelled")
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 110 -> A3"]


def test_a_stop_stays_whole_while_targets_that_were_sent_beside_it_wait_for_their_answers():
    """The broker refuses the first of three. The two others were sent beside the whole stop: they have taken nothing from it, and will be refused too."""
    targets = [target(f"root.children.{n}", Share(D("0.5"), 10), 110 + 10 * n) for n in (1, 2)]
    run = Reserving(oco("root", stop(quantity=10), *targets)).quote(100, 99.95, 100.05)
    run.held = 20  # so that the simulated broker answers nothing by itself
    run.book("A1", "open")
    late = [attrs.evolve(run.leg(one), state=LegState.SENDING) for one in ("A2", "A3")]
    run.legs = [run.leg("A1"), *late]
    run.sent()
    run.put(attrs.evolve(late[0], state=LegState.REJECTED, shortage=True, ended_at=run.world.now))
    run.at(1)
    assert run.sent() == []
    run.book("A3", "open")
    assert run.sent() == ["MODIFY A1 quantity 5"], (
        "it rests after all: what both have out is never more than is guarded"
    )


def test_a_target_of_shares_waits_until_a_broker_has_taken_the_stop():
    run = pair(hold=False)
    leg = run.leg("A1")
    run.legs = [attrs.evolve(leg, state=LegState.SENDING)]
    run.look()
    assert [one.leg_id for one in run.legs] == ["A1"]


def test_a_stop_that_is_refused_beside_a_resting_target_takes_its_place():
    run = Reserving(oco("root", stop(), target(product="NRML")))
    run.held = 0
    run.quote(100, 99.95, 100.05)
    assert run.sent() == [
        "PLACE alpha SELL 10 SL 95/94 -> A1",
        "REFUSED A1",
        "PLACE alpha SELL 10 LIMIT 110 -> A2",
        "REFUSED A2",
    ]
    assert run.state() == "rejected"


def test_the_pair_is_put_in_order_when_the_stop_was_refused_and_the_target_rests():
    run = Reserving(oco("root", stop(), target(product="NRML")))
    run.held = 20
    run.quote(100, 99.95, 100.05)
    run.held = 10
    run.put(attrs.evolve(run.leg("A1"), state=LegState.REJECTED, shortage=True, ended_at=run.world.now))
    run.sent()
    run.at(1)
    assert run.sent() == ["CANCEL A2"]
    assert run.outcome.unprotected == {"I": 10}
    run.book("A2", "cancelled")
    run.at(3)
    assert run.sent() == ["PLACE alpha SELL 10 SL 95/94 -> A3"]
    assert run.outcome.unprotected == {}


def test_a_group_whose_stop_was_refused_is_without_a_stop_while_its_target_rests():
    run = Runner(oco("root", stop(), target(product="NRML"))).quote(100, 99.95, 100.05)
    run.book("A1", "rejected", message="stop orders are not allowed")
    assert (run.state(), run.outcome.unprotected) == ("working", {"I": 10})


@pytest.mark.parametrize("held", [True, False])
def test_at_a_product_that_reserves_nothing_both_rest(held):
    run = Runner(oco("root", attrs.evolve(stop(), product="MIS"), target(product="MIS", hold=held)))
    run.quote(110, 109.95, 110.05) if held else run.quote(100, 99.95, 100.05)
    assert [leg.leg_id for leg in run.resting] == ["A1", "A2"]


def test_a_held_target_waits_while_its_stop_is_out_as_a_plain_limit():
    """The market was past the stop. Then it jumps up, and nobody is on the other side yet: with both at the exchange both would fill."""
    run = Runner(oco("root", attrs.evolve(stop(), product="MIS"), target(product="MIS", hold=True)))
    run.quote(90, 89.95, 90.05)
    run.book("A1", "open")
    assert [(leg.leg_id, leg.trigger) for leg in run.resting] == [("A1", None)]
    run.sent()
    run.quote(111, 110.95, 111.05)
    assert run.sent() == []
    run.book("A1", "complete")
    assert (run.sent(), run.over()) == ([], True)


def refused_late(run, leg_id):
    """The broker took the order, its caller was answered, and its book rejects it for want of shares."""
    leg = run.leg(leg_id)
    changes = {"state": LegState.REJECTED, "status_message": WANT, "shortage": True, "refused_late": True}
    run.put(attrs.evolve(leg, ended_at=run.world.now, **changes))
    return run.look()


def held_pair(units, **more):
    run = Runner(more.pop("root", oco("root", stop(), target(hold=True))), **more)
    run.world.holdings["alpha"] = units
    return run.quote(100, 99.95, 100.05)


def test_a_stop_that_is_refused_after_the_answer_goes_again_and_is_told_until_one_stands():
    run = held_pair(10)
    refused_late(run, "A1")
    assert (run.state(), run.outcome.unprotected) == ("held", {"I": 10})
    run.sent()
    told = []
    for seconds, again in ((2, "A2"), (7, "A3"), (22, "A4"), (37, "A5")):
        run.at(seconds)
        told.append(run.outcome.unprotected)
        assert run.sent() == [f"PLACE alpha SELL 10 SL 95/94 -> {again}"]
        if again != "A5":
            refused_late(run, again)
            told.append(run.outcome.unprotected)
    run.at(41.9)
    told.append(run.outcome.unprotected)
    assert told == [{"I": 10}] * len(told)
    run.at(42)
    assert (run.outcome.unprotected, run.sent()) == ({}, [])


def test_a_lone_stop_goes_again_too_and_ends_with_its_position():
    run = held_pair(10, root=stop("root"))
    refused_late(run, "A1")
    assert run.outcome.unprotected == {"I": 10}
    run.world.holdings["alpha"] = 0
    run.look()
    run.at(60)
    assert (run.over(), run.outcome.unprotected, [leg.leg_id for leg in run.legs]) == (True, {}, ["A1"])


def test_a_stop_over_nothing_that_is_held_is_an_entry_and_is_refused_for_good():
    run = held_pair(0, root=stop("root"))
    refused_late(run, "A1")
    assert (run.state(), run.outcome.unprotected) == ("rejected", {})


def test_a_lone_target_that_is_refused_after_the_answer_is_told_and_not_sent_again():
    run = held_pair(10, root=target("root"))
    refused_late(run, "A1")
    run.at(60)
    assert (run.state(), run.outcome.unprotected, len(run.legs)) == ("rejected", {"I": 10}, 1)


def test_a_stop_that_is_refused_after_the_answer_for_another_reason_is_told():
    run = held_pair(10, root=stop("root"))
    run.put(attrs.evolve(run.leg("A1"), state=LegState.REJECTED, status_message="not allowed", refused_late=True))
    run.look()
    assert (run.state(), run.outcome.unprotected) == ("rejected", {"I": 10})


def test_a_stop_that_is_refused_in_the_answer_stays_refused():
    run = held_pair(10, root=stop("root"))
    run.put(attrs.evolve(run.leg("A1"), state=LegState.REJECTED, status_message=WANT, shortage=True))
    run.look()
    assert (run.state(), run.outcome.unprotected) == ("rejected", {})


@given(st.data())
def test_whatever_happens_no_more_is_out_than_is_held_and_the_stop_comes_back(data):
    """Prices, fills, cancels by another hand and refusals in any order."""
    hold = data.draw(st.booleans())
    entry = order(
        product="CNC",
        price=100,
        each_fill=oco(
            "root.each_fill",
            stop("root.each_fill.children.0", FromFill(), known_exit=True),
            target("root.each_fill.children.1", FromFill(), hold=hold, known_exit=True),
        ),
    )
    run = Reserving(entry)
    run.bound = True
    run.held = 0
    run.quote(100, 99.95, 100.00)
    at = 0
    for _ in range(data.draw(st.integers(1, 12))):
        at += data.draw(st.sampled_from([0.1, 1, 3, 7]))
        run.at(at)
        live = [leg for leg in run.legs if leg.live]
        event = data.draw(st.sampled_from(["price", "fill", "confirm"]))
        if event == "price":
            last = data.draw(st.sampled_from([96, 100, 105, 110, 111]))
            run.quote(last, last - 0.05, last + 0.05)
        elif event == "confirm":
            for leg in live:
                if leg.state is LegState.CANCELLING:
                    run.book(leg.leg_id, "cancelled")
        elif live:
            leg = data.draw(st.sampled_from(live))
            more = data.draw(st.integers(1, leg.unfilled))
            if leg.side == "BUY":
                run.held += more
            filled = leg.filled + more
            run.book(leg.leg_id, "complete" if filled == leg.quantity else None, filled=filled)
        run.check()
    run.quote(100, 99.95, 100.05)
    for step in range(40):
        run.at(at + 20 * (step + 1))
        for leg in run.legs:
            if leg.state is LegState.CANCELLING:
                run.book(leg.leg_id, "cancelled")
    assert not hold or not any(line.startswith("REFUSED") for line in run.log)
    bought = sum(leg.filled for leg in run.legs if leg.side == "BUY")
    sold = sum(leg.filled for leg in run.legs if leg.side == "SELL")
    stops = sum(leg.unfilled for leg in run.legs if leg.live and leg.trigger is not None)
    assert stops == bought - sold


def test_a_target_that_is_swapped_in_after_a_late_refusal_is_no_lost_stop():
    """Its stop had the shares, and the broker has confirmed the stop's end: nothing is said, as of any other swap."""
    run = held_pair(10, root=oco("root", stop(), target(hold=False)))
    run.book("A1", "open")
    run.at(1)
    assert [leg.leg_id for leg in run.resting] == ["A1", "A2"]
    refused_late(run, "A2")
    run.at(4).quote(110, 109.95, 110.05)
    run.at(6)
    run.book("A1", "cancelled")
    assert [(leg.leg_id, leg.price) for leg in run.resting] == [("A3", D(110))]
    for seconds in (6.5, 8, 10):
        run.at(seconds)
        assert run.outcome.unprotected == {}


@pytest.mark.parametrize("fills", [True, False])
def test_a_target_does_not_rest_beside_a_stop_that_leaves_as_a_plain_limit(fills):
    """The entry filled while the market was past its stop. A jump up would fill both of two resting sales."""
    exits = oco(
        "root.each_fill",
        intraday_stop("root.each_fill.children.0"),
        target("root.each_fill.children.1", FromFill(), product="MIS"),
    )
    run = Runner(order(each_fill=exits))
    run.quote(90, 89.95, 90.05)
    run.sent()
    run.book("A1", "complete", average=90)
    run.at(2)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 94 -> A2"]
    if fills:
        run.book("A2", "complete")
        assert (run.sent(), run.state()) == ([], "completed")
    else:
        run.book("A2", "cancelled")  # by its holder: the target alone is left
        run.at(4)
        assert run.sent() == ["PLACE alpha SELL 10 LIMIT 110 -> A3"]


@pytest.mark.parametrize("first", ["stop", "target"])
def test_a_target_over_held_units_waits_for_a_stop_that_leaves_as_a_plain_limit(first):
    """A caller has written the pair while the market was past its stop, in whatever order (model 80000049)."""
    guard = intraday_stop("root.children.0", 10)
    goal = target("root.children.1", 10, product="MIS", hold=False)
    root = oco("root", guard, goal)
    if first == "target":
        root = attrs.evolve(root, children=(goal, guard))
    run = Runner(root)
    run.quote(90, 89.95, 90.05)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 94 -> A1"]
    run.at(5).quote(112, 111.95, 112.05)
    assert run.sent() == []
    run.book("A1", "cancelled")
    run.at(7)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 110 -> A2"]


def test_a_target_does_not_wait_for_a_trail_that_has_not_begun():
    trail = Trail(points=D(2), limit_offset=D(1), activate_at=D(105))
    guard = order("root.children.0", "SELL", 10, trail, is_exit=True, known_exit=True)
    run = Runner(oco("root", guard, target("root.children.1", 10, product="MIS", hold=False)))
    run.quote(100, 99.95, 100.05)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 110 -> A1"]


def intraday_stop(path, quantity=None):
    price = NativeStop(trigger_price=D(95), limit_price=D(94))
    return order(path, "SELL", FromFill() if quantity is None else quantity, price, is_exit=True, known_exit=True)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("not enough holdings to sell", True),
        ("RMS:Rule: Check holdings including collateral value NA, Insufficient holding", True),
        ("insufficient funds: required margin 100.00, available margin 3.00", True),
        ("Margin Exceeds,Required:1200, Available:30", True),
        ("Margin shortfall of Rs 300", True),
        ("RMS:Rule: Check holdings including BTST for entity account-AB1234 across exchange across segment", True),
        ("order quantity exceeds the freeze quantity", False),
        ("price out of range", False),
        ("trading is not allowed in this security", False),
    ],
)
def test_a_refusal_for_want_of_shares_or_money_is_known_by_its_words(words, expected):
    assert says_shortage(words) is expected
