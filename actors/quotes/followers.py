"""Followers of quote changes: parents, streams, and everything else that must act on a quote instead of polling for it.

The feeds watch every followed instrument. A follower gets the changed instruments, each once, however often it changed. So a slow
follower never builds up a queue: it reads the newest quote when it is ready. Followers outlive restarts of the quote book's actor.

    with quotes.follow([instrument_id]) as follower:
        async for changed in follower:
            ...

A `Listener` hears every quote in the step in which the book takes it; the plans of orders do (`actors/engine/context/quote_bounds.py`).
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from types import TracebackType
from typing import Protocol, Self

import trio

from onebroker.actors.quotes.tick_fold import Quote


class Listener(Protocol):
    """Hears of the quotes of the instruments to which it is added. It must not raise, and must be short: the quote book waits for it."""

    def note(self, instrument_id: str, quote: Quote | None) -> None:
        """Take the unified quote; None: something about the instrument has changed, but not the unified quote."""


class Followers:
    """All followers by instrument. The quote book reads this at every tick."""

    def __init__(self) -> None:
        self._of: dict[str, list[Listener]] = {}
        self._newest: dict[str, Quote] = {}
        """Instrument_id -> the last unified quote given to its followers."""
        self._when_taken: list[Callable[[], None]] = []
        self._guards = Counter[str]()
        """Instrument_id -> how many plans have a stop of it at a broker."""
        self.version = 0
        """Grows whenever a follower starts or stops following an instrument."""

    def __iter__(self) -> Iterator[str]:
        """Iterate over the followed instruments."""
        return iter(self._of)

    def __len__(self) -> int:
        return len(self._of)

    def open(self, instrument_ids: Iterable[str]) -> "Follower":
        """Return a follower. The caller must close it."""
        follower = Follower(self)
        follower.follow(instrument_ids)
        return follower

    def follows(self, instrument_id: str) -> bool:
        return instrument_id in self._of

    def changed(self, instrument_id: str, quote: Quote | None = None) -> None:
        """Tell the instrument's followers (quote book only). `quote` is the unified quote now; None: it has not changed."""
        following = self._of.get(instrument_id)
        if following is None:
            return
        if quote is not None:
            if quote is self._newest.get(instrument_id):
                quote = None  # another broker's tick did not change the unified quote
            else:
                self._newest[instrument_id] = quote
        for follower in tuple(following):  # hearing of it, a listener may add and remove
            follower.note(instrument_id, quote)

    def when_taken(self, call: Callable[[], None]) -> None:
        """Call once, as soon as the quotes that came together are taken."""
        self._when_taken.append(call)

    def taken(self) -> None:
        """Note that the quotes that came together are taken (quote book only)."""
        calls, self._when_taken = self._when_taken, []
        for call in calls:
            call()

    def add(self, instrument_id: str, follower: Listener) -> None:
        self._of.setdefault(instrument_id, []).append(follower)
        self.version += 1

    def remove(self, instrument_id: str, follower: Listener) -> None:
        left = self._of[instrument_id]
        left.remove(follower)
        if not left:
            del self._of[instrument_id]
            self._newest.pop(instrument_id, None)
        self.version += 1

    def guard(self, instrument_id: str) -> None:
        """Note that one more plan has an exit open in the instrument, or one that waits for its price: the price must not stay unnoticed, until `unguard`."""
        self._guards[instrument_id] += 1

    def unguard(self, instrument_id: str) -> None:
        self._guards[instrument_id] -= 1
        if not self._guards[instrument_id]:
            del self._guards[instrument_id]

    def is_guarded(self, instrument_id: str) -> bool:
        return instrument_id in self._guards


class Follower:
    """Follows a set of instruments. Iterate over it to get changes; only one task may iterate."""

    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._ids: frozenset[str] = frozenset()
        self._changed: dict[str, None] = {}
        self._arrived = trio.Event()

    @property
    def instrument_ids(self) -> frozenset[str]:
        return self._ids

    def follow(self, instrument_ids: Iterable[str]) -> None:
        """Follow exactly these instruments from now on."""
        wanted = frozenset(instrument_ids)
        for instrument_id in wanted - self._ids:
            self._followers.add(instrument_id, self)
        for instrument_id in self._ids - wanted:
            self._followers.remove(instrument_id, self)
            self._changed.pop(instrument_id, None)
        self._ids = wanted

    def note(self, instrument_id: str, quote: Quote | None) -> None:
        self._changed[instrument_id] = None
        self._arrived.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Collection[str]:
        """Wait for changes. Return the instruments that changed since the last call, the longest waiting first."""
        await trio.lowlevel.checkpoint()
        while not self._changed:
            self._arrived = trio.Event()
            await self._arrived.wait()
        changed, self._changed = self._changed, {}
        return tuple(changed)

    def close(self) -> None:
        self.follow(())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
