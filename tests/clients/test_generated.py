"""The client's generated modules are those that its generator makes of the service's documents now."""

import copy
from pathlib import Path

import pytest

from onebroker.http.document.asyncapi import asyncapi_document
from onebroker.http.document.openapi import openapi_document
from onebroker.http.route_table import ROUTES

PACKAGE = Path(__file__).resolve().parents[2] / "clients" / "python" / "src" / "onebroker_client"
AGAIN = "run `PYTHONPATH=. .venv/bin/python clients/python/generate.py`"


@pytest.fixture(scope="module")
def documents():
    return openapi_document(ROUTES), asyncapi_document()


@pytest.fixture(scope="module")
def made(generate, documents):
    return generate.modules(*documents)


def test_generating_again_changes_nothing(made):
    assert [name for name, text in made.items() if (PACKAGE / name).read_text() != text] == [], AGAIN


def test_every_module_that_says_that_it_is_made_is_made(made):
    saying = {path.name for path in PACKAGE.glob("*.py") if "Made by generate.py" in path.read_text()[:300]}
    assert saying == set(made)


def test_a_field_that_the_document_gets_is_in_the_generated_module(generate, documents):
    openapi, asyncapi = (copy.deepcopy(document) for document in documents)
    openapi["components"]["schemas"]["Alive"]["properties"]["mood"] = {"type": "string"}
    assert "    mood: str | None = None\n" in generate.modules(openapi, asyncapi)["answers.py"]
    assert "mood" not in (PACKAGE / "answers.py").read_text()
