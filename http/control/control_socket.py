"""How the command line reaches the running service: a unix socket in the data directory that only its owner can open (0600).

Each request and each answer is one JSON object on one line. The requests are:

- `{"command": "login", "broker": CODE, "redirect": URL}`;
- `{"command": "check", "brokers": "CODE,CODE"}` (all brokers for ""), whose `done` maps each code to its steps;
- `{"command": "calendar"}`, whose `done` holds what is known of the trading calendar as `line`;
- `{"command": "instruments"}`, which builds the catalogue now;
- `{"command": "take", ...}` for a staged file of history, `{"command": "check_history"}`,
  `{"command": "rename_history", "rename": JSON}` and `{"command": "hold_history"}` (`history_commands`);
- `{"command": "backfill", "order": JSON}` (`backfill_commands`);
- `{"command": "halt", ...}`, `{"command": "resume"}` and `{"command": "flatten", ...}`, which need no access token (`desk_commands`);
- `{"command": "health"}`, `{"command": "orders", ...}` and `{"command": "token"}`, which need no access token either (`reading_commands`);
- `{"command": "reload"}`, when the durable store holds newly imported documents.

Answers are `{"done": {...}}` or `{"error": sentence}`. While a build of the catalogue or a backfill runs, lines
`{"progress": {...}}` come before the answer. A client that disconnects ends nothing except its own backfill. The only secret that is sent is the
access token, to `token`.
"""

import os
import socket
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import msgspec
import trio

from onebroker.actors.catalogue.builder import BuildFailed
from onebroker.actors.catalogue.messages import BuildNow, CatalogueMessage
from onebroker.actors.catalogue.progress import BuildProgress
from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.engine.desk.messages import DeskMessage
from onebroker.actors.history.backfill_job import BackfillProgress
from onebroker.actors.history.messages import CollectorMessage, HistoryMessage
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import ActorNotRunning, Address, AskTimedOut, Reply
from onebroker.actors.kernel.published import Published
from onebroker.actors.reference.messages import ReferenceMessage, Reload
from onebroker.actors.sessions.check import Step
from onebroker.actors.sessions.messages import Check, ExchangeRedirect
from onebroker.brokers.broker import Login
from onebroker.brokers.requests import BrokerError
from onebroker.config.clock import Clock, from_epoch, local_text
from onebroker.config.refusal import Refusal
from onebroker.http import request_events
from onebroker.http.control import backfill_commands, desk_commands, history_commands, reading_commands
from onebroker.http.control.socket_path import open_socket, socket_address
from onebroker.http.listener.fault_isolation import contained

SOCKET_NAME = "control.sock"
LOGIN_SECONDS = 30.0
CHECK_SECONDS = 120.0
"""For the check of one broker; all brokers are checked at the same time."""
BUILD_SECONDS = 1800.0
"""For a build of the catalogue; a running build is joined."""
_LONG = {
    "instruments": BUILD_SECONDS,
    history_commands.CHECK: BUILD_SECONDS,
    history_commands.HOLD: history_commands.HOLD_SECONDS + CHECK_SECONDS,
    backfill_commands.COMMAND: backfill_commands.BACKFILL_SECONDS,
    **desk_commands.SECONDS,
}
"""Commands that may take longer than the others."""
PROGRESS_SECONDS = 0.2
"""Least time between two lines of progress."""
SEND_SECONDS = 10.0
MOST_LINE_BYTES = 64 * 1024
MOST_ANSWER_BYTES = 64 * 1024 * 1024
"""A day's orders at ten brokers can be some megabytes."""


class ControlFailed(Exception):
    """The service answered a command with an error; the text is for the person who typed it."""


class NoService(Exception):
    """No service is running on this data directory."""


@attrs.frozen(kw_only=True)
class ControlContext:
    """The actors that the commands are for."""

    sessions: Mapping[str, SessionHandle]
    reference: Address[ReferenceMessage]
    catalogue: Address[CatalogueMessage]
    catalogue_progress: Published[BuildProgress]
    history: Address[HistoryMessage]
    collector: Address[CollectorMessage]
    backfill: Published[BackfillProgress | None]
    desk: Address[DeskMessage]
    readings: reading_commands.Readings
    clock: Clock
    data_dir: Path
    events: Events = attrs.field(factory=Events)
    """Where commands are told."""


async def serve_control(
    path: Path,
    context: ControlContext,
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Answer commands until cancelled. The caller holds the data directory's lock, so an existing socket is a dead one."""
    _remove(path)
    listener = trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        with socket_address(path) as address:
            await listener.bind(address)
    finally:
        os.umask(mask)
    listener.listen()
    try:
        task_status.started()
        await trio.serve_listeners(partial(_contained, context), [trio.SocketListener(listener)])
    finally:
        listener.close()
        _remove(path)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _contained(context: ControlContext, stream: trio.SocketStream) -> None:
    await contained(partial(_answer_one, stream, context), "a command")


async def _answer_one(stream: trio.SocketStream, context: ControlContext) -> None:
    async with stream:
        try:
            with trio.fail_after(CHECK_SECONDS + LOGIN_SECONDS) as scope:
                request = _read(await _read_line(stream))
                if (seconds := _LONG.get(request.get("command", ""))) is not None:
                    scope.deadline = trio.current_time() + seconds + SEND_SECONDS
                await _send(stream, await _told_work(request, context, stream))
        except (trio.BrokenResourceError, trio.TooSlowError):
            return  # the client has left


async def _send(stream: trio.SocketStream, answer: Mapping[str, Any]) -> None:
    with trio.fail_after(SEND_SECONDS):
        await stream.send_all(msgspec.json.encode(answer) + b"\n")


def _read(line: bytes) -> Mapping[str, str]:
    """Return the request; it is empty if the line is not a request."""
    try:
        return msgspec.json.decode(line, type=dict[str, str])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return {}


async def _told_work(request: Mapping[str, str], context: ControlContext, stream: trio.SocketStream) -> dict[str, Any]:
    """Do a command between its two events (`http.request_events`)."""
    request_id = request_events.new_request_id()
    context.events.tell(request_events.command_asked(request_id, request, _peer(stream)))
    told = request_events.answered(request_id, None, _NO_ANSWER)
    try:
        answer = await _work(request, context, stream)
        told = request_events.answered(request_id, None, msgspec.json.encode(answer))
    finally:
        context.events.tell(told)
    return answer


_NO_ANSWER = b'{"error":"no answer: the client left, or the service stopped"}'
_CREDENTIALS = struct.Struct("3i")
"""Process, user and group of a socket's other end, as Linux gives them."""


def _peer(stream: trio.SocketStream) -> str | None:
    """Return who runs the command; None where the system does not tell."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    process, user, _ = _CREDENTIALS.unpack(stream.socket.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size))
    return f"user {user}, process {process}"


async def _work(request: Mapping[str, str], context: ControlContext, stream: trio.SocketStream) -> dict[str, Any]:
    if not request:
        return {"error": "a command is one JSON object of texts"}
    match request.get("command"):
        case "login":
            return await _log_in(request, context.sessions)
        case "check":
            return await _check(request, context.sessions)
        case "instruments":
            return await _build_instruments(context, stream)
        case command if command in history_commands.COMMANDS:
            return await history_commands.answer(
                request, context.data_dir, context.history, stream, partial(_send, stream)
            )
        case backfill_commands.COMMAND:
            return await backfill_commands.answer(
                request, context.collector, context.backfill, stream, partial(_send, stream)
            )
        case desk_commands.HALT | desk_commands.RESUME | desk_commands.FLATTEN:
            return await desk_commands.answer(request, context.desk, context.clock)
        case command if command in reading_commands.COMMANDS:
            return await reading_commands.answer(request, context.readings)
        case "reload":
            return await _reload(context.reference)
        case _:
            return {
                "error": "the commands are login, check, calendar, instruments, take, check_history, rename_history, hold_history, "
                "backfill, halt, resume, flatten, health, orders, token and reload"
            }


async def _log_in(request: Mapping[str, str], sessions: Mapping[str, SessionHandle]) -> dict[str, Any]:
    handle = sessions.get(request.get("broker", ""))
    if handle is None:
        return {"error": f"broker must be one of {', '.join(sessions)}"}
    try:
        login = await handle.address.ask(
            partial(_exchange, request.get("redirect", ""), "other_account" in request), LOGIN_SECONDS
        )
    except (BrokerError, ValueError, ActorNotRunning, AskTimedOut) as error:
        return {"error": str(error)}
    return {"done": shown_login(login)}


async def _check(request: Mapping[str, str], sessions: Mapping[str, SessionHandle]) -> dict[str, Any]:
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


async def _build_instruments(context: ControlContext, stream: trio.SocketStream) -> dict[str, Any]:
    """Build the catalogue and send its progress meanwhile; the build goes on if the client leaves."""
    answer: dict[str, Any] = {"error": "nobody waits for the build any more"}
    async with trio.open_nursery() as nursery:

        async def tell_progress() -> None:
            try:
                await _tell_progress(context.catalogue_progress, stream)
            except (trio.BrokenResourceError, trio.TooSlowError):
                nursery.cancel_scope.cancel()  # the client has left

        nursery.start_soon(tell_progress)
        try:
            report = await context.catalogue.ask(BuildNow, BUILD_SECONDS)
            answer = {"done": msgspec.to_builtins(report)}
        except (BuildFailed, ActorNotRunning, AskTimedOut) as error:
            answer = {"error": str(error)}
        nursery.cancel_scope.cancel()
    return answer


async def _tell_progress(progress: Published[BuildProgress], stream: trio.SocketStream) -> None:
    while True:
        version = progress.version
        shown = attrs.asdict(progress.value)
        await _send(stream, {"progress": shown})
        await trio.sleep(PROGRESS_SECONDS)
        await progress.wait_newer(version)


async def _reload(reference: Address[ReferenceMessage]) -> dict[str, Any]:
    try:
        await reference.ask(lambda reply: Reload(reply=reply), LOGIN_SECONDS)
    except (Refusal, ActorNotRunning, AskTimedOut) as error:
        return {"error": str(error)}
    return {"done": {}}


def _exchange(redirect: str, other_account: bool, reply: Reply[Login]) -> ExchangeRedirect:
    return ExchangeRedirect(redirect=redirect, other_account=other_account, reply=reply)


def shown_login(login: Login) -> dict[str, str]:
    """Return what may be shown of a login."""
    return {"user_id": login.user_id, "expires_at": local_text(from_epoch(login.expires_at))}


async def ask_service(
    path: Path, request: Mapping[str, str], on_progress: Callable[[dict[str, Any]], None] | None = None
) -> dict[str, Any]:
    """Send one command to the running service and return its `done`; `on_progress` gets the progress lines before it.

    Raises NoService, ControlFailed.
    """
    try:
        stream = await open_socket(path)
    except OSError as error:
        raise NoService(f"no service answers at {path}") from error
    async with stream:
        await stream.send_all(msgspec.json.encode(request) + b"\n")
        lines = _Lines(stream)
        while "progress" in (answer := await lines.next_answer()):
            if on_progress is not None:
                on_progress(answer["progress"])
    _refuse(answer)
    done: dict[str, Any] = answer["done"]
    return done


@asynccontextmanager
async def history_held(path: Path, reason: str) -> AsyncIterator[None]:
    """Let the running service write nothing to its history store while the block runs. `reason` is a word for the audit.

    Raises NoService, ControlFailed; at the end of the block too, when the service has written meanwhile.
    """
    try:
        stream = await open_socket(path)
    except OSError as error:
        raise NoService(f"no service answers at {path}") from error
    async with stream:
        lines = _Lines(stream)
        with suppress(trio.BrokenResourceError):  # it has ended: then there is no answer either
            await stream.send_all(msgspec.json.encode({"command": history_commands.HOLD, "reason": reason}) + b"\n")
        _refuse(await lines.next_answer())
        yield
        with suppress(trio.BrokenResourceError):
            await stream.send_eof()
        _refuse(await lines.next_answer())


def _refuse(answer: Mapping[str, Any]) -> None:
    if "error" in answer:
        raise ControlFailed(answer["error"])


async def _read_line(stream: trio.abc.ReceiveStream) -> bytes:
    buffer = b""
    while b"\n" not in buffer and len(buffer) <= MOST_LINE_BYTES:
        chunk = await stream.receive_some(4096)
        if not chunk:
            break
        buffer += chunk
    return buffer.partition(b"\n")[0]


class _Lines:
    """Reads a stream line by line."""

    def __init__(self, stream: trio.abc.ReceiveStream) -> None:
        self._stream = stream
        self._rest = bytearray()

    async def next_answer(self) -> dict[str, Any]:
        """Return the next line as an object. Raises ControlFailed if the service ended without sending one."""
        chunk: bytes | bytearray = self._rest
        while b"\n" not in chunk and len(self._rest) <= MOST_ANSWER_BYTES:
            try:
                chunk = await self._stream.receive_some(65536)
            except trio.BrokenResourceError:
                chunk = b""
            if not chunk:
                raise ControlFailed("the service ended before it answered")
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            return msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.MsgspecError as error:
            raise ControlFailed("the service answered with what is no answer") from error
