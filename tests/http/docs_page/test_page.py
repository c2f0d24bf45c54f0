"""The page of a document: every route, field and schema is there, with an anchor, and every link leads somewhere."""

import re
from html import escape
from html.parser import HTMLParser

import pytest

from onebroker.http.docs_page.page import docs_page
from onebroker.http.docs_page.schema_words import fields_table, meaning, words
from onebroker.http.document.openapi import openapi_document
from onebroker.http.route_table import ROUTES

DOCUMENT = openapi_document(ROUTES)
OPERATIONS = [operation for methods in DOCUMENT["paths"].values() for operation in methods.values()]


class Page(HTMLParser):
    """The anchors and links of a page, and the elements that are not closed."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.open, self.text = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.anchors += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def page():
    return Page(docs_page(DOCUMENT).decode())


def test_every_element_is_closed_and_no_anchor_is_there_twice(page):
    assert page.open == []
    assert len(page.anchors) == len(set(page.anchors))


def test_every_route_and_every_schema_has_an_anchor(page):
    wanted = {operation["operationId"] for operation in OPERATIONS}
    wanted |= {f"schema-{name}" for name in DOCUMENT["components"]["schemas"]}
    assert wanted <= set(page.anchors)


def test_every_link_leads_to_an_anchor_of_the_page_or_to_a_route(page):
    inner = {link.removeprefix("#") for link in page.links if link.startswith("#")}
    outer = {link for link in page.links if not link.startswith("#")}
    assert inner <= set(page.anchors)
    assert outer <= {row.path for row in ROUTES}
    assert {operation["operationId"] for operation in OPERATIONS} <= inner


def test_no_backtick_of_a_text_is_left(page):
    assert re.findall("`.{0,20}", "".join(page.text)) == []


def test_every_parameter_and_field_is_named(page):
    text = "".join(page.text)
    for operation in OPERATIONS:
        for row in operation.get("parameters", ()):
            assert row["name"] in text
    for schema in DOCUMENT["components"]["schemas"].values():
        assert all(name in text for name in schema.get("properties", ()))


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "integer, from 1 to 9"),
        ({"anyOf": [{"type": "number"}, {"type": "null"}]}, "number or null"),
        ({"type": ["string", "null"]}, "string or null"),
        ({"type": "string", "format": "date"}, "string (date)"),
        ({"enum": ["a", "b"], "type": "string"}, "<code>&quot;a&quot;</code> or <code>&quot;b&quot;</code>"),
        ({"type": "array", "items": {"$ref": "#/components/schemas/Ltp"}}, 'list of <a href="#schema-Ltp">Ltp</a>'),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "object of integer"),
        ({"const": 3}, "<code>3</code>"),
        ({}, "anything"),
    ],
)
def test_a_schema_in_words(schema, said):
    assert words(schema) == said


def test_many_allowed_words_stand_in_the_text_of_their_field():
    many = [f"word{number}" for number in range(20)]
    schema = {"enum": many, "type": "string", "description": "One of `many`."}
    assert words(schema) == "one of the words below"
    assert all(escape(f'"{each}"') in meaning(schema) for each in many)
    assert "<code>many</code>" in meaning(schema)


def test_a_field_that_may_be_absent_is_told_so():
    shown = fields_table({"properties": {"a": {"type": "string"}, "b": {"type": "null"}}, "required": ["a"]})
    assert re.findall("<td>(yes|no)</td>", shown) == ["yes", "no"]
