"""The lanes to the server: each has its own connection, and at most one pipeline in flight (group commit).

Commands that arrive while a lane's pipeline is in flight leave together as the next pipeline, with one hop into a worker thread for the
whole batch. The engine's commits need no thread where the server is on this machine. `RequestLane` carries reads and engine commits, `RestLane` carries everything that may wait.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence

import redis
import trio
from redis.connection import AbstractConnection

from onebroker.actors.kernel.durations import Durations
from onebroker.actors.store.failure_reasons import cannot_serve, is_out_of_files, reason_of
from onebroker.actors.store.interface import Op, StoreError
from onebroker.actors.store.loop_exchange import exchange, suits
from onebroker.actors.store.redis_commands import SCRIPTS, Command, command_bytes, op_commands, pieces
from onebroker.actors.store.server_address import WAITAOF_MILLISECONDS, Connect, Durability
from onebroker.actors.store.waiting_writes import Held, op_bytes

_log = logging.getLogger("onebroker.store")

ROUND_TRIP_BOUNDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5)
"""Seconds, for the histogram of round trips."""
NEVER_CONNECTED = "not connected yet"
WAIT_FOR_DISK = "WAITAOF"
_NOT_ON_DISK = "written, but the server did not confirm in time that it is on disk"


class _NotSent(redis.ConnectionError):
    """There is no connection, and nothing was sent."""


class Link:
    """Whether the server can be used now. All lanes share this object; the store actor updates it."""

    def __init__(self) -> None:
        self.reachable = False
        self.reason = NEVER_CONNECTED
        """Why the server is not reachable."""
        self.generation = 0
        """Counts the contacts made; a connection of an older generation is not used again."""
        self.connect: Connect | None = None
        self.durability: Durability | None = None
        self.up = trio.Event()
        self.lost = trio.Event()
        self.on_lost: list[Callable[[str], None]] = []

    def found(self, connect: Connect, durability: Durability) -> None:
        self.connect, self.durability = connect, durability
        self.generation += 1
        self.reachable = True
        self.lost = trio.Event()
        self.up.set()

    def lose(self, reason: str, detail: object = "") -> None:
        """Mark the server as away, and log it once, with the details that callers need not know."""
        if self.reachable:
            _log.warning("Redis cannot be used: %s", detail or reason)
        self.end(reason)

    def end(self, reason: str) -> None:
        """Mark the server as away. Everything queued fails; posted writes are kept."""
        self.reason = reason
        if not self.reachable:
            return
        self.reachable = False
        self.up = trio.Event()
        self.lost.set()
        for tell in self.on_lost:
            tell(reason)


class Line:
    """One connection, used by one lane at a time."""

    def __init__(self, link: Link, limiter: trio.CapacityLimiter, *, on_loop: bool = False) -> None:
        """`on_loop`: small pipelines need no thread, where the connection allows it (`loop_exchange.py`). Their answers are bare."""
        self._link = link
        self._limiter = limiter
        self._on_loop = on_loop
        self._client: redis.Redis | None = None
        self._connection: AbstractConnection | None = None
        """The only connection of the client, held as long as the client."""
        self._generation = 0
        self.batches = 0
        """Number of pipelines sent; each is one round trip."""
        self.took = Durations(ROUND_TRIP_BOUNDS)
        """The round trips by their length. An engine commit includes the wait for the disk."""

    async def run(self, commands: Sequence[Command]) -> list[object]:
        """Send `commands` as one pipeline; return their answers, with a redis.ResponseError in the place of a refused one.

        Raises StoreError and marks the server as lost when contact breaks; the error says `not sent` when nothing was sent.
        """
        if self._client is None or self._generation != self._link.generation:
            await self._renew()
        began = trio.current_time()
        try:
            answers = await self._exchange(commands)
        except (redis.RedisError, OSError) as error:
            self._lost(error)
            raise StoreError(f"{'not sent: ' if isinstance(error, _NotSent) else ''}{reason_of(error)}") from error
        self.batches += 1
        self.took.add(trio.current_time() - began)
        for answer in answers:
            if isinstance(answer, redis.ResponseError) and cannot_serve(answer):
                self._lost(answer)
                break
        return answers

    async def _exchange(self, commands: Sequence[Command]) -> list[object]:
        connection = self._connection
        if connection is None or not self._on_loop or not suits(connection, commands) or not _is_fresh(connection):
            return await trio.to_thread.run_sync(self._send, commands, limiter=self._limiter)
        answers = await exchange(connection, commands)
        if _missing(answers):
            return await trio.to_thread.run_sync(self._with_scripts, commands, answers, limiter=self._limiter)
        return answers

    async def _renew(self) -> None:
        connect, generation = self._link.connect, self._link.generation
        if connect is None or not self._link.reachable:
            raise StoreError(f"not sent: {self._link.reason}")
        try:
            await trio.to_thread.run_sync(self._open, connect, generation, limiter=self._limiter)
        except (redis.RedisError, OSError) as error:
            if not is_out_of_files(error):
                self._lost(error)
            raise StoreError(f"not sent: {reason_of(error)}") from error

    def close(self) -> None:
        client, self._client, self._connection = self._client, None, None
        if client is not None:
            client.close()

    def _lost(self, error: Exception) -> None:
        self.close()
        self._link.lose(reason_of(error), error)

    def _open(self, connect: Connect, generation: int) -> None:
        self.close()
        client = connect()
        try:
            connection = client.connection_pool.get_connection()
            self._refuse_another_server(client, connection)
        except (redis.RedisError, OSError):
            client.close()
            raise
        self._client, self._connection, self._generation = client, connection, generation

    def _send(self, commands: Sequence[Command]) -> list[object]:
        client, connection = self._used()
        try:
            if not _is_fresh(connection):  # the server closed the idle connection, before anything is sent over it
                connection.disconnect()  # type: ignore[no-untyped-call]  # redis-py
                connection.connect()  # type: ignore[no-untyped-call]  # redis-py
                self._refuse_another_server(client, connection)
        except (redis.RedisError, OSError) as error:
            raise _NotSent(str(error)) from error
        return self._with_scripts(commands, self._pipeline(commands))

    def _refuse_another_server(self, client: "redis.Redis", connection: AbstractConnection) -> None:
        """Raise redis.ConnectionError when the connection leads to another run of a server than the one that was looked at."""
        connection.send_command("INFO", "server")  # type: ignore[no-untyped-call]  # redis-py
        info: Mapping[str, object] = client.parse_response(connection, "INFO")  # type: ignore[no-untyped-call]  # redis-py
        known = self._link.durability
        if known is not None and known.run_id != info.get("run_id", ""):
            raise redis.ConnectionError("the server was started again, or another one has its place")

    def _used(self) -> tuple["redis.Redis", AbstractConnection]:
        if self._client is None or self._connection is None:
            raise redis.ConnectionError("no connection")
        return self._client, self._connection

    def _with_scripts(self, commands: Sequence[Command], answers: list[object]) -> list[object]:
        """Send again the commands whose script the server does not know, because its scripts were flushed; and what waits for the disk after them."""
        if missing := _missing(answers):
            self._pipeline([("SCRIPT LOAD", script) for script in SCRIPTS.values()])
            again = [*missing, *(place for place, command in enumerate(commands) if command[0] == WAIT_FOR_DISK)]
            for place, answer in zip(again, self._pipeline([commands[place] for place in again]), strict=True):
                answers[place] = answer
        return answers

    def _pipeline(self, commands: Sequence[Command]) -> list[object]:
        # redis-py's own pipeline is not used: its extra work takes longer than the server's work for a commit.
        client, connection = self._used()
        connection.send_packed_command(connection.pack_commands(commands))  # type: ignore[no-untyped-call]  # redis-py
        return [_answer(client, connection, command) for command in commands]


def _missing(answers: Sequence[object]) -> list[int]:
    """Return the places of the answers that miss a script."""
    return [place for place, answer in enumerate(answers) if isinstance(answer, redis.exceptions.NoScriptError)]


def _is_fresh(connection: AbstractConnection) -> bool:
    """Whether the idle connection can be used. Never waits."""
    try:
        return not connection.can_read()  # no command is waiting for an answer
    except (redis.RedisError, OSError):
        return False


def _answer(client: "redis.Redis", connection: AbstractConnection, command: Command) -> object:
    try:
        return client.parse_response(connection, command[0])  # type: ignore[no-untyped-call]  # redis-py
    except redis.ResponseError as refusal:
        return refusal


class _Request:
    """One command on its way, and its answer."""

    __slots__ = ("answer", "command", "done", "error")

    def __init__(self, command: Command) -> None:
        self.command = command
        self.done = trio.Event()
        self.answer: object = None
        self.error: StoreError | None = None

    def fail(self, error: StoreError) -> None:
        self.error = error
        self.done.set()

    def finish(self, answer: object) -> None:
        if isinstance(answer, redis.ResponseError):
            self.fail(StoreError(str(answer)))
        else:
            self.answer = answer
            self.done.set()


class RequestLane:
    """Commands that a caller waits for; each gets its own answer."""

    def __init__(self, link: Link, line: Line, *, most_bytes: int, wait_for_disk: bool) -> None:
        self._link = link
        self._line = line
        self._most_bytes = most_bytes
        self._wait_for_disk = wait_for_disk
        self._queue: deque[_Request] = deque()
        self._arrived = trio.Event()
        link.on_lost.append(self.fail_queued)

    async def ask(self, command: Command) -> object:
        """Return the server's answer. Raises StoreError. A command that is cancelled before it leaves is never sent."""
        if not self._link.reachable:
            raise StoreError(f"not sent: {self._link.reason}")
        request = _Request(command)
        self._queue.append(request)
        self._arrived.set()
        try:
            await request.done.wait()
        except trio.Cancelled:
            if request in self._queue:
                self._queue.remove(request)
            raise
        if request.error is not None:
            raise request.error
        return request.answer

    def fail_queued(self, reason: str) -> None:
        while self._queue:
            self._queue.popleft().fail(StoreError(f"not sent: {reason}"))

    async def run(self) -> None:
        while True:
            if not self._queue:
                self._arrived = trio.Event()
                await self._arrived.wait()
            if batch := self._take():
                await self._carry(batch)

    def _take(self) -> list[_Request]:
        batch: list[_Request] = []
        size = 0
        while self._queue and (not batch or size < self._most_bytes):
            request = self._queue.popleft()
            batch.append(request)
            size += command_bytes(request.command)
        return batch

    async def _carry(self, batch: list[_Request]) -> None:
        durability = self._link.durability
        wait = self._wait_for_disk and durability is not None and durability.wait_for_disk
        commands = [request.command for request in batch]
        if wait:
            commands.append((WAIT_FOR_DISK, 1, 0, WAITAOF_MILLISECONDS))
        failure = StoreError("not sent: the store is stopping")
        try:
            answers = await self._line.run(commands)
        except StoreError as error:
            failure = error
        else:
            if not wait or _confirmed(answers.pop()):
                for request, answer in zip(batch, answers, strict=True):
                    request.finish(answer)
            failure = StoreError(_NOT_ON_DISK)
        finally:
            for request in batch:
                if not request.done.is_set():
                    request.fail(failure)


def _confirmed(answer: object) -> bool:
    return isinstance(answer, list) and len(answer) > 0 and answer[0] == 1


class _Write:
    """An acknowledged write in the rest lane, split into pieces."""

    __slots__ = ("done", "error", "left", "under_way")

    def __init__(self, ops: Iterable[Op]) -> None:
        self.left = deque(pieces(ops))
        self.under_way = 0
        self.done = trio.Event()
        self.error: StoreError | None = None

    def fail(self, error: StoreError) -> None:
        if not self.done.is_set():
            self.error = error
            self.left.clear()
            self.done.set()


_Piece = tuple[Op, _Write | None]
"""An op on its way, and the write that waits for it (None = posted)."""


class RestLane:
    """Writes that may wait: acknowledged writes in order; posted writes conflated while they wait."""

    def __init__(self, link: Link, line: Line, *, most_bytes: int, most_held_bytes: int) -> None:
        self._link = link
        self._line = line
        self._most_bytes = most_bytes
        self._most_held_bytes = most_held_bytes
        self._queue: deque[Held | _Write] = deque()
        self._ready: deque[Op] = deque()
        """Ops taken out of the front Held that have not left yet."""
        self._arrived = trio.Event()
        self.given_up = 0
        """Number of keys whose posted writes were dropped because there was no room while the store was away."""
        link.on_lost.append(self.fail_queued)

    @property
    def waiting_bytes(self) -> int:
        return sum(held.held_bytes for held in self._queue if isinstance(held, Held)) + sum(map(op_bytes, self._ready))

    def post(self, ops: Iterable[Op]) -> None:
        held = self._queue[-1] if self._queue else None
        if not isinstance(held, Held):
            held = Held(self._most_held_bytes)
            self._queue.append(held)
        for op in ops:
            self._note_given_up(held.fold(op))
        self._arrived.set()

    async def write(self, ops: Sequence[Op]) -> None:
        if not self._link.reachable:
            raise StoreError(f"not sent: {self._link.reason}")
        write = _Write(ops)
        if not write.left:
            await trio.lowlevel.checkpoint()
            return
        self._queue.append(write)
        self._arrived.set()
        await write.done.wait()
        if write.error is not None:
            raise write.error

    def fail_queued(self, reason: str) -> None:
        """Fail the waiting writes; keep the posted ones."""
        self._keep((), StoreError(reason))

    async def run(self) -> None:
        while True:
            if not self._queue and not self._ready:
                self._arrived = trio.Event()
                await self._arrived.wait()
            await self._link.up.wait()
            await self._carry_one()

    async def flush(self) -> None:
        """Write everything that waits (only while `run` does not run); end early when the server is away."""
        while (self._queue or self._ready) and self._link.reachable:
            await self._carry_one()

    async def _carry_one(self) -> None:
        batch = self._take()
        commands = [command for op, _ in batch for command in op_commands(op)]
        failure = StoreError("not sent: the store is stopping")
        answers: list[object] | None = None
        try:
            answers = await self._line.run(commands) if commands else []
        except StoreError as error:
            failure = error
        finally:
            if answers is None:
                self._keep(batch, failure)
        if answers is not None:
            self._finish(batch, answers)

    def _take(self) -> list[_Piece]:
        batch: list[_Piece] = []
        size = 0
        while size < self._most_bytes:
            piece = self._next(self._most_bytes - size if batch else None)
            if piece is None:
                break
            batch.append(piece)
            size += op_bytes(piece[0])
        return batch

    def _next(self, room_bytes: int | None) -> _Piece | None:
        """Take the piece in front if it fits into `room_bytes` (None = any size)."""
        while self._queue or self._ready:
            front = self._queue[0] if self._queue else None
            if self._ready:
                return (self._ready.popleft(), None) if _fits(self._ready[0], room_bytes) else None
            if isinstance(front, Held):
                if front:
                    self._ready.extend(pieces(front.take()))
                else:
                    self._queue.popleft()
            elif front is not None:
                if front.left:
                    if not _fits(front.left[0], room_bytes):
                        return None
                    front.under_way += 1
                    return front.left.popleft(), front
                self._queue.popleft()
        return None

    def _finish(self, batch: list[_Piece], answers: list[object]) -> None:
        replies = iter(answers)
        unserved: list[_Piece] = []
        for op, write in batch:
            answered = [next(replies) for _ in op_commands(op)]
            refused = [reply for reply in answered if isinstance(reply, redis.ResponseError)]
            if write is not None:
                _finish_piece(write, refused)
            elif refused and cannot_serve(refused[0]):
                unserved.append((op, None))
            elif refused:
                _log.error("Redis refused a write to %s: %s", op.key, refused[0])
        if unserved:
            self._keep(unserved, StoreError(self._link.reason))

    def _keep(self, batch: Iterable[_Piece], failure: StoreError) -> None:
        """Fail every write under way or waiting; put posted ops back, with newer ops over older ones."""
        held = Held(self._most_held_bytes)
        for op, write in batch:
            if write is None:
                self._note_given_up(held.fold(op))
            else:
                write.fail(failure)
        while self._ready:
            self._note_given_up(held.fold(self._ready.popleft()))
        not_sent = StoreError(f"not sent: {str(failure).removeprefix('not sent: ')}")
        for entry in self._queue:
            if isinstance(entry, _Write):
                entry.fail(failure if entry.under_way else not_sent)
                continue
            while ops := entry.take():
                for op in ops:
                    self._note_given_up(held.fold(op))
        self._queue.clear()
        if held:
            self._queue.append(held)

    def _note_given_up(self, count: int) -> None:
        if count and not self.given_up:
            _log.error("Redis has been away so long that posted writes are dropped, oldest first")
        self.given_up += count


def _finish_piece(write: _Write, refused: Sequence[redis.ResponseError]) -> None:
    write.under_way -= 1
    if refused:
        write.fail(StoreError(str(refused[0])))
    elif not write.left and write.under_way == 0:
        write.done.set()


def _fits(op: Op, room_bytes: int | None) -> bool:
    return room_bytes is None or op_bytes(op) <= room_bytes
