"""Encodes frames of candles and ticks as the JSON text of answers, whole columns at a time (rules 1.2.4). Run in worker threads."""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from io import BytesIO

import attrs
import polars as pl

from onebroker.actors.history.adjust import IST_MICROSECONDS, rounded, rounded_adjusted

ROWS_AT_ONCE = 2_000
"""Ticks encoded at once. Twice as many are a tenth faster, but the allocator then keeps more memory."""
COLUMNS = ("time", "open", "high", "low", "close", "volume", "oi")
PRICE_FACTOR = "price_factor"
_PRICES = ("open", "high", "low", "close")


@attrs.frozen
class EncodedCandles:
    """Candles as JSON arrays joined by commas, with the place where each ends.

    An entry is kept for a day, so it must share no memory with the frame. A frame from DuckDB has room for a million rows in each column,
    however few it holds, and one referenced column keeps them all.
    """

    times: "array[int]"
    """Microseconds UTC, ascending."""
    ends: "array[int]"
    """For each row, the place after its comma (as if the last row had one too)."""
    body: bytes = attrs.field(repr=False)

    @property
    def size(self) -> int:
        """Approximate size in memory, in bytes."""
        return len(self.body) + 16 * len(self.times)

    def between(self, start: int, end: int) -> bytes:
        """Return the rows with start <= time < end, joined by commas."""
        first, last = (bisect_left(self.times, at) for at in (start, end))
        if first >= last:
            return b""
        return self.body[self.ends[first - 1] if first else 0 : self.ends[last - 1] - 1]


def encode_candles(frame: pl.DataFrame, places: int) -> EncodedCandles:
    """Encode candles (oldest first) in the order of COLUMNS, then `price_factor` if the frame has it.

    Prices are rounded to `places`; prices with a factor other than 1 are rounded as `rounded_adjusted` does.
    """
    local = (pl.col("time") + IST_MICROSECONDS).cast(pl.Datetime("us"))
    fields = [
        pl.lit('["') + local.dt.strftime("%Y-%m-%dT%H:%M:%S+05:30") + pl.lit('"'),
        *(_number(_price(frame, name, places)) for name in _PRICES),
        *(_number(pl.col(name)) for name in COLUMNS[5:]),
        *([_number(pl.col(PRICE_FACTOR))] if PRICE_FACTOR in frame.columns else []),
    ]
    rows = frame.select(pl.concat_str(fields, separator=",") + pl.lit("]")).to_series()
    return EncodedCandles(
        times=array("q", frame["time"].to_list()),
        ends=array("q", (rows.str.len_bytes().cast(pl.Int64) + 1).cum_sum().to_list()),
        body=",".join(rows.to_list()).encode(),
    )


def _price(frame: pl.DataFrame, name: str, places: int) -> pl.Expr:
    price = pl.col(name)
    shown = rounded(price, places)
    if PRICE_FACTOR in frame.columns and (frame[PRICE_FACTOR] != 1).any():
        shown = pl.when(pl.col(PRICE_FACTOR) == 1).then(shown).otherwise(rounded_adjusted(price))
    return pl.when(shown.is_finite()).then(shown)


def _number(expression: pl.Expr) -> pl.Expr:
    return expression.cast(pl.String).fill_null("null")


def encode_ticks(frame: pl.DataFrame, places: int | None) -> Iterator[bytes]:
    """Yield the ticks as JSON objects joined by commas, some thousand at a time. Prices are rounded to `places`; None: as
    `rounded_adjusted`.
    """
    for place in range(0, frame.height, ROWS_AT_ONCE):
        yield _tick_objects(frame.slice(place, ROWS_AT_ONCE), places)


def _tick_objects(frame: pl.DataFrame, places: int | None) -> bytes:
    def shown(price: pl.Expr) -> pl.Expr:
        return rounded_adjusted(price) if places is None else rounded(price, places)

    def price(name: str) -> pl.Expr:
        return shown(pl.col(name))

    level = pl.element().struct
    levels = pl.struct(
        price=shown(level.field("price")), quantity=level.field("quantity"), orders=level.field("orders")
    )
    recorded = pl.col("buy").is_not_null() | pl.col("sell").is_not_null()
    depth = pl.struct(*(pl.col(name).fill_null([]).list.eval(levels) for name in ("buy", "sell")))
    objects = frame.select(
        pl.col("time").cast(pl.Datetime("us")).dt.strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00").alias("time"),
        "broker",
        price("last_price"),
        price("average_price"),
        pl.struct(*(price(name) for name in ("open", "high", "low", "close"))).alias("ohlc"),
        "last_quantity", "volume", "buy_quantity", "sell_quantity", "oi",
        pl.when(recorded).then(depth).alias("depth"),
    )  # fmt: skip
    # One line per row. A line break inside a text is written as \n, so every real line break separates two rows.
    lines = BytesIO()
    objects.write_ndjson(lines)
    return lines.getvalue().rstrip(b"\n").replace(b"\n", b",")
