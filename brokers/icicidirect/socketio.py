"""Socket.IO v5 over Engine.IO 4, as far as ICICI Direct's streams use it: text frames over one websocket, no polling, no
binary.

Source: docs/brokers/icicidirect.md, section 6 (frames captured with python-socketio 5.18). The server opens with
`0{...}`, and we connect with our credentials (`40{...}`). It accepts with `40{"sid": ...}` or refuses with `44{...}`.
After that, events are `42[name, ...]`, and each `2` of the server needs our `3`.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Final

import attrs
import msgspec

from onebroker.brokers.broker import Access
from onebroker.brokers.events import BrokerEvent, CorruptFrame, Heartbeat, Ready, Reply, SessionDead, StreamRefused
from onebroker.brokers.requests import StreamAddress

PATH = "/socket.io/"
_USER_AGENT = "python-socketio[client]/socket"
_EVENT: Final = re.compile(r"42(?:/[^,\[]*,)?\d*(\[.*)", re.DOTALL)
"""An event of any namespace, with or without a number to acknowledge."""
_SIGNS_OF_LIFE = ("3", "43", "6")
"""Pong, acknowledgement, nothing."""


@attrs.frozen
class Event:
    """An event of the server: its name and its arguments."""

    name: str
    arguments: list[object]


def stream_address(base: str, now: datetime) -> StreamAddress:
    """Return the websocket address under an http(s) base."""
    scheme, _, rest = base.rstrip("/").partition("://")
    scheme = {"http": "ws", "https": "wss"}.get(scheme, scheme)
    query = f"transport=websocket&EIO=4&t={now.timestamp()}"
    return StreamAddress(url=f"{scheme}://{rest}{PATH}?{query}", headers={"User-Agent": _USER_AGENT})


def emit(name: str, argument: object) -> str:
    """Return the frame of an event that we send."""
    return f"42{msgspec.json.encode([name, argument]).decode()}"


def read(frame: bytes | str, access: Access) -> Event | list[BrokerEvent]:
    """Return the event in a frame, or what the frame itself means; never raises."""
    if not isinstance(frame, str):
        return [CorruptFrame("a binary frame")]
    event = _EVENT.fullmatch(frame)
    if event is not None:
        return _event(event[1])
    if frame.startswith("0"):
        credentials = {"user": access.token("user"), "token": access.token("session_key")}
        return [Reply(f"40{msgspec.json.encode(credentials).decode()}")]
    if frame.startswith("40"):
        return [Ready()]
    return _sign(frame)


def _sign(frame: str) -> list[BrokerEvent]:
    if frame == "2":
        return [Reply("3"), Heartbeat()]
    if frame.startswith("44"):
        return [SessionDead(_message(frame[2:]))]
    if frame.startswith("41"):
        # No more will come; the login's repair shows whether the login is still valid.
        return [SessionDead("the broker ended the stream's session")]
    if frame == "1":
        return [StreamRefused("the broker closes the stream")]
    if frame.startswith(_SIGNS_OF_LIFE):
        return [Heartbeat()]
    return [CorruptFrame("a frame that is no Socket.IO packet")]


def _event(body: str) -> Event | list[BrokerEvent]:
    try:
        decoded = msgspec.json.decode(body, type=list[object])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        return [CorruptFrame(f"an event that cannot be read: {error}")]
    if not decoded or not isinstance(decoded[0], str):
        return [CorruptFrame("an event without a name")]
    return Event(decoded[0], decoded[1:])


def _message(body: str) -> str:
    try:
        answer = msgspec.json.decode(body, type=Mapping[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return "the broker refused the stream's login"
    return str(answer.get("message") or "the broker refused the stream's login")
