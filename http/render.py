"""Turns values into answers. msgspec writes the JSON; a success is the data itself (rules 1.1.5)."""

import msgspec
from quart.wrappers import Response

JSON = "application/json"

_encoder = msgspec.json.Encoder(decimal_format="number")


def json_answer(value: object, status: int = 200) -> Response:
    """Return `value` as JSON. Decimals become numbers; not-a-number and infinity become null."""
    return encoded(encode(value), status)


def encode(value: object) -> bytes:
    """Return `value` as JSON text, as `json_answer` sends it."""
    return _encoder.encode(value)


def encoded(body: bytes, status: int = 200) -> Response:
    """Return `body`, which is already JSON (a published document)."""
    return _answer(body, status, JSON)


def plain_answer(body: bytes, content_type: str) -> Response:
    """Return a text that is not JSON and is encoded already (`/metrics`, `/docs`)."""
    return _answer(body, 200, content_type)


def _answer(body: bytes, status: int, content_type: str) -> Response:
    response = Response(body, status=status, content_type=content_type)
    # Tokens and live money: no cache between us and the client may keep any answer.
    response.headers["Cache-Control"] = "no-store"
    return response
