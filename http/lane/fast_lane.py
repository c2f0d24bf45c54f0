"""The lane itself: a whole head of a request in, a whole answer out, without a task, a protocol object or a wait in between.

Each answer is what the application would send: the same checks in the same order (host name, token, the document's age), the same bytes.
`tests/http/lane` compares the two. A head that the lane does not know goes the stock way.
"""

import logging

import attrs

from onebroker.config.refusal import Refusal
from onebroker.http import auth, render
from onebroker.http.lane.answers import AnswerBytes
from onebroker.http.lane.heads import MOST_HEADS, read_head
from onebroker.http.lane.hot_answers import Read, hot_answers
from onebroker.http.listener.connection_limits import Peer
from onebroker.http.listener.host_names import HostNames
from onebroker.http.services import Services

_log = logging.getLogger(__name__)

_TOKEN = auth.TOKEN_HEADER.encode()


@attrs.frozen(kw_only=True)
class _Known:
    """A head whose meaning is known."""

    read: Read
    is_head: bool
    token: bytes | None
    host: str
    is_own_host: bool
    """Whether the host name is ours on every connection; other names depend on the address at which the connection arrived."""


class FastLane:
    """The lane of one service."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._readers = hot_answers(services)
        self._names = HostNames(services.settings, services.refused_clients)
        self._answers = AnswerBytes()
        self._heads: dict[bytes, _Known | None] = {}
        """None: not the lane's."""

    def answer(self, head: bytes, peer: Peer, here: str) -> bytes | None:
        """Return the whole answer to a request without a body; None: it must go the stock way. Never raises.

        `here`: the address at which the connection arrived.
        """
        try:
            known = self._heads[head]
        except KeyError:
            known = self._learn(head)
        if known is None or not (known.is_own_host or self._names.serves(known.host, here)):
            return None
        try:
            return self._answer(known, peer)
        except Exception:  # noqa: BLE001  # the stock way then answers, and shows the same fault in the framework's form
            _log.exception("the fast lane failed; the request goes the usual way")
            return None

    def _answer(self, known: _Known, peer: Peer) -> bytes | None:
        try:
            peer.proved = False
            auth.check_client(known.token, self._services, peer.address)
            peer.proved = True
            body = known.read()
        except Refusal as refusal:
            return self._answers.whole(refusal.status, render.encode(refusal.body()), is_head=known.is_head)
        return None if body is None else self._answers.whole(200, body, is_head=known.is_head)

    def _learn(self, head: bytes) -> _Known | None:
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
        return _Known(
            read=read,
            is_head=read_as.is_head,
            token=read_as.only(_TOKEN),
            host=read_as.host,
            is_own_host=self._names.serves(read_as.host, None),
        )
