"""Dhan's two instrument files into the normalized frame: the compact CSV has the trading symbols, the detailed one ISIN,
freeze quantity and circuit limits.

Sources: rows of both files seen in public projects; DhanHQ v2 documentation, "Instrument List", not re-read by us.
Segments are derived from the files' own fields, by series and ISIN codes that are general knowledge, unchecked. Tick
sizes are paise, for indices rupees. Neither file has the units per lot of currency and commodity contracts: both say lot
1. Contracts that expired years ago remain in the files and are passed on: this code has no clock and does not know the
day.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.instrument_files import is_missing
from onebroker.brokers.dhan.values import CASH_SEGMENTS, INDEX_SEGMENT, LOT_SEGMENTS, SEGMENT_PARTS
from onebroker.brokers.dhan.wire import COMPACT_FILE, DETAILED_FILE
from onebroker.brokers.listings.frame import (
    CURRENCY_PAIR,
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
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

COMPACT_COLUMNS = {
    "SEM_EXM_EXCH_ID": "exchange", "SEM_SEGMENT": "part", "SEM_SMST_SECURITY_ID": "id", "SEM_INSTRUMENT_NAME": "kind",
    "SEM_TRADING_SYMBOL": "written", "SEM_LOT_UNITS": "lot", "SEM_CUSTOM_SYMBOL": "custom", "SEM_EXPIRY_DATE": "expiry",
    "SEM_STRIKE_PRICE": "strike", "SEM_OPTION_TYPE": "option", "SEM_TICK_SIZE": "tick", "SEM_SERIES": "series",
    "SM_SYMBOL_NAME": "name",
}  # fmt: skip
"""Column of the compact file -> ours."""
DETAILED_COLUMNS = {
    "EXCH_ID": "exchange", "SEGMENT": "part", "SECURITY_ID": "id", "ISIN": "isin", "UNDERLYING_SYMBOL": "underlying",
    "SM_FREEZE_QTY": "freeze",
}  # fmt: skip
"""Column of the detailed file -> our column; the first three join it to the compact file."""
KEY = ("exchange", "part", "id")
FIGURES = ("SEM_LOT_UNITS", "SEM_TICK_SIZE", "SM_SYMBOL_NAME", "ISIN", "UNDERLYING_SYMBOL", "SM_FREEZE_QTY")
"""The files may lack some of these columns (`SM_FREEZE_QTY`: real files of 2025 and 2026); the other columns name the rows."""

COMPACT_RAW = ("SEM_EXPIRY_CODE", "SEM_CUSTOM_SYMBOL", "SEM_EXCH_INSTRUMENT_TYPE", "SEM_SERIES", "SEM_EXPIRY_FLAG")
DETAILED_RAW = (
    "UNDERLYING_SECURITY_ID", "SYMBOL_NAME", "BRACKET_FLAG", "COVER_FLAG", "ASM_GSM_FLAG", "ASM_GSM_CATEGORY",
    "BUY_SELL_INDICATOR", "BUY_CO_MIN_MARGIN_PER", "BUY_CO_SL_RANGE_MAX_PERC", "BUY_CO_SL_RANGE_MIN_PERC",
    "BUY_BO_MIN_MARGIN_PER", "BUY_BO_PROFIT_RANGE_MAX_PERC", "BUY_BO_PROFIT_RANGE_MIN_PERC", "MTF_LEVERAGE",
    "SM_UPPER_LIMIT", "SM_LOWER_LIMIT",
)  # fmt: skip
"""Columns that no other column of the frame carries; the limits are rupees, zero = none."""
LIMITS = ("SM_UPPER_LIMIT", "SM_LOWER_LIMIT")

KINDS: Mapping[tuple[str, str], str] = {
    ("D", "FUTIDX"): "equity_index_futures", ("D", "OPTIDX"): "equity_index_options",
    ("D", "FUTSTK"): "equity_futures", ("D", "OPTSTK"): "equity_options",
    ("C", "FUTCUR"): "currency_futures", ("C", "OPTCUR"): "currency_options",
    ("M", "FUTCOM"): "commodity_futures", ("M", "OPTFUT"): "commodity_options", ("M", "OPTCOM"): "commodity_options",
    ("M", "FUTIDX"): "commodity_index_futures", ("M", "OPTIDX"): "commodity_index_options",
}  # fmt: skip
"""(segment, instrument) -> bare segment. Anything that trades with the currencies and is no currency pair is an interest rate."""

TEST_SYMBOL = r"^\d*(NSE|BSE|MCX)TEST"
"""The files contain the exchanges' own test symbols."""
CONTRACT_SYMBOL = r"^(.+)-(?:\d{1,2})?[A-Za-z]{3}\d{4}-"
"""Trading symbol of a contract -> its underlying, for a contract whose underlying the detailed file does not name."""

_WHERE = pl.col("where")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the calls for the compact file, then the detailed one; neither needs a login."""
    for name in (COMPACT_FILE, DETAILED_FILE):
        yield WireRequest(kind=CallKind.FILE, method="GET", url=f"{access.endpoints.instruments_url}{name}")


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    Raises `BadAnswer` for a body that is not the file, and when one of the two is missing: each holds half of every row.
    """
    compact, detailed = bodies
    if is_missing(compact) or is_missing(detailed):
        raise BadAnswer("each of its two files holds half of every row")
    rows, unread, absent = _read(compact, COMPACT_COLUMNS, COMPACT_RAW)
    details, unread_details, lacked = _read(detailed, DETAILED_COLUMNS, DETAILED_RAW)
    rows = rows.join(details, on=KEY, how="left", maintain_order="left")
    parts = pl.concat_str("exchange", "part", separator=" ")
    segments = {" ".join(pair): segment for pair, segment in SEGMENT_PARTS.items()}
    rows = rows.with_columns(
        # A row of an unknown segment keeps the file's own words, on no exchange of ours.
        where=parts.replace_strict(segments, default=parts, return_dtype=pl.String),
        known=parts.is_in(list(segments)),
        expiry=pl.col("expiry").str.extract(r"^(\d{4}-\d\d-\d\d)").str.to_date("%Y-%m-%d", strict=False),
        strike=_number("strike"),
    )
    rows = rows.filter(~pl.col("written").str.to_uppercase().str.contains(TEST_SYMBOL))
    rows = rows.with_columns(
        ours=pl.when("known").then(pl.col("exchange").str.to_lowercase()).otherwise(pl.lit("unknown")),
        cash=_WHERE.is_in(list(CASH_SEGMENTS)),
        token=pl.concat_str(_WHERE, "id", separator=":"),
        expiry=pl.when(pl.col("expiry").dt.year() > 1).then(pl.col("expiry").dt.to_string()),
        underlying=pl.coalesce("underlying", pl.col("written").str.extract(CONTRACT_SYMBOL)).str.to_uppercase(),
    )
    rows = _told(rows.unique("token", keep="first", maintain_order=True))
    return listing_frame(_normalized(rows), unread=unread + unread_details, absent=(*absent, *lacked))


def _read(body: bytes, columns: Mapping[str, str], raw: Sequence[str]) -> tuple[pl.DataFrame, int, Sequence[str]]:
    """Return the file's columns as texts under our names, how many rows were left out, and which columns the file lacks.

    Blanks and `NA` are null, and so are the columns of FIGURES and `raw` that the file lacks.
    """
    rows, lost = read_table(body, "an instrument file")
    listed = rows.height + lost
    absent = lacking(rows, [name for name in columns if name not in FIGURES], columns, "an instrument file")
    rows = rows.select(texts(rows, list(dict.fromkeys((*columns, *raw))))).with_columns(pl.all().replace("NA", None))
    kept = [pl.col(name).alias(ours) for name, ours in columns.items()]
    rows = rows.select(*kept, *(pl.col(name).alias(f"{RAW_PREFIX}{name}") for name in raw))
    named = pl.col("id").str.contains(r"^\d+$") & pl.col("exchange").is_not_null() & pl.col("part").is_not_null()
    if "written" in rows.columns:
        named &= pl.col("written").is_not_null()
    rows = rows.filter(named).unique(KEY, keep="first", maintain_order=True)
    return rows, listed - rows.height, absent


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    by_index = (
        pl.when(pl.col("exchange") == "MCX")
        .then(pl.lit("commodity_indices"))
        .when(pl.col("custom").str.to_uppercase().str.contains(GOVERNMENT_INDEX))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    cash, index, isin, series = pl.col("cash"), _WHERE == INDEX_SEGMENT, pl.col("isin"), pl.col("series")
    return told(
        rows,
        (pl.when(index).then(by_index), Basis.STATED),
        (pl.when(pl.col("known") & ~index & ~cash).then(_derivative_segment()), Basis.STATED),
        (pl.when(cash).then(by_series(pl.col("ours"), series)), Basis.STATED),
        (pl.when(cash).then(by_isin(isin)), Basis.ISIN),
        (pl.when(cash).then(share_by_series(isin, series)), Basis.SUPPOSED),
    )


def _derivative_segment() -> pl.Expr:
    kinds = {" ".join(pair): bare for pair, bare in KINDS.items()}
    named = pl.concat_str("part", "kind", separator=" ").replace_strict(kinds, default=None, return_dtype=pl.String)
    pair = pl.col("underlying").str.contains(CURRENCY_PAIR)
    rate = named.str.starts_with("currency") & ~pair
    named = pl.when(rate).then(named.str.replace("currency", "fixed_income")).otherwise(named)
    option = named.str.ends_with("_options")
    complete = pl.col("underlying").is_not_null() & pl.col("expiry").is_not_null()
    complete &= ~option | ((pl.col("strike") > 0) & pl.col("option").is_in(["CE", "PE"]))
    return pl.when(complete).then(named)


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived, option = pl.col("bare").str.contains("_(futures|options)$"), pl.col("bare").str.ends_with("_options")
    index, speaks_lots = _WHERE == INDEX_SEGMENT, _WHERE.is_in(list(LOT_SEGMENTS))
    # NSE's own name of an index is in the custom symbol (`NIFTY` is Nifty 50); BSE's is in the trading symbol.
    index_name = (
        pl.when(pl.col("exchange") == "NSE").then(pl.coalesce("custom", "written")).otherwise(pl.col("written"))
    )
    symbol = pl.when(index).then(index_name).otherwise(pl.col("written")).str.to_uppercase()
    cash, fits = pl.col("cash"), pl.col("bare") != UNCATEGORISED
    symbol = pl.when(cash).then(listed_symbol(pl.col("ours"), symbol, pl.col("series"))).otherwise(symbol)
    lot, tick, freeze = _number("lot"), _number("tick"), _number("freeze")
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(~derived).then(symbol),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike")),
        option_type=pl.when(option).then(pl.col("option")),
        name=pl.when(derived)
        .then(pl.col("underlying"))
        .when(index)
        .then(pl.col("custom"))
        .otherwise(pl.coalesce("name", "custom")),
        isin=pl.when(pl.col("isin").str.contains(ISIN_PATTERN)).then(pl.col("isin")),
        # Lots of unknown size have neither a lot nor a freeze quantity in units.
        lot_size=pl.when(~speaks_lots & ~index & (lot >= 1)).then(lot).cast(pl.Int64),
        tick_size=pl.when(tick > 0).then(pl.when(index).then(tick).otherwise(tick / 100)),
        freeze_quantity=pl.when(~speaks_lots & (freeze > 1)).then(freeze.floor()).cast(pl.Int64),
        contract_units=pl.when(~speaks_lots).then(pl.lit(1)).cast(pl.Int64),
        broker_token=pl.col("token"),
        tradingsymbol=pl.col("written"),
        broker_exchange=_WHERE,
        # The candle calls must name a contract's kind of instrument (`values.instrument`).
        other_names=pl.when(~_WHERE.is_in([*CASH_SEGMENTS, INDEX_SEGMENT])).then(pl.col("kind")),
        basis=pl.col("basis"),
        series=pl.when(cash).then(pl.col("series")),
        exchange_token=pl.when(cash | (fits & ~index)).then(pl.col("id")),
        short_name=pl.when(index).then(pl.col("written")),
        words=broker_words(pl.col("bare"), pl.col("exchange"), pl.col("part"), pl.col("kind"), pl.col("series")),
        **{f"{RAW_PREFIX}{name}": _raw(name) for name in (*COMPACT_RAW, *DETAILED_RAW)},
    )


def _raw(name: str) -> pl.Expr:
    column = pl.col(f"{RAW_PREFIX}{name}")
    if name not in LIMITS:
        return column
    return pl.when(column.cast(pl.Float64, strict=False) > 0).then(column)
