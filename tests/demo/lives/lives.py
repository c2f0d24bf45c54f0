"""The lives of order types: what each one's order passes through, from its placing to its normal end (order-engine 3).

    @life("oco", "both sides work")
    def oco(run):
        run.place()
        run.working(2)
        yield "both sides work"
        run.fill(part="root.children.0")
        run.ends()
        return [place("SELL", 10), ...]

A life is a generator function: it stops at each state that it has declared, and returns the messages that brokers must have had, in
order (a set: any order among them). It stands in the module of its family, `lives_<family>.py`; what
several families ask of prices is in `prices.py`, what they wait for in `waiting.py`.
"""

import importlib
import pkgutil
from collections.abc import Callable, Generator

import attrs

MORNING = "2026-11-23T11:00:00+05:30"
CLOSING = "2026-11-23T15:26:00+05:30"
OPENING = "2026-11-23T09:00:30+05:30"
"""In the pre-open, which is only in real hours; orders for the auction are taken until 09:07."""
LIVES = {}
"""Type -> its life."""


@attrs.frozen
class Life:
    name: str
    states: tuple[str, ...]
    steps: Callable[..., Generator]
    now: str = MORNING
    """When the demo's day begins for it."""
    option: bool = False
    """Whether it is given an option, whatever its example trades."""
    lull: float = 0.0
    """How many seconds it may stand still of itself: a piece that is not due yet, a time of day."""


def life(name, *states, now=MORNING, option=False, lull=0.0):
    """Declare the life of a type and the states that it stops at."""

    def declare(steps):
        assert name not in LIVES, f"{name} has two lives"
        LIVES[name] = Life(name, states, steps, now, option, lull)
        return steps

    return declare


def options(now):
    """What a demo is started with for the lives of that time."""
    return ("--now", now, *(("--market-hours", "real") if now == OPENING else ()))


class Played:
    """A life under way."""

    def __init__(self, run):
        self.run, self.life = run, LIVES[run.name]
        self._steps = self.life.steps(run)
        self.passed = []
        """The states that it has stopped at."""
        self.expected = None
        """What brokers must have been told; known at its end."""

    @property
    def over(self):
        return self.expected is not None

    def advance(self):
        """Go on to the next state, or to the end; raises Stuck when that does not come."""
        try:
            state = next(self._steps)
        except StopIteration as end:
            self.expected = end.value
            assert tuple(self.passed) == self.life.states, f"{self.run.name} passed {self.passed}"
            assert self.expected is not None, f"{self.run.name} returns no messages"
            return
        self.passed.append(state)

    def to(self, state):
        """Go on until it stops at a state."""
        while not self.passed or self.passed[-1] != state:
            self.advance()

    def finish(self):
        while not self.over:
            self.advance()

    def close(self):
        """Leave it where it is: what it holds for itself is free for others."""
        self._steps.close()


def _find_all():
    """Import the modules that declare lives."""
    package = __name__.rpartition(".")[0]
    folder = importlib.import_module(package).__path__
    for module in pkgutil.iter_modules(folder):
        if module.name.startswith("lives_"):
            importlib.import_module(f"{package}.{module.name}")


_find_all()
