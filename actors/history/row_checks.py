"""Turns rows of files into rows of the store, whole columns at a time. Every column comes as text.

Each wrong row is refused with its first reason, without stopping the others (architecture 11). The row's instrument is already resolved
(it comes as `instrument_id`); this module checks everything else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

import attrs
import msgspec

from onebroker.actors.history.adjust import IST_MICROSECONDS
from onebroker.actors.history.interface import CANDLE_SCHEMA, MICROSECONDS, TICK_SCHEMA, levels_type
from onebroker.actors.history.row_rules import Rules, off_anchor
from onebroker.actors.history.row_rules import prices as price_rules
from onebroker.actors.history.trading_days import midnight
from onebroker.config.intervals import DAY_MINUTES, INTERVALS
from onebroker.config.late_modules import pl
from onebroker.config.messages import history as sentences

ROW = "row"
"""Column with the place of a row in its file."""
REASON = "reason"

CANDLE_FIELDS = ("interval", "time", "open", "high", "low", "close", "volume", "oi")
TICK_FIELDS = (
    "time", "broker", "last_price", "average_price", "open", "high", "low", "close", "last_quantity", "volume",
    "buy_quantity", "sell_quantity", "oi", "depth",
)  # fmt: skip
CANDLES_NEED = ("interval", "time", "open", "high", "low", "close")
TICKS_NEED = ("time", "broker", "last_price")

_MOMENT = (
    r"^([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(Z|([+-])([0-9]{2}):?([0-9]{2})?)?)?$"
)
_MOST_EXACT = 2.0**53
MOST_QUANTITY = 10**15
"""Most units in one row: more than any market has. A year's sums and adjusted volumes of such rows stay within 64 bits."""
_FIRST_DAY = -719_162
"""0001-01-01, the first day a date can have, in days since the epoch."""


@attrs.frozen
class Checked:
    good: pl.DataFrame
    """Rows of CANDLE_SCHEMA or TICK_SCHEMA; a tick's sequence is still 0."""
    places: pl.Series
    """The places of the good rows in their file: their `row`."""
    refused: pl.DataFrame
    """Columns `row` and `reason`."""


def moment(text: pl.Expr) -> pl.Expr:
    """Return the microseconds UTC of moments written as in rules 1.4.9 (`http.history.moments` reads the same form), null for other texts."""
    parts = text.str.extract_groups(_MOMENT).struct

    def number(group: int, absent: int = 0) -> pl.Expr:
        return parts.field(str(group)).cast(pl.Int64).fill_null(absent)

    day = parts.field("1").str.to_date("%Y-%m-%d", strict=False).cast(pl.Int64)
    fraction = parts.field("5").fill_null("").str.pad_end(6, "0").str.slice(0, 6).cast(pl.Int64)
    ahead = (number(8) * 60 + number(9)) * 60 * MICROSECONDS * pl.when(parts.field("7") == "-").then(-1).otherwise(1)
    offset = pl.when(parts.field("6").is_null()).then(IST_MICROSECONDS).otherwise(ahead)
    in_range = (number(2) < 24) & (number(3) < 60) & (number(4) < 60) & (number(8) < 24) & (number(9) < 60)
    seconds = ((day * 24 + number(2)) * 60 + number(3)) * 60 + number(4)
    return pl.when(in_range & (day >= _FIRST_DAY)).then(seconds * MICROSECONDS + fraction - offset)


def check_candles(rows: pl.DataFrame, rules: Rules) -> Checked:
    """Check rows with `row`, `instrument_id`, `exchange`, `segment` and text columns named as CANDLE_FIELDS (volume and oi may be missing).

    A day candle begins at midnight in India, whatever time of its day is given.
    """
    prices, quantities = ("open", "high", "low", "close"), ("volume", "oi")
    read = _with_missing(rows, CANDLE_FIELDS).with_columns(
        moment(pl.col("time")).alias("_time"),
        pl.col("interval").replace_strict(INTERVALS, default=None, return_dtype=pl.Int32).alias("minutes"),
        *(_price(name) for name in prices),
        *(_quantity(name) for name in quantities),
    )
    read = rules.with_days(read)
    high, low = pl.col("_high"), pl.col("_low")
    time = pl.when(pl.col("minutes") == DAY_MINUTES).then(midnight(pl.col("_time"))).otherwise(pl.col("_time"))
    reasons = [
        (pl.col("minutes").is_null(), sentences.INTERVAL_UNKNOWN),
        (pl.col("_time").is_null(), sentences.must_be_moment("time")),
        ((pl.col("_time") % MICROSECONDS) != 0, sentences.WHOLE_SECOND),
        *((pl.col(f"_{name}").is_null(), sentences.must_be_number(name)) for name in prices),
        (pl.all_horizontal(pl.col(f"_{name}") == 0 for name in prices), sentences.NO_PRICE),
        *price_rules(prices),
        ((high < pl.col("_open")) | (high < pl.col("_close")) | (high < low), sentences.HIGH_TOO_LOW),
        ((low > pl.col("_open")) | (low > pl.col("_close")), sentences.LOW_TOO_HIGH),
        *_quantity_rules(quantities),
        *rules.moments(time),
        off_anchor(),
    ]
    figures = {name: pl.col(f"_{name}") for name in (*prices, *quantities)}
    return _split(read, reasons, CANDLE_SCHEMA, {"time": time, **figures})


def check_ticks(rows: pl.DataFrame, brokers: Iterable[str], rules: Rules) -> Checked:
    """Check rows of ticks in the same way, with columns of TICK_FIELDS; `depth` is JSON text."""
    prices = ("last_price", "average_price", "open", "high", "low", "close")
    quantities = ("last_quantity", "volume", "buy_quantity", "sell_quantity", "oi")
    full = _with_missing(rows, TICK_FIELDS)
    read = full.with_columns(
        moment(pl.col("time")).alias("_time"),
        *(_price(name) for name in prices),
        *(_quantity(name) for name in quantities),
        *_depth(full["depth"]),
    )
    read = rules.with_days(read)
    reasons = [
        (pl.col("_time").is_null(), sentences.must_be_moment("time")),
        (~pl.col("broker").is_in(list(brokers)).fill_null(False), sentences.BROKER_UNKNOWN),
        (pl.col("_last_price").is_null(), sentences.must_be_number("last_price")),
        *(_unreadable(name, sentences.must_be_number(name)) for name in prices[1:]),
        *price_rules(("last_price",)),
        *_quantity_rules(quantities),
        (pl.col("_wrong_depth"), sentences.DEPTH_FORM),
        *rules.moments(pl.col("_time")),
    ]
    figures = {name: pl.col(f"_{name}") for name in ("time", *prices, *quantities)}
    return _split(read, reasons, TICK_SCHEMA, {"sequence": pl.lit(0), **figures})


def _with_missing(rows: pl.DataFrame, fields: Iterable[str]) -> pl.DataFrame:
    """Return the rows with every field, texts stripped, and empty texts null."""
    blank = [pl.lit(None, pl.String).alias(name) for name in fields if name not in rows.columns]
    texts = [pl.col(name).str.strip_chars().replace("", None) for name in fields if name in rows.columns]
    return rows.with_columns(*blank, *texts)


def _price(name: str) -> pl.Expr:
    number = pl.col(name).cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number).alias(f"_{name}")


def _quantity(name: str) -> pl.Expr:
    """Read whole numbers of at least 0, also in the form that other programs write (`1200.0`)."""
    number = pl.col(name).cast(pl.Float64, strict=False)
    written = pl.when((number == number.floor()) & (number < _MOST_EXACT)).then(number).cast(pl.Int64, strict=False)
    whole = pl.coalesce(pl.col(name).cast(pl.Int64, strict=False), written)
    return pl.when(whole >= 0).then(whole).alias(f"_{name}")


def _quantity_rules(names: Iterable[str]) -> Iterator[tuple[pl.Expr, str]]:
    """Yield the possible errors of quantities: too large, or not a whole number."""
    for name in names:
        many = pl.col(name).cast(pl.Float64, strict=False) > MOST_QUANTITY
        yield many, sentences.too_many(name, MOST_QUANTITY)
        yield _unreadable(name, sentences.must_be_quantity(name))


def _unreadable(name: str, reason: str) -> tuple[pl.Expr, str]:
    """Return the error of an optional field that is present but not readable."""
    return pl.col(name).is_not_null() & pl.col(f"_{name}").is_null(), reason


_Units = Annotated[int, msgspec.Meta(ge=0, le=MOST_QUANTITY)]


class _Level(msgspec.Struct):
    price: float
    quantity: _Units
    orders: _Units | None = None


class _Depth(msgspec.Struct):
    buy: list[_Level] = []
    sell: list[_Level] = []


def _depth(texts: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return `buy`, `sell` and which texts are not a valid depth. JSON is read value by value; most files have none."""
    if texts.null_count() == texts.len():
        nothing = pl.Series("buy", [None] * texts.len(), levels_type())
        return nothing, nothing.alias("sell"), pl.Series("_wrong_depth", [False]).new_from_index(0, texts.len())
    decoder = msgspec.json.Decoder(_Depth)
    found: list[_Depth | None] = []
    wrong: list[bool] = []
    for text in texts.to_list():
        try:
            found.append(None if text is None else decoder.decode(text))
            wrong.append(False)
        except (msgspec.MsgspecError, ValueError):
            found.append(None)
            wrong.append(True)
    sides = (
        pl.Series(
            side,
            [depth and [msgspec.structs.asdict(level) for level in getattr(depth, side)] for depth in found],
            levels_type(),
        )
        for side in ("buy", "sell")
    )
    return (*sides, pl.Series("_wrong_depth", wrong))  # type: ignore[return-value]  # two and one


def _split(
    read: pl.DataFrame,
    reasons: list[tuple[pl.Expr, str]],
    schema: Mapping[str, pl.DataType],
    figures: Mapping[str, pl.Expr],
) -> Checked:
    reason = pl.coalesce(
        *(pl.when(wrong.fill_null(False)).then(pl.lit(sentence)) for wrong, sentence in reasons),
        pl.lit(None, pl.String),
    ).alias(REASON)
    judged = read.with_columns(reason)
    good = judged.filter(pl.col(REASON).is_null())
    chosen = [figures.get(name, pl.col(name)).cast(kind).alias(name) for name, kind in schema.items()]
    refused = judged.filter(pl.col(REASON).is_not_null()).select(ROW, REASON)
    return Checked(good=good.select(chosen), places=good[ROW], refused=refused)
