"""The problems that stand now. It asks every source at each look, remembers since when a problem is there, and tells its begin and its end."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

from onebroker.actors.health.problem import Problem, ProblemKind, Standing
from onebroker.actors.kernel.events import Events
from onebroker.config.clock import Clock
from onebroker.config.events import ProblemBegan, ProblemOver

ProblemSource: TypeAlias = Callable[[], Iterable[Problem]]
"""Returns the present problems of one subject. It reads published values, never waits and never raises for a value that is not known."""


class ProblemBook:
    """Looks at all sources. The watch looks once a second; a reader of the health looks itself, so that it never sees an old answer."""

    def __init__(self, sources: Sequence[ProblemSource], clock: Clock, events: Events) -> None:
        self._sources = sources
        self._clock = clock
        self._events = events
        self._standing: dict[tuple[ProblemKind, str | None, str], Standing] = {}

    def look(self) -> tuple[Standing, ...]:
        """Return the problems that stand now, oldest first; tell the new problems and the problems that are over."""
        now = self._clock.epoch()
        before, self._standing = self._standing, {}
        for source in self._sources:
            for problem in source():
                known = before.pop(problem.identity, None)
                if known is None:
                    self._events.tell(_begins(problem))
                since = now if known is None else known.since
                self._standing[problem.identity] = Standing(problem=problem, since=since)
        for over in before.values():
            self._events.tell(_ends(over, now))
        return tuple(sorted(self._standing.values(), key=lambda standing: standing.since))


def _begins(problem: Problem) -> ProblemBegan:
    return ProblemBegan(
        kind=problem.kind.value,
        broker=problem.broker,
        subject=problem.subject or None,
        words=problem.what,
        do=problem.do,
    )


def _ends(standing: Standing, now: float) -> ProblemOver:
    problem = standing.problem
    return ProblemOver(
        kind=problem.kind.value,
        broker=problem.broker,
        subject=problem.subject or None,
        words=problem.what,
        seconds=round(max(0.0, now - standing.since), 1),
    )
