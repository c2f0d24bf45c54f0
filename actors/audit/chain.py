"""The form of an audit line, and the chain of hashes that ties the lines together. Pure.

A line is one JSON object: `{"n": …, "at": …, "previous": …, "event": …, fields of the event …, "hash": …}`. `hash` is the SHA-256 of the line's bytes
before `,"hash":`. `previous` is the hash of the line before, over the borders of files too. So each byte of a line counts, the last line's too, and
no line can be removed, inserted or moved between two others.
"""

import hashlib

import attrs
import msgspec

from onebroker.config.clock import from_epoch
from onebroker.config.events import AuditDay, AuditTorn, Event, as_json

FORMAT = 1
"""Raised with every change of the files that an older release cannot read (`http.commands.stored_formats`)."""
NOTHING_BEFORE = "0" * 64
"""`previous` of the first line of all."""
RESERVED = ("n", "at", "previous", "event", "hash")
"""The fields of the chain; no event has a field of such a name."""

_HASH_KEY = b',"hash":"'
_CLOSE = b'"}'
_HASH_BYTES = 64
_HEX = frozenset(b"0123456789abcdef")


@attrs.frozen(kw_only=True)
class End:
    """Where the chain stands: the running number and the hash of its last line."""

    n: int = 0
    hash: str = NOTHING_BEFORE


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """What the chain says of one line, and the fields by which lines are found."""

    n: int
    at: str
    previous: str
    event: str
    hash: str
    parent: str | None = None
    leg: str | None = None
    intent: str | None = None
    request: str | None = None
    parents: tuple[str, ...] = ()
    intents: tuple[str, ...] = ()
    last_hash: str | None = None
    torn_bytes: int | None = msgspec.field(default=None, name="bytes")
    torn_hash: str | None = None

    @property
    def end(self) -> End:
        return End(n=self.n, hash=self.hash)

    @property
    def begins_a_file(self) -> bool:
        return self.event == AuditDay.name

    def covers(self, torn: bytes) -> bool:
        """Tell whether the line says that the bytes before it were left by a write that did not end."""
        return self.event == AuditTorn.name and (self.torn_bytes, self.torn_hash) == (len(torn), digest_of(torn))


_DECODER = msgspec.json.Decoder(Line)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def encode(event: Event, at: float, end: End) -> tuple[bytes, End]:
    """Return the line of an event that was told at `at` (epoch seconds), with its newline, and where the chain stands after it."""
    moment = from_epoch(at).isoformat(timespec="milliseconds")
    fields = {"n": end.n + 1, "at": moment, "previous": end.hash, **as_json(event)}
    signed = msgspec.json.encode(fields)[:-1]
    digest = digest_of(signed)
    return signed + _HASH_KEY + digest.encode() + _CLOSE + b"\n", End(n=end.n + 1, hash=digest)


def read(raw: bytes) -> Line | None:
    """Return a line, given without its newline; None if it is not whole, or was changed."""
    cut = len(raw) - len(_CLOSE) - _HASH_BYTES - len(_HASH_KEY)
    if cut < 0 or raw[cut : cut + len(_HASH_KEY)] != _HASH_KEY or not raw.endswith(_CLOSE):
        return None
    given = raw[cut + len(_HASH_KEY) : -len(_CLOSE)]
    if not _HEX.issuperset(given) or digest_of(raw[:cut]) != given.decode():
        return None
    try:
        return _DECODER.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def fault_after(line: Line, end: End) -> str | None:
    """Return what is wrong with a line that follows `end`; None if it follows."""
    if line.n != end.n + 1:
        return (
            f"the line has the number {line.n}, and the line before it {end.n}: lines were removed, inserted or moved"
        )
    if line.previous != end.hash:
        return "the line names another line before it: lines were removed, inserted or moved"
    return None
