"""Reads the figures of the order engine: open parents, orders of unknown outcome, what is at risk, the halt, the day's loss."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from prometheus_client.core import Metric

from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.engine.context.troubles import Trouble
from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentState
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Halt, HaltMode
from onebroker.http.metrics import names

OPEN_STATES = tuple(state for state in ParentState if not state.final)


def parent_figures(states: Mapping[str, ParentState], status: EngineStatus) -> Iterable[Metric]:
    """Return the open parents by state. `states`: id -> state."""
    counts = Counter(states.values())
    yield names.PARENTS.family(((state.value,), counts[state]) for state in OPEN_STATES if status.running)


def unknown_order_figures(legs: Iterable[LegRecord], status: EngineStatus, codes: Iterable[str]) -> Iterable[Metric]:
    """Return the orders of unknown outcome at each broker. `legs`: those that a broker may or may not have."""
    counts = Counter(leg.broker for leg in legs if leg.state is LegState.UNKNOWN)
    yield names.UNKNOWN_ORDERS.family(((code,), counts[code]) for code in codes if status.running)


def risk_figures(troubles: Collection[Trouble]) -> Iterable[Metric]:
    """Return how many open parents have a problem, and how many units are open without a stop, also of parents that have ended."""
    parents = {trouble.parent_id for trouble in troubles if not trouble.is_ended}
    yield names.AT_RISK.one(len(parents))
    yield names.UNPROTECTED.one(sum(trouble.found.units or 0 for trouble in troubles))


def halt_figures(halt: Published[Halt | None]) -> Iterable[Metric]:
    """Return for each mode whether trading is halted in it; no samples until the stored halt has been read."""
    present = None if halt.value is None else halt.value.mode
    yield names.HALTED.family(((mode.value,), float(mode is present)) for mode in HaltMode if halt.version)


def loss_figures(loss: DayLoss) -> Iterable[Metric]:
    """Return the day's loss and its limit; without a limit nobody adds up the loss."""
    yield names.LOSS.one(None if loss.loss is None else float(loss.loss))
    yield names.LOSS_LIMIT.one(None if loss.limit is None else float(loss.limit))
