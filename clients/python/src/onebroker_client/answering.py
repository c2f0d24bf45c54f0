"""Reads the answer to an operation: a success as its type, anything else as the exception of its status."""

from __future__ import annotations

from typing import Any

import msgspec

from onebroker_client.errors import REFUSALS, OutcomeUnknown, Refusal, UnexpectedAnswer
from onebroker_client.http_messages import HttpAnswer
from onebroker_client.operation import Operation
from onebroker_client.reading import Reader

FIRST_FAILURE = 300
"""Statuses below are data, 207 of a list among them."""
UNKNOWN = frozenset({500, 502, 504})
"""Statuses after which a request that can change something may have been done: a fault may come after the engine has the order, and a proxy
answers 502 when the service's own answer is lost."""


def read_answer(operation: Operation, answer: HttpAnswer, reader: Reader) -> Any:
    """Return a success. Raises UnexpectedAnswer where it is not as the document says."""
    if operation.is_text:
        return answer.body.decode("utf-8", "replace")
    try:
        return reader.read(answer.body, operation.structs, is_list=operation.is_list)
    except msgspec.MsgspecError as error:
        raise UnexpectedAnswer(f"{operation.name}: {error}", answer.status, _json_or_bytes(answer.body)) from error


def failure(operation: Operation, answer: HttpAnswer, *, changes: bool, tag: str | None) -> Refusal | OutcomeUnknown:
    """Return the exception of a status of 300 or more. `changes`: whether the request could change something."""
    body = _json_or_bytes(answer.body)
    known = body if isinstance(body, dict) else {}
    error = known.get("error") or known.get("status_message") or f"HTTP status {answer.status}"
    if changes and (answer.status in UNKNOWN or known.get("outcome") == "unknown"):
        return OutcomeUnknown(operation.name, str(error), status=answer.status, body=known, tag=tag)
    return REFUSALS.get(answer.status, Refusal)(answer.status, str(error), known)


def _json_or_bytes(body: bytes) -> Any:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body
