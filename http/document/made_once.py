"""A document that is made when it is first asked for, in a worker thread: it takes half a second of processor time, which neither the start nor the
loop has to spare."""

from collections.abc import Callable

import trio


class MadeOnce:
    def __init__(self, make: Callable[[], bytes]) -> None:
        self._make = make
        self._body: bytes | None = None
        self._turn = trio.Lock()

    async def body(self) -> bytes:
        """Return the document. Requests that come while it is made wait for it. A failure is raised, and the next request tries again."""
        async with self._turn:
            if self._body is None:
                self._body = await trio.to_thread.run_sync(self._make)
            return self._body
