"""`/asyncapi.json` has every message of the stream, and its examples fit their types."""

import json

import pytest

from onebroker.config.refusal import Refusal
from onebroker.http.answers.stream import MESSAGES, REQUESTS
from onebroker.http.live.client_requests import read_command
from tests.support.described import check_message, message_misfits, stream_document


async def test_the_document_is_open(client):
    response = await client.get("/asyncapi.json")
    assert response.content_type == "application/json"
    assert await response.get_json() == stream_document()


def test_every_message_is_on_the_channel_and_in_an_operation():
    document = stream_document()
    names = {kind.__name__ for kind in (*REQUESTS, *MESSAGES)}
    assert set(document["channels"]["stream"]["messages"]) == set(document["components"]["messages"]) == names
    told = [
        ref["$ref"].rpartition("/")[2] for operation in document["operations"].values() for ref in operation["messages"]
    ]
    assert sorted(told) == sorted(names)


def test_every_name_that_is_used_has_a_schema():
    text = json.dumps(stream_document())
    named = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}
    assert named == set(stream_document()["components"]["schemas"])


@pytest.mark.parametrize("kind", [kind.__name__ for kind in (*REQUESTS, *MESSAGES)])
def test_every_message_has_an_example_that_fits(kind):
    examples = stream_document()["components"]["messages"][kind]["examples"]
    assert examples
    for example in examples:
        assert message_misfits(kind, example["payload"]) == []


@pytest.mark.parametrize("kind", [kind.__name__ for kind in REQUESTS])
def test_the_service_understands_the_examples_of_requests(kind):
    for example in stream_document()["components"]["messages"][kind]["examples"]:
        read_command(example["payload"])


@pytest.mark.parametrize("kind", [kind.__name__ for kind in REQUESTS])
def test_an_unknown_key_fits_no_more_than_the_service_takes_it(kind):
    for example in stream_document()["components"]["messages"][kind]["examples"]:
        wrong = {**example["payload"], "nosuch": 1}
        assert message_misfits(kind, wrong)
        with pytest.raises(Refusal):
            read_command(wrong)


def test_a_message_that_the_document_does_not_have_is_seen():
    with pytest.raises(AssertionError):
        check_message({"seq": 1, "type": "greeting"})
    with pytest.raises(AssertionError):
        check_message({"seq": 1, "type": "lagged", "channel": "orders", "missed": 1, "more": 2})
