"""Decides which figures in an instrument file's tick column are real tick sizes: the shared guard of all codecs. Pure;
polars.

A file may hold something else in that column: ICICI Direct's BSE member holds the upper price bands. An order's price is
checked and rounded by the tick. A wrong tick refuses right prices, or sends prices that never fill. No tick is always
safe: the other brokers' files give it, and without any tick an order's price goes out unchanged.

The exchanges' steps are 1, 2, 2.5 or 5 times a power of ten (NSE's circulars on tick sizes: 0.01 to 5.00 for shares by
their price, 0.0025 for currencies; MCX and NCDEX up to some ten rupees). The bounds of a market are general knowledge, a
little wide.
"""

import re
from collections.abc import Sequence

import polars as pl

from onebroker.config.instruments import SEGMENT_SHAPES, SEGMENTS, Shape

_STEPS = (1.0, 2.0, 2.5, 5.0)
_TICKS = tuple(round(step * 10.0**power, 6) for power in range(-4, 3) for step in _STEPS)

_BOUNDS: Sequence[tuple[str, float, float]] = (
    (r"^fixed_income$|^mutual_funds$", 0.0001, 1.0),
    (r"^(fixed_income|currency)(_index)?_(futures|options)$|^currenc(ies|y_indices)$", 0.0001, 0.05),
    (r"^commodit", 0.01, 100.0),
    (r"^uncategorised$", _TICKS[0], _TICKS[-1]),
    ("", 0.01, 5.0),  # shares, funds, trusts, indices, and their contracts
)
"""Pattern of the bare segment, smallest and largest tick in rupees; the first matching pattern counts."""

_CONTRACTS = {name: shape is not Shape.SECURITY for name, shape in SEGMENT_SHAPES.items()}

MOST_IMPOSSIBLE = 0.25
"""If more than this part of a market's figures cannot be ticks, the column holds something else, and none of its figures is used."""


def with_sound_ticks(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows, with `tick_size` null where it cannot be a tick size. Uses `segment` and `broker_exchange`.

    A market is one exchange of the broker; contracts and securities are separate markets.
    """
    given = pl.col("tick_size").is_finite() & (pl.col("tick_size") > 0)
    judged = rows.select(
        "segment",
        "broker_exchange",
        contract=pl.col("segment").replace_strict(_CONTRACTS, default=False, return_dtype=pl.Boolean),
        given=given.fill_null(False),
        sound=_is_tick(),
    )
    if judged.select((pl.col("given") & ~pl.col("sound")).any()).item():
        impossible = (pl.col("given") & ~pl.col("sound")).sum().over("broker_exchange", "contract")
        all_given = pl.col("given").sum().over("broker_exchange", "contract")
        judged = judged.with_columns(sound=pl.col("sound") & (impossible <= MOST_IMPOSSIBLE * all_given))
    return rows.with_columns(tick_size=pl.when(judged["sound"]).then(pl.col("tick_size")))


def _is_tick() -> pl.Expr:
    tick, segment = pl.col("tick_size").round(6), pl.col("segment")
    low, high = (segment.replace_strict(_of_segments(place), default=None, return_dtype=pl.Float64) for place in (1, 2))
    return (tick.is_between(low, high) & tick.is_in(_TICKS)).fill_null(False)


def _of_segments(place: int) -> dict[str, float]:
    return {name: float(next(row for row in _BOUNDS if re.search(row[0], name))[place]) for name in SEGMENTS}
