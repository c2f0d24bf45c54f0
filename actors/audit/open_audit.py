"""Opens the audit of a service. It is opened before everything that tells events, and closed after it, so that the last event is a line too."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import attrs

from onebroker.actors.audit.waiting_events import WaitingEvents
from onebroker.actors.audit.writer import AuditPlace, AuditState, AuditWriter
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import FOREVER, Child, CrashLog, CrashRecord, Supervisor, open_supervisor
from onebroker.config.clock import Clock
from onebroker.config.events import Event


@attrs.frozen(kw_only=True)
class AuditFigures:
    """What health and metrics show of the audit."""

    lines: int
    """Events written since the start of the process."""
    waiting: int
    """Events that are not written yet."""
    lost: int
    """Events that found no room since the start of the process."""
    synced_at: float | None
    """Epoch seconds of the last fsync; None = there was none yet."""
    trouble: str | None
    """What is wrong now; None = nothing."""


@attrs.frozen(kw_only=True)
class Audit:
    """A running audit."""

    folder: Path
    _waiting: WaitingEvents
    _state: Published[AuditState]
    _supervisor: Supervisor
    _crashes: CrashLog

    def hear(self, event: Event) -> None:
        """Keep an event for the writer (a listener of `Events`)."""
        self._waiting.hear(event)

    def figures(self) -> AuditFigures:
        state = self._state.value
        return AuditFigures(
            lines=state.lines,
            waiting=self._waiting.count,
            lost=self._waiting.lost,
            synced_at=state.synced_at,
            trouble=state.trouble or state.upkeep_trouble,
        )

    def actors(self) -> Mapping[str, bool]:
        """Return whether the writer is up, by its name."""
        return self._supervisor.states()

    def crashes(self) -> tuple[CrashRecord, ...]:
        return self._crashes.records()


@asynccontextmanager
async def open_audit(place: AuditPlace, clock: Clock, others: Events) -> AsyncIterator[Audit]:
    """Start the writer; leaving the block writes what was told and ends it. `others`: the other listeners, which hear of the audit itself."""
    waiting, state, crashes = WaitingEvents(clock), Published(AuditState()), CrashLog(clock)
    async with open_supervisor(crashes) as supervisor:
        build = lambda: AuditWriter(place, waiting, clock, state, others)  # noqa: E731
        await supervisor.start(Child(name="audit", build=build, policy=FOREVER))
        yield Audit(folder=place.folder, waiting=waiting, state=state, supervisor=supervisor, crashes=crashes)
