"""The states of legs and parents: to which state each event leads from each state. Every state that is written comes from here.

A leg is one broker order; a parent is one order that a caller placed. Each has a state. When an event happens to it, the table gives the
next state. A pair of state and event without a row changes nothing. Rows are numbered as in order-engine 2.2, which shows both
tables as this module has them. Parts of a plan have states of their own, which a look works out (`actors/engine/plan/machine/`).
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

import attrs

from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord, ParentState

StateT = TypeVar("StateT", LegState, ParentState)
EventT = TypeVar("EventT", bound=StrEnum)


class Row(NamedTuple):
    """In each of `states`, `event` leads to `becomes`."""

    numbers: str
    """Row numbers of order-engine 2.2."""
    states: tuple[Any, ...]
    event: Any
    becomes: Any


def _table(rows: Iterable[Row], _state: type[StateT], _event: type[EventT]) -> dict[tuple[StateT, EventT], StateT]:
    table: dict[tuple[StateT, EventT], StateT] = {}
    for row in rows:
        for state in row.states:
            assert (state, row.event) not in table, f"two rows say what {row.event} makes of {state}"
            table[state, row.event] = row.becomes
    return table


# --- legs ---------------------------------------------------------------------------------------------------------------


class LegEvent(StrEnum):
    ACCEPTED = "the broker accepts the place"
    REFUSED = "the broker refuses the place, or no connection could be opened"
    NO_CLEAR_ANSWER = "the place has no clear answer"
    SHOWN_PENDING = "shown pending"
    SHOWN_OPEN = "shown open"
    SHOWN_COMPLETE = "shown complete"
    SHOWN_CANCELLED = "shown cancelled, in a book read since"
    SHOWN_REJECTED = "shown rejected, in a book read since"
    SHOWN_EXPIRED = "shown expired, in a book read since"
    END_TOLD = "an end that no book confirms yet"
    """A stream's CANCELLED can run ahead of the last fill (order-engine 2.3)."""
    NEVER_SHOWN = "60 s of fresh books without it"
    MORE_THAN_ONE = "60 s of fresh books with more orders that could be it"
    DAY_OVER = "its session is over and the book does not show it"
    CANCEL_WRITTEN = "its cancel is written ahead"
    CANCEL_WITHOUT_EFFECT = "its cancel was refused, or had no effect"


_UNSETTLED = (LegState.SENDING, LegState.UNKNOWN)
_SHOWN = (*_UNSETTLED, LegState.PENDING, LegState.OPEN, LegState.NOT_SENT)
"""From these states a leg takes the state that its broker shows."""
_OPEN = (*_UNSETTLED, LegState.PENDING, LegState.OPEN, LegState.CANCELLING)

LEG_ROWS = (
    Row("7", _UNSETTLED, LegEvent.ACCEPTED, LegState.OPEN),
    Row("8, 9, 11", _UNSETTLED, LegEvent.REFUSED, LegState.REJECTED),
    Row("10", _UNSETTLED, LegEvent.NO_CLEAR_ANSWER, LegState.UNKNOWN),
    Row("12, 13c, 14", _SHOWN, LegEvent.SHOWN_PENDING, LegState.PENDING),
    Row("12, 13c, 14", _SHOWN, LegEvent.SHOWN_OPEN, LegState.OPEN),
    Row("15", (*_SHOWN, LegState.CANCELLING), LegEvent.SHOWN_COMPLETE, LegState.COMPLETE),
    Row("15b, 16, 31", (*_SHOWN, LegState.CANCELLING), LegEvent.SHOWN_CANCELLED, LegState.CANCELLED),
    Row("17", (*_SHOWN, LegState.CANCELLING), LegEvent.SHOWN_REJECTED, LegState.REJECTED),
    Row("18", (*_SHOWN, LegState.CANCELLING), LegEvent.SHOWN_EXPIRED, LegState.EXPIRED),
    Row("12", _UNSETTLED, LegEvent.END_TOLD, LegState.OPEN),
    Row("13", _UNSETTLED, LegEvent.NEVER_SHOWN, LegState.NOT_SENT),
    Row("13b", _UNSETTLED, LegEvent.MORE_THAN_ONE, LegState.UNKNOWN),
    Row("18", _OPEN, LegEvent.DAY_OVER, LegState.EXPIRED),
    Row("28, 30", _OPEN, LegEvent.CANCEL_WRITTEN, LegState.CANCELLING),
    Row("32, 33", (LegState.CANCELLING,), LegEvent.CANCEL_WITHOUT_EFFECT, LegState.OPEN),
)
LEG_STATES = _table(LEG_ROWS, LegState, LegEvent)


def leg_state(state: LegState, event: LegEvent) -> LegState:
    return LEG_STATES.get((state, event), state)


def moved_leg(leg: LegRecord, event: LegEvent, **changes: Any) -> LegRecord:
    """Return the leg after the event, with the other `changes` made too."""
    return attrs.evolve(leg, state=leg_state(leg.state, event), **changes)


# --- parents ------------------------------------------------------------------------------------------------------------


class ParentEvent(StrEnum):
    WAITS = "something waits, nothing was sent"
    SENT = "an order of it is written ahead, or found at a broker"
    NOTHING_SENT = "it ends before anything was sent"
    COMPLETED = "its work is completed"
    CANCELLED = "its work is cancelled"
    REJECTED = "its work is rejected"
    EXPIRED = "its work has expired"
    FAILED = "its work has failed"
    GIVEN_UP = "the engine gives it up, and nothing of it rests"
    CANCEL_ASKED = "its caller cancels it, and orders of it may rest"
    NOTHING_RESTS = "its caller cancelled it, and nothing of it rests"
    HALTED = "a flatten halts it"
    TURNED_UP = "an order that was taken as not sent turns up"


ACTS = (ParentState.RECEIVED, ParentState.ARMED, ParentState.WORKING)
"""States in which a parent acts by itself."""
_NOT_ENDED = (*ACTS, ParentState.CANCELLING)

PARENT_ROWS = (
    Row("1, 2, 3", (ParentState.RECEIVED,), ParentEvent.WAITS, ParentState.ARMED),
    Row("1, 4", ACTS, ParentEvent.SENT, ParentState.WORKING),
    Row("5", ACTS, ParentEvent.NOTHING_SENT, ParentState.REJECTED),
    Row("15", ACTS, ParentEvent.COMPLETED, ParentState.COMPLETED),
    Row("16, 28", ACTS, ParentEvent.CANCELLED, ParentState.CANCELLED),
    Row("5, 8, 13, 17", ACTS, ParentEvent.REJECTED, ParentState.REJECTED),
    Row("15b, 18, 37", ACTS, ParentEvent.EXPIRED, ParentState.EXPIRED),
    Row("9, 13b", ACTS, ParentEvent.FAILED, ParentState.FAILED),
    Row("40", _NOT_ENDED, ParentEvent.GIVEN_UP, ParentState.FAILED),
    Row("30", ACTS, ParentEvent.CANCEL_ASKED, ParentState.CANCELLING),
    Row("29, 31", _NOT_ENDED, ParentEvent.NOTHING_RESTS, ParentState.CANCELLED),
    Row("35", _NOT_ENDED, ParentEvent.HALTED, ParentState.HALTED),
    Row("13c", (ParentState.REJECTED, ParentState.FAILED), ParentEvent.TURNED_UP, ParentState.WORKING),
)
PARENT_STATES = _table(PARENT_ROWS, ParentState, ParentEvent)


def parent_state(state: ParentState, event: ParentEvent) -> ParentState:
    return PARENT_STATES.get((state, event), state)


def moved_parent(record: ParentRecord, event: ParentEvent, **changes: Any) -> ParentRecord:
    """Return the parent after the event, with the other `changes` made too."""
    return attrs.evolve(record, state=parent_state(record.state, event), **changes)
