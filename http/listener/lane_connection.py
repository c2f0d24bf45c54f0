"""A connection with a lane: requests that the lane knows are answered before hypercorn sees their bytes.

The lane is asked only while no other request of the connection is in progress and nothing half-sent waits, so the two never answer in turns
that the client did not ask for. All else is hypercorn's. Reading and writing are plain system calls between two waits of trio: a
stream's own calls would cost as much as the answer.
"""

import contextlib
import os
from typing import Protocol

import h11
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Closed, RawData
from hypercorn.trio.worker_context import WorkerContext

from onebroker.http.listener.connection import (
    FIRST_HEAD_SECONDS,
    GONE,
    KEEP_ALIVE_SECONDS,
    READ_BYTES,
    Connection,
    Stream,
    let_go,
)
from onebroker.http.listener.connection_limits import Peer

_HEAD_END = b"\r\n\r\n"


class Lane(Protocol):
    """Answers requests in place of the application."""

    def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
        """Return the whole answer to a request without a body, or None if the application must answer. `head` ends with the empty line;
        `here` is the address at which the connection arrived. Never raises."""


class LaneConnection(Connection):
    """hypercorn's connection behind a lane."""

    def __init__(
        self, app: ASGIWrapper, config: Config, context: WorkerContext, peer: Peer, stream: Stream, lane: Lane
    ) -> None:
        super().__init__(app, config, context, peer, stream)
        self._lane = lane
        self._socket = stream.socket if isinstance(stream, trio.SocketStream) else None
        """None: inside TLS."""
        self._active_at = 0.0
        """Trio's time of the last answer."""
        self._stock_is_free = True
        """Whether the stock path was seen to have nothing to do, and has got nothing since."""

    # --- reading ----------------------------------------------------------------------------------------------------

    async def _read_data(self) -> None:
        here = "" if self.protocol.server is None else self.protocol.server[0]
        while (data := await self._received()) is not None:
            if data:
                data = await self._lane_part(data, here)
                if not data:
                    continue
            self._stock_is_free = False
            await self.protocol.handle(RawData(data))
            if not data:
                break
        await self.protocol.handle(Closed())
        self._ended = True
        await self.idle_task.stop()

    async def _received(self) -> bytes | None:
        if self._socket is None:
            return await super()._received()
        try:
            while self._socket.fileno() >= 0:  # below zero: another task has closed it
                await trio.lowlevel.wait_readable(self._socket)
                with contextlib.suppress(BlockingIOError):
                    return os.read(self._socket.fileno(), READ_BYTES)
        except (*GONE, OSError) as error:
            let_go(error)
        return None

    async def _lane_part(self, data: bytes, here: str) -> bytes:
        """Answer the requests at the beginning of `data` that are the lane's; return what is left for the stock path."""
        while data and self._may_answer():
            end = data.find(_HEAD_END) + len(_HEAD_END)
            if end < len(_HEAD_END):
                break
            answer = self._lane.answer(data if end == len(data) else data[:end], self._peer, here)
            if answer is None:
                break
            await self._send_answer(answer)
            data = data[end:]
            if data:  # a client that sends many requests at once must not hold up the loop
                await trio.lowlevel.checkpoint()
        return data

    def _may_answer(self) -> bool:
        """Tell whether the stock path has nothing to do, and would not end the connection after one more answer."""
        return (
            (self._stock_is_free or self._look_at_stock())
            and self.protocol.keep_alive_requests + 1 < self.config.keep_alive_max_requests
            and not self.context.terminated.is_set()
            and not self.send_lock.locked()
        )

    def _look_at_stock(self) -> bool:
        connection = self.protocol.connection
        self._stock_is_free = (
            self.protocol.stream is None
            and isinstance(connection, h11.Connection)
            and connection.our_state is h11.IDLE
            and connection.their_state is h11.IDLE
            and not connection.trailing_data[0]
        )
        return self._stock_is_free

    # --- answering --------------------------------------------------------------------------------------------------

    async def _send_answer(self, answer: bytes) -> None:
        """Send an answer at once as far as the system takes it, the rest as the stock path does."""
        self.protocol.keep_alive_requests += 1
        self._asked = self._peer.busy = True
        try:
            sent = self._send_now(answer)
            if sent < len(answer):
                await self._write(answer[sent:])
        finally:
            self._peer.busy = False
            self._active_at = trio.current_time()

    def _send_now(self, answer: bytes) -> int:
        """Return how many bytes the system took. A client that has left is noticed by the next call."""
        if self._socket is None:
            return 0
        try:
            return os.write(self._socket.fileno(), answer)
        except OSError:
            return 0

    # --- the idle timer ---------------------------------------------------------------------------------------------

    async def _idle_timeout(self) -> None:
        """As the stock timer, but an answer of the lane only moves `_active_at`: a new timer for each would cost more than the answer."""
        self._active_at = trio.current_time()
        while (left := self._idle_seconds_left()) > 0 and not self.context.terminated.is_set():
            with trio.move_on_after(left):
                await self.context.terminated.wait()
        with trio.CancelScope(shield=True):
            async with self.send_lock:  # the lane may be sending
                pass
            await self._initiate_server_close()

    def _idle_seconds_left(self) -> float:
        most = KEEP_ALIVE_SECONDS if self._asked else FIRST_HEAD_SECONDS
        return self._active_at + most - trio.current_time()
