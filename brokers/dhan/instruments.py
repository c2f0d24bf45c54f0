"""Dhan's two instrument files into the normalized frame: the compact CSV has the trading symbols, the detailed one ISIN, freeze
quantity and circuit limits.

Sources: rows of both files seen in public projects; DhanHQ v2 documentation, "Instrument List", not re-read by us. Segments are
told from the files' own fields, by series and ISIN codes that are general knowledge, unchecked. Tick sizes are paise, of
indices rupees. Neither file has the units per lot of currency and commodity contracts: lot 1 stands there. Contracts that
expired years ago linger in the files and come out as they stand: without a clock nobody here knows the day.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl
from polars.exceptions import PolarsError

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.dhan.values import CASH_SEGMENTS, INDEX_SEGMENT, LOT_SEGMENTS, SEGMENT_PARTS
from onebroker.brokers.dhan.wire import COMPACT_FILE, DETAILED_FILE
from onebroker.brokers.listings import (
    BSE_GROUPS,
    GOVERNMENT_INDEX,
    ISIN_SEGMENTS,
    NSE_SERIES,
    RAW_PREFIX,
    SHARE_SERIES,
    first_match,
    listing_frame,
)
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
"""Column of the detailed file -> ours; the first three join it to the compact one."""
KEY = ("exchange", "part", "id")

COMPACT_RAW = ("SEM_EXPIRY_CODE", "SEM_CUSTOM_SYMBOL", "SEM_EXCH_INSTRUMENT_TYPE", "SEM_SERIES", "SEM_EXPIRY_FLAG")
DETAILED_RAW = (
    "UNDERLYING_SECURITY_ID", "SYMBOL_NAME", "BRACKET_FLAG", "COVER_FLAG", "ASM_GSM_FLAG", "ASM_GSM_CATEGORY",
    "BUY_SELL_INDICATOR", "BUY_CO_MIN_MARGIN_PER", "BUY_CO_SL_RANGE_MAX_PERC", "BUY_CO_SL_RANGE_MIN_PERC",
    "BUY_BO_MIN_MARGIN_PER", "BUY_BO_PROFIT_RANGE_MAX_PERC", "BUY_BO_PROFIT_RANGE_MIN_PERC", "MTF_LEVERAGE",
    "SM_UPPER_LIMIT", "SM_LOWER_LIMIT",
)  # fmt: skip
"""What nothing else carries; the limits are rupees, zero = none."""
LIMITS = ("SM_UPPER_LIMIT", "SM_LOWER_LIMIT")

SERIES_SEGMENTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "NSE_EQ": NSE_SERIES,
    "BSE_EQ": BSE_GROUPS,
}
"""Segment -> series (NSE) or group (BSE) -> what is listed there and nowhere else."""

KINDS: Mapping[tuple[str, str], str] = {
    ("D", "FUTIDX"): "equity_index_futures", ("D", "OPTIDX"): "equity_index_options",
    ("D", "FUTSTK"): "equity_futures", ("D", "OPTSTK"): "equity_options",
    ("C", "FUTCUR"): "currency_futures", ("C", "OPTCUR"): "currency_options",
    ("M", "FUTCOM"): "commodity_futures", ("M", "OPTFUT"): "commodity_options", ("M", "OPTCOM"): "commodity_options",
    ("M", "FUTIDX"): "commodity_index_futures", ("M", "OPTIDX"): "commodity_index_options",
}  # fmt: skip
"""(segment, instrument) -> bare segment. What is traded with currencies and is no pair of them is an interest rate."""
CURRENCY_PAIR = r"^(USD|EUR|GBP|JPY)(INR|USD|JPY)$"

TEST_SYMBOL = r"^\d*(NSE|BSE|MCX)TEST"
"""The exchanges' own test symbols stand in the files."""
CONTRACT_SYMBOL = r"^(.+)-(?:\d{1,2})?[A-Za-z]{3}\d{4}-"
"""Trading symbol of a contract -> its underlying, where the detailed file names none."""

_WHERE = pl.col("where")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """The compact file, then the detailed one; neither needs a login."""
    for name in (COMPACT_FILE, DETAILED_FILE):
        yield WireRequest(kind=CallKind.FILE, method="GET", url=f"{access.endpoints.instruments_url}{name}")


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names nothing is dropped, one that fits nothing is uncategorised.

    Raises `BadAnswer` for a body that is not the file.
    """
    compact, detailed = bodies
    rows = _read(compact, COMPACT_COLUMNS, COMPACT_RAW).join(
        _read(detailed, DETAILED_COLUMNS, DETAILED_RAW), on=KEY, how="left", maintain_order="left"
    )
    parts = pl.concat_str("exchange", "part", separator=" ")
    segments = {" ".join(pair): segment for pair, segment in SEGMENT_PARTS.items()}
    rows = rows.with_columns(
        where=parts.replace_strict(segments, default=None, return_dtype=pl.String),
        ours=pl.col("exchange").str.to_lowercase(),
        expiry=pl.col("expiry").str.extract(r"^(\d{4}-\d\d-\d\d)").str.to_date("%Y-%m-%d", strict=False),
        strike=_number("strike"),
    )
    rows = rows.filter(_WHERE.is_not_null() & ~pl.col("written").str.to_uppercase().str.contains(TEST_SYMBOL))
    rows = rows.with_columns(
        token=pl.concat_str(_WHERE, "id", separator=":"),
        expiry=pl.when(pl.col("expiry").dt.year() > 1).then(pl.col("expiry").dt.to_string()),
        underlying=pl.coalesce("underlying", pl.col("written").str.extract(CONTRACT_SYMBOL)).str.to_uppercase(),
    )
    rows = rows.unique("token", keep="first", maintain_order=True).with_columns(bare=_bare_segment())
    return listing_frame(_normalized(rows))


def _read(body: bytes, columns: Mapping[str, str], raw: Sequence[str]) -> pl.DataFrame:
    """Return the file's columns as texts under our names, blanks and `NA` null; what a file lacks of `raw` is null."""
    try:
        rows = pl.read_csv(body, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy")
    except PolarsError as error:
        raise BadAnswer(f"an instrument file cannot be read: {error}") from error
    missing = [name for name in columns if name not in rows.columns]
    if missing:
        raise BadAnswer(f"an instrument file has no column {', '.join(missing)}")
    kept = [pl.col(name).alias(ours) for name, ours in columns.items()]
    kept += [
        (pl.col(name) if name in rows.columns else pl.lit(None, pl.String)).alias(f"{RAW_PREFIX}{name}") for name in raw
    ]
    rows = (
        rows.select(kept)
        .with_columns(pl.all().str.strip_chars())
        .with_columns(pl.when(~pl.all().is_in(["", "NA"])).then(pl.all()))
    )
    named = pl.col("id").str.contains(r"^\d+$") & pl.col("exchange").is_not_null() & pl.col("part").is_not_null()
    if "written" in rows.columns:
        named &= pl.col("written").is_not_null()
    return rows.filter(named).unique(KEY, keep="first", maintain_order=True)


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _bare_segment() -> pl.Expr:
    by_index = (
        pl.when(pl.col("exchange") == "MCX")
        .then(pl.lit("commodity_indices"))
        .when(pl.col("custom").str.to_uppercase().str.contains(GOVERNMENT_INDEX))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    return (
        pl.when(_WHERE == INDEX_SEGMENT)
        .then(by_index)
        .when(_WHERE.is_in(list(CASH_SEGMENTS)))
        .then(_cash_segment())
        .otherwise(_derivative_segment())
    )


def _cash_segment() -> pl.Expr:
    isin, series = pl.col("isin"), pl.col("series")
    return pl.coalesce(
        *(pl.when(code == _WHERE).then(first_match(series, patterns)) for code, patterns in SERIES_SEGMENTS.items()),
        first_match(isin, ISIN_SEGMENTS),
        pl.when(isin.is_null() & series.str.contains(SHARE_SERIES)).then(pl.lit("equities")),
        pl.lit(UNCATEGORISED),
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
    return pl.when(complete & named.is_not_null()).then(named).otherwise(pl.lit(UNCATEGORISED))


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived, option = pl.col("bare").str.contains("_(futures|options)$"), pl.col("bare").str.ends_with("_options")
    index, speaks_lots = _WHERE == INDEX_SEGMENT, _WHERE.is_in(list(LOT_SEGMENTS))
    # NSE's own name of an index is the custom symbol (`NIFTY` is Nifty 50); BSE's is the trading symbol.
    index_name = (
        pl.when(pl.col("exchange") == "NSE").then(pl.coalesce("custom", "written")).otherwise(pl.col("written"))
    )
    symbol = pl.when(index).then(index_name).otherwise(pl.col("written")).str.to_uppercase()
    rows = rows.with_columns(symbol=pl.when(~derived).then(symbol))
    # A share can be listed in two series at once, and an issuer's debentures can share a symbol: then the series tells them
    # apart.
    alone = pl.len().over("ours", "bare", "symbol") == 1
    lot, tick, freeze = _number("lot"), _number("tick"), _number("freeze")
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(alone | pl.col("series").is_null() | index)
        .then(pl.col("symbol"))
        .otherwise(pl.col("symbol") + "-" + pl.col("series")),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike")),
        option_type=pl.when(option).then(pl.col("option")),
        name=pl.when(derived)
        .then(pl.col("underlying"))
        .when(index)
        .then(pl.col("custom"))
        .otherwise(pl.coalesce("name", "custom")),
        isin=pl.when(pl.col("isin").str.contains("^IN[A-Z0-9]{10}$")).then(pl.col("isin")),
        # Lots of a size not known have neither a lot nor a freeze quantity in units.
        lot_size=pl.when(~speaks_lots & ~index & (lot >= 1)).then(lot).cast(pl.Int64),
        tick_size=pl.when(tick > 0).then(pl.when(index).then(tick).otherwise(tick / 100)),
        freeze_quantity=pl.when(~speaks_lots & (freeze > 1)).then(freeze.floor()).cast(pl.Int64),
        contract_units=pl.when(~speaks_lots).then(pl.lit(1)).cast(pl.Int64),
        broker_token=pl.col("token"),
        tradingsymbol=pl.col("written"),
        broker_exchange=_WHERE,
        # The candle calls must name a contract's kind of instrument (`values.instrument`).
        other_names=pl.when(~_WHERE.is_in([*CASH_SEGMENTS, INDEX_SEGMENT])).then(pl.col("kind")),
        **{f"{RAW_PREFIX}{name}": _raw(name) for name in (*COMPACT_RAW, *DETAILED_RAW)},
    )


def _raw(name: str) -> pl.Expr:
    column = pl.col(f"{RAW_PREFIX}{name}")
    if name not in LIMITS:
        return column
    return pl.when(column.cast(pl.Float64, strict=False) > 0).then(column)
