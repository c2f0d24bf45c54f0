"""`settle` in the client's core: it follows a request of unknown outcome by reading alone."""

import pytest
from onebroker_client.errors import OutcomeUnknown
from onebroker_client.exchange import call
from onebroker_client.settling import settle

from onebroker.http.answers import parents, place, portfolio
from tests.clients.core import LOST, NOT_SENT, access, answer, play

INTENT, PARENT = place.INTENT_ID, place.PLACED_EXAMPLE["parent_id"]
INTENTS, PARENTS, BOOK = f"/api/orders/intents/{INTENT}", "/api/orders/parents", "/api/orders/details"
OTHER = "00000000-0000-4000-8000-000000000000"
WAITING = answer(202, place.WAITING_EXAMPLE)
KEPT = answer(200, place.KEPT_EXAMPLE)
NOT_KEPT = answer(404, {"error": "no answer is kept for this intent_id"})
UNKNOWN = {"error": "no answer", "outcome": "unknown", "intent_id": INTENT}
ROW = parents.EXAMPLE


def unknown(**more) -> OutcomeUnknown:
    return OutcomeUnknown("place_order", "no answer", **{"status": 504, "body": UNKNOWN, **more})


def parent(**more) -> dict:
    return {**ROW, "parent_order_id": PARENT, "intent_id": INTENT, **more}


def leg(state: str) -> dict:
    return {**ROW["legs"][0], "state": state}


def test_it_reads_the_engines_answer_until_there_is_one():
    played = play(settle(access(), unknown(), 60.0), WAITING, NOT_KEPT, KEPT)
    assert played.sent == [f"GET {INTENTS}"] * 3
    assert (played.value.intent_id, played.value.outcome) == (INTENT, "accepted")
    assert played.value.answer.response.order_id == place.PLACED_EXAMPLE["order_id"]


def test_it_never_sends_the_order():
    played = play(settle(access(), unknown(), 5.0), routes={INTENTS: WAITING})
    assert {request.method for request in played.requests} == {"GET"}
    assert len(played.requests) > 3


def test_a_refused_order_is_rejected_without_a_parent():
    kept = answer(200, {"intent_id": INTENT, "status": 400, "response": {"error": "the market is closed"}})
    assert play(settle(access(), unknown(), 60.0), kept).value.outcome == "rejected"


def test_an_answer_that_is_unknown_itself_leads_to_the_parent():
    kept = {"intent_id": INTENT, "status": 504, "response": {**place.UNKNOWN_EXAMPLE, "parent_id": PARENT}}
    looks = iter([parent(legs=[leg("unknown")]), parent(legs=[leg("open")])])
    routes = {INTENTS: answer(200, kept), PARENTS: lambda request: answer(200, next(looks))}
    played = play(settle(access(), unknown(), 60.0), routes=routes)
    assert played.value.outcome == "accepted"
    assert played.value.parent.parent_order_id == PARENT
    assert played.sent == [f"GET {INTENTS}", f"GET {PARENTS}?parent_id={PARENT}"] * 2


@pytest.mark.parametrize(
    ("kind", "state", "states", "outcome"),
    [
        ("simple", "completed", ["complete"], "accepted"),
        ("simple", "working", ["rejected", "open"], "accepted"),
        ("simple", "rejected", ["not_sent"], "rejected"),
        ("simple", "rejected", [], "rejected"),
        ("plan", "working", ["rejected", "open"], "partial"),
        ("plan", "working", ["open", "pending"], "accepted"),
        ("plan", "armed", [], "armed"),
    ],
)
def test_the_outcome_of_a_parent_is_that_of_its_orders(kind, state, states, outcome):
    gone = unknown(body={**UNKNOWN, "parent_id": PARENT})
    shown = answer(200, parent(synthetic_type=kind, state=state, legs=[leg(each) for each in states]))
    assert play(settle(access(), gone, 60.0), routes={INTENTS: NOT_KEPT, PARENTS: shown}).value.outcome == outcome


@pytest.mark.parametrize(
    ("state", "states"), [("working", []), ("received", []), ("working", ["rejected"]), ("completed", ["sending"])]
)
def test_a_parent_that_may_still_send_its_order_is_not_settled(state, states):
    gone = unknown(body={**UNKNOWN, "parent_id": PARENT})
    shown = answer(200, parent(state=state, legs=[leg(each) for each in states]))
    played = play(settle(access(), gone, 5.0), routes={INTENTS: NOT_KEPT, PARENTS: shown})
    assert isinstance(played.error, OutcomeUnknown)


def test_a_lost_answer_is_found_by_the_orders_own_tag_among_the_parents():
    lost = unknown(status=None, body={}, tag="T1")
    looks = iter([[], [parent(body={"tag": "other"}, intent_id=OTHER), parent(body={"tag": "T1"})]])
    routes = {
        PARENTS: lambda request: answer(200, {"parents": next(looks)}),
        BOOK: answer(200, {**portfolio.ORDERS_EXAMPLE, "orders": []}),
        INTENTS: KEPT,
    }
    played = play(settle(access(), lost, 60.0), routes=routes)
    assert (played.value.intent_id, played.value.outcome) == (INTENT, "accepted")


def test_a_lost_answer_is_found_in_the_order_book_when_the_parent_has_ended():
    other = {**portfolio.ORDER_EXAMPLE, "tag": "other", "intent_id": OTHER}
    order = {**portfolio.ORDER_EXAMPLE, "tag": "T1", "intent_id": INTENT, "engine_parent_id": PARENT}
    routes = {
        PARENTS: answer(200, {"parents": []}),
        BOOK: answer(200, {**portfolio.ORDERS_EXAMPLE, "orders": [other, order]}),
        INTENTS: KEPT,
    }
    played = play(settle(access(), unknown(status=None, body={}, tag="T1"), 60.0), routes=routes)
    assert played.value.intent_id == INTENT


def test_it_ends_with_unknown_at_the_deadline():
    played = play(settle(access(), unknown(), 5.0), routes={INTENTS: NOT_KEPT})
    assert isinstance(played.error, OutcomeUnknown)
    assert played.error.intent_id == INTENT
    assert sum(played.pauses) == pytest.approx(5.0)


def test_where_there_is_nothing_to_follow_it_says_so_at_once():
    played = play(settle(access(), unknown(status=None, body={}), 60.0))
    assert isinstance(played.error, OutcomeUnknown)
    assert (played.requests, played.pauses) == ([], [])


@pytest.mark.parametrize("trouble", [LOST, NOT_SENT, answer(503, {"error": "starting"})])
def test_a_service_that_starts_again_meanwhile_is_waited_for(trouble):
    looks = iter([trouble] * 9)
    played = play(settle(access(), unknown(), 60.0), routes={INTENTS: lambda request: next(looks, KEPT)})
    assert played.value.outcome == "accepted"


def test_a_client_binds_what_it_raises_to_itself():
    raised = play(call(access(), "flatten", {"confirm": "FLATTEN"}), LOST).error
    with pytest.raises(TypeError, match="no client"):
        raised.settle()
    raised.bind(lambda what, seconds: (what, seconds))
    assert raised.settle(7.0) == (raised, 7.0)
