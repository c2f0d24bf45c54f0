"""A connection with a lane: requests that the lane knows are answered before hypercorn sees their bytes.

The lane is asked only while no other request of the connection is in progress and nothing half-sent waits, so answers leave in the order of
their requests. All else is hypercorn's. Reading and writing are plain system calls between two waits of trio: a stream's own calls would
cost as much as the answer. A socket that another task has closed has no number any more, so they never reach another socket.
"""

import contextlib
import os
from typing import Protocol

import h11
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
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
        self._sending = False
        """Whether an answer of the lane is leaving that the system did not take at once."""
        self._active_at = 0.0
        """Trio's time of the last answer."""
        self._stock_is_free = True
        """Whether the stock path was seen to have nothing to do, and has got nothing since."""

    # --- reading ----------------------------------------------------------------------------------------------------

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

    async def _take(self, data: bytes) -> None:
        """Answer the requests at the beginning of `data` that are the lane's; leave what follows to the stock path."""
        while data and self._may_answer():
            end = data.find(_HEAD_END) + len(_HEAD_END)
            if end < len(_HEAD_END):
                break
            answer = self._lane.answer(data if end == len(data) else data[:end], self._peer, self._here())
            if answer is None:
                break
            await self._send_answer(answer)
            data = data[end:]
            if data:  # a client that sends many requests at once must not hold up the loop
                await trio.lowlevel.checkpoint()
            if not data or self.context.terminated.is_set():
                return  # at a shutdown no request behind an answer is taken, as in the stock path; the idle timer closes the connection
        self._stock_is_free = False
        await super()._take(data)

    def _here(self) -> str:
        return "" if self.protocol.server is None else str(self.protocol.server[0])

    def _may_answer(self) -> bool:
        """Tell whether the stock path has nothing to do, and would not end the connection after one more answer."""
        is_last = self.protocol.keep_alive_requests + 1 >= self.config.keep_alive_max_requests
        return not is_last and (self._stock_is_free or self._look_at_stock())

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
        self._asked = True
        sent = self._send_now(answer)
        if sent < len(answer):
            self._sending = self._peer.busy = True
            try:
                await self._write(memoryview(answer)[sent:])
            finally:
                self._sending = self._peer.busy = False
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
        while self._sending or ((left := self._idle_seconds_left()) > 0 and not self.context.terminated.is_set()):
            if self._sending:
                async with self.send_lock:  # the answer leaves; the time begins after it
                    pass
            else:
                with trio.move_on_after(left):
                    await self.context.terminated.wait()
        with trio.CancelScope(shield=True):
            await self._initiate_server_close()

    def _idle_seconds_left(self) -> float:
        most = KEEP_ALIVE_SECONDS if self._asked else FIRST_HEAD_SECONDS
        return self._active_at + most - trio.current_time()
