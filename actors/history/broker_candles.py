"""Makes a broker's candles fit for the store: checks each row as rows of files are checked, and drops candles of other days.

Pure; run in a worker thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

import attrs
import msgspec

from onebroker.actors.history import row_checks
from onebroker.actors.history.adjust import day_end, day_start
from onebroker.actors.history.interface import MICROSECONDS
from onebroker.actors.history.price_basis import judge_basis
from onebroker.actors.history.row_rules import Rules
from onebroker.actors.store.durable_history import Factor
from onebroker.brokers.records import Candle
from onebroker.config.clock import from_epoch
from onebroker.config.instruments import Identity
from onebroker.config.late_modules import pl

_PRICES = ("open", "high", "low", "close")


class Refused(msgspec.Struct, frozen=True):
    """One candle that was not stored."""

    time: str
    """ISO 8601, or the broker's figure when it is not a valid moment; empty when the row cannot be read."""
    reason: str


@attrs.frozen(kw_only=True)
class Question:
    """What was asked of the broker, and what is known of the series."""

    identity: Identity
    rules: Rules
    interval: str
    first: date
    last: date
    """Inclusive."""
    today: date
    derivative: bool
    """True for a future or an option: nothing else has an open interest, whatever brokers report."""
    factors: Sequence[Factor]
    """Empty when the series is not adjusted."""
    stored: pl.DataFrame
    """Stored candles of the series, as CANDLE_VALUES; they help to judge the price basis."""


@attrs.frozen(kw_only=True)
class Judged:
    good: pl.DataFrame
    """Rows of CANDLE_SCHEMA, oldest first, one candle per time."""
    refused: tuple[Refused, ...]


def judge(candles: Sequence[Candle], question: Question) -> Judged:
    """Return the candles that go into the store, and why the others do not."""
    texts = [_time_text(candle.start) for candle in candles]
    checked = row_checks.check_candles(_as_text(candles, texts, question), question.rules)
    kept = checked.good.unique(subset="time", keep="last").sort("time")
    start, end = day_start(question.first), day_end(question.last)
    refused = [
        Refused(texts[row], reason)
        for row, reason in checked.refused.iter_rows()
        if not _elsewhere(candles[row].start * MICROSECONDS, start, end)
    ]
    cut = judge_basis(_joined(kept, question.stored), question.factors, question.today)
    asked = kept.filter(pl.col("time").is_between(start, end, closed="left"))
    if cut is not None:
        before = pl.col("time") < day_start(cut.ex_date)
        refused += _of_days(asked.filter(before), cut.reason)
        asked = asked.filter(~before)
    return Judged(good=asked, refused=tuple(refused))


def _as_text(candles: Sequence[Candle], times: Sequence[str], question: Question) -> pl.DataFrame:
    interest = question.derivative
    columns: dict[str, Iterable[str | None]] = {
        "time": times,
        **{name: [repr(getattr(candle, name)) for candle in candles] for name in _PRICES},
        "volume": [_text(candle.volume) for candle in candles],
        "oi": [_text(candle.oi) if interest else None for candle in candles],
    }
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return frame.with_columns(
        pl.int_range(pl.len()).alias(row_checks.ROW),
        pl.lit(question.identity.instrument_id).alias("instrument_id"),
        pl.lit(question.identity.exchange).alias("exchange"),
        pl.lit(question.identity.segment).alias("segment"),
        pl.lit(question.interval).alias("interval"),
    )


def _joined(fresh: pl.DataFrame, stored: pl.DataFrame) -> pl.DataFrame:
    """Return both as one series; where both have a candle, the fresh one counts."""
    names = ("time", "open", "close")
    kept = stored.join(fresh, on="time", how="anti")
    return pl.concat([fresh.select(names), kept.select(names)]).sort("time")


def _of_days(rows: pl.DataFrame, reason: str) -> list[Refused]:
    return [Refused(from_epoch(time / 1e6).isoformat(), reason) for time in rows["time"].to_list()]


def _time_text(start: float) -> str:
    try:
        return from_epoch(start).isoformat()
    except (ValueError, OverflowError, OSError):
        return repr(start)


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _elsewhere(time: float, start: int, end: int) -> bool:
    """Tell whether a time is certainly outside the requested range (a value that is not a number is not)."""
    return time < start or time >= end
