"""Parts sized by positions, by exposures and by joint profit and loss, as the machine works them: what it asks to be read, what it
sends for what was read (order-engine 1.3, 3.15, 3.45, 6.10)."""

from datetime import time
from decimal import Decimal as D

import pytest

from onebroker.actors.engine.orders.part_state import Holding, RowToClose
from onebroker.actors.engine.plan.execution_kinds import TopUp
from onebroker.actors.engine.plan.machine.cleared_exits import Closing, without_exits
from onebroker.actors.engine.plan.machine.exposure import with_nets
from onebroker.actors.engine.plan.machine.leg_actions import ReadRows
from onebroker.actors.engine.plan.machine.position_closes import FoundRows, not_fresh, refused_row, with_rows
from onebroker.actors.engine.plan.parts import (
    AnyOf,
    FromExposure,
    FromFill,
    FromPosition,
    JointPnl,
    Lifetime,
    Measure,
    OnEnd,
    SequencePart,
    Since,
    TimeOfDay,
    Weighted,
)
from onebroker.actors.engine.plan.price_kinds import Marketable, NativeStop
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side
from tests.actors.engine.plan.trees import oco, order, together
from tests.actors.engine.plan.world import DAY, Runner


class PositionRunner(Runner):
    """A runner whose rows are handed over by the test, as the shell does once they are read."""

    def asks(self, path="root"):
        return any(isinstance(one, ReadRows) and one.part == path for one in self.outcome.actions)

    def found(self, *rows, nets=None, message=None, under_way=(), path="root", unread=(), read=None):
        """`rows` as (broker, instrument, signed net, units to send)."""
        assert self.asks(path), "nobody asked for rows"
        closing = tuple(
            RowToClose(key=key(broker, of), broker=broker, instrument_id=of, product="MIS", quantity=net, units=units)
            for broker, of, net, units in rows
        )
        nets = {row.key: row.quantity for row in closing} if nets is None else nets
        found = FoundRows(rows=closing, nets=nets, message=message, at=self.world.now, unread=tuple(unread), read=read)
        legs = [leg for leg in self.legs if leg.part == path]
        self.parts[path] = with_rows(self.parts[path], legs, under_way, found)
        return self.look()

    def nets(self, _holders=("alpha",), **nets):
        assert self.asks(), "nobody asked for rows"
        unread = () if nets else _holders
        self.parts["root"] = with_nets(self.parts["root"], nets or None, _holders, self.world.now, unread=unread)
        return self.look()

    def restarted(self):
        self.parts = dict(not_fresh(self.parts))
        return self.look()

    @property
    def message(self):
        return self.parts["root"].status_message


BOUNDED = Marketable(follow=True, maximum_cost_bps=D(500))
"""A close whose caller bounds its cost: it waits for a quote, however long that takes."""


def key(broker, of="I"):
    return Holding(broker, of, "intraday").key


def closes(**more):
    form = FromPosition(
        product="intraday",
        instrument_ids=("I",),
        ratio=more.pop("ratio", 1),
        most=more.pop("most", None),
        every_instrument=more.pop("every", False),
    )
    price = more.pop("price", Marketable(follow=True))
    return order(side="SELL", quantity=form, price=price, is_exit=True, **more)


# --- rows that wait for a price --------------------------------------------------------------------------------------------


def waits_for(run, why):
    """A read found one row, whose close could not leave."""
    found = FoundRows(rows=(), nets={}, message=None, at=run.world.now, waits={"I": why})
    run.parts["root"] = with_rows(run.parts["root"], [], (), found)
    return run.look()


def test_a_row_that_waited_for_a_price_is_read_again_with_the_next_quote_and_is_not_late():
    run = PositionRunner(closes())
    run.at(1)
    waits_for(run, texts.no_quote(Side.SELL))
    assert (run.asks(), run.parts["root"].waits_since) == (False, run.world.now)
    run.at(1.2)
    assert not run.asks()
    run.quote(100, 100.00, 100.05)
    assert run.asks()
    run.at(3.5)  # the read is still under way
    assert (run.outcome.unprotected, run.outcome.untold) == ({}, ())


def test_what_a_close_that_was_due_later_could_not_close_by_the_end_of_its_day_stays_told():
    run = PositionRunner(closes(when=TimeOfDay(time(9, 30))))
    run.at(660)
    why = texts.not_cleared(1)
    waits_for(run, why)
    assert not run.asks()
    run.at(665)
    assert (run.asks(), run.outcome.untold) == (False, (texts.waits_because(why),))
    run.at(670)
    assert run.asks()
    waits_for(run, why)
    run.world.now = DAY.closes + 60
    run.look()
    assert (run.state(), run.outcome.lasting) == ("failed", (why,))


def test_a_row_whose_close_is_locked_waits_its_second_whatever_quotes_come():
    run = PositionRunner(closes())
    run.at(1)
    waits_for(run, "trading is halted: by hand")
    run.at(1.2)
    run.quote(100, 100.00, 100.05)
    assert (run.asks(), run.parts["root"].waits_since) == (False, run.started + 1)
    run.at(2)
    assert run.asks()


# --- closing -------------------------------------------------------------------------------------------------------------


def test_rows_are_asked_for_when_the_part_is_due_and_each_is_closed_at_its_own_broker():
    run = PositionRunner(closes(when=TimeOfDay(time(15, 10))), brokers=("nowhere",))
    run.quote(100, 100.00, 100.05)
    run.at(20_999)
    assert (run.asks(), run.sent(), run.state()) == (False, [], "waiting")
    run.at(21_000)
    assert (run.asks(), run.sent()) == (True, [])
    run.found(("alpha", "I", 100, 100), ("beta", "I", -50, 50))
    assert run.sent() == ["PLACE alpha SELL 100 LIMIT 99.9 -> A1", "PLACE beta BUY 50 LIMIT 100.15 -> B1"]
    assert run.state() == "working"
    run.book("A1", "complete")
    assert run.state() == "working"
    run.book("B1", "complete")
    assert (run.state(), run.sent(), run.message) == ("completed", [], None)


def test_rows_of_several_instruments_each_follow_their_own_market():
    run = PositionRunner(closes(every=True))
    run.quote(100, 100.00, 100.05)
    run.quote(50, 50.00, 50.05, of="J")
    run.found(("alpha", "I", 10, 10), ("alpha", "J", -20, 20))
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 99.9 -> A1", "PLACE alpha BUY 20 J LIMIT 50.15 -> A2"]
    run.at(3).quote(52, 52.00, 52.05, of="J")
    assert run.sent() == []
    run.at(5)
    assert run.sent() == ["MODIFY A2 price 52.15"]
    run.at(6).quote(98, 98.00, 98.05)
    assert run.sent() == ["MODIFY A1 price 97.9"]
    run.book("A1", "complete")
    run.book("A2", "complete")
    assert run.state() == "completed"


def test_without_a_position_there_is_nothing_to_close():
    run = PositionRunner(closes())
    run.quote(100, 100.00, 100.05)
    run.found()
    assert (run.sent(), run.state(), run.message) == ([], "completed", "there was no open position to close")


def due_later(**more):
    run = PositionRunner(closes(when=TimeOfDay(time(9, 21)), **more), brokers=("nowhere",))
    run.quote(100, 100.00, 100.05)
    return run.at(60)


def unread(broker):
    return f"the positions of {broker} could not be read, so they were not closed"


def test_a_close_that_is_due_later_waits_for_a_broker_that_cannot_be_read_and_closes_the_others():
    run = due_later()
    run.found(("alpha", "I", 10, 10), unread=("beta",))
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 99.9 -> A1"]
    run.book("A1", "complete")
    assert (run.state(), run.asks()) == ("working", False)
    run.at(61)
    assert run.asks()
    run.found(unread=("beta",), read=())
    assert (run.sent(), run.state(), run.outcome.untold) == ([], "working", ())
    run.at(62)
    assert run.outcome.untold == (f"what is due waits: {unread('beta')}",)
    assert run.asks()
    run.found(("beta", "I", -5, 5), read=("beta",))
    assert (run.sent(), run.outcome.untold) == (["PLACE beta BUY 5 LIMIT 100.15 -> B1"], ())
    run.book("B1", "complete")
    assert (run.state(), run.sent(), run.message) == ("completed", [], None)


def test_a_close_that_waits_for_a_broker_ends_when_its_caller_cancels_it():
    run = due_later()
    run.found(unread=("alpha", "beta"))
    run.at(64)
    assert run.outcome.untold == (f"what is due waits: {unread('alpha')}; {unread('beta')}",)
    run.cancel_part("root")
    assert (run.state(), run.asks(), run.outcome.untold) == ("cancelled", False, ())


def test_a_row_that_goes_on_is_left_as_it_is_while_another_broker_alone_is_read():
    run = due_later()
    run.world.freezes["I"] = 40
    run.found(("alpha", "I", 100, 100), unread=("beta",))
    run.book("A1", "complete")
    run.at(61)
    run.found(read=("beta",))
    assert [row.units for row in run.parts["root"].rows] == [100]


def test_a_row_whose_broker_cannot_be_read_again_after_a_restart_is_left_as_it_was():
    run = due_later()
    run.world.freezes["I"] = 40
    run.found(("alpha", "I", 100, 100))
    run.legs = run.legs[:1]
    run.restarted()
    run.book("A1", "complete")
    assert run.asks()
    run.found(unread=("alpha",), read=("beta",))
    assert [row.units for row in run.parts["root"].rows] == [100]
    assert run.state() == "working"
    run.at(61)
    run.found(nets={key("alpha"): 60}, read=("alpha", "beta"))
    assert [leg.quantity for leg in run.legs] == [40, 40, 20]


def test_what_is_still_unread_at_the_end_of_the_day_was_not_closed_and_stays_told():
    run = due_later()
    run.found(unread=("beta",))
    run.world.now += 30_000
    run.look()
    assert (run.state(), run.message) == ("failed", unread("beta"))
    assert run.look().outcome.lasting == (unread("beta"),)


def test_what_a_later_close_could_not_close_stays_told():
    run = due_later()
    run.found(message="1 resting orders could not be cancelled, so this position was not closed")
    assert run.state() == "failed"
    assert run.outcome.lasting == ("1 resting orders could not be cancelled, so this position was not closed",)


@pytest.mark.parametrize(("filled", "left"), [(0, 10), (4, 6)])
def test_a_later_close_that_its_broker_refuses_stays_told(filled, left):
    run = due_later()
    run.found(("alpha", "I", 10, 10))
    if filled:
        run.book("A1", filled=filled)
    run.book("A1", "rejected", filled=filled, message="order entry is blocked")
    assert run.over()
    assert run.outcome.lasting == (texts.left_by_refusal("alpha", left, "order entry is blocked"),)


@pytest.mark.parametrize(("filled", "left"), [(0, 10), (4, 6)])
def test_a_later_close_whose_order_another_hand_cancels_stays_told(filled, left):
    run = due_later()
    run.found(("alpha", "I", 10, 10))
    if filled:
        run.book("A1", filled=filled)
    run.book("A1", "cancelled", filled=filled)
    assert run.over()
    assert run.outcome.lasting == (texts.left_by_hand("alpha", left),)


def test_a_reversal_of_which_an_order_was_refused_stays_told():
    run = due_later()
    run.world.freezes["I"] = 15
    run.found(("alpha", "I", 10, 20))
    run.book("A1", "complete")
    run.book("A2", "rejected", message="order entry is blocked")
    assert run.over()
    assert run.outcome.lasting == (texts.reversal_short("alpha", 5, "order entry is blocked"),)


def test_a_later_close_that_a_check_refuses_stays_told():
    run = due_later()
    run.found(("alpha", "I", 10, 10))
    run.parts["root"] = refused_row(run.parts["root"], key("alpha"), "the day's messages are used up")
    run.book("A1", "cancelled")
    assert run.over()
    assert run.outcome.lasting == (texts.left_by_refusal("alpha", 10, "the day's messages are used up"),)


def test_a_close_whose_caller_waits_hears_of_its_refusal_there_alone():
    run = PositionRunner(closes())
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 10, 10))
    run.book("A1", "rejected", message="order entry is blocked")
    assert (run.state(), run.outcome.lasting) == ("rejected", ())


def test_a_close_whose_caller_is_told_in_the_answer_leaves_no_trouble_behind():
    run = PositionRunner(closes())
    run.quote(100, 100.00, 100.05)
    run.found(message=unread("beta"))
    assert (run.state(), run.message, run.outcome.lasting) == ("failed", unread("beta"), ())


def test_a_close_after_another_part_waits_too():
    then = closes(path="root.then")
    run = PositionRunner(SequencePart(path="root", first=order("root.first", price=100), then=then))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    run.found(unread=("beta",), path="root.then")
    assert not run.over()
    run.at(1)
    assert run.asks("root.then")


def test_what_could_not_be_read_makes_it_fail_after_the_others_are_closed():
    unread = "the positions of beta could not be read, so they were not closed"
    run = PositionRunner(closes())
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 10, 10), message=unread)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 99.9 -> A1"]
    assert run.state() == "working"
    run.book("A1", "complete")
    assert (run.state(), run.message) == ("failed", unread)


def test_where_nothing_could_be_read_nothing_is_sent_and_it_fails_at_once():
    run = PositionRunner(closes())
    run.quote(100, 100.00, 100.05)
    run.found(message="the positions of alpha could not be read, so they were not closed")
    assert (run.sent(), run.state()) == ([], "failed")


def test_a_rejected_close_leaves_the_other_rows_to_be_closed():
    run = PositionRunner(closes(every=True))
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 10, 10), ("alpha", "J", 20, 20))
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 99.9 -> A1"]
    run.book("A1", "rejected", message="price band")
    assert not run.over()
    run.at(1).quote(50, 50.00, 50.05, of="J")
    assert run.sent() == ["PLACE alpha SELL 20 J LIMIT 49.9 -> A2"]
    run.book("A2", "complete")
    assert (run.state(), run.message) == ("failed", "price band")


def test_a_close_that_a_check_refuses_ends_its_row_alone():
    run = PositionRunner(closes(every=True))
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "J", 20, 20), ("beta", "I", 10, 10))
    run.parts["root"] = refused_row(run.parts["root"], key("alpha", "J"), "alpha cannot take this order")
    run.quote(50, 50.00, 50.05, of="J")
    assert run.sent() == ["PLACE beta SELL 10 LIMIT 99.9 -> B1"]
    run.book("B1", "complete")
    assert (run.state(), run.message) == ("failed", "alpha cannot take this order")


def test_a_close_above_the_freeze_quantity_goes_in_several_orders():
    run = PositionRunner(closes())
    run.world.freezes["I"] = 40
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", -100, 100))
    assert run.sent() == [f"PLACE alpha BUY {n} LIMIT 100.15 -> A{i}" for i, n in enumerate((40, 40, 20), 1)]
    for leg_id in ("A1", "A2", "A3"):
        run.book(leg_id, "complete")
    assert (run.state(), run.sent()) == ("completed", [])


def test_a_reversal_sends_twice_the_position_and_on_a_locked_day_only_closes_it():
    run = PositionRunner(closes(ratio=2))
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 10, 20))
    assert run.sent() == ["PLACE alpha SELL 20 LIMIT 99.9 -> A1"]
    locked = PositionRunner(closes(ratio=2))
    locked.world.locked = "the day is down 12.00, which is past the 10.00 limit, so no new order is being placed"
    locked.quote(100, 100.00, 100.05)
    locked.found(("alpha", "I", -10, 20))
    assert locked.sent() == ["PLACE alpha BUY 10 LIMIT 100.15 -> A1"]
    locked.book("A1", "complete")
    assert locked.state() == "completed"
    assert locked.message == f"{locked.world.locked}; the position is closed and not reversed"


def test_rows_that_waited_for_a_quote_are_read_again_before_they_are_closed():
    run = PositionRunner(closes(price=BOUNDED))
    run.look()
    run.found(("alpha", "I", 10, 10))
    assert (run.sent(), run.state()) == ([], "waiting")
    run.at(60).quote(100, 100.00, 100.05)
    assert (run.sent(), run.asks()) == ([], True)
    run.found(("alpha", "I", 4, 4))
    assert run.sent() == ["PLACE alpha SELL 4 LIMIT 99.9 -> A1"]


def test_a_close_cancelled_outside_ends_the_part_and_is_not_sent_again():
    run = PositionRunner(closes())
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 10, 10))
    run.book("A1", "cancelled", filled=4)
    assert run.state() == "cancelled"
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 99.9 -> A1"]


def test_a_lifetime_that_closes_what_filled_does_not_open_a_closed_position_again():
    run = PositionRunner(closes(lifetime=Lifetime(after_minutes=D(1), on_end=OnEnd.CLOSE_FILLED)))
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 10, 10))
    run.book("A1", filled=6)
    run.sent()
    run.at(60)
    assert run.sent() == ["CANCEL A1"]
    run.book("A1", "cancelled", filled=6)
    assert (run.sent(), run.state()) == ([], "completed")


def test_at_the_end_of_the_day_rows_that_were_never_read_are_let_go():
    run = PositionRunner(closes())
    run.look()
    assert run.asks()
    run.at(30_000)
    assert (run.state(), run.asks()) == ("expired", False)


# --- restarts ------------------------------------------------------------------------------------------------------------


def test_after_a_restart_before_the_rows_were_read_they_are_asked_for():
    run = PositionRunner(closes())
    run.quote(100, 100.00, 100.05)
    run.restarted()
    assert (run.asks(), run.sent()) == (True, [])


def test_after_a_restart_rows_for_which_nothing_was_sent_are_read_again_first():
    run = PositionRunner(closes())
    run.look()
    run.found(("alpha", "I", 10, 10))
    run.restarted()
    run.quote(100, 100.00, 100.05)
    assert (run.sent(), run.asks()) == ([], True)
    run.found()
    assert (run.sent(), run.state(), run.message) == ([], "completed", "there was no open position to close")


def test_after_a_restart_in_the_middle_a_row_that_was_sent_is_not_sent_again_and_the_other_is_read_first():
    run = PositionRunner(closes(every=True))
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 10, 10), ("alpha", "J", 20, 20))
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 99.9 -> A1"]
    run.restarted()
    run.quote(50, 50.00, 50.05, of="J")
    assert (run.sent(), run.asks()) == ([], True)
    run.found(("alpha", "I", 10, 10), ("alpha", "J", 15, 15))
    assert run.sent() == ["PLACE alpha SELL 15 J LIMIT 49.9 -> A2"]
    run.book("A1", "complete")
    run.book("A2", "complete")
    assert (run.state(), run.sent()) == ("completed", [])


@pytest.mark.parametrize(("still_open", "sent"), [(60, [40, 20]), (30, [30]), (0, []), (-5, [])])
def test_a_row_that_was_half_sent_before_a_restart_sends_no_more_than_is_still_open(still_open, sent):
    run = PositionRunner(closes())
    run.world.freezes["I"] = 40
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 100, 100))
    run.sent()
    run.legs = run.legs[:1]  # only the first of three orders was written when the service went
    run.restarted()
    run.book("A1", "complete")
    assert (run.sent(), run.asks()) == ([], True)
    run.found(nets={key("alpha"): still_open})
    assert [leg.quantity for leg in run.legs[1:]] == sent
    for leg in run.legs[1:]:
        run.book(leg.leg_id, "complete")
    assert run.over()


def test_a_half_sent_reversal_counts_what_it_has_opened_already():
    run = PositionRunner(closes(ratio=2))
    run.world.freezes["I"] = 15
    run.quote(100, 100.00, 100.05)
    run.found(("alpha", "I", 10, 20))
    run.legs = run.legs[:1]
    run.restarted()
    run.book("A1", "complete")
    run.found(nets={key("alpha"): -5})
    assert [leg.quantity for leg in run.legs] == [15, 5]


def test_rows_read_again_leave_an_order_that_is_under_way_as_it_was():
    run = PositionRunner(closes(every=True, price=BOUNDED))
    run.look()
    run.found(("alpha", "I", 10, 10), ("alpha", "J", 20, 20))
    run.at(60).quote(100, 100.00, 100.05)
    assert run.asks()
    run.found(("alpha", "I", 30, 30), ("alpha", "J", 15, 15), under_way=(key("alpha"),))
    assert [(row.instrument_id, row.units) for row in run.parts["root"].rows] == [("I", 10), ("J", 15)]


# --- exposures -----------------------------------------------------------------------------------------------------------


def hedge(**more):
    form = FromExposure(
        instruments=more.pop("instruments", (Weighted("A", D(1)), Weighted("B", D(2)))),
        measure=more.pop("measure", Measure.VALUE),
        target=D(more.pop("target", 0)),
        band=D(more.pop("band", 1000)),
        hedge_weight=D(str(more.pop("hedge_weight", 1))),
        most=more.pop("most", None),
        product=None,
    )
    execution = TopUp(
        piece_quantity=more.pop("piece", 1000),
        every_seconds=D(more.pop("every_seconds", 5)),
        catch_up=more.pop("catch_up", True),
    )
    return order(quantity=form, price=Marketable(), execution=execution, **more)


def hedging(**more):
    run = PositionRunner(hedge(**more))
    run.quote(100, 99.95, 100.05, of="A")
    run.quote(10, 9.95, 10.05, of="B")
    return run.quote(200, 199.95, 200.05)


def test_an_exposure_within_its_band_is_left_alone_and_looked_at_again_after_its_seconds():
    run = hedging()
    run.nets(A=30, B=-100)  # 30 x 100 - 100 x 10 x 2 = 1000
    assert (run.sent(), run.asks()) == ([], False)
    run.at(4.9)
    assert not run.asks()
    run.at(5)
    assert run.asks()


def test_an_exposure_outside_its_band_is_brought_to_its_target_in_whole_lots():
    run = hedging(target=500)
    run.world.lots["I"] = 3
    run.nets(A=60, B=-100)  # 4000, so 3500 too much: 17.5 units, 15 in lots of 3
    assert run.sent() == ["PLACE alpha SELL 15 LIMIT 199.85 -> A1"]
    run.at(60)
    assert (run.sent(), run.asks()) == ([], False), "the last hedge has not ended"
    run.book("A1", "complete")
    assert run.asks(), "only what is read after its fill says what is left"
    run.nets(A=60, B=-100, I=-15)
    assert run.sent() == []


def test_too_little_exposure_is_bought_and_a_negative_weight_turns_the_side_round():
    run = hedging()
    run.nets(A=-60)
    assert run.sent() == ["PLACE alpha BUY 30 LIMIT 200.15 -> A1"]
    run = hedging(hedge_weight=-0.5)
    run.nets(A=-60)
    assert run.sent() == ["PLACE alpha SELL 60 LIMIT 199.85 -> A1"]


def test_units_need_no_prices():
    run = PositionRunner(hedge(measure=Measure.UNITS, band=5))
    run.quote(200, 199.95, 200.05)
    run.nets(A=20, B=-5)
    assert run.sent() == ["PLACE alpha SELL 10 LIMIT 199.85 -> A1"]


def test_one_order_is_never_larger_than_most_nor_than_a_piece_unless_it_catches_up():
    assert hedging(most=7).nets(A=600).sent() == ["PLACE alpha SELL 7 LIMIT 199.85 -> A1"]
    assert hedging(piece=4, catch_up=False).nets(A=600).sent() == ["PLACE alpha SELL 4 LIMIT 199.85 -> A1"]


def test_while_a_holder_cannot_be_read_an_exposure_waits():
    run = hedging()
    run.nets(("alpha", "beta"))
    assert (run.sent(), run.asks(), run.parts["root"].holders) == ([], False, ("alpha", "beta"))
    run.at(5)
    assert run.asks()


def test_a_hedge_that_waited_for_a_price_is_worked_out_anew():
    run = PositionRunner(hedge())
    run.quote(100, 99.95, 100.05, of="A")
    run.nets(A=60)
    assert (run.sent(), run.asks()) == ([], False)
    run.at(30).quote(200, 199.95, 200.05)
    assert (run.sent(), run.asks()) == ([], True)
    run.nets(A=30)
    assert run.sent() == ["PLACE alpha SELL 15 LIMIT 199.85 -> A1"]


def test_after_a_restart_an_exposure_is_looked_at_anew_and_a_hedge_that_rests_is_not_sent_again():
    run = hedging()
    run.nets(A=60)
    assert run.sent() == ["PLACE alpha SELL 30 LIMIT 199.85 -> A1"]
    run.restarted()
    run.at(60)
    assert (run.sent(), run.asks()) == ([], False)
    run.book("A1", "complete")
    assert (run.sent(), run.asks()) == ([], True)


def test_a_rejected_hedge_ends_the_part():
    run = hedging()
    run.nets(A=60)
    run.book("A1", "rejected", message="margin")
    assert (run.state(), run.message) == ("rejected", "margin")
    assert run.outcome.lasting == (texts.hedging_ended("alpha", 30, "margin"),)


@pytest.mark.parametrize(("status", "expired"), [("cancelled", False), ("expired", True)])
def test_a_hedge_that_ends_unfilled_ends_the_part_and_is_told(status, expired):
    run = hedging()
    run.nets(A=60)
    run.book("A1", "open")
    run.book("A1", status)
    assert run.state() == status
    assert run.outcome.lasting == (texts.hedging_stopped("alpha", 30, expired=expired),)


def test_an_exposure_ends_with_its_session():
    run = hedging()
    run.nets(A=0)
    run.at(30_000)
    assert run.state() == "expired"


# --- joint profit and loss -----------------------------------------------------------------------------------------------


def guard(**limits):
    figures = {"loss": None, "profit": None, "give_back": None, **{name: D(value) for name, value in limits.items()}}
    return JointPnl(instrument_ids=("I",), every_instrument=False, product=None, since=Since.PLACEMENT, **figures)


def guarded(condition):
    run = PositionRunner(closes(when=condition))
    run.world.joint, run.world.holders = 500, ("alpha", "beta")
    return run.quote(100, 100.00, 100.05).at(1)


def figure(run, rupees):
    run.world.joint = rupees
    return run.look()


def test_a_loss_is_counted_from_placement():
    run = guarded(guard(loss=1000))
    assert run.world.asked_holders in (None, ("alpha", "beta"))
    assert not figure(run, -499).asks()
    assert run.world.asked_holders == ("alpha", "beta"), "who had such a position at placement has to be readable"
    assert figure(run, -500).asks()


def test_of_the_day_it_is_counted_from_nothing():
    condition = JointPnl(
        instrument_ids=("I",), every_instrument=False, product=None, loss=D(100), profit=None, give_back=None,
        since=Since.DAY,
    )  # fmt: skip
    run = guarded(condition)
    assert not figure(run, -99).asks()
    assert figure(run, -100).asks()


def test_what_is_given_back_of_the_best_gain_fires_once_it_was_above_zero():
    run = guarded(guard(give_back=300))
    assert not figure(run, 100).asks(), "never above what it was at placement"
    assert not figure(run, 900).asks()
    assert not figure(run, 601).asks()
    assert figure(run, 600).asks()


def test_without_a_figure_nothing_fires_and_the_base_is_kept():
    run = guarded(guard(loss=1000, profit=1000))
    assert not figure(run, None).asks()
    assert not figure(run, 1499).asks()
    assert figure(run, 1500).asks()


def test_two_such_conditions_remember_their_own():
    run = guarded(AnyOf((guard(loss=1000), guard(give_back=200))))
    figure(run, 800)
    assert {place: joint.best for place, joint in run.parts["root"].joint.items()} == {"any.0.": 300, "any.1.": 300}
    assert figure(run, 600).asks()


# --- what waits where a position is closed -------------------------------------------------------------------------------


def ended(run, *holdings, elsewhere=()):
    closing = Closing(
        holdings=frozenset(Holding(broker, of, "intraday") for broker, of in holdings),
        elsewhere=frozenset((of, "intraday") for of in elsewhere),
    )
    records = without_exits(run.root, run.inputs, closing)
    run.parts.update(records)
    return sorted(records)


def bracketed():
    exits = oco(
        "root.each_fill",
        order("root.each_fill.children.0", "SELL", FromFill(), NativeStop(trigger_price=D(95), limit_price=D(94)),
              is_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), 110, hold=True, is_exit=True),
    )  # fmt: skip
    run = Runner(order(quantity=10, price=100, each_fill=exits))
    run.quote(100, 99.95, 100.00)
    run.book("A1", "complete")
    return run


def test_a_held_exit_ends_where_its_entry_was_filled_and_nowhere_else():
    run = bracketed()
    assert ended(run, ("beta", "I")) == []
    assert ended(run, ("alpha", "J")) == []
    assert ended(run, ("alpha", "I")) == ["root.each_fill.children.1"]
    run.sent()
    run.look()
    assert run.state("root.each_fill.children.1") == "cancelled"
    run.quote(111, 110.95, 111.05)
    assert run.sent() == []


def test_an_exit_without_a_place_of_its_own_stays_while_another_broker_has_such_a_position():
    run = Runner(order(side="SELL", price=110, hold=True, is_exit=True))
    run.quote(100, 99.95, 100.00)
    assert ended(run, ("alpha", "I"), elsewhere=("I",)) == []
    assert ended(run, ("alpha", "I")) == ["root"]


def test_entries_and_parts_sized_by_positions_stay():
    entry = order("root.children.0", side="SELL", price=110, hold=True)
    close = order(
        "root.children.1", "SELL", FromPosition(product=None, instrument_ids=("I",)), Marketable(), is_exit=True,
        when=TimeOfDay(time(15, 0)),
    )  # fmt: skip
    run = Runner(together("root", entry, close))
    run.quote(100, 99.95, 100.00)
    assert ended(run, ("alpha", "I")) == []


def test_a_pinned_exit_ends_at_its_own_broker_alone():
    run = Runner(order(side="SELL", price=110, hold=True, is_exit=True, broker="beta"))
    run.quote(100, 99.95, 100.00)
    assert ended(run, ("alpha", "I")) == []
    assert ended(run, ("beta", "I")) == ["root"]


def test_an_exit_whose_turn_has_not_come_stays():
    then = order("root.then", "SELL", FromFill(), 110, hold=True, is_exit=True)
    run = Runner(SequencePart(path="root", first=order("root.first", price=90), then=then))
    run.quote(100, 99.95, 100.00)
    assert ended(run, ("alpha", "I")) == []


def test_a_stop_that_a_position_close_cancelled_is_not_sent_again():
    run = bracketed()
    run.sent()
    ended(run, ("alpha", "I"))
    stop = run.resting[0]
    run.cancel_leg(stop.leg_id)
    assert (run.sent(), run.state()) == ([], "completed")
