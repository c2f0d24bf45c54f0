"""Reads the head of a request, with h11 as in the stock path, so that both understand a head alike. A head with anything that the lane does
not need is not the lane's.
"""

from collections.abc import Mapping
from typing import Final

import attrs
import h11

MOST_HEAD_BYTES = 4 * 1024
"""Longer heads are not the lane's: it would remember them."""

_OTHER_MATTERS: Final = frozenset(
    {b"content-length", b"expect", b"keep-alive", b"te", b"trailer", b"transfer-encoding", b"upgrade"}
)
"""Headers that change how a request is read, or what becomes of the connection."""


@attrs.frozen(kw_only=True)
class Head:
    """The head of a request without a body that leaves the connection open."""

    is_head: bool
    """Whether the method is HEAD; otherwise it is GET."""
    path: str
    query: bytes
    host: str
    headers: Mapping[bytes, tuple[bytes, ...]]
    """Name in lower case -> its values, in their order."""

    def only(self, name: bytes) -> bytes | None:
        """Return a header as it was sent; None if it is missing. A header given twice is returned empty, which matches no secret."""
        values = self.headers.get(name)
        if values is None:
            return None
        return values[0] if len(values) == 1 else b""


def path_of(head: bytes) -> bytes | None:
    """Return what seems to be the path of a GET or HEAD request, without reading the head; None for anything else."""
    method, _, rest = head.partition(b" ")
    if method not in (b"GET", b"HEAD"):
        return None
    return rest.partition(b" ")[0].partition(b"?")[0]


def read_head(head: bytes) -> Head | None:
    """Return the meaning of a head, which ends with an empty line; None if it is not whole, not valid, or has more to it than the lane knows."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(head)
    try:
        request, end = connection.next_event(), connection.next_event()
    except h11.RemoteProtocolError:
        return None
    if not isinstance(request, h11.Request) or not isinstance(end, h11.EndOfMessage) or connection.trailing_data[0]:
        return None
    return _plain(request)


def _plain(request: h11.Request) -> Head | None:
    path, _, query = request.target.partition(b"?")
    headers: dict[bytes, tuple[bytes, ...]] = {}
    for name, value in request.headers:
        headers[name] = (*headers.get(name, ()), value)
    if request.http_version != b"1.1" or request.method not in (b"GET", b"HEAD"):
        return None
    if _OTHER_MATTERS & headers.keys() or not _stays_open(headers):
        return None
    return Head(
        is_head=request.method == b"HEAD",
        path=path.decode("ascii"),
        query=query,
        host=headers[b"host"][0].decode("latin-1"),  # h11 takes no head of HTTP/1.1 without it
        headers=headers,
    )


def _stays_open(headers: Mapping[bytes, tuple[bytes, ...]]) -> bool:
    """Tell whether `Connection` says no more than HTTP/1.1 means without it. Many clients say so in each request."""
    return all(value.lower() == b"keep-alive" for value in headers.get(b"connection", ()))
