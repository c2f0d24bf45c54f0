"""One backfill: reads candles of some days of many instruments from the brokers into the store (`history backfill`).

The durable store keeps the finished work under a name made from the order. If the service was killed, or a broker could not be
asked, the same command continues with the rest. A backfill that has done all it can is forgotten, so the same command then reads
everything again.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path

import attrs
import msgspec

from onebroker.actors.history.candle_jobs import BrokerShare, Job, Outcome, Part
from onebroker.actors.history.selection import Selection
from onebroker.config.intervals import DAY
from onebroker.config.late_modules import pl

MOST_REASONS = 20
"""Number of different reasons in the summary, each with its count; the report has every row."""
KEPT_SECONDS = 30 * 24 * 3600.0
"""An unfinished backfill's finished work is kept for this many seconds."""
REPORT_COLUMNS = ("instrument_id", "name", "broker", "time", "reason")


class BackfillOrder(msgspec.Struct, frozen=True, kw_only=True):
    """The order of the person who starts a backfill."""

    first: date
    last: date | None = None
    """Inclusive; None = up to now. For each instrument, only days whose sessions are over are read."""
    interval: str = DAY
    broker: str | None = None
    """The only broker to ask; None = all brokers in service."""
    selection: Selection = Selection()

    def up_to(self, today: date) -> BackfillOrder:
        """Return the order with its last day set, at the latest today. The backfill is remembered by this order."""
        return msgspec.structs.replace(self, last=today if self.last is None else min(self.last, today))

    @property
    def name(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a backfill, over all its runs since it began."""

    instruments: int = 0
    rows: int = 0
    """Valid candles that the brokers gave for these days."""
    added: int = 0
    replaced: int = 0
    equal: int = 0
    refused: int = 0
    """Candles that were not stored."""
    unread: int = 0
    """Instruments whose candles could not be read from any broker."""
    later: int = 0
    """Unread instruments for which the same command may succeed later."""
    before: int = 0
    """Instruments that an earlier run had finished."""
    reasons: dict[str, int] = {}
    brokers: dict[str, int] = {}
    """Broker -> number of its candles stored."""
    report: str | None = None
    """File that lists every refused candle and unread instrument."""


@attrs.frozen(kw_only=True)
class BackfillProgress:
    """One moment of a backfill, for showing its progress."""

    instruments: int = 0
    """Total number."""
    done: int = 0
    rows: int = 0
    refused: int = 0
    unread: int = 0
    brokers: Mapping[str, BrokerShare] = attrs.field(factory=dict)


@attrs.define
class Tally:
    """The results of a backfill so far."""

    parts: list[Part] = attrs.field(factory=list)
    _done: set[str] = attrs.field(factory=set)
    rows: int = 0
    refused: int = 0
    unread: int = 0

    def add(self, part: Part) -> None:
        self.parts.append(part)
        for outcome in part.outcomes:
            self._done.add(outcome.instrument_id)
            self.rows += outcome.rows
            self.refused += len(outcome.refused)
            self.unread += outcome.trouble is not None

    @property
    def done(self) -> frozenset[str]:
        """Instruments that have an outcome."""
        return frozenset(self._done)

    @property
    def outcomes(self) -> Iterable[Outcome]:
        return (outcome for part in self.parts for outcome in part.outcomes)


def remembered(part: Part) -> Part:
    """Return the part with only the outcomes that need not be tried again."""
    return msgspec.structs.replace(part, outcomes=tuple(outcome for outcome in part.outcomes if not outcome.later))


def summary(tally: Tally, before: int, report: Path | None) -> Summary:
    """Return the summary; `before` counts instruments that were finished when this run began."""
    outcomes = list(tally.outcomes)
    reasons = Counter(refusal.reason for outcome in outcomes for refusal in outcome.refused)
    reasons.update(outcome.trouble for outcome in outcomes if outcome.trouble is not None)
    shares: Counter[str] = Counter()
    for outcome in outcomes:
        if outcome.broker is not None:
            shares[outcome.broker] += outcome.rows
    return Summary(
        instruments=len(outcomes),
        rows=tally.rows,
        added=sum(part.added for part in tally.parts),
        replaced=sum(part.replaced for part in tally.parts),
        equal=sum(part.equal for part in tally.parts),
        refused=tally.refused,
        unread=tally.unread,
        later=sum(outcome.later for outcome in outcomes),
        before=before,
        reasons=dict(reasons.most_common(MOST_REASONS)),
        brokers=dict(sorted(shares.items())),
        report=None if report is None else str(report),
    )


def write_report(outcomes: Iterable[Outcome], file: Path) -> Path | None:
    """Write every refused candle and unread instrument as CSV; return None when there are none. Raises OSError."""
    rows: list[Sequence[str | None]] = []
    for outcome in outcomes:
        named = (outcome.instrument_id, outcome.name, outcome.broker)
        rows += [(*named, refusal.time, refusal.reason) for refusal in outcome.refused]
        if outcome.trouble is not None:
            rows.append((*named, None, outcome.trouble))
    if not rows:
        file.unlink(missing_ok=True)
        return None
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pl.DataFrame(rows, schema=dict.fromkeys(REPORT_COLUMNS, pl.String), orient="row").write_csv(file)
    return file


def not_listed(instrument_id: str) -> Outcome:
    """Return the outcome of an instrument that no broker lists."""
    return Outcome(instrument_id=instrument_id, name="", trouble="no broker lists it today")


def not_over(job: Job) -> Outcome:
    """Return the outcome of a job whose days are not over yet."""
    return Outcome(
        instrument_id=job.instrument.instrument_id,
        name=job.name,
        trouble="the day is not over yet on its market",
        later=True,
    )
