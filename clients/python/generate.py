"""Writes the generated modules of the client from the service's two documents: `python clients/python/generate.py` in the service's
environment, at the root of the checkout. With `--check` it writes nothing and ends with 1 when a module differs.

`modules(openapi, asyncapi)` is pure. It needs the standard library, and ruff for the layout.
"""

import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from generator.methods import methods_module, operations_module  # noqa: E402
from generator.schema_types import Schema, Typing, Words, with_numbers  # noqa: E402
from generator.structs import answers_module, closure, requests_module, words_module  # noqa: E402

PACKAGE = HERE / "src" / "onebroker_client"
ANSWERS_TEXT = "What the routes answer."
REQUESTS_TEXT = "What the routes take as a body. Where a field is None, it is not sent."
MESSAGES_TEXT = "What `/stream` sends."
ASKED_TEXT = "What a client may say on `/stream`."


def modules(openapi: dict[str, Any], asyncapi: dict[str, Any]) -> dict[str, str]:
    """Return file name -> text, as committed."""
    schemas: dict[str, Schema] = openapi["components"]["schemas"]
    streamed: dict[str, Schema] = asyncapi["components"]["schemas"]
    operations = [one for methods in openapi["paths"].values() for one in methods.values()]
    answered = closure([one["responses"] for one in operations], schemas)
    asked = closure([[one.get("requestBody"), one.get("parameters")] for one in operations], schemas)
    words = _words({**streamed, **schemas})
    answers = _typing(schemas, _objects(answered, schemas), words)
    requests = Typing(schemas, "request", words)
    own = _own(streamed, schemas)
    sent = [name for name in own if name in closure(_messages(asyncapi, "sendMessage"), streamed)]
    elsewhere = {name: "answers." for name in streamed if name not in own}
    messages = _typing(streamed, sent, words, elsewhere, answers.generic)
    said = [name for name in own if name in closure(_messages(asyncapi, "receiveRequest"), streamed)]
    bodies = [name for name in asked if "enum" not in schemas[name]]
    made = {
        "answers.py": answers_module(_objects(answered, schemas), answers, text=ANSWERS_TEXT, imports=""),
        "requests.py": requests_module(
            [name for name in bodies if _is_made(schemas[name])], requests, text=REQUESTS_TEXT
        ),
        "messages.py": answers_module(
            _objects(sent, streamed), messages, text=MESSAGES_TEXT, imports="from onebroker_client import answers"
        ),
        "subscriptions.py": requests_module(
            _objects(said, streamed),
            Typing(streamed, "request", words, elsewhere=dict.fromkeys(asked, "requests.")),
            text=ASKED_TEXT,
            imports="from onebroker_client import requests",
        ),
        "operations.py": operations_module(openapi, answers.generic),
        "sync_methods.py": methods_module(openapi, requests, answers.generic, is_async=False),
        "async_methods.py": methods_module(openapi, requests, answers.generic, is_async=True),
    }
    return {name: formatted(text) for name, text in {**made, "words.py": words_module(words)}.items()}


def _words(schemas: dict[str, Schema]) -> Words:
    words = Words(taken=set(schemas))
    for name, schema in schemas.items():
        if "enum" in schema:
            words.component(name, schema)
    return words


def _typing(
    schemas: dict[str, Schema],
    names: list[str],
    words: Words,
    elsewhere: dict[str, str] | None = None,
    known: frozenset[str] = frozenset(),
) -> Typing:
    """Return the typing of answers. Which of them have a number in them is found with one that is thrown away."""
    trial = Typing(schemas, "answer", words, known, elsewhere or {})
    return Typing(schemas, "answer", words, known | with_numbers(trial, names), elsewhere or {})


def _objects(names: list[str], schemas: dict[str, Schema]) -> list[str]:
    return [name for name in names if "properties" in schemas[name]]


def _is_made(schema: Schema) -> bool:
    return "properties" in schema or "anyOf" in schema or "oneOf" in schema


def _own(streamed: dict[str, Schema], schemas: dict[str, Schema]) -> list[str]:
    """Return the schemas of the stream that are not those of a route."""
    return [name for name, schema in streamed.items() if schemas.get(name) != schema]


def _messages(asyncapi: dict[str, Any], operation: str) -> list[Any]:
    named = [one["$ref"].rsplit("/", 1)[-1] for one in asyncapi["operations"][operation]["messages"]]
    return [asyncapi["components"]["messages"][name]["payload"] for name in named]


def formatted(text: str) -> str:
    """Return a module as `ruff format` lays it out."""
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(PACKAGE / "made.py"), "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout


def _documents() -> tuple[dict[str, Any], dict[str, Any]]:
    from onebroker.http.document.asyncapi import asyncapi_document
    from onebroker.http.document.openapi import openapi_document
    from onebroker.http.route_table import ROUTES

    return openapi_document(ROUTES), asyncapi_document()


def main(arguments: list[str]) -> int:
    different = [
        name
        for name, text in modules(*_documents()).items()
        if not (PACKAGE / name).is_file() or (PACKAGE / name).read_text() != text
        if "--check" in arguments or (PACKAGE / name).write_text(text)
    ]
    sys.stdout.write("".join(f"{name}\n" for name in different))
    return int(bool(different) and "--check" in arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
