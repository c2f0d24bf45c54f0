"""The engine's figures: nothing is shown that is not known."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.engine.orders.parent_records import LegState, ParentState
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Halt, HaltMode
from onebroker.http.metrics.order_figures import halt_figures, loss_figures, parent_figures, unknown_order_figures
from tests.http.metrics.shown import shown

RUNNING = EngineStatus(running=True, reason="")
STARTING = EngineStatus(running=False, reason="the order engine is starting", starting=True)


@attrs.frozen
class Leg:
    broker: str
    state: LegState


async def test_until_the_stored_halt_is_read_nothing_is_said_of_it():
    halt = Published(None)
    assert shown(halt_figures(halt)) == {}
    halt.set(Halt(mode=HaltMode.NOTHING, reason="the feed is wrong", since="2026-11-20T16:15:00.000+05:30"))
    assert shown(halt_figures(halt)) == {"halted reduce_only": 0, "halted nothing": 1}
    halt.set(None)
    assert shown(halt_figures(halt)) == {"halted reduce_only": 0, "halted nothing": 0}


def test_a_loss_is_shown_while_it_is_known():
    assert shown(loss_figures(DayLoss())) == {}
    assert shown(loss_figures(DayLoss(limit=Decimal(5000)))) == {"loss_limit_rupees": 5000}
    known = DayLoss(limit=Decimal(5000), loss=Decimal("-12.50"))
    assert shown(loss_figures(known)) == {"loss_rupees": -12.5, "loss_limit_rupees": 5000}


def test_open_parents_are_counted_by_state_while_the_engine_runs():
    states = {"a": ParentState.WORKING, "b": ParentState.WORKING, "c": ParentState.ARMED, "d": ParentState.COMPLETED}
    assert shown(parent_figures(states, STARTING)) == {}
    assert shown(parent_figures(states, RUNNING)) == {
        "parents received": 0, "parents armed": 1, "parents working": 2, "parents cancelling": 0,
    }  # fmt: skip


def test_a_message_that_is_just_leaving_is_no_unknown_order():
    legs = [Leg("dhan", LegState.SENDING), Leg("zerodha", LegState.UNKNOWN)]
    assert shown(unknown_order_figures(legs, STARTING, ("dhan", "zerodha"))) == {}
    shows = shown(unknown_order_figures(legs, RUNNING, ("dhan", "zerodha")))
    assert shows == {"unknown_orders dhan": 0, "unknown_orders zerodha": 1}
