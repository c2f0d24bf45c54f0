"""Messages to a client, as JSON. A body begins with `{"type":`; its number is put in front when the message is sent."""

from collections.abc import Iterable, Mapping

from onebroker.config.refusal import Refusal
from onebroker.http import render

PIECE_BYTES = 64 * 1024
"""A message of several elements ends once it has this length."""


def numbered(seq: int, body: bytes) -> bytes:
    """Return the message: `{"seq":<seq>,"type":...}`."""
    return b'{"seq":%d,' % seq + body[1:]


def message(kind: str, fields: Mapping[str, object]) -> bytes:
    return render.encode({"type": kind, **fields})


def refusal(kind: str, refused: Refusal, fields: Mapping[str, object]) -> bytes:
    """Return a message that says why something is missing: `status` and `error` are those of the REST route."""
    return render.encode({"type": kind, **fields, "status": refused.status, **refused.body()})


def array(kind: bytes, name: bytes, elements: Iterable[bytes], *, snapshot: bool = False) -> bytes:
    """Return a message of many elements that are already JSON."""
    first = b'{"type":"%b",%b"%b":[' % (kind, b'"snapshot":true,' if snapshot else b"", name)
    return first + b",".join(elements) + b"]}"


def joined(kind: bytes, *members: bytes) -> bytes:
    """Return a message of members that are already JSON (`"data":{...}`)."""
    return b'{"type":"%b",' % kind + b",".join(members) + b"}"
