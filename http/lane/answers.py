"""The bytes of an answer: status line, headers and body, as the application and hypercorn write them together."""

import time
from wsgiref.handlers import format_date_time

LONG_BYTES = 4 * 1024
"""A longer body is put together with its head once a second, and not for each request: joining copies it."""
MOST_KEPT = 10
"""Two for each document: as it is, and compressed."""
_PACKED = b"content-encoding: gzip\r\n"


class AnswerBytes:
    """Puts answers together. Long answers are kept while their body is the published one."""

    def __init__(self) -> None:
        self._second = -1
        self._date = b""
        self._kept: dict[int, tuple[bytes, bytes]] = {}
        """Identity of a body -> the body, which keeps its identity its own, and the whole answer of this second."""

    def whole(self, status: int, body: bytes, *, is_head: bool, is_packed: bool = False) -> bytes:
        """Return the answer of `status` with this JSON body, which `is_packed` by gzip; for HEAD only its head."""
        self._look_at_the_clock()
        if is_head:
            return self._head(status, len(body), is_packed)
        if status != 200 or len(body) < LONG_BYTES:
            return self._head(status, len(body), is_packed) + body
        kept = self._kept.get(id(body))
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            kept = self._kept[id(body)] = (body, self._head(status, len(body), is_packed) + body)
        return kept[1]

    def _look_at_the_clock(self) -> None:
        second = int(time.time())  # the clock by which hypercorn dates its answers; the two must be equal
        if second != self._second:
            self._second = second
            self._date = format_date_time(second).encode("ascii")
            self._kept.clear()

    def _head(self, status: int, length: int, is_packed: bool) -> bytes:
        return (
            b"HTTP/1.1 %d \r\ncontent-type: application/json\r\ncontent-length: %d\r\ncache-control: no-store\r\n%s"
            b"x-content-type-options: nosniff\r\ndate: %s\r\n\r\n"
            % (status, length, _PACKED if is_packed else b"", self._date)
        )
