"""One backfill: candles of some days of many instruments, from the brokers into the store (`history backfill`).

What is done stands in the durable store under a name made from what was asked for: after a kill, or when a broker could not be
asked, the same command goes on with what is left. A backfill that has done all it can is forgotten, so that the same command
reads everything anew.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path

import attrs
import msgspec
import polars as pl

from onebroker.actors.history.gathered import BrokerShare, Job, Outcome, Part
from onebroker.actors.history.selection import Selection
from onebroker.config.intervals import DAY

MOST_REASONS = 20
"""Different reasons told with their counts; the report has every row."""
KEPT_SECONDS = 30 * 24 * 3600.0
"""What an unfinished backfill has done is kept this long."""
REPORT_COLUMNS = ("instrument_id", "name", "broker", "time", "reason")


class BackfillOrder(msgspec.Struct, frozen=True, kw_only=True):
    """What a person asked for."""

    first: date
    last: date | None = None
    """Inclusive; None = up to now. Of each instrument only days whose sessions are over are read."""
    interval: str = DAY
    broker: str | None = None
    """The only one to ask; None = all in service."""
    selection: Selection = Selection()

    def up_to(self, today: date) -> "BackfillOrder":
        """Return the order with its last day, which lies not in the future: what it is remembered by."""
        return msgspec.structs.replace(self, last=today if self.last is None else min(self.last, today))

    @property
    def name(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """What a backfill came to, all its runs since it was begun together."""

    instruments: int = 0
    rows: int = 0
    """Candles that the brokers gave for those days and that were good."""
    added: int = 0
    replaced: int = 0
    equal: int = 0
    refused: int = 0
    """Candles that were not taken in."""
    unread: int = 0
    """Instruments of which no broker's candles could be read."""
    later: int = 0
    """Those of them for which the same command may do better later."""
    before: int = 0
    """Instruments that an earlier run had done."""
    reasons: dict[str, int] = {}
    brokers: dict[str, int] = {}
    """Broker -> candles taken of it."""
    report: str | None = None
    """Where every refused candle and unread instrument stands."""


@attrs.frozen(kw_only=True)
class BackfillProgress:
    """One moment of a backfill, for who watches it."""

    instruments: int = 0
    """In all."""
    done: int = 0
    rows: int = 0
    refused: int = 0
    unread: int = 0
    brokers: Mapping[str, BrokerShare] = attrs.field(factory=dict)


@attrs.define
class Tally:
    """What has come of a backfill so far."""

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
        """Instruments that something has come of."""
        return frozenset(self._done)

    @property
    def outcomes(self) -> Iterable[Outcome]:
        return (outcome for part in self.parts for outcome in part.outcomes)


def remembered(part: Part) -> Part:
    """Return what of a part need not be done again."""
    return msgspec.structs.replace(part, outcomes=tuple(one for one in part.outcomes if not one.later))


def summary(tally: Tally, before: int, report: Path | None) -> Summary:
    """Return what it came to; `before` counts instruments that were done when this run began."""
    outcomes = list(tally.outcomes)
    reasons = Counter(one.reason for outcome in outcomes for one in outcome.refused)
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
    """Write every refused candle and unread instrument as CSV; None when there is none. Raises OSError."""
    rows: list[Sequence[str | None]] = []
    for outcome in outcomes:
        named = (outcome.instrument_id, outcome.name, outcome.broker)
        rows += [(*named, one.time, one.reason) for one in outcome.refused]
        if outcome.trouble is not None:
            rows.append((*named, None, outcome.trouble))
    if not rows:
        file.unlink(missing_ok=True)
        return None
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    pl.DataFrame(rows, schema=dict.fromkeys(REPORT_COLUMNS, pl.String), orient="row").write_csv(file)
    return file


def not_listed(instrument_id: str) -> Outcome:
    """Return what comes of an instrument that no broker lists."""
    return Outcome(instrument_id=instrument_id, name="", trouble="no broker lists it today")


def not_over(job: Job) -> Outcome:
    """Return what comes of days that are not over yet."""
    return Outcome(
        instrument_id=job.instrument.instrument_id,
        name=job.name,
        trouble="the day is not over yet on its market",
        later=True,
    )
