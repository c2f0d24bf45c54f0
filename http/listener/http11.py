"""HTTP/1.1 and nothing else: hypercorn's protocol without its change to HTTP/2, and with what RFC 9112 requires for odd
requests.

hypercorn speaks HTTP/2 whenever a client begins with its preface or asks for the upgrade `h2c`, in clear text and
inside TLS. Its streams have none of the bounds of `http.listener.accept_loop`. A proxy in front would also pass on requests that it
has not checked.
"""

from typing import Any

import h11
from hypercorn.events import Closed, Event
from hypercorn.protocol.h11 import H11Protocol

HTTP_VERSION_NOT_SUPPORTED = 505


class _OtherVersion(Exception):
    """The request does not use HTTP/1."""


class Http11(H11Protocol):
    async def handle(self, event: Event) -> None:
        try:
            await super().handle(event)
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
