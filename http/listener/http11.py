"""HTTP/1.1 and nothing else: hypercorn's protocol without its change to HTTP/2, with what RFC 9112 requires for odd
requests, and with an end for requests that wait behind another when their connection is over.

hypercorn speaks HTTP/2 whenever a client begins with its preface or asks for the upgrade `h2c`, in clear text and
inside TLS. Its streams have none of the bounds of `http.listener.accept_loop`. A proxy in front would also pass on requests that it
has not checked.
"""

from typing import Any

import h11
from hypercorn.events import Closed, Event
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.trio.worker_context import EventWrapper

HTTP_VERSION_NOT_SUPPORTED = 505


class _OtherVersion(Exception):
    """The request does not use HTTP/1."""


class _Over(Exception):
    """The connection is over."""


class _CanRead(EventWrapper):
    """Whether the next request may be read. hypercorn sets it when the request before has its answer, and would wait for ever where no answer
    can come any more: the client of several requests has left, or the service shuts down."""

    def __init__(self) -> None:
        super().__init__()
        self._is_over = False

    async def wait(self) -> None:
        """Raise _Over once the connection is over."""
        if not self._is_over:
            await super().wait()
        if self._is_over:
            raise _Over

    async def end(self) -> None:
        self._is_over = True
        await self.set()


class Http11(H11Protocol):
    can_read: _CanRead

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.can_read = _CanRead()

    async def handle(self, event: Event) -> None:
        if isinstance(event, Closed):
            await self.can_read.end()
        try:
            await super().handle(event)
        except _Over:
            return
        except _OtherVersion:
            await self._send_error_response(HTTP_VERSION_NOT_SUPPORTED)
            await self.send(Closed())

    async def _check_protocol(self, event: h11.Request) -> None:
        """Called with each head. An `Upgrade: h2c` is ignored, like any upgrade that a server does not know."""
        if not event.http_version.startswith(b"1."):
            raise _OtherVersion
        names = {name for name, _ in event.headers}
        if {b"content-length", b"transfer-encoding"} <= names:
            # The chunks count, but the two ends may disagree on where the request ends. RFC 9112 section 6.3 makes it
            # the last request.
            self.keep_alive_requests = self.config.keep_alive_max_requests

    def forget(self) -> None:
        """Drop references that lead back here, so that an ended connection is freed at once and does not wait for the garbage collector."""
        gone: Any = None
        self.stream = self.send = self.task_group = self.app = gone
