"""5paisa's instrument file (one gzipped CSV of all exchanges) into the normalized frame.

Source: docs/brokers/fivepaisa.md, section 4 and its sample rows; an older file has other names for some columns. Segments
are derived from the file's own fields: script type, series, ISIN, the rows of its indices. Words, series and ISIN kinds
are general knowledge, unchecked. Ticks and strikes are rupees. `QtyLimit` is the largest quantity of one order, 0 when
not known.
"""

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.fivepaisa.values import CASH_SEGMENTS, EXCHANGES, FIRST_INDEX, LOT_SEGMENTS
from onebroker.brokers.listings.frame import (
    CURRENCY_PAIR,
    GOVERNMENT_INDEX,
    INDEX_BRANDS,
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
    told,
    unpacked,
)
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

COLUMNS = (
    "Exch", "ExchType", "ScripCode", "Name", "Expiry", "ScripType", "StrikeRate", "FullName", "TickSize", "LotSize",
    "QtyLimit", "Multiplier", "SymbolRoot", "BOCOAllowed", "ISIN", "ScripData", "Series",
)  # fmt: skip
NEEDED = ("Exch", "ExchType", "ScripCode", "Name", "ScripType")
OLDER_NAMES = {"CPTYPE": "ScripType", "ROOT": "SymbolRoot", "COBOALLOWED": "BOCOAllowed"}
"""Columns of the older file, in capitals without blanks -> their present names."""
RAW_COLUMNS = ("ScripType", "QtyLimit", "Multiplier", "SymbolRoot", "BOCOAllowed", "ScripData", "Series")
"""Columns that no other column of the frame carries."""

DERIVATIVE_HEADS = {
    "N:D": "equity", "B:D": "equity", "N:U": "currency", "B:U": "currency", "M:D": "commodity", "N:X": "commodity",
    "N:Y": "commodity", "B:Y": "commodity",
}  # fmt: skip
COMMODITY_INDEX = r"^MCX[A-Z]+DEX$"

_WHERE, _CODE, _NAME, _TYPE = pl.col("where"), pl.col("ScripCode"), pl.col("Name"), pl.col("ScripType")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the call for the whole file; it needs no login."""
    yield WireRequest(
        kind=CallKind.FILE, method="GET", url=access.endpoints.instruments_url, headers={"Accept-Encoding": "gzip"}
    )


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    Of contracts that are listed under several codes the highest code counts. Raises `BadAnswer` for a body that is not
    the file.
    """
    rows, unread, absent = _read(unpacked(bodies[0]))
    cash = _WHERE.is_in(CASH_SEGMENTS)
    index = cash & (pl.col("code") >= FIRST_INDEX)
    rows = rows.with_columns(
        ours=_WHERE.replace_strict(EXCHANGES, default="unknown"),
        index=index,
        cash=cash & ~index,
        series=pl.when(cash & ~index).then(pl.col("Series").str.to_uppercase()),
        # A future's type is XX; a row without a type is a future when it has no field of an option.
        future=~cash & ((_TYPE == "XX") | (_TYPE.is_null() & ~(_number("StrikeRate") > 0).fill_null(False))),
        option=~cash & _TYPE.is_in(["CE", "PE"]).fill_null(False),
        expiry=pl.col("Expiry").str.extract(r"^(\d{4}-\d\d-\d\d)").str.to_date("%Y-%m-%d", strict=False).dt.to_string(),
        strike=_number("StrikeRate"),
        underlying=pl.col("SymbolRoot").str.to_uppercase(),
    )
    return listing_frame(_normalized(_once(_told(rows))), unread=unread, absent=absent)


def _read(body: bytes) -> tuple[pl.DataFrame, int, Sequence[str]]:
    """Return the columns we know as texts, blank ones null, how many rows were left out (they name no instrument), and
    which columns the file lacks."""
    rows, lost = read_table(body)
    listed = rows.height + lost
    rows = rows.rename(_renamed(rows.columns))
    absent = lacking(rows, NEEDED, COLUMNS)
    rows = rows.select(
        (pl.col(name).str.strip_chars(" \"\r\t") if name in rows.columns else pl.lit(None, pl.String))
        .replace("", None)
        .alias(name)
        for name in COLUMNS
    )  # fmt: skip
    rows = rows.with_columns(
        where=pl.col("Exch") + ":" + pl.col("ExchType"),
        code=_CODE.str.extract(r"^0*(\d{1,18})$").cast(pl.Int64, strict=False),
        ISIN=pl.col("ISIN").str.to_uppercase(),
    )
    rows = rows.filter(pl.col("code").is_not_null() & _NAME.is_not_null() & _WHERE.is_not_null())
    if not rows.height:
        raise BadAnswer("the instrument file names no instrument")
    rows = rows.unique(["where", "code"], keep="first", maintain_order=True)
    return rows, listed - rows.height, absent


def _renamed(columns: Sequence[str]) -> dict[str, str]:
    """Map the file's columns to ours, ignoring case, blanks and older names; of two equal columns the first counts."""
    names = {**{name.upper(): name for name in COLUMNS}, **OLDER_NAMES}
    renamed: dict[str, str] = {}
    for column in columns:
        name = names.get(column.strip('\ufeff" ').replace(" ", "").upper())
        if name is not None and name not in renamed.values():
            renamed[column] = name
    # Another column may by chance have one of our names; it must not block the real column.
    return renamed | {column: f"other {column}" for column in columns if column not in renamed}


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    words = pl.concat_str("Name", "FullName", "SymbolRoot", separator=" ", ignore_nulls=True).str.to_uppercase()
    by_index = (
        pl.when(words.str.contains(GOVERNMENT_INDEX))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    cash, series, isin = pl.col("cash"), pl.col("series"), pl.col("ISIN")
    return told(
        rows,
        (pl.when(pl.col("index")).then(by_index), Basis.STATED),
        # A contract's type is XX, CE or PE; the index rows show whether it is on an index.
        (pl.when(pl.col("future") | pl.col("option")).then(_derivative_segment(rows)), Basis.WORDS),
        (pl.when(cash).then(by_series(pl.col("ours"), series)), Basis.STATED),
        (pl.when(cash).then(by_isin(isin)), Basis.ISIN),
        (pl.when(cash).then(share_by_series(isin, series)), Basis.SUPPOSED),
    )


def _derivative_segment(rows: pl.DataFrame) -> pl.Expr:
    underlying = pl.col("underlying")
    head = _WHERE.replace_strict(DERIVATIVE_HEADS, default=None, return_dtype=pl.String)
    rate = (head == "currency") & ~underlying.str.contains(CURRENCY_PAIR)
    head = pl.when(rate).then(pl.lit("fixed_income")).otherwise(head)
    on_index = _on_index(rows) | ((head == "commodity") & underlying.str.contains(COMMODITY_INDEX))
    index = pl.when(on_index).then(pl.lit("_index")).otherwise(pl.lit(""))
    shape = pl.when(pl.col("future")).then(pl.lit("_futures")).otherwise(pl.lit("_options"))
    complete = underlying.is_not_null() & pl.col("expiry").is_not_null() & head.is_not_null()
    complete &= pl.col("future") | (pl.col("strike") > 0)
    return pl.when(complete).then(head + index + shape)


def _on_index(rows: pl.DataFrame) -> pl.Expr:
    """Whether the underlying is an index: an index row of its exchange names it; or it is no share there and has a brand name."""
    result = pl.lit(False)
    underlying = pl.col("underlying")
    for exchange in ("nse", "bse"):
        here = rows.filter((pl.col("ours") == exchange) & _WHERE.is_in(CASH_SEGMENTS))
        indices, shares = here.filter(pl.col("index")), here.filter(~pl.col("index"))["Name"].str.to_uppercase()
        names = {
            name
            for column in ("Name", "SymbolRoot", "FullName", "ScripData")
            for name in indices[column].str.to_uppercase().drop_nulls()
        }
        branded = ~underlying.is_in(shares.unique().to_list()) & underlying.str.contains_any(INDEX_BRANDS)
        result |= (pl.col("where") == f"{exchange[0].upper()}:D") & (underlying.is_in(sorted(names)) | branded)
    return result


def _once(rows: pl.DataFrame) -> pl.DataFrame:
    """Of derivatives that are listed several times and otherwise identical, keep the one with the highest code."""
    key = ["ours", "bare", "underlying", "expiry", "strike", "ScripType"]
    derived = pl.col("bare").str.contains("_(futures|options)$")
    twins = pl.col("code").max().over(key)
    return rows.filter(~derived | (pl.col("code") == twins))


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    option = derived & pl.col("option")
    cash, index, fits = pl.col("cash"), pl.col("index"), pl.col("bare") != UNCATEGORISED
    in_series = listed_symbol(pl.col("ours"), _NAME, pl.col("series"))
    # Derivatives' rows call an index NIFTY, the exchange calls it NIFTY 50; its root has the exchange's name.
    own_name = pl.coalesce("SymbolRoot", "Name")
    symbol = pl.when(index).then(own_name).when(cash).then(in_series).otherwise(_NAME).str.to_uppercase()
    rows = rows.with_columns(symbol=pl.when(~derived).then(symbol), units=_contract_units())
    speaks_lots = _WHERE.is_in(LOT_SEGMENTS)
    listed_lot, tick, most = _number("LotSize"), _number("TickSize"), _number("QtyLimit")
    lot = pl.when(speaks_lots).then(pl.col("units")).otherwise(pl.when(listed_lot >= 1).then(listed_lot))
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.col("symbol"),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike")),
        option_type=pl.when(option).then(_TYPE),
        name=pl.coalesce("FullName", "Name"),
        isin=pl.when(pl.col("ISIN").str.contains(ISIN_PATTERN)).then(pl.col("ISIN")),
        lot_size=lot.cast(pl.Int64, strict=False),
        tick_size=pl.when(tick > 0).then(tick),
        freeze_quantity=pl.when(most > 1).then(most * pl.col("units")).floor().cast(pl.Int64, strict=False),
        contract_units=pl.col("units").cast(pl.Int64, strict=False),
        broker_token=_WHERE + ":" + pl.col("code").cast(pl.String),
        tradingsymbol=_NAME,
        broker_exchange=_WHERE,
        basis=pl.col("basis"),
        series=pl.col("series"),
        exchange_token=pl.when(cash | (fits & ~index)).then(pl.col("code").cast(pl.String)),
        short_name=pl.when(index).then(_NAME),
        words=broker_words(pl.col("bare"), _WHERE, _TYPE, pl.col("Series")),
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )


def _contract_units() -> pl.Expr:
    """Units in one of the broker's quantities: the file's multiplier. Null = it counts contracts and the file does not
    give their size. A multiplier of 1 is not trusted: no currency contract is one unit, and MCX's were never seen."""
    multiplier = _number("Multiplier")
    whole = (multiplier > 1) & (multiplier == multiplier.floor())
    return pl.when(_WHERE.is_in(LOT_SEGMENTS)).then(pl.when(whole).then(multiplier)).otherwise(pl.lit(1.0))
