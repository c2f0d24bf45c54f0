"""The calls that `/docs` shows: which each route has, and that shell and Python read the same variables."""

import ast
import os
import re
import subprocess

import msgspec
import pytest

from onebroker.http.docs_page.example_calls import (
    BODIES,
    MEANINGS,
    QUERIES,
    Call,
    call_of,
    curl_call,
    python_call,
    variables,
)
from onebroker.http.document.openapi import openapi_document
from onebroker.http.route_table import ROUTES

PLACES = {"$INTENT_ID": ("intent_id",), "$BROKER": ("code",), "$REDIRECT": ("code",), "": ("name",)}
"""Variable in a path -> the parameters in its place."""
DOCUMENT = openapi_document(ROUTES)
CALLS = {
    operation["operationId"]: (call_of(method, path, operation), operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
}


def test_the_tables_name_only_routes_that_there_are():
    assert set(QUERIES) | set(BODIES) <= set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_each_call_has_what_its_route_requires(name):
    call, operation = CALLS[name]
    given = {
        "query": call.query,
        "header": call.headers,
        "path": PLACES.get(next(iter(re.findall(r"\$\w+", call.path)), ""), ()),
    }
    for row in operation.get("parameters", ()):
        assert not row["required"] or row["name"] in given[row["in"]]
    assert call.body is not None or not operation.get("requestBody", {}).get("required")
    assert "{" not in call.path
    assert bool(call.headers) == bool(operation["security"])


@pytest.mark.parametrize("name", CALLS)
def test_both_forms_read_exactly_the_variables_that_are_told(name):
    call, _ = CALLS[name]
    told = variables(call)
    assert set(told) <= set(MEANINGS)
    read = {
        node.slice.value
        for node in ast.walk(ast.parse(python_call(call)))
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "os.environ"
    }
    assert read == set(told)
    assert {each for each in MEANINGS if f"${each}" in curl_call(call)} == set(told)


def test_the_shell_and_python_send_the_same_body(tmp_path):
    """A curl and a library that only show what they were given stand in the place of the real ones."""
    call, _ = CALLS["place_order"]
    (tmp_path / "curl").write_text('#!/bin/sh\nfor word in "$@"; do last=$word; done\nexec cat\n')
    (tmp_path / "curl").chmod(0o700)
    set_to = {
        **dict.fromkeys(MEANINGS, "x"),
        "PRICE": "1480.5",
        "INSTRUMENT": "id",
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
    }
    sent = subprocess.run(["sh", "-c", curl_call(call)], env=set_to, capture_output=True, timeout=30, check=True).stdout
    body = next(
        node.value
        for node in ast.walk(ast.parse(python_call(call)))
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "body"
    )
    written = (
        ast.unparse(body).replace("os.environ['INSTRUMENT']", "'id'").replace("float(os.environ['PRICE'])", "1480.5")
    )
    assert msgspec.json.decode(sent) == ast.literal_eval(written)
    assert msgspec.json.decode(sent)["price"] == 1480.5


def test_text_around_a_variable_is_kept():
    call = Call("GET", "/a/$ORDER_ID/b", {"q": "x"}, {}, None, False)
    assert '"/a/" + os.environ["ORDER_ID"] + "/b"' in python_call(call)
