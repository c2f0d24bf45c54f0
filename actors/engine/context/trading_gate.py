"""The gate that a person closes to stop trading (order-engine 4.10). Every order message passes it twice: when a broker is chosen, and at the
last moment before it leaves (`actors/engine/placing/send_once.py`).

A closed gate stops entries: `reduce_only` lets exits and all that only reduces a position pass, `nothing` lets only cancels pass, and
changes that make an order smaller: a stop that may not follow the position down would open a short. Until the
stored halt is read after a start, no entry passes. Closing waits for the entries that are just leaving, so none leaves after its answer.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum, auto

import trio

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable import Durable, DurableError, Halt, HaltMode
from onebroker.config.messages import halts as texts

RETRY_SECONDS = 0.5


class Passage(Enum):
    """What an order message does to the risk."""

    ENTRY = auto()
    """It may open or enlarge a position."""
    EXIT = auto()
    """It closes, or only reduces a position, or changes an order without enlarging it."""
    SMALLER = auto()
    """It takes units off an order and changes nothing else: a cancel of a part."""
    CANCEL = auto()


_ALWAYS = (Passage.SMALLER, Passage.CANCEL)


class TradingGate:
    """The present halt, and the entries that are on their way out. One for the whole service."""

    def __init__(self, *, known: bool = True) -> None:
        """`known` false: the stored halt is still to be read (`take_up`)."""
        self.halt: Published[Halt | None] = Published(None)
        self._known = known
        self._leaving: Counter[Passage] = Counter()
        self._left = trio.Event()
        """Set when a message that was leaving has left."""
        self._storing = trio.Lock()
        """The stored halts follow each other in the order of the requests."""

    @property
    def known(self) -> bool:
        """Whether the stored halt has been read, or replaced, since the start."""
        return self._known

    # --- asking -----------------------------------------------------------------------------------------------------

    def refusal(self, passage: Passage) -> EngineAnswer | None:
        """Return why a message does not pass now; None when it does. 403 for an entry, because a person decided; 503 for an exit, which waits."""
        halt = self.halt.value
        if passage in _ALWAYS:
            return None
        if not self._known:
            return None if passage is Passage.EXIT else _refused(503, texts.NOT_KNOWN)
        if halt is None or (passage is Passage.EXIT and halt.mode is HaltMode.REDUCE_ONLY):
            return None
        return _refused(403 if passage is Passage.ENTRY else 503, texts.halted(halt.reason))

    @contextmanager
    def leaving(self, passage: Passage) -> Iterator[EngineAnswer | None]:
        """Let a message leave in the block. Yield why it must not, else None; then a halt waits for the end of the block."""
        refused = self.refusal(passage)
        if refused is not None or passage in _ALWAYS:
            yield refused
            return
        self._leaving[passage] += 1
        try:
            yield None
        finally:
            self._leaving[passage] -= 1
            left, self._left = self._left, trio.Event()
            left.set()

    # --- closing and opening ----------------------------------------------------------------------------------------

    async def take_up(self, durable: Durable | None) -> None:
        """Read the stored halt after a start; wait as long as it cannot be read. Entries are refused meanwhile."""
        while not self._known:
            try:
                halt = None if durable is None else await durable.halt()
            except DurableError:
                await trio.sleep(RETRY_SECONDS)
            else:
                if not self._known:  # else a halt came while this was read
                    self.halt.set(halt)
                    self._known = True

    async def close(self, halt: Halt, durable: Durable | None, wait_seconds: float) -> bool:
        """Stop trading at once and store that. Then wait at most `wait_seconds` for the messages that it stops and that are just leaving; return
        whether none is left. Raises DurableError: then trading is halted, but a restart would not know it."""
        self.halt.set(halt)
        self._known = True
        await self._store(halt, durable)
        stopped = [passage for passage in Passage if self.refusal(passage) is not None]
        with trio.move_on_after(wait_seconds):
            while any(self._leaving[passage] for passage in stopped):
                await self._left.wait()
        return not any(self._leaving[passage] for passage in stopped)

    async def open(self, durable: Durable | None) -> None:
        """End the present halt, once that is stored; a halt that comes meanwhile holds. Raises DurableError: then the halt stays."""
        ended = self.halt.value
        await self._store(None, durable)
        if self.halt.value is ended:
            self.halt.set(None)
            self._known = True

    async def _store(self, halt: Halt | None, durable: Durable | None) -> None:
        async with self._storing:
            if durable is not None:
                await durable.put_halt(halt)


def _refused(status: int, sentence: str) -> EngineAnswer:
    return EngineAnswer(status=status, body={"error": sentence})
