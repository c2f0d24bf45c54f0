"""When a plan asks again for a quote that is still missing (order-engine 1.11)."""

from types import SimpleNamespace
from typing import Any

import pytest

from onebroker.actors.engine.plan_parent.asked_quotes import AskedQuotes

SHARE = "NSE|RELIANCE"


class Parent:
    """A plan's parent at a moment that the test sets, in monotonic seconds. It counts the asks that it starts."""

    def __init__(self) -> None:
        self.now, self.asks = 0.0, 0
        self.clock = SimpleNamespace(monotonic=lambda: self.now)
        self.tasks = SimpleNamespace(nursery=self)

    def start_soon(self, *_: Any) -> None:
        self.asks += 1


@pytest.mark.parametrize("at", [19.55, 4.1, 0.3, 1000.7])
def test_whenever_an_ask_is_due_it_is_made(at):
    """19.55 + 15 - 34.55 is 0, and 34.55 - 19.55 is less than 15. By two such sums a parent looked for ever at one moment."""
    parent: Any = Parent()
    asked = AskedQuotes(parent, None)
    parent.now = at
    asked.ask([SHARE])
    parent.now += asked.again_in_seconds([SHARE])
    asked.ask([SHARE])
    assert parent.asks == 2
    assert asked.again_in_seconds([SHARE]) > 0


def test_an_instrument_is_not_asked_for_twice_within_the_wait():
    parent: Any = Parent()
    asked = AskedQuotes(parent, None)
    for parent.now in (0.0, 14.9):
        asked.ask([SHARE])
        asked.ask([])
    assert parent.asks == 1
