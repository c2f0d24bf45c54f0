"""The state machine of a leg and its simple parent, pair by pair (order-engine 2.2), and its properties."""

from decimal import Decimal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.engine.orders.parent_records import LegRecord, LegState, ParentRecord, ParentState
from onebroker.actors.engine.orders.transitions import (
    LATE,
    leg_never_shown,
    leg_no_longer_shown,
    leg_seen,
    leg_sent,
    simple_parent,
)
from onebroker.brokers.broker import OrderAnswer
from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import Outcome
from tests.support.every_case import every_case

LEG = LegRecord(
    leg_id="p.0", part="entry", token="ob000000000000", broker="zerodha", segment="nse_equities", instrument_token="1",
    tradingsymbol="A", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY", quantity=10,
    price=Decimal(100), trigger_price=None, session_day="2026-11-23",
)  # fmt: skip
PARENT = ParentRecord(
    parent_order_id="p", synthetic_type="simple", routed_from=None, state=ParentState.WORKING, instrument_id="i",
    intent_id="n", created_at=0, updated_at=0, deadline=5, body={}, parameters={}, tag=None, legs=(LEG,),
)  # fmt: skip
OPEN_STATES = [state for state in LegState if not state.final]
ENDS = {"CANCELLED": "cancelled", "REJECTED": "rejected", "EXPIRED": "expired"}


def row(status, filled=0, **more):
    return OrderRow(
        order_id="1", status=status, transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY",
        instrument_token="1", tradingsymbol="A", exchange="NSE", quantity=10, filled_quantity=filled,
        average_price=100.0 if filled else 0.0, **more,
    )  # fmt: skip


def in_state(state, **more):
    return attrs.evolve(LEG, state=state, **more)


@every_case("before", OPEN_STATES)
@every_case(("status", "after"), [("OPEN", "open"), ("PENDING", "pending"), ("TRIGGER X", "open")])
def test_an_order_shown_alive_is_adopted_and_a_cancel_under_way_stays(before, status, after):
    seen = leg_seen(in_state(before), row(status), 1.0, confirmed=False)
    assert seen.state == ("cancelling" if before is LegState.CANCELLING else after)
    assert seen.order_id == "1"


@pytest.mark.parametrize("before", [*OPEN_STATES, LegState.NOT_SENT])
def test_a_complete_order_is_complete_at_its_first_sight(before):
    seen = leg_seen(in_state(before), row("COMPLETE", 10), 1.0, confirmed=False)
    assert (seen.state, seen.filled_quantity, seen.average_price) == ("complete", 10, 100.0)


@every_case("before", [*OPEN_STATES, LegState.NOT_SENT])
@every_case("status", ENDS)
def test_any_other_end_counts_when_a_fresh_book_confirms_it_but_its_fills_count_at_once(before, status):
    heard = leg_seen(in_state(before), row(status, 3), 1.0, confirmed=False)
    assert heard.state == (LegState.OPEN if before.unsettled else before)
    assert heard.filled_quantity == 3
    assert leg_seen(heard, row(status, 4), 2.0, confirmed=True).state == ENDS[status]


@every_case("before", [one for one in LegState if one.final and one is not LegState.NOT_SENT])
@every_case("status", ["OPEN", "PENDING", "COMPLETE", *ENDS])
def test_a_final_leg_keeps_its_state_while_its_filled_number_may_grow(before, status):
    seen = leg_seen(in_state(before, order_id="1", filled_quantity=2), row(status, 5), 1.0, confirmed=True)
    assert (seen.state, seen.filled_quantity) == (before, 5)


def test_a_lower_filled_number_and_its_average_are_ignored():
    leg = in_state(LegState.OPEN, order_id="1", filled_quantity=5, average_price=101.0)
    assert leg_seen(leg, row("OPEN", 3), 1.0, confirmed=True) is leg


@pytest.mark.parametrize("status", ["OPEN", "COMPLETE"])
def test_an_order_taken_as_not_sent_that_turns_up_is_marked_and_its_parent_says_so(status):
    never = leg_never_shown(in_state(LegState.UNKNOWN), 1.0)
    parent = simple_parent(PARENT, never, 1.0)
    assert (parent.state, parent.status_message) == ("rejected", "the broker never showed this order")
    seen = leg_seen(never, row(status, 4), 2.0, confirmed=False)
    assert seen.cancel_reason == LATE
    after = simple_parent(parent, seen, 2.0)
    assert after.status_message == "an order taken as not sent appeared at zerodha after all"
    ended = simple_parent(after, attrs.evolve(seen, state=LegState.CANCELLED), 3.0)
    assert ended.status_message == after.status_message
    assert ended.legs[0].filled_quantity == 4


@pytest.mark.parametrize(("outcome", "after"), [("accepted", "open"), ("rejected", "rejected"), ("unknown", "unknown")])
def test_the_answer_to_a_place_counts_until_the_stream_has_said_more(outcome, after):
    answer = OrderAnswer(outcome=Outcome(outcome), order_id="1", status_message="said", broker_response={"a": 1})
    assert leg_sent(LEG, answer, 1.0).state == after
    ahead = leg_seen(LEG, row("COMPLETE", 10), 0.5, confirmed=False)
    late = leg_sent(ahead, answer, 1.0)
    assert (late.state, late.filled_quantity, late.broker_response) == ("complete", 10, {"a": 1})


@every_case(
    ("leg", "parent"),
    [
        *[(state, "working") for state in OPEN_STATES],
        (LegState.COMPLETE, "completed"), (LegState.CANCELLED, "cancelled"), (LegState.REJECTED, "rejected"),
        (LegState.EXPIRED, "expired"), (LegState.NOT_SENT, "rejected"),
    ],
)  # fmt: skip
def test_a_simple_parent_follows_its_leg(leg, parent):
    assert simple_parent(PARENT, in_state(leg), 1.0).state == parent


def test_an_ioc_order_whose_rest_the_exchange_cancelled_ends_expired_and_one_cancelled_by_its_caller_cancelled():
    ended = attrs.evolve(LEG, validity="IOC", state=LegState.CANCELLED)
    assert simple_parent(PARENT, ended, 1.0).state == "expired"
    assert simple_parent(PARENT, attrs.evolve(ended, cancel_reason="caller"), 1.0).state == "cancelled"


@pytest.mark.parametrize("state", ["completed", "cancelled", "expired", "failed", "halted"])
def test_a_final_parent_keeps_its_state_and_takes_the_leg(state):
    final = attrs.evolve(PARENT, state=ParentState(state))
    after = simple_parent(final, in_state(LegState.OPEN, filled_quantity=3), 1.0)
    assert (after.state, after.legs[0].filled_quantity) == (state, 3)


def test_more_filled_than_ordered_is_shown():
    assert simple_parent(PARENT, in_state(LegState.COMPLETE, filled_quantity=12), 1.0).over_filled_quantity == 2


def test_a_leg_of_an_earlier_day_expires_at_its_last_known_fill_and_says_what_is_not_known():
    leg = in_state(LegState.OPEN, filled_quantity=4, updated_at=1_795_420_800.0)
    expired = leg_no_longer_shown(leg, 2_000_000_000.0)
    assert (expired.state, expired.filled_quantity) == ("expired", 4)
    assert expired.status_message == "what filled after 2026-11-23T13:30:00 is not known"


REPORTS = st.lists(
    st.tuples(st.sampled_from(["OPEN", "PENDING", "COMPLETE", *ENDS]), st.integers(0, 10), st.booleans()), max_size=8
)


@given(REPORTS)
def test_the_filled_number_only_grows_and_a_final_state_stays(reports):
    leg = LEG
    for status, filled, confirmed in reports:
        before, leg = leg, leg_seen(leg, row(status, filled), 1.0, confirmed=confirmed)
        assert leg.filled_quantity == max(before.filled_quantity, filled)
        assert leg.state is before.state or not before.state.final


@given(st.permutations([row("PENDING"), row("OPEN"), row("OPEN", 3), row("OPEN", 7), row("COMPLETE", 10)]))
def test_any_order_of_the_same_reports_gives_the_same_end(rows):
    leg = LEG
    for one in [*rows, *rows]:
        leg = leg_seen(leg, one, 1.0, confirmed=False)
    assert (leg.state, leg.filled_quantity, leg.average_price) == ("complete", 10, 100.0)
