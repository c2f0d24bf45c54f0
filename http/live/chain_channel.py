"""What one client gets of option chains: a snapshot of each, then its changes, at most one message in half a second for each chain. Pure."""

from collections import deque
from collections.abc import Iterable

import attrs

from onebroker.actors.chain.contracts import ChainName
from onebroker.http.live.boards import Wake
from onebroker.http.live.chain_board import ChainBoard
from onebroker.http.live.channels import NEVER

CHAIN_SECONDS = 0.5
MOST_MARKS = 128
"""Messages of a chain whose version is remembered; a resume from further back gets a snapshot."""


@attrs.define
class _Sent:
    """What a client has received of one chain."""

    marks: deque[tuple[int, int]] = attrs.field(factory=lambda: deque(maxlen=MOST_MARKS))
    """(seq of a message, version of the chain in it)."""
    not_before: float = 0.0

    @property
    def version(self) -> int:
        return self.marks[-1][1] if self.marks else 0


class ChainChannel:
    def __init__(self, board: ChainBoard, wake: Wake) -> None:
        self._board = board
        self._wake = wake
        self._sent: dict[ChainName, _Sent] = {}

    @property
    def names(self) -> tuple[ChainName, ...]:
        return tuple(self._sent)

    def subscribe(self, name: ChainName) -> None:
        """Begin a subscription, or begin it again with a snapshot."""
        self._sent[name] = _Sent()
        self._board.watch(name, self._mark)
        self._wake()

    def unsubscribe(self, names: Iterable[ChainName]) -> list[ChainName]:
        """End the given subscriptions that exist, and return their names."""
        ended = [name for name in names if self._sent.pop(name, None) is not None]
        for name in ended:
            self._board.unwatch(name, self._mark)
        return ended

    def close(self) -> None:
        self.unsubscribe(self.names)

    def next_body(self, seq: int, now: float) -> bytes | None:
        name = next((name for name, sent in self._sent.items() if self._is_due(name, sent, now)), None)
        if name is None:
            return None
        sent = self._sent.pop(name)
        self._sent[name] = sent  # the chain sent longest ago comes first
        body = self._board.message(name, sent.version)
        sent.marks.append((seq, self._board.version(name)))
        sent.not_before = now + CHAIN_SECONDS
        return body

    def _is_due(self, name: ChainName, sent: _Sent, now: float) -> bool:
        return self._board.version(name) != sent.version and now >= sent.not_before

    def due_at(self, now: float) -> float:
        waiting = (sent.not_before for name, sent in self._sent.items() if self._board.version(name) != sent.version)
        return max(now, min(waiting, default=NEVER))

    def rewind(self, seq: int) -> None:
        for sent in self._sent.values():
            while sent.marks and sent.marks[-1][0] > seq:
                sent.marks.pop()
                sent.not_before = 0.0

    def _mark(self, name: ChainName) -> None:
        self._wake()
