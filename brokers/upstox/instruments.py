"""Upstox' instrument file (one gzipped JSON list of all exchanges) into the normalized frame.

Source: documentation page "Instruments" and its sample rows, not re-read by us. Segments are derived from the file's own
fields: series, ISIN, type of the underlying. Tick sizes are paise (assumed for MCX). In the segments where quantities are
contracts the file's lot_size counts contracts or units, and qty_multiplier is the units in one contract.
"""

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.json_listings import json_columns, number_column, text_column
from onebroker.brokers.listings.frame import (
    GOVERNMENT_INDEX,
    ISIN_PATTERN,
    Basis,
    broker_words,
    by_isin,
    by_series,
    listed_symbol,
    listing_frame,
    share_by_series,
    stated,
    told,
    unpacked,
)
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.brokers.upstox.values import (
    CASH_SEGMENTS,
    EXCHANGES,
    INDEX_SEGMENTS,
    LOT_SEGMENTS,
    QUOTE_ONLY_SEGMENTS,
)
from onebroker.brokers.upstox.wire import INSTRUMENTS_FILE
from onebroker.config.instruments import UNCATEGORISED

TEXT_COLUMNS = (
    "segment", "name", "isin", "instrument_key", "trading_symbol", "instrument_type", "underlying_symbol", "asset_symbol",
    "underlying_type", "asset_type", "expiry",
)  # fmt: skip
NUMBER_COLUMNS = ("tick_size", "lot_size", "freeze_quantity", "qty_multiplier", "strike_price")
RAW_COLUMNS = (
    "exchange_token", "short_name", "instrument_type", "security_type", "weekly", "minimum_lot", "qty_multiplier",
    "underlying_key", "underlying_type", "mtf_enabled", "mtf_bracket", "intraday_margin", "cas_eligible",
    "last_trading_date", "price_quote_unit",
)  # fmt: skip
"""Columns that no other column of the frame carries."""

UNDERLYING_HEADS = {
    "EQUITY": "equity", "INDEX": "equity_index", "CUR": "currency", "IRD": "fixed_income", "COM": "commodity",
}  # fmt: skip
COMMODITY_SEGMENTS = ("MCX_FO", "NSE_COM")

INDIA_MILLISECONDS = 19_800_000
"""India's offset from UTC: an expiry is the last second of its Indian day."""
DAY_MILLISECONDS = 86_400_000

_SEGMENT, _KEY, _TYPE = pl.col("segment"), pl.col("instrument_key"), pl.col("instrument_type")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the call for the whole file; it needs no login."""
    url = f"{access.endpoints.instruments_url}{INSTRUMENTS_FILE}"
    yield WireRequest(kind=CallKind.FILE, method="GET", url=url, headers={"Accept-Encoding": "identity"})


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    The body may still be gzip: gzip is then its content, not its encoding. Raises `BadAnswer` for a body that is not the
    file.
    """
    rows, unread = _frame(unpacked(bodies[0]))
    future, option = _TYPE == "FUT", _TYPE.is_in(["CE", "PE"])
    rows = rows.with_columns(
        ours=_SEGMENT.replace_strict(EXCHANGES, default="unknown"),
        cash=_SEGMENT.is_in(CASH_SEGMENTS).fill_null(False),
        index=_SEGMENT.is_in(INDEX_SEGMENTS).fill_null(False),
        # In the cash market the type is the series or group.
        series=pl.when(_SEGMENT.is_in(CASH_SEGMENTS)).then(_TYPE),
        expiry=_expiry(),
        underlying=pl.coalesce("underlying_symbol", "asset_symbol").str.to_uppercase(),
        shape=pl.when(future).then(pl.lit("_futures")).when(option).then(pl.lit("_options")),
    )
    return listing_frame(_normalized(_told(rows)), unread=unread)


def _frame(body: bytes) -> tuple[pl.DataFrame, int]:
    """Return the columns we know as texts and numbers, and how many rows were left out: they are not objects, or name no instrument."""
    cells, lost = json_columns(body, list(dict.fromkeys((*TEXT_COLUMNS, *NUMBER_COLUMNS, *RAW_COLUMNS))))
    read = {name: text_column(name, cells[name]) for name in dict.fromkeys((*TEXT_COLUMNS, *RAW_COLUMNS))}
    frame = pl.DataFrame(
        [
            *(read[name] for name in TEXT_COLUMNS),
            *(number_column(name, cells[name]) for name in NUMBER_COLUMNS),
            *(read[name].alias(f"{RAW_PREFIX}{name}") for name in RAW_COLUMNS),
        ]
    )
    named = frame.filter(_KEY.is_not_null())
    if named.is_empty():
        raise BadAnswer("the instrument file names no instrument")
    lost += frame.height - named.height
    frame = named.filter(~_SEGMENT.is_in(QUOTE_ONLY_SEGMENTS).fill_null(False))
    listed = frame.height
    frame = (
        frame.filter(pl.col("trading_symbol").is_not_null())
        .unique("instrument_key", keep="first", maintain_order=True)
        .with_columns(_TYPE.str.to_uppercase(), pl.col("trading_symbol", "isin").str.to_uppercase())
    )
    return frame, lost + listed - frame.height


def _expiry() -> pl.Expr:
    """The Indian day, from epoch milliseconds; a day written as text is used unchanged."""
    day = pl.col("expiry")
    moment = day.cast(pl.Float64, strict=False)
    moment = pl.when(moment > 0).then(moment)
    days = ((moment + INDIA_MILLISECONDS) / DAY_MILLISECONDS).floor().cast(pl.Int32, strict=False)
    written = day.str.extract(r"^(\d{4}-\d\d-\d\d)").str.to_date("%Y-%m-%d", strict=False)
    return pl.coalesce(written, pl.from_epoch(days, time_unit="d")).dt.to_string()


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    by_index = (
        pl.when(_SEGMENT == "MCX_INDEX")
        .then(pl.lit("commodity_indices"))
        .when(_KEY.str.to_uppercase().str.contains(GOVERNMENT_INDEX))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    cash, index, isin, series = pl.col("cash"), pl.col("index"), pl.col("isin"), pl.col("series")
    contract = _SEGMENT.is_in(list(EXCHANGES)) & ~cash & ~index
    return told(
        rows,
        (pl.when(index).then(by_index), Basis.STATED),
        (pl.when(contract).then(_derivative_segment()), Basis.STATED),
        (pl.when(cash).then(by_series(pl.col("ours"), series)), Basis.STATED),
        (pl.when(cash).then(by_isin(isin)), Basis.ISIN),
        (pl.when(cash).then(share_by_series(isin, series)), Basis.SUPPOSED),
    )


def _derivative_segment() -> pl.Expr:
    kind = pl.coalesce("underlying_type", "asset_type").str.to_uppercase()
    head = stated(UNDERLYING_HEADS, kind)
    on_goods = (kind == "INDEX") & _SEGMENT.is_in(COMMODITY_SEGMENTS)
    head = pl.when(on_goods).then(pl.lit("commodity_index")).otherwise(head)
    complete = pl.col("underlying").is_not_null() & pl.col("expiry").is_not_null()
    complete &= (_TYPE == "FUT") | (pl.col("strike_price") > 0)
    return pl.when(complete).then(head + pl.col("shape"))


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    option = derived & (pl.col("shape") == "_options")
    cash, index, fits = pl.col("cash"), pl.col("index"), pl.col("bare") != UNCATEGORISED
    in_series = listed_symbol(pl.col("ours"), pl.col("trading_symbol"), pl.col("series"))
    # The exchange's own name of an index is in its key (`NSE_INDEX|Nifty 50`).
    own_name = _KEY.str.extract(r"\|(.+)$").str.to_uppercase()
    symbol = pl.when(index).then(own_name).when(cash).then(in_series).otherwise(pl.col("trading_symbol"))
    rows = rows.with_columns(symbol=pl.when(~derived).then(symbol), units=_contract_units())
    listed_lot, tick, freeze = pl.col("lot_size"), pl.col("tick_size"), pl.col("freeze_quantity")
    listed_lot = pl.when(listed_lot >= 1).then(listed_lot)
    lot = pl.when(_SEGMENT.is_in(LOT_SEGMENTS)).then(pl.col("units")).otherwise(listed_lot)
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.col("symbol"),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike_price")),
        option_type=pl.when(option).then(_TYPE),
        name=pl.col("name"),
        isin=pl.when(pl.col("isin").str.contains(ISIN_PATTERN)).then(pl.col("isin")),
        lot_size=lot.cast(pl.Int64),
        tick_size=pl.when(tick > 0).then(tick / 100),
        # Counted like the file's lot_size: units, or contracts.
        freeze_quantity=pl.when(freeze > 0).then(freeze * lot / listed_lot).floor().cast(pl.Int64),
        contract_units=pl.col("units").cast(pl.Int64),
        broker_token=_KEY,
        tradingsymbol=pl.col("trading_symbol"),
        broker_exchange=_SEGMENT,
        basis=pl.col("basis"),
        series=pl.col("series"),
        exchange_token=pl.when(cash | (fits & ~index)).then(pl.col(f"{RAW_PREFIX}exchange_token")),
        short_name=pl.when(index).then(pl.col("trading_symbol")),
        words=broker_words(pl.col("bare"), _SEGMENT, _TYPE),
        **{f"{RAW_PREFIX}{name}": pl.col(f"{RAW_PREFIX}{name}") for name in RAW_COLUMNS},
    )


def _contract_units() -> pl.Expr:
    """Units in one of the broker's quantities; null = it counts contracts and the size of one is not known.

    A multiplier of 1 is trusted only for a commodity whose lot is also 1; a currency contract is never one unit.
    """
    multiplier = pl.col("qty_multiplier")
    single = (multiplier == 1) & (pl.col("lot_size") == 1) & _SEGMENT.is_in(COMMODITY_SEGMENTS)
    size = pl.when((multiplier > 1) & (multiplier == multiplier.floor()) | single).then(multiplier)
    return pl.when(_SEGMENT.is_in(LOT_SEGMENTS)).then(size).otherwise(pl.lit(1.0))
