"""What the reference routes answer from: unreadable contents, the 404s and what "unavailable" means."""

import json

import pytest

from onebroker.actors.reference.state import (
    Documents,
    ReferenceState,
    collection_body,
    join_documents,
    join_profiles,
    read_array,
    user_body,
)
from onebroker.config.refusal import Refusal

EMPTY = Documents(count=0, body=b"[]")
ONE = Documents(count=1, body=b'[{"a":1}]')


def refusal_of(read, *arguments):
    with pytest.raises(Refusal) as caught:
        read(*arguments)
    return caught.value.status, caught.value.sentence


def test_documents_are_joined_in_their_order_and_left_as_they_are():
    assert join_documents([b'{"b":1}', b'{"a": 2}']) == Documents(count=2, body=b'[{"b":1},{"a": 2}]')
    assert join_documents([]) == EMPTY


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"[{]", b'["\xff"]', b"[" * 100_000, b"null"])
def test_an_array_that_is_none_of_objects_is_unreadable(body):
    assert read_array(body) is None


def test_profiles_carry_every_code_and_null_for_a_broker_without_one():
    body = join_profiles(
        {"zerodha": b'{"user_id":"AB1234"}', "upstox": None, "dhan": b"[]", "fyers": b"{}", "groww": b"{"}
    )
    assert json.loads(body) == {
        "zerodha": {"user_id": "AB1234"}, "upstox": None, "dhan": None, "fyers": None, "groww": None,
    }  # fmt: skip


def test_profiles_of_nobody_are_unavailable_as_a_whole():
    assert join_profiles({"zerodha": None, "upstox": b"broken"}) is None
    assert join_profiles({}) is None


def test_users_are_not_found_only_without_a_document_and_without_a_profile():
    not_found = (404, "User profile not found")
    assert refusal_of(user_body, ReferenceState(documents={"users": EMPTY})) == not_found
    with_profile = ReferenceState(documents={"users": EMPTY}, profiles=b'{"dhan":{"x":1}}')
    assert json.loads(user_body(with_profile)) == {"user_details": [], "broker_profiles": {"dhan": {"x": 1}}}
    with_document = ReferenceState(documents={"users": ONE})
    assert json.loads(user_body(with_document)) == {"user_details": [{"a": 1}], "broker_profiles": None}


@pytest.mark.parametrize(
    ("collection", "sentence"),
    [("brokers", "Broker details not found"), ("exchanges", "Exchange details not found")],
)
def test_an_empty_collection_is_not_found(collection, sentence):
    assert refusal_of(collection_body, ReferenceState(documents={collection: EMPTY}), collection) == (404, sentence)
    assert collection_body(ReferenceState(documents={collection: ONE}), collection) == ONE.body


def test_a_collection_that_was_never_read_is_not_said_to_be_empty():
    sentence = "Exchange details are not available: nothing is keeping reference:exchanges"
    assert refusal_of(collection_body, ReferenceState(), "exchanges") == (503, sentence)
    sentence = "User details are not available: nothing is keeping reference:users"
    assert refusal_of(user_body, ReferenceState(profiles=b'{"dhan":{"x":1}}')) == (503, sentence)


def test_neither_a_document_nor_a_profile_shows_in_the_text_of_a_state():
    state = ReferenceState(documents={"users": Documents(count=1, body=b'[{"pan":"secret"}]')}, profiles=b"secret")
    assert "secret" not in repr(state)
