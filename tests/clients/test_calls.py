"""The rules of a call, in the client's core: what is sent again and what never is, and what each status becomes."""

from datetime import timedelta
from decimal import Decimal

import msgspec
import pytest
from onebroker_client import answers, errors, requests
from onebroker_client.answering import UNKNOWN
from onebroker_client.exchange import PAUSES_SECONDS, TOKEN_HEADER, call, new_tag
from onebroker_client.operations import OPERATIONS

from onebroker.http.answers import place, portfolio
from onebroker.http.document.openapi import openapi_document
from onebroker.http.route_table import ROUTES
from tests.clients.core import LOST, NOT_SENT, TOKEN, access, answer, connected, play

ORDER = {"instrument_id": "c073e305-8427-5ea8-9109-7545632972ab", "transaction_type": "BUY", "quantity": 1}
PLACE = "POST /api/orders/place"
REFUSED = {"error": "no"}
CHANGES = sorted(name for name, operation in OPERATIONS.items() if operation.changes)


@pytest.fixture(scope="module")
def document():
    return openapi_document(ROUTES)


def _arguments(name: str) -> dict[str, object]:
    return dict(ORDER) if name == "place_order" else {}


def test_every_operation_of_the_document_is_in_the_table(document):
    named = {one["operationId"] for methods in document["paths"].values() for one in methods.values()}
    assert set(OPERATIONS) == named - {"open_stream"}


def test_a_call_has_the_token_and_connects_first_when_there_is_none():
    own = access(token=None)
    played = play(call(own, "get_halt", {}), connected("new"), answer(200, {"halted": False}))
    assert played.sent == ["POST /api/session/connect", "GET /api/orders/halt"]
    assert played.requests[0].headers == {"api-key": "demo-key", "api-secret": "demo-secret"}
    assert played.requests[1].headers == {TOKEN_HEADER: "new"}
    assert played.value == answers.HaltState(halted=False)


def test_an_open_route_needs_no_token():
    played = play(call(access(token=None), "get_liveness", {}), answer(200, {"status": "ok"}))
    assert played.sent == ["GET /health"]
    assert played.requests[0].headers == {}


@pytest.mark.parametrize("name", ["get_halt", "place_order", "cancel_order", "flatten"])
def test_after_a_401_it_connects_once_and_repeats_the_same_request(name):
    own = access()
    played = play(call(own, name, _arguments(name)), answer(401, REFUSED), connected("new"), answer(400, REFUSED))
    first, _, again = played.requests
    assert (first.headers[TOKEN_HEADER], again.headers[TOKEN_HEADER]) == (TOKEN, "new")
    assert (first.method, first.target, first.body) == (again.method, again.target, again.body)
    assert own.token == "new"


def test_a_second_401_is_an_error():
    played = play(call(access(), "get_halt", {}), answer(401, REFUSED), connected("new"), answer(401, REFUSED))
    assert isinstance(played.error, errors.Unauthorized)


def test_after_a_disconnect_the_next_call_connects():
    own = access()
    play(call(own, "disconnect", {}), answer(200, {"status": "disconnected"}))
    played = play(call(own, "get_halt", {}), connected("new"), answer(200, {"halted": False}))
    assert played.sent == ["POST /api/session/connect", "GET /api/orders/halt"]


def test_an_order_that_was_rejected_says_the_brokers_words():
    error = play(call(access(), "place_order", ORDER), answer(422, place.REJECTED_EXAMPLE)).error
    assert isinstance(error, errors.Rejected)
    assert error.error == place.REJECTED_EXAMPLE["status_message"]


def test_a_401_to_a_client_with_a_token_alone_is_an_error():
    played = play(call(access(key=False), "get_halt", {}), answer(401, REFUSED))
    assert isinstance(played.error, errors.Unauthorized)


def test_after_a_401_a_token_that_another_call_got_meanwhile_is_used():
    own = access()
    steps = call(own, "get_halt", {})

    def old_token(request):
        own.token = "of another call"
        return answer(401, REFUSED)

    replies = iter([old_token, lambda request: answer(200, {"halted": False})])
    played = play(steps, routes={"/api/orders/halt": lambda request: next(replies)(request)})
    assert [request.headers[TOKEN_HEADER] for request in played.requests] == [TOKEN, "of another call"]


@pytest.mark.parametrize("trouble", [NOT_SENT, LOST, answer(503, REFUSED)])
def test_a_read_is_sent_again_after_short_pauses(trouble):
    played = play(call(access(), "get_halt", {}), trouble, trouble, answer(200, {"halted": False}))
    assert played.value.halted is False
    assert played.pauses == list(PAUSES_SECONDS[:2])


@pytest.mark.parametrize(
    ("trouble", "error"),
    [(NOT_SENT, errors.Unreachable), (LOST, errors.AnswerLost), (answer(503, REFUSED), errors.ServiceUnavailable)],
)
def test_a_read_ends_with_an_error_after_the_last_pause(trouble, error):
    played = play(call(access(), "get_halt", {}), *[trouble] * 4)
    assert isinstance(played.error, error)
    assert played.pauses == list(PAUSES_SECONDS)


@pytest.mark.parametrize("name", CHANGES)
def test_what_can_change_something_is_sent_once_when_its_answer_is_lost(name):
    played = play(call(access(), name, _arguments(name)), LOST)
    assert len(played.requests) == 1
    assert isinstance(played.error, errors.OutcomeUnknown)
    assert (played.error.status, played.error.intent_id) == (None, None)


@pytest.mark.parametrize("name", CHANGES)
def test_what_can_change_something_is_sent_once_when_the_service_says_503(name):
    played = play(call(access(), name, _arguments(name)), answer(503, REFUSED))
    assert isinstance(played.error, errors.ServiceUnavailable)


@pytest.mark.parametrize("status", [500, 502, 504])
@pytest.mark.parametrize("name", CHANGES)
def test_a_5xx_of_what_can_change_something_is_an_unknown_outcome_with_its_intent(name, status):
    body = {"error": "the engine did not answer", "outcome": "unknown", "intent_id": "0a6f", "parent_id": "b6"}
    played = play(call(access(), name, _arguments(name)), answer(status, body))
    unknown = played.error
    assert isinstance(unknown, errors.OutcomeUnknown)
    assert (unknown.operation, unknown.status, unknown.intent_id, unknown.parent_id) == (name, status, "0a6f", "b6")
    assert "0a6f" in str(unknown)


def test_an_answer_that_says_unknown_is_one_whatever_its_status():
    body = {"error": "the order may have been placed", "outcome": "unknown", "intent_id": "0a6f"}
    played = play(call(access(), "place_order", ORDER), answer(503, body))
    assert isinstance(played.error, errors.OutcomeUnknown)
    assert (played.sent, played.error.intent_id) == ([PLACE], "0a6f")


def test_an_order_that_never_left_is_sent_again():
    played = play(call(access(), "place_order", ORDER), NOT_SENT, answer(200, place.PLACED_EXAMPLE))
    assert played.sent == [PLACE, PLACE]
    assert played.requests[0].body == played.requests[1].body
    assert played.value.outcome == "accepted"


def test_the_end_of_a_dry_run_without_an_answer_is_not_an_unknown_outcome():
    assert isinstance(play(call(access(), "place_order", {**ORDER, "dry_run": True}), LOST).error, errors.AnswerLost)
    late = play(call(access(), "place_order", {**ORDER, "dry_run": True}), answer(504, REFUSED))
    assert isinstance(late.error, errors.TooLate)


def test_a_list_of_quotes_by_post_changes_nothing():
    played = play(call(access(), "get_ltp_list", {"instruments": []}), LOST)
    assert isinstance(played.error, errors.AnswerLost)


def test_an_order_without_a_tag_gets_one_of_its_own():
    played = play(call(access(), "place_order", ORDER), LOST)
    assert played.body() == {**ORDER, "tag": "TAGTAGTAGTAGTAGTAG01"}
    assert played.error.tag == "TAGTAGTAGTAGTAGTAG01"


@pytest.mark.parametrize("more", [{"tag": "mine"}, {"dry_run": True}])
def test_a_tag_of_the_caller_stays_and_a_dry_run_gets_none(more):
    played = play(call(access(), "place_order", {**ORDER, **more}), answer(400, REFUSED))
    assert played.body() == {**ORDER, **more}


def test_own_tags_are_as_the_service_takes_them_and_differ():
    made = {new_tag() for _ in range(50)}
    assert len(made) == 50
    assert all(len(tag) == 20 and tag.isascii() and tag.isalnum() for tag in made)


@pytest.mark.parametrize("status", sorted(set(errors.REFUSALS) - {401, 503}))
def test_a_refusal_is_the_exception_of_its_status(status):
    body = {"error": "why", "broker": "zerodha"}
    name = "get_orders" if status in UNKNOWN else "modify_order"
    error = play(call(access(), name, {"order_id": "1"}), answer(status, body)).error
    assert type(error) is errors.REFUSALS[status]
    assert (error.status, error.error, error.body) == (status, "why", body)


def test_a_status_without_an_exception_of_its_own_and_a_page_are_refusals_too():
    error = play(call(access(), "get_halt", {}), answer(405, b"<html>no</html>")).error
    assert type(error) is errors.Refusal
    assert (error.status, error.body) == (405, {})


def test_a_list_with_failures_is_data():
    entry = {"request_index": 0, "status": 400, "response": {"error": "quantity is required"}}
    orders = [requests.PlaceOrderBodyItem(quantity=None)]
    value = play(call(access(), "place_order", {"orders": orders}), answer(207, {"results": [entry]})).value
    assert isinstance(value, answers.PlaceResults)
    assert isinstance(value.results[0].response, answers.Failure)


def test_a_success_that_is_no_answer_of_the_document_keeps_its_body():
    error = play(call(access(), "place_order", ORDER), answer(200, {"order": 1})).error
    assert isinstance(error, errors.UnexpectedAnswer)
    assert (error.status, error.body) == (200, {"order": 1})


def test_further_fields_and_further_words_are_no_error():
    body = {**place.PLACED_EXAMPLE, "outcome": "postponed", "mood": "good"}
    assert play(call(access(), "place_order", ORDER), answer(200, body)).value.outcome == "postponed"


def test_numbers_are_floats_or_exact_decimals():
    body = b'{"instrument_id":"c073","exchange":"nse","segment":"nse_equities","shape":"security","symbol":"INFY",'
    body += b'"underlying_symbol":null,"expiry_date":null,"strike_price":null,"option_type":null,"last_price":1501.10,'
    body += b'"last_trade_time":null,"received_at":1795408210.25,"source":"cache","broker":"dhan","broker_token":"1"}'
    floats = play(call(access(), "get_ltp", {}), answer(200, body)).value
    exact = play(call(access(decimals=True), "get_ltp", {}), answer(200, body)).value
    assert (type(floats.last_price), floats.last_price) == (float, 1501.1)
    assert (type(exact.last_price), str(exact.last_price)) == (Decimal, "1501.10")
    assert floats.received_at == exact.received_at
    assert msgspec.json.decode(msgspec.json.encode(floats))["last_price"] == 1501.1
    assert (exact.received_at.utcoffset(), exact.received_at.timestamp()) == (timedelta(hours=5.5), 1795408210.25)


def test_a_decimal_goes_out_with_its_exact_digits():
    arguments = {**ORDER, "tag": "t", "price": Decimal("1501.10"), "trigger_price": 0.1}
    played = play(call(access(), "place_order", arguments), answer(400, REFUSED))
    assert b'"price":1501.10,"trigger_price":0.1' in played.requests[0].body


@pytest.mark.parametrize("price", [float("nan"), float("inf"), Decimal("NaN"), Decimal("Infinity")])
def test_a_price_that_is_no_number_is_not_sent(price):
    played = play(call(access(), "place_order", {**ORDER, "price": price}))
    assert isinstance(played.error, ValueError)
    assert played.requests == []


def test_the_parts_of_an_address_are_escaped():
    played = play(call(access(), "get_intent", {"intent_id": "a/b ?"}), answer(400, REFUSED))
    assert played.sent == ["GET /api/orders/intents/a%2Fb%20%3F"]
    played = play(
        call(access(), "get_details", {"symbol": "M&M", "strike_price": Decimal("1E+3")}), answer(400, REFUSED)
    )
    assert played.sent == ["GET /api/instruments/details?symbol=M%26M&strike_price=1000"]


def test_india_time_without_an_offset_is_an_aware_moment():
    document = play(call(access(), "get_funds", {}), answer(200, portfolio.FUNDS_EXAMPLE)).value
    written = portfolio.FUNDS_EXAMPLE["as_of"]
    assert document.as_of.isoformat() == f"{written}+05:30"


def test_every_field_of_every_example_of_the_document_is_read(document):
    """The examples fit their schemas. A struct that is chosen wrongly, a field that is left out or has a wrong type shows here."""
    read = 0
    for methods in document["paths"].values():
        for operation in methods.values():
            name = operation["operationId"]
            if name == "open_stream":
                continue
            for status, response in operation["responses"].items():
                for example in _examples(response) if status < "300" else ():
                    for decimals in (False, True):
                        value = play(call(access(decimals=decimals), name, {}), answer(int(status), example)).value
                        assert list(_left_out(value, example, name)) == []
                        read += 1
    assert read > 90


def _left_out(value, example, where):
    """Yield the places of an example that a value does not have."""
    if isinstance(value, msgspec.Struct):
        names = {field.encode_name: field.name for field in msgspec.structs.fields(value)}
        for key, inner in example.items():
            if key in names:
                yield from _left_out(getattr(value, names[key]), inner, f"{where}.{key}")
            else:
                yield f"{where}.{key}"
    elif isinstance(value, list):
        for number, (inner, shown) in enumerate(zip(value, example, strict=True)):
            yield from _left_out(inner, shown, f"{where}.{number}")
    elif isinstance(value, dict):
        for key, shown in example.items():
            yield from _left_out(value[key], shown, f"{where}.{key}")
    elif value is None and example is not None:
        yield where


def _examples(response):
    for content in response.get("content", {}).values():
        if "example" in content:
            yield content["example"]
        yield from (one["value"] for one in content.get("examples", {}).values())
