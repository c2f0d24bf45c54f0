"""One client's WebSocket: its token, its messages, its stream, and how it ends.

Three tasks run. One reads the client's requests and carries them out. One sends what is due. One ends the connection
when the token has ended. No task waits for another, so a client that does not read delays only its own sending, which
`http.listener.accept_loop` bounds.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, assert_never

import attrs
import trio

from onebroker.actors.catalogue.interface import Instrument
from onebroker.config.clock import Clock
from onebroker.config.messages import instruments as instrument_sentences
from onebroker.config.messages import stream as sentences
from onebroker.config.refusal import Refusal
from onebroker.http import auth
from onebroker.http.instruments import batch, instrument_names
from onebroker.http.instruments.chain_names import read_chain
from onebroker.http.listener.connection_limits import proving
from onebroker.http.live import frames
from onebroker.http.live.chain_board import name_fields
from onebroker.http.live.client_requests import (
    Command,
    Resume,
    ShowToken,
    Subscribe,
    Unsubscribe,
    read_command,
    read_id,
    read_object,
)
from onebroker.http.live.client_stream import ClientStream
from onebroker.http.live.open_streams import KEPT_SECONDS, CannotResume, Streams, TooMany
from onebroker.http.services import Find, Services

TOKEN_SECONDS = 5.0
"""Seconds that a client without the header has for its first message (architecture 10)."""
TOKEN_CHECK_SECONDS = 30.0
"""How often to check the token when no change is published: its expiry depends on a clock that may jump."""
WORK_SECONDS = 0.001

GOING_AWAY = 1001
INTERNAL_ERROR = 1011
TRY_AGAIN_LATER = 1013
NO_TOKEN = 4401
TAKEN_OVER = 4409
NOT_READING = 4429

_log = logging.getLogger("onebroker.http.live")


class Socket(Protocol):
    """An accepted WebSocket."""

    async def receive(self) -> str | bytes: ...

    async def send(self, text: str) -> None: ...


@attrs.frozen
class Close:
    """How a connection ends: the code, and the reason in at most 123 bytes."""

    code: int
    reason: str


class _Connection:
    """One connection from its token to its end."""

    def __init__(
        self, socket: Socket, services: Services, streams: Streams, stopping: trio.Event, upgrade: Mapping[str, Any]
    ) -> None:
        self._socket = socket
        self._services = services
        self._streams = streams
        self._stopping = stopping
        self._upgrade = upgrade
        self._clock: Clock = services.clock
        self._due = trio.Event()
        self._scope = trio.CancelScope()
        self._close: Close | None = None
        self._stream: ClientStream

    # Beginning and end

    async def run(self, header: bytes | None) -> Close:
        """Serve the client until something ends the connection; return how it ends. `header` is the token of the header, if it came."""
        try:
            presented, resume = (header, None) if header is not None else await self._shown_token()
            with proving(self._upgrade):
                await auth.admit_client(presented, self._services, _address(self._upgrade))
            with self._streams.connection():
                self._begin(resume)
                return await self._serve(presented)
        except Refusal as refused:
            return Close(NO_TOKEN if refused.status == 401 else TRY_AGAIN_LATER, refused.sentence)
        except TooMany:
            return Close(TRY_AGAIN_LATER, sentences.TOO_MANY_STREAMS)

    async def _serve(self, presented: bytes | None) -> Close:
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._guard, presented)
                    nursery.start_soon(self._until_stopping)
                    await self._send_next()  # the beginning of the stream, before any request of the client
                    nursery.start_soon(self._write)
                    await self._read()
        finally:
            self._streams.lose(self._stream, self._taken_over, self._clock.monotonic())
        return self._close or Close(INTERNAL_ERROR, sentences.FAILED)

    def _end(self, close: Close) -> None:
        """End the connection; the first reason counts."""
        self._close = self._close or close
        self._scope.cancel()

    def _taken_over(self) -> None:
        self._end(Close(TAKEN_OVER, sentences.TAKEN_OVER))

    async def _until_stopping(self) -> None:
        await self._stopping.wait()
        self._end(Close(GOING_AWAY, sentences.STOPPING))

    # The token

    async def _shown_token(self) -> tuple[bytes | None, Resume | None]:
        """Return the token of a first message, and the stream that it resumes, if any. Raises TooMany if this connection must give way."""
        with self._streams.stranger() as waiting, trio.move_on_after(TOKEN_SECONDS):
            try:
                command = read_command(read_object(await self._socket.receive()))
            except Refusal:
                return None, None
            if isinstance(command, ShowToken):
                return command.token, command.resume
        if waiting.cancelled_caught:
            raise TooMany
        return None, None

    async def _guard(self, presented: bytes | None) -> None:
        """End the connection when its token ends: by disconnect, by a new token, or by its time (rules 1.3.1)."""
        token = self._services.token
        while True:
            version = token.version
            try:
                auth.check_presented(presented, self._services)
            except Refusal as refused:
                self._end(Close(NO_TOKEN, refused.sentence))
                return
            with trio.move_on_after(self._seconds_left()):
                await token.wait_newer(version)

    def _seconds_left(self) -> float:
        held = self._services.token.value
        if held is None or held.expires_at is None:
            return TOKEN_CHECK_SECONDS
        return min(TOKEN_CHECK_SECONDS, max(0.0, (held.expires_at - self._clock.now()).total_seconds()))

    # The stream

    def _begin(self, resume: Resume | None) -> None:
        """Take up the client's earlier stream, or begin a new one."""
        refused = None
        if resume is not None:
            try:
                self._stream = self._streams.resume(resume.stream_id, resume.seq, self._wake, self._taken_over)
                return
            except CannotResume as error:
                refused = str(error)
        self._stream = self._streams.begin(self._wake, self._taken_over)
        told: dict[str, object] = {"stream": self._stream.id, "keep_seconds": KEPT_SECONDS}
        self._stream.answer(frames.message("started", told if refused is None else {**told, "not_resumed": refused}))

    def _resume(self, resume: Resume) -> None:
        """Replace the new stream, which has no subscriptions yet, by the client's old stream."""
        if self._stream.begun:
            raise Refusal(409, sentences.RESUME_FIRST)
        fresh = self._stream
        try:
            self._stream = self._streams.resume(resume.stream_id, resume.seq, self._wake, self._taken_over)
        except CannotResume as error:
            raise Refusal(404, str(error)) from error
        if self._stream is not fresh:
            self._streams.lose(fresh, self._taken_over, self._clock.monotonic())

    def _wake(self) -> None:
        self._due.set()

    async def _write(self) -> None:
        """Send what is due, one message after the other; a message is made only when the previous one has left."""
        while True:
            self._due = trio.Event()
            if not await self._send_next():
                now = self._clock.monotonic()
                with trio.move_on_after(self._stream.due_at(now) - now):
                    await self._due.wait()

    async def _send_next(self) -> bool:
        """Send what is due; tell whether a message was sent."""
        now = self._clock.monotonic()
        if self._stream.due_at(now) > now:
            return False
        async with self._streams.turn:
            message = self._stream.next_message(self._clock.monotonic())
            text = None if message is None else message.decode()
        if text is None:
            return False
        await self._socket.send(text)
        return True

    # Requests of the client

    async def _read(self) -> None:
        while True:
            raw = await self._socket.receive()
            own_id: str | int | float | None = None
            try:
                given = read_object(raw)
                own_id = read_id(given)
                await self._do(read_command(given), own_id)
            except Refusal as refused:
                self._stream.answer(frames.refusal("error", refused, _with_id(own_id)))
            if self._stream.overfull:
                self._end(Close(NOT_READING, sentences.ANSWERS_NOT_READ))

    async def _do(self, command: Command, own_id: str | int | float | None) -> None:
        match command:
            case Subscribe():
                told = await self._subscribe(command)
                self._answer("subscribed", command.channel, own_id, told)
            case Unsubscribe():
                told = await self._unsubscribe(command)
                self._answer("unsubscribed", command.channel, own_id, told)
            case Resume():
                self._resume(command)
            case ShowToken():
                raise Refusal(409, sentences.TOKEN_ALREADY_TAKEN)
            case _:
                assert_never(command)

    def _answer(self, kind: str, channel: str, own_id: str | int | float | None, told: dict[str, object]) -> None:
        self._stream.answer(frames.message(kind, {**_with_id(own_id), "channel": channel, **told}))

    async def _subscribe(self, command: Subscribe) -> dict[str, object]:
        if command.channel == "quotes":

            def begin(instrument: Instrument) -> None:
                self._stream.subscribe_quote(instrument, command.mode)

            return {"mode": command.mode, "results": await self._each(command.instruments, begin)}
        if command.channel == "documents":
            self._stream.documents.subscribe(command.documents, ages=command.ages)
            return {"documents": command.documents, **({"ages": True} if command.ages else {})}
        if command.channel == "chain":
            name = read_chain(batch.texts(command.chain))
            chains = self._services.required_live().chains
            if chains is None:
                raise Refusal(403, sentences.NO_CHAINS)
            chains.check(name)
            self._stream.subscribe_chain(name)
            return name_fields(name)
        self._stream.events[command.channel].subscribe()
        return {}

    async def _unsubscribe(self, command: Unsubscribe) -> dict[str, object]:
        if command.channel == "quotes":
            if command.instruments is None:
                return {"instruments": self._stream.quotes.unsubscribe(tuple(self._stream.quotes.modes))}

            def end(instrument: Instrument) -> None:
                self._stream.quotes.unsubscribe((instrument.instrument_id,))

            return {"results": await self._each(command.instruments, end)}
        if command.channel == "documents":
            return {"documents": self._stream.documents.unsubscribe(command.documents)}
        if command.channel == "chain":
            chains = self._stream.chains
            asked = chains.names if command.chain is None else (read_chain(batch.texts(command.chain)),)
            return {"chains": [name_fields(name) for name in chains.unsubscribe(asked)]}
        self._stream.events[command.channel].close()
        return {}

    async def _each(self, items: Sequence[object], do: Callable[[Instrument], None]) -> list[dict[str, object]]:
        """Do something with each instrument of a list, and return the result for each, as the POST forms do (rules
        1.4.6).

        Raises Refusal 503 if no instruments have ever been mapped.
        """
        find = await self._services.required_live().look_up(items)
        results: list[dict[str, object]] = []
        began = self._clock.monotonic()
        for index, item in enumerate(items):
            results.append({"request_index": index, **_one(item, find, do)})
            if self._clock.monotonic() - began >= WORK_SECONDS:
                await trio.lowlevel.checkpoint()
                began = self._clock.monotonic()
        return results


def _one(item: object, find: Find, do: Callable[[Instrument], None]) -> dict[str, object]:
    try:
        if not isinstance(item, dict):
            raise Refusal(400, instrument_sentences.ENTRY_FORM)
        instrument = find(instrument_names.read_name(batch.texts(item)))
        do(instrument)
    except Refusal as refused:
        return {"status": refused.status, **refused.body()}
    return {"status": 200, "instrument_id": instrument.instrument_id}


def _address(upgrade: Mapping[str, Any]) -> str:
    """Return the client's address of an ASGI scope, without its port; empty if it is not known."""
    client = upgrade.get("client")
    return str(client[0]) if client else ""


def _with_id(own_id: str | int | float | None) -> dict[str, object]:
    return {} if own_id is None else {"id": own_id}


async def converse(
    socket: Socket, header: bytes | None, services: Services, upgrade: Mapping[str, Any] | None = None
) -> Close:
    """Serve one accepted WebSocket to its end, and return how to close it. The framework cancels it when the client
    leaves.

    `upgrade` is the ASGI scope; its connection counts as a stranger until the client has shown its token.
    """
    live = services.required_live()
    try:
        return await _Connection(socket, services, live.streams, live.stopping, upgrade or {}).run(header)
    except Exception:  # noqa: BLE001  # the last resort of a route
        _log.exception("a stream failed")
        return Close(INTERNAL_ERROR, sentences.FAILED)
