"""Numbers the ticks of one moment: several ticks of one broker may have the same time, and all of them are kept.

A tick's sequence counts from 0 within an unbroken run of ticks of one instrument and broker with the same time, in order of arrival.
So a second reading of the same file gives the same numbers, however the file is cut into parts. If a file returns later to a moment,
the later ticks replace the earlier ones.
"""

from __future__ import annotations

from onebroker.config.late_modules import LateSchema, pl

_SERIES = ["instrument_id", "broker"]
_SEEN = LateSchema(
    lambda: {"instrument_id": pl.String(), "broker": pl.String(), "_last": pl.Int64(), "_count": pl.Int32()}
)


class TickNumbers:
    """Numbers ticks one by one, as a feed delivers them."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, str], tuple[float, int]] = {}

    def next(self, instrument_id: str, broker: str, time: float) -> int:
        """Return the sequence of the next tick."""
        last, count = self._runs.get((instrument_id, broker), (None, 0))
        sequence = count if last == time else 0
        self._runs[instrument_id, broker] = (time, sequence + 1)
        return sequence


class FileNumbers:
    """Numbers the ticks of one file, part by part in order."""

    def __init__(self) -> None:
        self._seen = pl.DataFrame(schema=_SEEN)
        """The current run of each series: its time, and its number of ticks."""

    def number(self, ticks: pl.DataFrame) -> pl.DataFrame:
        """Return ticks (`instrument_id`, `broker`, `time` and more) with their `sequence`."""
        time = pl.col("time")
        runs = time.ne_missing(time.shift(1).over(_SERIES)).cum_sum().over(_SERIES).alias("_run")
        marked = ticks.join(self._seen, on=_SERIES, how="left", maintain_order="left").with_columns(runs)
        goes_on = (pl.col("_run") == 1) & (time == pl.col("_last"))
        place = pl.int_range(pl.len(), dtype=pl.Int32).over([*_SERIES, "_run"])
        sequence = place + pl.when(goes_on).then(pl.col("_count")).otherwise(0)
        numbered = marked.with_columns(sequence.cast(pl.Int32).alias("sequence")).drop("_run", "_last", "_count")
        ended = numbered.group_by(_SERIES, maintain_order=True).agg(
            pl.col("time").last().alias("_last"), (pl.col("sequence").last() + 1).cast(pl.Int32).alias("_count")
        )
        self._seen = pl.concat([self._seen.join(ended, on=_SERIES, how="anti"), ended])
        return numbered
