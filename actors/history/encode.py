"""Encodes frames of candles and ticks as the JSON text of answers, whole columns at a time (rules 1.2.4). Run in worker threads."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cache

import attrs

from onebroker.actors.history.adjust import (
    IST_MICROSECONDS,
    MOST_ADJUSTED_PLACES,
    adjusted_places,
    rounded,
    rounded_adjusted,
)
from onebroker.actors.history.interface import INDIA_DAY
from onebroker.config.late_modules import pl

ROWS_AT_ONCE = 4_000
"""Ticks encoded at once, some 3 MB of text. Half as many take a tenth longer; with more, the allocator keeps more memory."""
COLUMNS = ("time", "open", "high", "low", "close", "volume", "oi")
PRICE_FACTOR = "price_factor"
_PRICES = ("open", "high", "low", "close")


@cache
def _tick_prices() -> tuple[pl.Expr, ...]:
    """Return every price of a tick."""
    return (
        *(pl.col(name) for name in ("last_price", "average_price", *_PRICES)),
        *(pl.col(name).list.explode().struct.field("price") for name in ("buy", "sell")),
    )


@attrs.frozen
class EncodedCandles:
    """Candles as JSON arrays joined by commas, with the place where each India day ends.

    An entry is kept for a day, so it must share no memory with the frame. A frame from DuckDB has room for a million rows in each column,
    however few it holds, and one referenced column keeps them all.
    """

    days: array[int]
    """The midnights in India (microseconds UTC) of the days with candles, ascending."""
    ends: array[int]
    """For each day, the place after the comma of its last candle (as if the last candle had one too)."""
    body: bytes = attrs.field(repr=False)

    @property
    def size(self) -> int:
        """Approximate size in memory, in bytes."""
        return len(self.body) + 16 * len(self.days)

    def between(self, start: int, end: int) -> bytes:
        """Return the candles from the midnight `start` to the midnight `end` (exclusive), joined by commas."""
        first, last = (bisect_left(self.days, at) for at in (start, end))
        if first >= last:
            return b""
        return self.body[self.ends[first - 1] if first else 0 : self.ends[last - 1] - 1]


def encode_candles(frame: pl.DataFrame, places: int) -> EncodedCandles:
    """Encode candles (oldest first) in the order of COLUMNS, then `price_factor` if the frame has it.

    Prices are rounded to `places`; prices with a factor other than 1 are rounded as `rounded_adjusted` does.
    """
    local = (pl.col("time") + IST_MICROSECONDS).cast(pl.Datetime("us"))
    adjusted = _adjusted_places(frame)
    fields = [
        pl.lit('["') + local.dt.strftime("%Y-%m-%dT%H:%M:%S+05:30") + pl.lit('"'),
        *(_number(_price(pl.col(name), places, adjusted)) for name in _PRICES),
        *(_number(pl.col(name)) for name in COLUMNS[5:]),
        *([_number(pl.col(PRICE_FACTOR))] if PRICE_FACTOR in frame.columns else []),
    ]
    rows = frame.select("time", text=pl.concat_str(fields, separator=",") + pl.lit("]"))
    day = pl.col("time") - (pl.col("time") + IST_MICROSECONDS) % INDIA_DAY
    length = (pl.col("text").str.len_bytes().cast(pl.Int64) + 1).sum()
    days = rows.group_by(day.alias("day"), maintain_order=True).agg(length.alias("length"))
    return EncodedCandles(
        days=array("q", days["day"].to_list()),
        ends=array("q", days["length"].cum_sum().to_list()),
        # Joined inside polars: it lets the interpreter go, and no text of a row becomes an object.
        body=rows.select(pl.col("text").str.join(",").cast(pl.Binary)).item(),
    )


def _adjusted_places(frame: pl.DataFrame) -> int | None:
    """Return the most decimals of an adjusted price; None when no price is adjusted."""
    if PRICE_FACTOR not in frame.columns:
        return None
    adjusted = frame.filter(pl.col(PRICE_FACTOR) != 1)
    return adjusted_places(adjusted, map(pl.col, _PRICES)) if adjusted.height else None


def _price(price: pl.Expr, places: int, adjusted: int | None) -> pl.Expr:
    shown = rounded(price, places)
    if adjusted is not None:
        shown = pl.when(pl.col(PRICE_FACTOR) == 1).then(shown).otherwise(rounded_adjusted(price, adjusted))
    return pl.when(shown.is_finite()).then(shown)


def _number(expression: pl.Expr) -> pl.Expr:
    return expression.cast(pl.String).fill_null("null")


def encode_ticks(frame: pl.DataFrame, places: int | None) -> Iterator[bytes]:
    """Yield the ticks as JSON objects joined by commas, some thousand at a time. Prices are rounded to `places`; None: as
    `rounded_adjusted`.
    """
    for place in range(0, frame.height, ROWS_AT_ONCE):
        rows = frame.slice(place, ROWS_AT_ONCE)
        most = None if places is not None else adjusted_places(rows, _tick_prices())
        text: bytes = rows.select(_joined_ticks(places, most)).item()
        yield text


@cache
def _joined_ticks(places: int | None, adjusted: int | None) -> pl.Expr:
    """Return the expression whose value is the text of all rows.

    It is built once: building takes a tenth of the time of encoding and holds the interpreter. The text is made and joined inside polars,
    which lets the interpreter go. So the event loop waits no longer than for the copy of a text.
    """

    def shown(price: pl.Expr) -> pl.Expr:
        return (
            rounded(price, places) if places is not None else rounded_adjusted(price, adjusted or MOST_ADJUSTED_PLACES)
        )

    return pl.struct(*_tick_fields(shown)).struct.json_encode().str.join(",").cast(pl.Binary)


def _tick_fields(shown: Callable[[pl.Expr], pl.Expr]) -> Sequence[pl.Expr]:
    """Return the members of a tick's object, from the columns of TICK_VALUES."""

    def price(name: str) -> pl.Expr:
        return shown(pl.col(name))

    level = pl.element().struct
    levels = pl.struct(
        price=shown(level.field("price")), quantity=level.field("quantity"), orders=level.field("orders")
    )
    recorded = pl.col("buy").is_not_null() | pl.col("sell").is_not_null()
    depth = pl.struct(*(pl.col(name).fill_null([]).list.eval(levels) for name in ("buy", "sell")))
    return (
        pl.col("time").cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").alias("time"),
        pl.col("broker"),
        price("last_price"),
        price("average_price"),
        pl.struct(*(price(name) for name in ("open", "high", "low", "close"))).alias("ohlc"),
        *(pl.col(name) for name in ("last_quantity", "volume", "buy_quantity", "sell_quantity", "oi")),
        pl.when(recorded).then(depth).alias("depth"),
    )
