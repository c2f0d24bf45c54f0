"""The client's types of bodies are those of the document: every form, every field, and every example as it goes out."""

import msgspec
import pytest
from onebroker_client import requests, subscriptions
from onebroker_client.building import encode

from onebroker.http.document.asyncapi import asyncapi_document
from onebroker.http.document.openapi import openapi_document
from onebroker.http.route_table import ROUTES

OPENAPI = openapi_document(ROUTES)
SCHEMAS = OPENAPI["components"]["schemas"]
FORMS = SCHEMAS["SyntheticOrder"]["discriminator"]["mapping"]
STRUCTS = {
    name: kind
    for name, kind in vars(requests).items()
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and name in SCHEMAS
}


def _fields(kind):
    told = kind.__struct_config__.tag_field
    return {field.encode_name for field in msgspec.structs.fields(kind)} | ({told} if told else set())


def _needed(kind):
    told = kind.__struct_config__.tag_field
    return {field.encode_name for field in msgspec.structs.fields(kind) if field.required} | ({told} if told else set())


@pytest.mark.parametrize("name", sorted(STRUCTS))
def test_a_body_has_the_fields_of_its_schema(name):
    assert _fields(STRUCTS[name]) == set(SCHEMAS[name]["properties"])
    assert _needed(STRUCTS[name]) >= set(SCHEMAS[name].get("required", ()))


def test_all_55_forms_of_an_order_are_there_with_their_words():
    made = {word: getattr(requests, reference.rsplit("/", 1)[-1]) for word, reference in FORMS.items()}
    assert len(made) == 55
    assert {word: kind.__struct_config__.tag for word, kind in made.items()} == {word: word for word in FORMS}


def _synthetic():
    """Every `synthetic` of the examples of place, once."""
    content = OPENAPI["paths"]["/api/orders/place"]["post"]["requestBody"]["content"]["application/json"]
    for title, example in content["examples"].items():
        for body in example["value"].get("orders", [example["value"]]):
            if body.get("synthetic"):
                yield pytest.param(body["synthetic"], id=title)


@pytest.mark.parametrize("shown", list(_synthetic()))
def test_a_form_goes_out_as_the_example_shows_it(shown):
    kind = getattr(requests, FORMS[shown["type"]].rsplit("/", 1)[-1])
    made = kind(**{name: value for name, value in shown.items() if name != "type"})
    assert msgspec.json.decode(encode(made)) == shown


def test_what_is_left_out_does_not_go_out():
    assert encode(requests.SimpleOrder()) == b'{"type":"simple"}'
    assert encode(requests.FlattenBody(confirm="FLATTEN")) == b'{"confirm":"FLATTEN"}'


def test_a_confirmation_is_never_given_by_the_client():
    with pytest.raises(TypeError):
        requests.FlattenBody()


def test_what_a_client_says_on_the_stream_has_the_fields_of_its_schema():
    schemas = asyncapi_document()["components"]["schemas"]
    named = [name for name in schemas if name.startswith(("Subscribe", "Unsubscribe")) and hasattr(subscriptions, name)]
    assert len(named) == 8
    for name in named:
        assert _fields(getattr(subscriptions, name)) == set(schemas[name]["properties"])
    said = subscriptions.SubscribeQuotes(mode="ltp", instruments=[requests.InstrumentNamed(symbol="INFY")])
    assert encode(said) == b'{"subscribe":"quotes","mode":"ltp","instruments":[{"symbol":"INFY"}]}'
