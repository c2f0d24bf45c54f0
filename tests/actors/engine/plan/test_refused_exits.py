"""Closes and exits that a broker has refused, and that go again (order-engine 1.11)."""

from decimal import Decimal as D

import attrs
import pytest

from onebroker.actors.engine.orders.parent_records import LegState
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING
from onebroker.actors.engine.plan.machine.look import Look
from onebroker.actors.engine.plan.machine.position_closes import FoundRows, refused_for_now, with_rows
from onebroker.actors.engine.plan.parts import Direction, FromFill, Lifetime, OnEnd, PriceAt
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.brokers.codec.refusals import says_price_limits
from onebroker.config.messages import plan_life as texts
from tests.actors.engine.plan.test_positions import PositionRunner, closes, key
from tests.actors.engine.plan.trees import order
from tests.actors.engine.plan.world import Runner

CIRCUIT = "price is outside the circuit limits 89.95 - 110"
BELOW_91 = PriceAt(instrument_id="I", direction=Direction.BELOW, level=D(91))
OTHER = "RMS: blocked for this instrument"


def refused(run, leg_id, why=OTHER, *, late=True, beyond=False, shortage=False):
    """A broker refuses an order, in its book after the answer (`late`) or in the answer."""
    leg = attrs.evolve(
        run.leg(leg_id), state=LegState.REJECTED, status_message=why, refused_late=late, beyond_limits=beyond,
        shortage=shortage, ended_at=run.world.now,
    )  # fmt: skip
    run.put(leg)
    return run.look()


def cleared(run, *rows):
    """A read that has ended what guarded the positions: (broker, signed net)."""
    run.parts["root"] = attrs.evolve(run.parts["root"], rows_cleared=tuple(key(broker) for broker, _ in rows))
    return run.found(*((broker, "I", net, abs(net)) for broker, net in rows))


def read_again(run, broker, net):
    """The rows are read again: what was refused does not count, as in the shell."""
    assert run.asks(), "nobody asked for rows"
    found = FoundRows(rows=(), nets={}, message=None, at=run.world.now)
    if net:
        (row,) = run.parts["root"].rows
        found = attrs.evolve(
            found, rows=(attrs.evolve(row, quantity=net, units=abs(net), cleared=False),), nets={row.key: net}
        )
    legs = [leg for leg in run.legs if leg.state is not LegState.REJECTED]
    run.parts["root"] = with_rows(run.parts["root"], legs, (), found)
    return run.look()


def later(**more):
    """A close that waits for a price; its caller was answered long before."""
    return closes(when=BELOW_91, **more)


@pytest.fixture
def run():
    run = PositionRunner(later())
    run.quote(100, 100.00, 100.05)
    run.at(5).quote(90, 90.00, 90.05)
    cleared(run, ("alpha", 10))
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 89.9 -> A1"]
    return run


@pytest.mark.parametrize(("late", "beyond"), [(True, False), (False, False), (True, True)])
def test_a_close_that_took_a_stop_away_goes_again_at_the_touch_after_its_rows_are_read_again(run, late, beyond):
    refused(run, "A1", CIRCUIT if beyond else OTHER, late=late, beyond=beyond)
    run.at(6.9)
    assert (run.over(), run.asks(), run.sent()) == (False, False, [])
    run.at(7)
    read_again(run, "alpha", 10)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 90 -> A2"]
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_it_goes_again_and_again_and_is_told_as_long_as_no_order_stands(run):
    refused(run, "A1")
    for number, wait in ((2, 2), (3, 5), (4, 15), (5, 15)):
        since = run.world.now - run.started
        run.at(since + wait - 0.1)
        assert run.outcome.unprotected == ({} if wait == 2 else {"I": 10})
        assert run.sent() == []
        run.at(since + wait)
        read_again(run, "alpha", 10)
        assert run.sent() == [f"PLACE alpha SELL 10 LIMIT 90 -> A{number}"]
        refused(run, f"A{number}")
    run.at(run.world.now - run.started + 3)
    assert run.parts["root"].held_up == texts.close_refused("alpha", OTHER)


def test_a_position_that_has_gone_meanwhile_is_not_closed(run):
    refused(run, "A1")
    run.at(7)
    read_again(run, "alpha", 0)
    assert (run.sent(), run.state(), run.message) == ([], "completed", texts.NO_POSITION)


def test_where_nobody_bids_after_a_refusal_it_rests_at_the_last_price(run):
    refused(run, "A1", CIRCUIT, beyond=True)
    run.quote(90, None, 90.05)
    run.at(7)
    read_again(run, "alpha", 10)
    run.at(9.5)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 90 -> A2"]


def test_a_resting_close_is_not_moved_past_the_touch_again(run):
    refused(run, "A1", CIRCUIT, beyond=True)
    run.at(7)
    read_again(run, "alpha", 10)
    run.at(60).quote(89.95, 89.95, 90.05)
    run.at(120)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 90 -> A2", "MODIFY A2 price 89.95"]


def test_a_refusal_ends_a_close_that_took_nothing_away_unless_its_price_was_the_reason():
    for why, beyond, over in ((OTHER, False, True), (CIRCUIT, True, False)):
        run = PositionRunner(later())
        run.quote(90, 90.00, 90.05)
        run.at(1)
        run.found(("alpha", "I", 10, 10))
        refused(run, "A1", why, beyond=beyond)
        assert run.over() == over


def test_a_caller_who_waits_for_the_answer_hears_of_the_refusal_and_of_the_units_without_a_stop():
    run = PositionRunner(closes())
    run.quote(100, 100.00, 100.05)
    cleared(run, ("alpha", 10))
    refused(run, "A1", late=False)
    assert (run.state(), run.outcome.unprotected) == ("rejected", {"I": 10})


@pytest.mark.parametrize(("held", "left"), [({}, 7), ({"alpha": 4}, 4), ({"alpha": 0}, 0), ({"alpha": 50}, 7)])
def test_what_a_close_leaves_open_whose_stop_it_took_away_is_told_after_its_end(run, held, left):
    run.book("A1", filled=3)
    run.world.holdings = held
    run.book("A1", "cancelled")  # by its holder, in the app
    assert (run.state(), run.outcome.unprotected) == ("cancelled", {"I": left} if left else {})


def test_what_guarded_a_position_is_known_although_it_became_a_row_only_with_a_later_read():
    run = PositionRunner(later())
    run.quote(90, 90.00, 90.05)
    run.at(1)
    run.parts["root"] = attrs.evolve(run.parts["root"], rows_cleared=(key("alpha"),))  # then the process ended
    run.restarted().found(("alpha", "I", 10, 10), ("beta", "I", 5, 5))
    assert [row.cleared for row in run.parts["root"].rows] == [True, False]


# --- exits that took nothing away ------------------------------------------------------------------------------------------


def hidden(**more):
    return order(side="SELL", price=Marketable(follow=True), is_exit=True, known_exit=True, when=BELOW_91, **more)


@pytest.mark.parametrize(("beyond", "goes_on"), [(True, True), (False, False)])
def test_a_fired_exit_whose_price_was_beyond_the_limits_goes_again_at_the_touch(beyond, goes_on):
    run = Runner(hidden())
    run.quote(100, 100.00, 100.05)
    run.at(5).quote(90, 90.00, 90.05)
    run.at(6)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 89.9 -> A1"]
    refused(run, "A1", CIRCUIT, late=False, beyond=beyond)
    assert run.over() is not goes_on
    assert run.outcome.unprotected == {"I": 10}
    run.at(8)
    assert run.sent() == (["PLACE alpha SELL 10 LIMIT 90 -> A2"] if goes_on else [])


def test_an_exit_that_leaves_at_once_is_refused_for_good_and_its_caller_hears_it():
    run = Runner(order(side="SELL", price=Marketable(follow=True), is_exit=True, known_exit=True))
    run.quote(90, 90.00, 90.05)
    refused(run, "A1", CIRCUIT, late=False, beyond=True)
    assert run.state() == "rejected"


# --- fills that the end of a lifetime closes ----------------------------------------------------------------------------------


def test_a_refused_close_of_fills_goes_again_at_the_touch_and_is_told():
    ends = Lifetime(after_minutes=D(1), on_end=OnEnd.CLOSE_FILLED)
    stop = order("root.each_fill", "SELL", FromFill(), 80, is_exit=True, known_exit=True)
    run = Runner(order(lifetime=ends, each_fill=stop))
    run.quote(100, 100.00, 100.05)
    run.book("A1", "complete")
    run.sent()
    run.at(60)
    run.book("A2", "cancelled")
    assert run.sent() == ["CANCEL A2", "PLACE alpha SELL 10 LIMIT 99.9 -> A3"]
    refused(run, "A3", late=False)
    assert not run.over()
    run.at(61.9)
    assert run.sent() == []
    run.at(62)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 100 -> A4"]
    refused(run, "A4", late=False)
    run.at(66)
    assert (run.outcome.unprotected, run.leg("A4").instance) == ({"I": 10}, CLOSING)
    run.at(67).book("A5", "complete")
    assert run.state() == "completed"


WORDS = [
    ("price is outside the circuit limits 189.5 - 209.4", True),
    ("RMS:Rule: Check circuit limit including square off order exceeds for entity account", True),
    ("17070 : The Price is out of the current execution range", True),
    ("16283 : Order price is out of the LPP range 410.05 - 455.20", True),
    ("Order price should be within the daily price range", True),
    ("Limit price is beyond the price band", True),
    ("RMS:Margin Exceeds,Cash not available for entity account", False),
    ("the order price must be a multiple of the tick size 0.05", False),
    ("price out of range", True),
    ("order quantity exceeds the freeze quantity", False),
    ("circuitous route", False),
    ("", False),
]


@pytest.mark.parametrize(("words", "expected"), WORDS)
def test_the_words_of_a_refusal_say_whether_the_price_was_outside_of_the_limits(words, expected):
    assert says_price_limits(words) is expected


# --- orders that no broker ever showed ---------------------------------------------------------------------------------------


def never_shown(run, *leg_ids):
    for leg_id in leg_ids:
        run.put(attrs.evolve(run.leg(leg_id), state=LegState.NOT_SENT, ended_at=run.world.now))
    return run.look()


def test_each_row_counts_its_own_orders_that_were_never_shown():
    run = PositionRunner(later(), brokers=("alpha", "beta"))
    run.quote(90, 90.00, 90.05)
    run.at(1)
    run.found(("alpha", "I", 10, 10), ("beta", "I", 5, 5))
    assert len(run.sent()) == 2
    never_shown(run, "A1", "B1")
    assert len(run.sent()) == 2, "the next orders of both rows leave at once"


def test_an_exit_that_waits_for_orders_that_were_never_shown_says_so():
    run = Runner(hidden())
    run.quote(90, 90.00, 90.05)
    run.at(1)
    never_shown(run, "A1")
    never_shown(run, "A2")
    run.sent()
    run.at(run.world.now - run.started + 3)
    assert (run.sent(), run.parts["root"].held_up) == ([], texts.never_shown("alpha", 2))


def test_a_refused_row_stays_while_only_another_broker_is_read_again():
    """What one broker shows says nothing about the position at the other (model 820128)."""
    run = PositionRunner(later(), brokers=("alpha", "beta"))
    run.quote(90, 90.00, 90.05)
    run.at(1)
    run.parts["root"] = attrs.evolve(run.parts["root"], rows_cleared=(key("alpha"),))
    run.found(("alpha", "I", 10, 10), unread=("beta",))
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 89.9 -> A1"]
    refused(run, "A1")
    run.at(2)
    found = FoundRows(rows=(), nets={}, message=None, at=run.world.now, read=("beta",))
    run.parts["root"] = with_rows(run.parts["root"], (), (), found)
    run.at(3.1)
    assert (run.over(), run.sent()) == (False, []), "what is open at alpha is read again first"
    read_again(run, "alpha", 10)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 90 -> A2"]


def test_while_its_own_broker_cannot_be_read_a_refused_row_waits():
    run = PositionRunner(later(), brokers=("alpha", "beta"))
    run.quote(90, 90.00, 90.05)
    run.at(1)
    run.parts["root"] = attrs.evolve(run.parts["root"], rows_cleared=(key("alpha"),))
    run.found(("alpha", "I", 10, 10))
    run.sent()
    refused(run, "A1")
    found = FoundRows(rows=(), nets={}, message=None, at=run.world.now, read=("beta",), unread=("alpha",))
    run.parts["root"] = with_rows(run.parts["root"], (), (), found)
    assert not run.parts["root"].rows_again, "it is read again after a second, not at once"
    run.at(4)
    assert (run.over(), run.asks(), run.sent()) == (False, True, [])


def test_a_row_whose_order_its_holder_cancels_is_told_although_another_row_rests():
    """The part goes on for the sake of the other row; the units of the first have nothing (model 920183)."""
    run = PositionRunner(later(), brokers=("alpha", "beta"))
    run.quote(90, 90.00, 90.05)
    run.at(1)
    run.parts["root"] = attrs.evolve(run.parts["root"], rows_cleared=(key("alpha"), key("beta")))
    run.found(("alpha", "I", 10, 10), ("beta", "I", 5, 5))
    run.world.holdings = {"alpha": 10, "beta": 5}
    run.book("A1", "cancelled")
    assert (run.over(), dict(run.outcome.unprotected)) == (False, {"I": 10})
    run.book("B1", "complete")
    assert run.over()


def test_a_refused_row_that_waits_for_a_price_is_a_row_again_when_the_price_is_there():
    """While it waited it was no row, and its refused order counted as one that stands (model 920279)."""
    run = PositionRunner(later(), brokers=("alpha", "beta"))
    run.quote(90, 90.00, 90.05)
    run.at(1)
    run.parts["root"] = attrs.evolve(run.parts["root"], rows_cleared=(key("alpha"),))
    run.found(("alpha", "I", 10, 10))
    refused(run, "A1")
    run.parts["root"] = attrs.evolve(run.parts["root"], rows=())
    look = Look(run.root, run.inputs)
    assert refused_for_now(look, run.root) == {"A1": key("alpha")}
