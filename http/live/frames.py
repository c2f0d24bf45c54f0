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


def age(as_of: str, as_of_epoch: float, brokers: bytes) -> bytes:
    """Return the age of a document for `ages`. `brokers` is JSON."""
    return b'{"as_of":"%b","as_of_epoch":%b,"brokers":%b}' % (as_of.encode(), render.encode(as_of_epoch), brokers)


def ages(now: float, named: Mapping[str, bytes]) -> bytes:
    """Return a message with the ages of documents, each already JSON. `now`: the service's time in epoch seconds."""
    members = b",".join(b'"%b":%b' % (name.encode(), one) for name, one in named.items())
    return joined(b"ages", b'"now":' + render.encode(now), b'"documents":{%b}' % members)


def joined(kind: bytes, *members: bytes) -> bytes:
    """Return a message of members that are already JSON (`"data":{...}`)."""
    return b'{"type":"%b",' % kind + b",".join(members) + b"}"
