"""The problems that stand now. It asks every source at each look, remembers since when a problem is there, and tells its begin and its end.

A problem that comes and goes must not fill the log and the alerts: `problem` is told when a problem has stood for `SETTLE_SECONDS`, `problem.over`
when it has been away for as long. A problem that comes back sooner has not been away. The looks themselves show each problem at once.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import attrs

from onebroker.actors.health.problem import Problem, ProblemKind, Standing
from onebroker.actors.kernel.events import Events
from onebroker.config.clock import Clock
from onebroker.config.events import ProblemBegan, ProblemOver

SETTLE_SECONDS = 2.0

ProblemSource: TypeAlias = Callable[[], Iterable[Problem]]
"""Returns the present problems of one subject. It reads published values, never waits and never raises for a value that is not known."""

_Identity: TypeAlias = tuple[ProblemKind, str | None, str]


@attrs.define(kw_only=True)
class _Entry:
    """A problem from its first look until it is over."""

    problem: Problem
    since: float
    """Epoch seconds of the first look that found it."""
    first_seen: float
    """Monotonic seconds of that look."""
    gone: tuple[float, float] | None = None
    """Monotonic and epoch seconds of the first look that did not find it any more; None = it is there."""
    told: bool = False

    @property
    def begin(self) -> float:
        """Return the epoch seconds of its begin: as its source knows it, never later than it was seen."""
        return self.since if self.problem.since is None else min(self.problem.since, self.since)


class ProblemBook:
    """Looks at all sources. The watch looks once a second; a reader of the health looks itself, so that it never sees an old answer."""

    def __init__(self, sources: Sequence[ProblemSource], clock: Clock, events: Events) -> None:
        self._sources = list(sources)
        self._clock = clock
        self._events = events
        self._entries: dict[_Identity, _Entry] = {}
        self._seen: tuple[Standing, ...] | None = None

    def add(self, source: ProblemSource) -> None:
        """Look at a further source from now on."""
        self._sources.append(source)

    def seen(self) -> tuple[Standing, ...]:
        """Return what the last look saw: at most a second old, and without the cost of a look."""
        return self.look() if self._seen is None else self._seen

    def look(self) -> tuple[Standing, ...]:
        """Return the problems that stand now, oldest first; tell the problems that have settled, and those that are over."""
        now, moment = self._clock.epoch(), self._clock.monotonic()
        found = {problem.identity: problem for source in self._sources for problem in source()}
        for identity, problem in found.items():
            self._note(identity, problem, now, moment)
        for identity in [identity for identity in self._entries if identity not in found]:
            self._miss(identity, now, moment)
        standing = (
            Standing(problem=entry.problem, since=entry.begin)
            for identity, entry in self._entries.items()
            if identity in found
        )
        self._seen = tuple(sorted(standing, key=lambda standing: standing.since))
        return self._seen

    def _note(self, identity: _Identity, problem: Problem, now: float, moment: float) -> None:
        entry = self._entries.get(identity)
        if entry is not None and entry.gone is not None and moment - entry.gone[0] >= SETTLE_SECONDS:
            self._end(identity, entry)  # nobody has looked since it was over
            entry = None
        if entry is None:
            entry = self._entries[identity] = _Entry(problem=problem, since=now, first_seen=moment)
        entry.problem, entry.gone = problem, None
        if not entry.told and moment - entry.first_seen >= SETTLE_SECONDS:
            entry.told = True
            self._events.tell(_begins(problem))

    def _miss(self, identity: _Identity, now: float, moment: float) -> None:
        entry = self._entries[identity]
        if entry.gone is None:
            entry.gone = (moment, now)
        elif moment - entry.gone[0] >= SETTLE_SECONDS:
            self._end(identity, entry)

    def _end(self, identity: _Identity, entry: _Entry) -> None:
        del self._entries[identity]
        if entry.told:
            self._events.tell(_ends(entry))


def _begins(problem: Problem) -> ProblemBegan:
    return ProblemBegan(
        kind=problem.kind.value,
        broker=problem.broker,
        subject=problem.subject or None,
        words=problem.what,
        do=problem.do,
    )


def _ends(entry: _Entry) -> ProblemOver:
    problem, gone = entry.problem, entry.gone
    ended = entry.begin if gone is None else gone[1]
    return ProblemOver(
        kind=problem.kind.value,
        broker=problem.broker,
        subject=problem.subject or None,
        words=problem.what,
        seconds=round(max(0.0, ended - entry.begin), 1),
    )
