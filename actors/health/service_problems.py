"""Problems of the service itself: its parts, its store, its disk, its clock and its tables of charges."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date

import attrs

from onebroker.actors.clock_doubt import clock_doubt
from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.history.disk_room import Room
from onebroker.actors.history.tick_archive import ArchiveState
from onebroker.actors.kernel.supervisor import CrashRecord
from onebroker.actors.store.sealing import ADVICE
from onebroker.config.charges.load import age_warning
from onebroker.config.charges.rows import Charges
from onebroker.config.clock import Clock

_GIVE_UP = "`onebroker login CODE --other-account` for a login, a connect for the access token"

CRASH_SECONDS = 600.0
"""A crash is a problem for so long after the last crash of the same part."""
DROPS_SECONDS = 60.0
"""Ticks that were not recorded are a problem for so long."""


def actors_down(states: Callable[[], Mapping[str, bool]], crashes: Iterable[CrashRecord] = ()) -> Iterator[Problem]:
    """Yield the supervised parts that are down. `states`: name -> whether it is up."""
    crashed = {crash.actor: crash for crash in crashes}
    for name, up in states().items():
        if not up:
            crash = crashed.get(name)
            why = "" if crash is None else f": {crash.error}"
            yield Problem(
                kind=ProblemKind.ACTOR,
                subject=name,
                what=f"the part `{name}` is down, and it is started again and again{why}",
                do="nothing, unless it stays: then read `crashes` here and the log",
                since=None if crash is None else crash.at,
            )


def crashes_lately(crashes: Iterable[CrashRecord], now: float) -> Iterator[Problem]:
    """Yield the parts that crashed within the last `CRASH_SECONDS`. `now` in epoch seconds."""
    for crash in crashes:
        if now - crash.at < CRASH_SECONDS:
            times = "once" if crash.count == 1 else f"{crash.count} times"
            yield Problem(
                kind=ProblemKind.CRASH,
                subject=crash.actor,
                what=f"the part `{crash.actor}` has crashed {times} since the start, last with {crash.error}",
                do="read the log; if it comes again, report the error with the lines of the log",
            )


def values_locked(locked: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the stored secrets that cannot be decrypted. `locked`: name of the value -> why."""
    for name, why in locked.items():
        yield Problem(
            kind=ProblemKind.SECRETS,
            subject=name,
            what=f"{name} is stored encrypted, and {why}: it counts as not there",
            do=f"{ADVICE}; or give it up: {_GIVE_UP}",
        )


def store_away(reachable: bool) -> Iterator[Problem]:
    """Yield the problem that the store does not answer."""
    if not reachable:
        yield Problem(
            kind=ProblemKind.STORE,
            what="the store cannot be reached: no new order is taken, and changes wait to be written",
            do="look at the store's process, its disk and its log",
        )


def store_evicts(evicts: str) -> Iterator[Problem]:
    """Yield the problem that the store may remove orders. `evicts`: why; empty when it does not."""
    if evicts:
        yield Problem(
            kind=ProblemKind.STORE,
            subject="eviction",
            what=evicts,
            do="CONFIG SET maxmemory-policy noeviction, and put it into the server's settings (docs/operations/servers.md)",
        )


def database_away(trouble: str | None) -> Iterator[Problem]:
    """Yield the problem that the database of the durable store cannot be used. `trouble`: why not."""
    if trouble is not None:
        yield Problem(
            kind=ProblemKind.STORE,
            subject="database",
            what=f"the database cannot be used: {trouble}; open orders go on, but what it holds is neither read nor stored (docs/operations/database.md)",
            do="look at the server of store.database, at the network and at the rights of its role",
        )


def disk_short(room: Room) -> Iterator[Problem]:
    """Yield the problem that the disk has too little room for candles and ticks, or that its room is not known."""
    if room.refusal is not None:
        yield Problem(
            kind=ProblemKind.DISK,
            what=f"no candles and ticks are written: {room.refusal}",
            do="free some space on the disk of the data directory, before the store finds it full",
        )


def ticks_not_archived(archive: ArchiveState) -> Iterator[Problem]:
    """Yield the problem that ticks of days that are over are not archived, or not removed after their time."""
    if archive.trouble is not None:
        yield Problem(
            kind=ProblemKind.ARCHIVE,
            what=f"ticks of days that are over stay in the history store: {archive.trouble}",
            do="look at the place that history.tick_archive names, and at its rights: `onebroker history archive` tries it",
        )


@attrs.define
class DroppedTicks:
    """A source of problems: ticks that should have been recorded and were not."""

    dropped: Callable[[], int]
    """Returns their number since the start."""
    clock: Clock
    _known: int = 0
    _last: float | None = None
    """Monotonic seconds of the look that saw the number grow last."""

    def __call__(self) -> Iterator[Problem]:
        now, dropped = self.clock.monotonic(), self.dropped()
        if dropped > self._known:
            self._known, self._last = dropped, now
        if self._last is not None and now - self._last < DROPS_SECONDS:
            yield Problem(
                kind=ProblemKind.DISK,
                subject="ticks",
                what=f"ticks are not recorded: {dropped} since the start",
                do="look at `disk` and `history` here and at the log: the disk is full, or the history store cannot be written",
            )


def clock_doubted(ahead: Mapping[str, float | None]) -> Iterator[Problem]:
    """Yield the problem that the brokers' clocks and this machine's differ. `ahead`: broker code -> seconds ahead of ours."""
    doubt = clock_doubt(ahead)
    if doubt is not None:
        yield Problem(
            kind=ProblemKind.CLOCK,
            what=doubt.text,
            do="synchronise the clock of this machine (NTP); if it is right, tell the broker",
        )


def charges_old(charges: Charges, day: date) -> Iterator[Problem]:
    """Yield the problem that the tables of charges are old."""
    warning = age_warning(charges, day)
    if warning is not None:
        yield Problem(
            kind=ProblemKind.CHARGES,
            what=warning,
            do="put today's rates and `checked` into the file that [charges] names (docs/charges.md)",
        )


def alerts_not_taken(failing: Mapping[str, tuple[float, str]]) -> Iterator[Problem]:
    """Yield the receivers of alerts that take no messages. `failing`: number and scheme -> (minutes, why)."""
    for receiver, (minutes, why) in failing.items():
        yield Problem(
            kind=ProblemKind.ALERTS,
            subject=receiver,
            what=f"receiver {receiver} of the alerts has taken no message for {minutes:.0f} minutes: {why}",
            do="look at its URL in `alerts.to`, then try it: onebroker alerts test; the messages wait for a day",
        )
