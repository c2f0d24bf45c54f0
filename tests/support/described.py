"""The API's document as a judge: every answer of a route that a test gets must fit what the document says of it.

In the document an object of an answer may have further fields, so that clients made from it stand additions. Here it may not, or a field
that the document does not know would go unseen.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import msgspec
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from onebroker.http.answers.stream import MESSAGES
from onebroker.http.document.asyncapi import asyncapi_document
from onebroker.http.document.openapi import openapi_document
from onebroker.http.route_table import ROUTES

LONGEST = 64 * 1024
"""Of a longer answer each array is judged by its first and last items: a book of ten thousand rows is no better a witness than one of ten."""
SAMPLE = 5
_URI, _STREAM_URI = "urn:document", "urn:stream"
_NO_BODY = {"HEAD", "OPTIONS"}


@cache
def document() -> dict[str, Any]:
    """The document as a client reads it."""
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(openapi_document(ROUTES)))
    return made


def closed(schema: Any) -> Any:
    """The schema with no further fields in any object that does not say that it has such."""
    if isinstance(schema, list):
        return [closed(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    done = {name: inner if name in ("example", "examples", "enum") else closed(inner) for name, inner in schema.items()}
    if done.get("type") == "object" and "properties" in done and "additionalProperties" not in done:
        done["additionalProperties"] = False
    return done


@cache
def stream_document() -> dict[str, Any]:
    """The stream's document as a client reads it."""
    made: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(asyncapi_document()))
    return made


@cache
def _registry() -> Registry[Any]:
    registry: Registry[Any] = Registry()
    for uri, made in ((_URI, document()), (_STREAM_URI, stream_document())):
        whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", **closed(made)}
        resource: Resource[Any] = Resource.from_contents(whole)
        registry = registry.with_resource(uri, resource)
    return registry


@cache
def _validator(pointer: str, uri: str = _URI) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"{uri}#{pointer}"}, registry=_registry())


def message_misfits(name: str, message: object) -> list[str]:
    """What keeps a message of the stream from the type of this name."""
    errors = _validator(f"/components/schemas/{name}", _STREAM_URI).iter_errors(message)
    return [f"{error.json_path}: {error.message[:300]}" for error in errors]


def check_message(message: Any) -> None:
    """Fail when a message of the service is none that the stream's document has."""
    sampled = _sampled(message)
    found = {kind.__name__: message_misfits(kind.__name__, sampled) for kind in MESSAGES}
    assert not all(found.values()), f"the document has no such message: {str(message)[:300]}\n{found}"


@cache
def _patterns() -> tuple[tuple[re.Pattern[str], str], ...]:
    paths = sorted(document()["paths"], key=lambda path: "{" in path)
    return tuple((re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), path) for path in paths)


def told_path(path: str) -> str | None:
    """The path of the document that a request's path is of; None where it is of none."""
    return next((told for pattern, told in _patterns() if pattern.fullmatch(path)), None)


def misfits(pointer: str, value: object) -> Iterator[str]:
    """What keeps a value from the schema at a place of the document."""
    for error in _validator(pointer).iter_errors(value):
        yield f"{error.json_path}: {error.message[:300]}"
        for inner in sorted(error.context or (), key=lambda inner: -len(inner.path))[:6]:
            yield f"  {inner.json_path}: {inner.message[:300]}"


def part(text: str) -> str:
    """A key as a part of a JSON pointer."""
    return text.replace("~", "~0").replace("/", "~1")


def check_answer(method: str, path: str, status: int, content_type: str, body: bytes) -> None:
    """Fail when a route's answer is not as the document says. A path that no route has, or a method that it has not, is the framework's."""
    pointer = check_status(method, path, status, content_type)
    if pointer is None or not content_type.startswith("application/json"):
        return
    value = msgspec.json.decode(body)
    if len(body) > LONGEST:
        value = _sampled(value)
    found = list(misfits(pointer, value))
    assert not found, f"{method} {path} {status} does not fit the document:\n" + "\n".join(found)


def check_status(method: str, path: str, status: int, content_type: str) -> str | None:
    """Fail when the document does not have such an answer of a route. Return the place of its schema; None where it is not a route's."""
    told = told_path(path)
    operation = None if told is None else document()["paths"][told].get(method.lower())
    if told is None or operation is None or method in _NO_BODY:
        return None
    assert str(status) in operation["responses"], f"{method} {told} answers {status}, which is not in the document"
    if status == 304:
        return None  # it has no body, and so no type
    response, pointer = _resolved(
        operation["responses"][str(status)], f"/paths/{part(told)}/{method.lower()}/responses/{status}"
    )
    kind = content_type.partition(";")[0]
    contents: Mapping[str, Any] = response.get("content", {})
    assert kind in contents, f"{method} {told} {status} is {content_type}, and the document has {sorted(contents)}"
    return f"{pointer}/content/{part(kind)}/schema"


def _resolved(response: dict[str, Any], pointer: str) -> tuple[dict[str, Any], str]:
    ref = response.get("$ref")
    if ref is None:
        return response, pointer
    place = ref.removeprefix("#")
    return document()["components"]["responses"][place.rpartition("/")[2]], place


def _sampled(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sampled(inner) for name, inner in value.items()}
    if isinstance(value, list):
        few = value if len(value) <= 2 * SAMPLE else value[:SAMPLE] + value[-SAMPLE:]
        return [_sampled(inner) for inner in few]
    return value
