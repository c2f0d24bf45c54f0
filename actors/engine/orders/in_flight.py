"""Which legs of a parent have an unanswered order message, and waiting until a leg has none."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import trio


class Traffic:
    """The unanswered messages of one parent. Call `tell` whenever something about a leg has changed: it wakes all that wait."""

    def __init__(self, answered: Callable[[str], None]) -> None:
        """`answered` is called with the leg id whenever a message about a leg is not under way any more."""
        self._answered = answered
        self._unanswered: Counter[str] = Counter()
        self._news = trio.Event()

    def busy(self, leg_id: str) -> bool:
        return self._unanswered[leg_id] > 0

    def tell(self) -> None:
        news, self._news = self._news, trio.Event()
        news.set()

    @contextmanager
    def message(self, leg_id: str) -> Iterator[None]:
        """Count a message of the leg as under way."""
        self._unanswered[leg_id] += 1
        try:
            yield
        finally:
            self._unanswered[leg_id] -= 1
            self._answered(leg_id)
            self.tell()

    async def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until `condition()` is true, at most `seconds`; return whether it is true."""
        with trio.move_on_after(seconds):
            while not condition():
                await self._news.wait()
            return True
        return condition()
