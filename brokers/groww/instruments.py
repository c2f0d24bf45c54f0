"""Groww's instrument file (one CSV of all exchanges) into the normalized frame.

Source: docs/brokers/groww.md, section 4 (header and rows as seen in 2026-09). Columns are read by name, because their
order and number have changed. Kinds of securities are derived from series and ISIN (general knowledge, unchecked). The
unit of the file's freeze_quantity contradicts itself, so the column is shown and not used; lots and ticks are blank for
an index.
"""

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.groww.values import BETWEEN, CASH, COMMODITY, DERIVATIVES, EXCHANGES, INDEX
from onebroker.brokers.listings.frame import (
    GOVERNMENT_INDEX,
    ISIN_PATTERN,
    Basis,
    broker_words,
    by_isin,
    by_series,
    lacking,
    listed_symbol,
    listing_frame,
    read_table,
    share_by_series,
    texts,
    told,
)
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.requests import CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

COLUMNS = (
    "exchange", "exchange_token", "trading_symbol", "groww_symbol", "name", "instrument_type", "segment", "series", "isin",
    "underlying_symbol", "underlying_exchange_token", "expiry_date", "strike_price", "lot_size", "tick_size",
)  # fmt: skip
NAMING = (
    "exchange", "trading_symbol", "name", "instrument_type", "segment", "series", "underlying_symbol", "expiry_date", "strike_price",
)  # fmt: skip
"""A file without these columns is not the expected file."""
RAW_COLUMNS = (
    "exchange_token", "groww_symbol", "instrument_type", "series", "underlying_exchange_token", "freeze_quantity",
    "is_reserved", "buy_allowed", "sell_allowed", "internal_trading_symbol", "is_intraday",
)  # fmt: skip
"""Columns that no other column of the frame carries."""

_EXCHANGE, _SYMBOL, _SEGMENT = pl.col("exchange"), pl.col("trading_symbol"), pl.col("segment")
_TYPE, _SERIES, _ISIN = pl.col("instrument_type"), pl.col("series"), pl.col("isin")
_FUTURE, _OPTION = _TYPE == "FUT", _TYPE.is_in(["CE", "PE"])


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the call for the file; it needs no login."""
    yield WireRequest(kind=CallKind.FILE, method="GET", url=access.endpoints.instruments_url)


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    Raises `BadAnswer` for a body that is not the file.
    """
    rows, unread, absent = _read(bodies[0])
    rows = rows.with_columns(
        ours=_EXCHANGE.replace_strict(EXCHANGES, default="unknown"),
        expiry=pl.col("expiry_date").str.to_date("%Y-%m-%d", strict=False).dt.to_string(),
        strike=pl.col("strike_price").cast(pl.Float64, strict=False),
        underlying=pl.col("underlying_symbol").str.to_uppercase(),
        place=pl.when(_TYPE == INDEX).then(pl.lit(INDEX)).otherwise(_SEGMENT),
        cash=(_SEGMENT == CASH) & _EXCHANGE.is_in(["NSE", "BSE"]) & (_TYPE != INDEX) & ~(_FUTURE | _OPTION),
    )
    rows = rows.with_columns(token=pl.concat_str([_EXCHANGE, "place", _SYMBOL], separator=":"))
    once = rows.unique("token", keep="first", maintain_order=True)
    return listing_frame(_normalized(_told(once)), unread=unread + rows.height - once.height, absent=absent)


def _read(body: bytes) -> tuple[pl.DataFrame, int, Sequence[str]]:
    """Return the rows, how many rows were left out, and which columns the file lacks."""
    rows, lost = read_table(body)
    absent = lacking(rows, NAMING, COLUMNS)
    listed = rows.height + lost
    rows = rows.select(texts(rows, list(dict.fromkeys((*COLUMNS, *RAW_COLUMNS)))))
    named = _SYMBOL.is_not_null() & _EXCHANGE.is_not_null() & _SEGMENT.is_not_null() & _TYPE.is_not_null()
    rows = rows.filter(named)
    return rows.with_columns(
        _EXCHANGE.str.to_uppercase(), _SEGMENT.str.to_uppercase(), _TYPE.str.to_uppercase(), _ISIN.str.to_uppercase(),
        _SERIES.str.to_uppercase(),
    ), listed - rows.height, absent  # fmt: skip


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    by_index = (
        pl.when(_EXCHANGE == "MCX")
        .then(pl.lit("commodity_indices"))
        .when(pl.col("name").str.to_uppercase().str.contains(GOVERNMENT_INDEX).fill_null(False))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    cash = pl.col("cash")
    return told(
        rows,
        (pl.when(_TYPE == INDEX).then(by_index), Basis.STATED),
        # A contract's type is FUT, CE or PE; the rows of the underlyings show whether it is on an index.
        (pl.when(_FUTURE | _OPTION).then(_derivative_segment(rows)), Basis.WORDS),
        (pl.when(cash).then(by_series(pl.col("ours"), _SERIES)), Basis.STATED),
        (pl.when(cash).then(by_isin(_ISIN)), Basis.ISIN),
        (pl.when(cash).then(share_by_series(_ISIN, _SERIES)), Basis.SUPPOSED),
    )


def _derivative_segment(rows: pl.DataFrame) -> pl.Expr:
    """Return the segment of a contract. It is on an index when the file lists its underlying as an index, by number or by symbol."""
    indices = rows.filter(_TYPE == INDEX)
    numbers = (indices["exchange"] + ":" + indices["exchange_token"]).drop_nulls().to_list()
    symbols = (indices["exchange"] + ":" + indices["trading_symbol"].str.to_uppercase()).drop_nulls().to_list()
    on_index = pl.concat_str([_EXCHANGE, "underlying_exchange_token"], separator=":").is_in(numbers).fill_null(False)
    on_index |= pl.concat_str([_EXCHANGE, "underlying"], separator=":").is_in(symbols).fill_null(False)
    # A segment of which no row was ever seen (currency) is not guessed.
    head = _SEGMENT.replace_strict({DERIVATIVES: "equity", COMMODITY: "commodity"}, default=None)
    complete = pl.col("underlying").is_not_null() & pl.col("expiry").is_not_null()
    complete &= _FUTURE | (pl.col("strike") > 0)
    index = pl.when(on_index).then(pl.lit("_index")).otherwise(pl.lit(""))
    shape = pl.when(_FUTURE).then(pl.lit("_futures")).otherwise(pl.lit("_options"))
    return pl.when(complete).then(head + index + shape)


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    index = pl.col("place") == INDEX
    # The exchange's own name of an index is in the column `name`; the trading symbol is the short name in its
    # derivatives.
    written = pl.when(index).then(pl.coalesce("name", _SYMBOL)).otherwise(_SYMBOL).str.to_uppercase()
    base = written.str.strip_suffix("-" + _SERIES)
    cash, fits = pl.col("cash"), pl.col("bare") != UNCATEGORISED
    base = pl.when(_SERIES.is_null()).then(written).otherwise(base)
    symbol = pl.when(cash).then(listed_symbol(pl.col("ours"), base, _SERIES)).otherwise(written)
    lot = pl.col("lot_size").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    tick = pl.col("tick_size").cast(pl.Float64, strict=False)
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(~derived).then(symbol),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(derived & _OPTION).then(pl.col("strike")),
        option_type=pl.when(derived & _OPTION).then(_TYPE),
        name=pl.col("name"),
        isin=pl.when(_ISIN.str.contains(ISIN_PATTERN)).then(_ISIN),
        lot_size=pl.when(lot > 0).then(lot),
        tick_size=pl.when(tick > 0).then(tick),
        contract_units=pl.lit(1),
        broker_token=pl.col("token"),
        tradingsymbol=_SYMBOL,
        broker_exchange=_EXCHANGE,
        other_names=pl.when(pl.col("exchange_token").is_not_null()).then(
            pl.concat_str(["exchange_token", pl.col("groww_symbol").fill_null("")], separator=BETWEEN)
        ),
        basis=pl.col("basis"),
        series=pl.when(cash).then(_SERIES),
        exchange_token=pl.when(cash | (fits & ~index)).then(pl.col("exchange_token")),
        short_name=pl.when(index).then(_SYMBOL),
        words=broker_words(pl.col("bare"), _EXCHANGE, _SEGMENT, _TYPE, _SERIES),
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )
