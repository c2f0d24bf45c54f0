"""The lane itself: a whole head of a request in, a whole answer out, without a task, a protocol object or a wait in between.

Each answer is what the application would send: the same checks in the same order (host name, token, the document's age), the same bytes.
`tests/http/lane` compares the two. A head that the lane does not know goes the stock way.
"""

import logging
import time
from typing import Protocol

import attrs

from onebroker.config.refusal import Refusal
from onebroker.http import auth, render
from onebroker.http.lane.answers import AnswerBytes
from onebroker.http.lane.heads import MOST_HEAD_BYTES, path_of, read_head
from onebroker.http.lane.hot_answers import Read, hot_answers
from onebroker.http.listener.connection_limits import Peer
from onebroker.http.listener.host_names import HostNames
from onebroker.http.packing import LEAST_BYTES, accepts_gzip
from onebroker.http.services import Services

MOST_HEADS = 1024
"""Heads that are remembered. The oldest gives way: a stranger can send as many different heads as it likes."""

_log = logging.getLogger(__name__)

_TOKEN = auth.TOKEN_HEADER.encode()


class OnAnswer(Protocol):
    """Is told each answer of the lane. It is called for each request, so it may only count."""

    def __call__(self, path: str, method: str, status: int, seconds: float, /) -> None:
        """`path` is the route's, `seconds` the time until the answer was ready to be sent."""


@attrs.frozen(kw_only=True)
class _Known:
    """A head whose meaning is known."""

    read: Read
    path: str
    is_head: bool
    token: bytes | None
    host: str
    is_own_host: bool
    """Whether the host name is ours on every connection; other names depend on the address at which the connection arrived."""
    accepts_gzip: bool


class FastLane:
    """The lane of one service. A client that polls sends the same bytes again and again, so the meaning of a head is remembered by its bytes."""

    def __init__(self, services: Services, *, on_answer: OnAnswer | None = None) -> None:
        """`on_answer` is told each answer; None: nobody counts."""
        self._services = services
        self._on_answer = on_answer
        self._readers = hot_answers(services)
        self._paths = frozenset(path.encode() for path in self._readers)
        self._names = HostNames(services.settings, services.refused_clients)
        self._answers = AnswerBytes()
        self._heads: dict[bytes, _Known | None] = {}
        """Only heads of hot paths. None: not the lane's."""

    def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
        """Return the whole answer to a request without a body; None: it must go the stock way. Never raises.

        `here`: the address at which the connection arrived.
        """
        if len(head) > MOST_HEAD_BYTES:
            return None
        try:
            known = self._heads.get(head) or self._learn(head)
            if known is None or not (known.is_own_host or self._names.serves(known.host, here)):
                return None
            return self._answer(known, peer)
        except Exception:  # noqa: BLE001  # the stock way then answers, and shows the same fault in the framework's form
            _log.exception("the fast lane failed; the request goes the usual way")
            return None

    def _answer(self, known: _Known, peer: Peer) -> bytes | None:
        source = self._services.token_source
        if source is not None and not source.knows(known.token):
            return None  # to ask takes a wait
        began = time.perf_counter() if self._on_answer is not None else 0.0
        try:
            peer.proved = False
            auth.check_client(known.token, self._services, peer.address)
            peer.proved = True
            body, status = known.read(), 200
        except Refusal as refusal:
            body, status = render.encode(refusal.body()), refusal.status
        if body is None:
            return None
        is_packed = known.accepts_gzip and status == 200 and len(body) >= LEAST_BYTES
        if is_packed:
            body = self._services.packing.ready(body)
            if body is None:
                return None  # the first request of a publication waits for a thread
        answer = self._answers.whole(status, body, is_head=known.is_head, is_packed=is_packed)
        if self._on_answer is not None:
            self._on_answer(known.path, "HEAD" if known.is_head else "GET", status, time.perf_counter() - began)
        return answer

    def _learn(self, head: bytes) -> _Known | None:
        """Return the meaning of a head that is not known as the lane's. Of other paths nothing is read or remembered: each request of theirs
        would pay for it."""
        if path_of(head) not in self._paths or head in self._heads:
            return None
        known = self._meaning(head)
        if len(self._heads) >= MOST_HEADS:
            del self._heads[next(iter(self._heads))]
        self._heads[head] = known
        return known

    def _meaning(self, head: bytes) -> _Known | None:
        read_as = read_head(head)
        reader = None if read_as is None else self._readers.get(read_as.path)
        read = None if read_as is None or reader is None else reader(read_as.query)
        if read_as is None or read is None:
            return None
        encodings = read_as.only(b"accept-encoding")
        if encodings == b"":
            return None  # given twice: how the framework reads that is its matter
        return _Known(
            read=read,
            path=read_as.path,
            is_head=read_as.is_head,
            token=read_as.only(_TOKEN),
            host=read_as.host,
            is_own_host=self._names.serves(read_as.host, None),
            accepts_gzip=accepts_gzip(None if encodings is None else encodings.decode("latin-1")),
        )
