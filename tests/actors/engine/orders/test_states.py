"""The one table of the states of legs and parents: what it never does, that the page shows it, and that nothing else writes a state."""

import ast
from pathlib import Path

import pytest

from onebroker.actors.engine.orders.parent_records import LegState, ParentState
from onebroker.actors.engine.orders.states import (
    LEG_STATES,
    PARENT_STATES,
    LegEvent,
    ParentEvent,
    leg_state,
    parent_state,
)
from tests.support.state_tables import PAGE, with_tables

ENGINE = Path(__file__).resolve().parents[4] / "actors" / "engine"
LOOKS = ("plan",)
"""Rooms whose `state` is that of a part, which a look works out."""


def test_the_page_shows_the_tables():
    page = PAGE.read_text()
    assert page == with_tables(page), "python -m tests.support.state_tables writes them"


@pytest.mark.parametrize("event", LegEvent)
def test_an_ended_leg_stays_ended_unless_it_was_taken_as_not_sent(event):
    ended = {state for state in LegState if state.final and state is not LegState.NOT_SENT}
    assert {state: leg_state(state, event) for state in ended} == {state: state for state in ended}
    assert leg_state(LegState.NOT_SENT, event) is LegState.NOT_SENT or event.value.startswith("shown")


@pytest.mark.parametrize("event", ParentEvent)
def test_an_ended_parent_stays_ended_unless_its_order_turns_up(event):
    for state in ParentState:
        if state.final and (event is not ParentEvent.TURNED_UP or state in (ParentState.CANCELLED, ParentState.HALTED)):
            assert parent_state(state, event) is state
    assert parent_state(ParentState.CANCELLING, event) in (
        ParentState.CANCELLING,
        ParentState.CANCELLED,
        ParentState.HALTED,
        ParentState.FAILED,
    )


def test_a_leg_under_cancel_leaves_it_for_an_end_or_a_cancel_without_effect_alone():
    left = {event: after for (state, event), after in LEG_STATES.items() if state is LegState.CANCELLING}
    opened = {event for event, after in left.items() if not after.final and after is not LegState.CANCELLING}
    assert opened == {LegEvent.CANCEL_WITHOUT_EFFECT}


def test_every_event_means_something_and_every_open_state_can_end():
    assert {event for _, event in LEG_STATES} == set(LegEvent)
    assert {event for _, event in PARENT_STATES} == set(ParentEvent)
    for table, states in ((LEG_STATES, LegState), (PARENT_STATES, ParentState)):
        for state in states:
            assert state.final or any(was is state and after.final for (was, _), after in table.items())


def test_nothing_else_writes_the_state_of_a_leg_or_a_parent():
    writers = set()
    for path in ENGINE.rglob("*.py"):
        if path.relative_to(ENGINE).parts[0] in LOOKS:
            continue
        calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
        evolved = (call for call in calls if ast.unparse(call.func) in ("attrs.evolve", "evolve"))
        if any(word.arg == "state" for call in evolved for word in call.keywords):
            writers.add(str(path.relative_to(ENGINE)))
    assert writers == {"orders/states.py"}
