"""Makes the events of a request that can change something: `request.asked` and `request.answered` (`config/events.py`). Pure, but for the new id.

A body is told as it came, except that the service's own secrets in it become `***`: a client may send its token in the wrong place.
"""

import re
import secrets
from collections.abc import Iterable, Mapping

import msgspec

from onebroker.config.events import RequestAnswered, RequestAsked

MOST_BODY_BYTES = 256 * 1024
"""Bytes of a body that are told."""
HIDDEN = "***"
_LEAST_SECRET = 8
"""Characters of the shortest text that is looked for: a shorter one would be found in innocent texts."""
_SHOWN_FIELDS = frozenset(
    ("command", "broker", "brokers", "other_account", "kind", "file", "rename", "forget", "order", "confirm", "mode", "reason", "dry_run")
)  # fmt: skip
"""Fields of commands of the control socket that hold no secret. The others, such as a login's redirect, are `***`."""

_TEXT = rb'"(?:[^"\\]|\\.)*"'
_ERROR = re.compile(rb'"error": ?(' + _TEXT + rb")")
_PARENT = re.compile(rb'"parent_id": ?"([^"]{1,64})"')
_INTENT = re.compile(rb'"intent_id": ?"([^"]{1,64})"')


def new_request_id() -> str:
    """Return the id that pairs a request with its answer."""
    return secrets.token_hex(6)


def http_asked(
    request: str, *, who: str, address: str | None, method: str, path: str, body: bytes, hidden: Iterable[str]
) -> RequestAsked:
    """Return the event of an HTTP request; `path` with its query, `hidden` the secrets that may be in the request by mistake."""
    hidden = tuple(hidden)
    return RequestAsked(
        request=request,
        who=who,
        address=address,
        method=method,
        path=_without(path, hidden),
        body=_without(body[:MOST_BODY_BYTES].decode("utf-8", "backslashreplace"), hidden) if body else None,
        body_bytes=len(body) or None,
    )


def command_asked(request: str, command: Mapping[str, str], address: str | None) -> RequestAsked:
    """Return the event of a command of the control socket."""
    shown = {name: text if name in _SHOWN_FIELDS else HIDDEN for name, text in command.items()}
    body = msgspec.json.encode(shown)
    return RequestAsked(
        request=request,
        who="control socket",
        address=address,
        method="COMMAND",
        path=command.get("command", "")[:64],
        body=body.decode(),
        body_bytes=len(body),
    )


def answered(request: str, status: int | None, body: bytes) -> RequestAnswered:
    """Return the event of an answer, from its JSON text."""
    error = _ERROR.search(body)
    return RequestAnswered(
        request=request,
        status=status,
        error=None if error is None else _text(error[1]),
        parents=_ids(_PARENT, body),
        intents=_ids(_INTENT, body),
    )


def _without(text: str, hidden: tuple[str, ...]) -> str:
    for secret in hidden:
        if len(secret) >= _LEAST_SECRET:
            text = text.replace(secret, HIDDEN)
    return text


def _text(raw: bytes) -> str:
    try:
        return msgspec.json.decode(raw, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return raw.decode("utf-8", "backslashreplace")


def _ids(pattern: re.Pattern[bytes], body: bytes) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(found.decode("utf-8", "backslashreplace") for found in pattern.findall(body))) or None
