"""Finds the rows that name the same instrument: natural keys, and the resulting instruments in the catalogue's order. Pure.

`rows` here are all brokers' rows as `broker_rows.py` returns them; a row's number is its place among them. `facts` are the few columns
(`FACTS`) that matching may change. The wide rows are not touched until everything is decided.
"""

from collections.abc import Sequence

import polars as pl

from onebroker.actors.catalogue.security_matching import patched
from onebroker.config.instruments import (
    EXCHANGES,
    SEGMENT_SHAPES,
    SEGMENTS,
    UNCATEGORISED,
    Exchange,
    Shape,
    segments_of,
    strike_text,
)

IDENTITY = ("symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type")
MATCHED_BY = (
    "row", "rank", "exchange", "bare", *IDENTITY, "isin", "basis", "series", "exchange_token", "short_name",
)  # fmt: skip
"""Columns used for matching rows."""
FACTS = (*MATCHED_BY, "words", "broker_token")

_SHAPES = {name: shape.value for name, shape in SEGMENT_SHAPES.items()}


def categorised(facts: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Move rows that fit no segment of their exchange to `unknown`, with a symbol that only their broker has.

    That symbol is the broker, its word for the exchange and its trading symbol; the token is added if several rows share it. The row has no
    ISIN, so that no holding is mistaken for it.
    """
    listed = pl.any_horizontal(
        (pl.col("exchange") == exchange.value) & pl.col("bare").is_in(segments_of(exchange)) for exchange in EXCHANGES
    )
    stray = facts.filter(~(listed & (pl.col("bare") != UNCATEGORISED)).fill_null(False))
    if stray.is_empty():
        return facts
    stray = stray.with_columns(rows.select("broker", "broker_exchange", "tradingsymbol")[stray["row"]])
    own = pl.concat_str(
        "broker", pl.coalesce("broker_exchange", "exchange", pl.lit("-")), pl.coalesce("tradingsymbol", "broker_token"),
        separator=":",
    ).str.to_uppercase()  # fmt: skip
    said = pl.concat_str("exchange", "bare", separator=" ", ignore_nulls=True)
    several = pl.col("broker_token").n_unique().over("symbol") > 1
    patch = stray.with_columns(words=pl.coalesce("words", said), symbol=own).select(
        "row",
        "words",
        symbol=pl.when(several)
        .then(pl.concat_str("symbol", "broker_token", separator=":"))
        .otherwise(pl.col("symbol")),
        isin=pl.lit(None, pl.String),
        exchange=pl.lit(Exchange.UNKNOWN.value),
        bare=pl.lit(UNCATEGORISED),
    )
    return patched(facts, patch)


def keyed(facts: pl.DataFrame) -> pl.DataFrame:
    """Add shape and stored segment, empty the fields of other shapes, and add `key` in the form of `Identity.natural_key`.

    The key is null when a field is missing.
    """
    facts = facts.with_columns(
        shape=pl.col("bare").replace_strict(_SHAPES, return_dtype=pl.String),
        segment=pl.when(pl.col("bare") == UNCATEGORISED)
        .then(pl.col("bare"))
        .otherwise(pl.concat_str("exchange", "bare", separator="_")),
    )
    security, option = pl.col("shape") == Shape.SECURITY.value, pl.col("shape") == Shape.OPTION.value
    facts = facts.with_columns(
        *(pl.when(security).then(pl.col(name)) for name in ("symbol",)),
        *(pl.when(~security).then(pl.col(name)) for name in ("underlying_symbol", "expiry_date")),
        *(pl.when(option).then(pl.col(name)) for name in ("strike_price", "option_type")),
    )
    complete = (
        pl.when(security)
        .then(pl.col("symbol").is_not_null())
        .otherwise(
            pl.all_horizontal(pl.col("underlying_symbol", "expiry_date").is_not_null())
            & (~option | pl.all_horizontal(pl.col("strike_price", "option_type").is_not_null()))
        )
    )
    fields = [
        "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", _strike_texts(facts["strike_price"]),
        "option_type",
    ]  # fmt: skip
    return facts.with_columns(key=pl.when(complete).then(pl.concat_str(fields, separator="|", ignore_nulls=True)))


def _strike_texts(column: pl.Series) -> pl.Expr:
    strikes = column.drop_nulls().unique()
    texts = pl.Series([strike_text(value) for value in strikes], dtype=pl.String)
    return pl.col(column.name).replace_strict(strikes, texts, default=None, return_dtype=pl.String)


def placed(facts: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the instruments by `place` (their order in the catalogue), and the rows that list them.

    These rows have `place`, `row`, `rank`, `broker_token`, `isin` and `words`. Only rows with a key are included, ordered by place, and within
    a place by row.
    """
    listed = ["row", "rank", "broker_token", "isin", "words"]
    instruments = facts.group_by("key").agg(
        pl.col("exchange", "bare", "segment", "shape", *IDENTITY).first(), pl.col(listed)
    )
    instruments = instruments.sort(
        _order("exchange", EXCHANGES), _order("bare", SEGMENTS),
        pl.coalesce("symbol", "underlying_symbol"), "expiry_date", "strike_price", "option_type", "key",
    ).with_row_index("place")  # fmt: skip
    return instruments.drop(listed), instruments.select("place", *listed).explode(listed)


def _order(column: str, names: Sequence[str]) -> pl.Expr:
    order = {str(name): place for place, name in enumerate(names)}
    return pl.col(column).replace_strict(order, return_dtype=pl.Int32)
