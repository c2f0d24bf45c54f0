"""Ten brokers' normalized frames into one row per instrument. Pure; polars throughout, no row by row.

A listing that cannot be trusted is left out and counted, never guessed (an order must not reach another instrument):

- a row without a complete identity or without a token;
- two tokens of one broker for one natural key: which of them is meant is not known;
- one token of one broker for two natural keys: its ticks and fills could not be told apart.

The result depends neither on the order of rows nor on which broker a value came from, but for the documented ties.
"""

from collections.abc import Mapping, Sequence

import polars as pl
import uuid_utils

from onebroker.actors.catalogue.report import BrokerReport
from onebroker.brokers.listings import LISTING_COLUMNS, RAW_PREFIX
from onebroker.config.instruments import (
    EXCHANGES,
    NAMESPACE,
    SEGMENT_SHAPES,
    SEGMENTS,
    UNCATEGORISED,
    Shape,
    segments_of,
    strike_text,
)

INSTRUMENT_COLUMNS = (
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type", "name", "isin", "lot_size", "tick_size", "freeze_quantity",
)  # fmt: skip
LISTING_FIELDS = (
    "broker", "broker_token", "tradingsymbol", "exchange", "lot_size", "tick_size", "freeze_quantity", "contract_units",
    "other_names", "attributes",
)  # fmt: skip
"""Fields of an element of the column `listings`; `attributes` is a JSON object of the file's other columns."""
EXAMPLES = 5

_NAMESPACE = uuid_utils.UUID(str(NAMESPACE))
_BARE, _SHAPE = pl.col("bare"), pl.col("shape")
_SECURITY, _OPTION = _SHAPE.eq(Shape.SECURITY.value), _SHAPE.eq(Shape.OPTION.value)


def merge(frames: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, dict[str, BrokerReport]]:
    """Return the catalogue, sorted by exchange, segment and identity, and what each broker gave.

    `frames` are in the order of the registry, which decides ties of names and lot sizes.
    """
    parts: list[pl.DataFrame] = []
    reports: dict[str, BrokerReport] = {}
    for rank, (code, frame) in enumerate(frames.items()):
        part, reports[code] = _trusted(frame)
        if part.height == 0:
            reports[code].error = "its file lists no instrument"
            continue
        parts.append(part.with_columns(broker=pl.lit(code), rank=pl.lit(rank, pl.Int32)))
    if not parts:
        return pl.DataFrame(), reports
    return _instruments(pl.concat(parts)), reports


# One broker


def _trusted(frame: pl.DataFrame) -> tuple[pl.DataFrame, BrokerReport]:
    rows = _identified(frame)
    complete = rows.filter(_complete())
    once = complete.sort("key", *_value_columns()).unique(["key", "broker_token"], keep="first", maintain_order=True)
    doubtful = (pl.len().over("key") > 1) | (pl.len().over("broker_token") > 1)
    trusted, left_out = once.filter(~doubtful), once.filter(doubtful)
    counts = trusted.group_by("segment").len().sort("segment")
    return trusted, BrokerReport(
        rows=trusted.height,
        segments=dict(counts.iter_rows()),
        refused=rows.height - complete.height,
        ambiguous=left_out.height,
        examples=left_out["key"].unique().sort().head(EXAMPLES).to_list(),
    )


def _identified(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows with shape, stored segment and natural key, the fields of other shapes emptied."""
    raw = [name for name in frame.columns if name.startswith(RAW_PREFIX)]
    attributes = (
        pl.struct(pl.col(name).alias(name.removeprefix(RAW_PREFIX)) for name in raw).struct.json_encode()
        if raw
        else pl.lit(None, pl.String)
    )
    rows = frame.select(*(pl.col(name) for name in LISTING_COLUMNS), attributes=attributes)
    rows = rows.rename({"segment": "bare"}).with_columns(
        shape=_BARE.replace_strict(
            {name: shape.value for name, shape in SEGMENT_SHAPES.items()}, default=None, return_dtype=pl.String
        ),
        segment=pl.when(_BARE == UNCATEGORISED).then(_BARE).otherwise(pl.col("exchange") + "_" + _BARE),
    )
    strike = pl.col("strike_price")
    rows = rows.with_columns(
        symbol=pl.when(_SECURITY).then(_upper("symbol")),
        underlying_symbol=pl.when(~_SECURITY).then(_upper("underlying_symbol")),
        expiry_date=pl.when(~_SECURITY).then(_day("expiry_date")),
        strike_price=pl.when(_OPTION & strike.is_finite() & (strike > 0)).then(strike),
        option_type=pl.when(_OPTION & pl.col("option_type").is_in(["CE", "PE"])).then(pl.col("option_type")),
        broker_token=_filled("broker_token"),
        name=_filled("name"),
        isin=_filled("isin"),
        **_figures(),
    )
    return _keyed(rows)


def _figures() -> dict[str, pl.Expr]:
    """Figures that cannot be one are empty: sizes of zero, a freeze quantity of one or below a lot (lesson 14)."""
    lot, tick, freeze = pl.col("lot_size"), pl.col("tick_size"), pl.col("freeze_quantity")
    return {
        "lot_size": pl.when(lot > 0).then(lot),
        "tick_size": pl.when(tick.is_finite() & (tick > 0)).then(tick),
        "freeze_quantity": pl.when((freeze > 1) & (freeze >= lot.fill_null(1))).then(freeze),
    }


def _filled(name: str) -> pl.Expr:
    text = pl.col(name).str.strip_chars()
    return pl.when(text != "").then(text)


def _upper(name: str) -> pl.Expr:
    return _filled(name).str.to_uppercase()


def _day(name: str) -> pl.Expr:
    """Return the text where it is a date written YYYY-MM-DD."""
    text = pl.col(name)
    written = text.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$")
    return pl.when(written & text.str.to_date("%Y-%m-%d", strict=False).is_not_null()).then(text)


def _keyed(rows: pl.DataFrame) -> pl.DataFrame:
    """Add `key`, the natural key, as `Identity.natural_key` writes it; null where a field is missing."""
    strikes = rows.select("strike_price").drop_nulls().unique()
    texts = pl.Series("strike_text", [strike_text(value) for value in strikes["strike_price"]], dtype=pl.String)
    rows = rows.join(strikes.with_columns(texts), on="strike_price", how="left")
    head = ["exchange", "segment", "shape"]
    future = [*head, "underlying_symbol", "expiry_date"]
    key = (
        pl.when(_SECURITY)
        .then(pl.concat_str([*head, "symbol"], separator="|"))
        .when(_OPTION)
        .then(pl.concat_str([*future, "strike_text", "option_type"], separator="|"))
        .otherwise(pl.concat_str(future, separator="|"))
    )
    return rows.with_columns(key=key).drop("strike_text")


def _complete() -> pl.Expr:
    known = [f"{exchange}|{bare}" for exchange in EXCHANGES for bare in segments_of(exchange)]
    listed = pl.concat_str(["exchange", "bare"], separator="|").is_in(known).fill_null(False)
    return listed & pl.col("key").is_not_null() & pl.col("broker_token").is_not_null()


def _value_columns() -> list[pl.Expr]:
    return [pl.col(name) for name in (*LISTING_COLUMNS, "attributes") if name != "segment"]


# All brokers


def _instruments(rows: pl.DataFrame) -> pl.DataFrame:
    rows = _with_agreed_lots(rows.sort("key", "rank"))
    listing = pl.struct(
        "broker", "broker_token", "tradingsymbol", pl.col("broker_exchange").alias("exchange"), "lot_size", "tick_size",
        "freeze_quantity", "contract_units", "other_names", "attributes",
    )  # fmt: skip
    merged = rows.group_by("key", maintain_order=True).agg(
        pl.col("exchange", "bare", "segment", "shape", "symbol", "underlying_symbol").first(),
        pl.col("expiry_date", "strike_price", "option_type").first(),
        pl.col("name").drop_nulls().first(),
        listings=listing,
    )
    for votes in (
        _voted(rows, "isin", pl.col("isin").first()),
        _voted(rows, "lot_size", pl.col("lot_size").first()),
        _voted(rows.with_columns(pl.col("tick_size").round(6)), "tick_size", pl.lit(None, pl.Float64)),
        _voted(rows, "freeze_quantity", pl.col("freeze_quantity").min()),
    ):
        merged = merged.join(votes, on="key", how="left")
    ids = [str(uuid_utils.uuid5(_NAMESPACE, key)) for key in merged["key"]]
    return (
        merged.with_columns(pl.Series("instrument_id", ids, dtype=pl.String))
        .sort(
            _order("exchange", EXCHANGES), _order("bare", SEGMENTS),
            pl.coalesce("symbol", "underlying_symbol"), "expiry_date", "strike_price", "option_type", "instrument_id",
        )
        .select(*INSTRUMENT_COLUMNS, "listings")
        .rechunk()
    )  # fmt: skip


def _with_agreed_lots(rows: pl.DataFrame) -> pl.DataFrame:
    """Fill the units per lot of brokers that speak lots of a size their files do not say, where the others agree on it.

    Agreement is one size above 1 among all brokers that do say: a wrong size would send an order of another size, so with
    two sizes, or none, it stays unknown and no such order is sent.
    """
    lot, units = pl.col("lot_size"), pl.col("contract_units")
    said = pl.when(units.is_not_null() & (lot > 1)).then(lot)
    agreed = pl.when(said.min().over("key") == said.max().over("key")).then(said.max().over("key"))
    unknown = units.is_null()
    return rows.with_columns(
        lot_size=pl.when(unknown).then(pl.coalesce(agreed, lot)).otherwise(lot),
        contract_units=pl.when(unknown).then(agreed).otherwise(units),
    )


def _voted(rows: pl.DataFrame, column: str, tied: pl.Expr) -> pl.DataFrame:
    """Return key and the value most brokers give; of several with equally many votes, what `tied` makes of them.

    `tied` sees the values by votes, then by the brokers' order.
    """
    counted = rows.drop_nulls(column).group_by("key", column).agg(votes=pl.len(), rank=pl.col("rank").min())
    best = counted.sort("key", "votes", "rank", column, descending=[False, True, False, False])
    tie = (pl.col("votes") == pl.col("votes").max()).sum() > 1
    return best.group_by("key", maintain_order=True).agg(
        pl.when(tie).then(tied).otherwise(pl.col(column).first()).alias(column)
    )


def _order(column: str, names: Sequence[str]) -> pl.Expr:
    order = {str(name): place for place, name in enumerate(names)}
    return pl.col(column).replace_strict(order, return_dtype=pl.Int32)
