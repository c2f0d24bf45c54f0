"""The running service's own door for the command line: a unix socket in the data directory, open to its owner only (0600).

One JSON object a line in, one out. Requests: `{"command": "login", "broker": CODE, "redirect": URL}`, `{"command": "check",
"brokers": "CODE,CODE"}` (all brokers for "") whose `done` maps each code to its steps, and
`{"command": "reload"}` when the durable store holds newly imported documents; answers `{"done": {...}}` or
`{"error": sentence}`. No secret goes out.
"""

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import msgspec
import trio

from onebroker.actors.engine.doors import SessionDoor
from onebroker.actors.kernel.mailbox import ActorNotRunning, Address, AskTimedOut, Reply
from onebroker.actors.reference.messages import ReferenceMessage, Reload
from onebroker.actors.sessions.check import Step
from onebroker.actors.sessions.messages import Check, ExchangeRedirect
from onebroker.brokers.broker import Login
from onebroker.brokers.requests import BrokerError
from onebroker.config.clock import from_epoch, local_text
from onebroker.config.refusal import Refusal

SOCKET_NAME = "control.sock"
LOGIN_SECONDS = 30.0
CHECK_SECONDS = 120.0
"""For one broker's check; all are checked at once."""
MOST_LINE_BYTES = 64 * 1024
MOST_ANSWER_BYTES = 1024 * 1024


class ControlFailed(Exception):
    """The service answered a command with an error; the text is for the person who typed it."""


class NoService(Exception):
    """No service is running on this data directory."""


async def serve_control(
    path: Path,
    sessions: Mapping[str, SessionDoor],
    reference: Address[ReferenceMessage],
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Answer commands until cancelled. The caller holds the data directory's lock, so an old socket is a dead one."""
    _remove(path)
    listener = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        await listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen()
    try:
        async with trio.open_nursery() as nursery:
            task_status.started()
            while True:
                connection, _ = await listener.accept()
                nursery.start_soon(_answer_one, trio.SocketStream(connection), sessions, reference)
    finally:
        listener.close()
        _remove(path)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _answer_one(
    stream: trio.SocketStream, sessions: Mapping[str, SessionDoor], reference: Address[ReferenceMessage]
) -> None:
    async with stream:
        try:
            with trio.fail_after(CHECK_SECONDS + LOGIN_SECONDS):
                answer = await _work(await _read_line(stream), sessions, reference)
                await stream.send_all(msgspec.json.encode(answer) + b"\n")
        except (trio.BrokenResourceError, trio.TooSlowError):
            return  # the person went away


async def _work(
    line: bytes, sessions: Mapping[str, SessionDoor], reference: Address[ReferenceMessage]
) -> dict[str, Any]:
    try:
        request = msgspec.json.decode(line, type=dict[str, str])
    except msgspec.MsgspecError:
        return {"error": "a command is one JSON object of texts"}
    match request.get("command"):
        case "login":
            return await _log_in(request, sessions)
        case "check":
            return await _check(request, sessions)
        case "reload":
            return await _reload(reference)
        case _:
            return {"error": "the commands are login, check and reload"}


async def _log_in(request: Mapping[str, str], sessions: Mapping[str, SessionDoor]) -> dict[str, Any]:
    door = sessions.get(request.get("broker", ""))
    if door is None:
        return {"error": f"broker must be one of {', '.join(sessions)}"}
    try:
        login = await door.address.ask(partial(_exchange, request.get("redirect", "")), LOGIN_SECONDS)
    except (BrokerError, ValueError, ActorNotRunning, AskTimedOut) as error:
        return {"error": str(error)}
    return {"done": shown_login(login)}


async def _check(request: Mapping[str, str], sessions: Mapping[str, SessionDoor]) -> dict[str, Any]:
    wanted = [code for code in request.get("brokers", "").split(",") if code] or list(sessions)
    if unknown := [code for code in wanted if code not in sessions]:
        return {"error": f"{unknown[0]} is not one of the brokers in service: {', '.join(sessions)}"}
    done: dict[str, Any] = dict.fromkeys(wanted)

    async def check(code: str) -> None:
        try:
            steps: tuple[Step, ...] = await sessions[code].address.ask(lambda reply: Check(reply=reply), CHECK_SECONDS)
        except (ActorNotRunning, AskTimedOut) as error:
            steps = (Step(name="login", ok=False, detail=str(error), seconds=0.0),)
        done[code] = [attrs.asdict(step) for step in steps]

    async with trio.open_nursery() as nursery:
        for code in wanted:
            nursery.start_soon(check, code)
    return {"done": done}


async def _reload(reference: Address[ReferenceMessage]) -> dict[str, Any]:
    try:
        await reference.ask(lambda reply: Reload(reply=reply), LOGIN_SECONDS)
    except (Refusal, ActorNotRunning, AskTimedOut) as error:
        return {"error": str(error)}
    return {"done": {}}


def _exchange(redirect: str, reply: Reply[Login]) -> ExchangeRedirect:
    return ExchangeRedirect(redirect=redirect, reply=reply)


def shown_login(login: Login) -> dict[str, str]:
    """Return what may be said of a login."""
    return {"user_id": login.user_id, "expires_at": local_text(from_epoch(login.expires_at))}


async def ask_service(path: Path, request: Mapping[str, str]) -> dict[str, Any]:
    """Send one command to the running service and return its `done`. Raises NoService, ControlFailed."""
    try:
        stream = await trio.open_unix_socket(str(path))
    except OSError as error:
        raise NoService(f"no service answers at {path}") from error
    async with stream:
        await stream.send_all(msgspec.json.encode(request) + b"\n")
        answer = msgspec.json.decode(await _read_line(stream, MOST_ANSWER_BYTES), type=dict[str, Any])
    if "error" in answer:
        raise ControlFailed(answer["error"])
    done: dict[str, Any] = answer["done"]
    return done


async def _read_line(stream: trio.abc.ReceiveStream, most_bytes: int = MOST_LINE_BYTES) -> bytes:
    buffer = b""
    while b"\n" not in buffer and len(buffer) <= most_bytes:
        chunk = await stream.receive_some(4096)
        if not chunk:
            break
        buffer += chunk
    return buffer.partition(b"\n")[0]
