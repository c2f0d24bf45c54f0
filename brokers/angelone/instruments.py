"""SmartAPI's instrument file (one JSON list of all exchanges, every value a text) into the normalized frame.

Sources: SmartAPI documentation, instruments, and rows of other projects' test data; not re-read by us. Segments are
derived from instrumenttype, NSE's series and words of the symbol (general knowledge, unchecked). ISIN and freeze quantity
are not in the file. Ticks and strikes are paise, strikes of the currency exchange ten-millionths of a rupee.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl

from onebroker.brokers.angelone.values import (
    CASH_EXCHANGES,
    CURRENCY_KINDS,
    CURRENCY_UNITS,
    EXCHANGES,
    LONG_EXCHANGES,
    LOT_EXCHANGES,
)
from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.json_listings import json_columns, text_column
from onebroker.brokers.listings.frame import (
    GOVERNMENT_INDEX,
    NSE_SHARES,
    Basis,
    broker_words,
    by_series,
    first_match,
    listed_symbol,
    listing_frame,
    told,
)
from onebroker.brokers.listings.mcx_contracts import trading_unit_of, units_of
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

COLUMNS = ("token", "symbol", "name", "expiry", "strike", "lotsize", "instrumenttype", "exch_seg", "tick_size")
RAW_COLUMNS = ("token", "instrumenttype")
"""Columns that no other column of the frame carries."""

INDEX_KIND = "AMXIDX"
INDEX_HEADS = {
    "NSE": "equity", "BSE": "equity", "MCX": "commodity", "NCDEX": "commodity", "NCO": "commodity", "CDS": "currency",
}  # fmt: skip
DERIVATIVE_KINDS: Mapping[str, str] = {
    "FUTIDX": "equity_index_futures",
    "OPTIDX": "equity_index_options",
    "FUTSTK": "equity_futures",
    "OPTSTK": "equity_options",
    "FUTCUR": "currency_futures",
    "OPTCUR": "currency_options",
    "FUTIRC": "fixed_income_futures",
    "OPTIRC": "fixed_income_options",
    "FUTCOM": "commodity_futures",
    "OPTFUT": "commodity_options",
    "OPTCOM": "commodity_options",
}
"""instrumenttype -> bare segment. COMDTY is not included: these are the goods themselves, which are quoted but not listed."""
KINDS_OF = {
    **dict.fromkeys(("NFO", "BFO"), ("FUTIDX", "OPTIDX", "FUTSTK", "OPTSTK")),
    "CDS": ("FUTCUR", "OPTCUR", "FUTIRC", "OPTIRC"),
    **dict.fromkeys(("MCX", "NCDEX", "NCO"), ("FUTCOM", "OPTFUT", "OPTCOM", "FUTIDX", "OPTIDX")),
}
"""Exchange -> the kinds that are listed there; on a commodity exchange an index is an index of goods."""

SYMBOL_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"ETF|BEES$", "exchange_traded_funds"),
    (r"(REIT|INVIT)$", "investment_trusts"),
    (r"%|\d{3,4}GOI|\bSDL\b|^SGB|-PVT$|^\d.*\d\d$", "fixed_income"),
)
"""Words of a security's symbol -> segment, the first match counts; all others are shares. BSE's symbols carry no group;
there the symbol of fixed-income paper begins with its rate and ends with its year."""

PLAIN_SERIES = "EQ"
"""The series of an NSE symbol without a suffix (the series follows the symbol). A row in an unknown series shows neither
its kind nor that an ordinary order belongs there."""

_CODE, _SYMBOL, _KIND = pl.col("exch_seg"), pl.col("symbol"), pl.col("instrumenttype")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the call for the whole file; it needs no login."""
    yield WireRequest(kind=CallKind.FILE, method="GET", url=access.endpoints.instruments_url)


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    Raises `BadAnswer` for a body that is not the file.
    """
    rows, unread = _frame(bodies[0])
    rows = rows.with_columns(
        ours=_CODE.replace_strict(EXCHANGES, default="unknown"),
        underlying=pl.col("name").str.to_uppercase(),
        expiry=pl.col("expiry").str.to_date("%d%b%Y", strict=False).dt.to_string(),
        strike=_strike(),
        future=_KIND.str.starts_with("FUT"),
        option=_KIND.str.starts_with("OPT"),
        side=_SYMBOL.str.to_uppercase().str.extract(r"\d(CE|PE)$"),
        suffix=pl.when(_CODE == "NSE").then(_SYMBOL.str.to_uppercase().str.extract(r"-([A-Z0-9]{1,2})$")),
        cash=_CODE.is_in(CASH_EXCHANGES) & (_KIND == ""),
    )
    upper = _SYMBOL.str.to_uppercase()
    stem = upper.str.replace(r"-[A-Z0-9]{1,2}$", "")
    rows = rows.with_columns(
        base=pl.when(pl.col("suffix").is_not_null()).then(stem).otherwise(upper),
        series=pl.when(pl.col("cash") & (_CODE == "NSE")).then(pl.col("suffix").fill_null(PLAIN_SERIES)),
    )
    return listing_frame(_normalized(_told(rows)), unread=unread)


def _frame(body: bytes) -> tuple[pl.DataFrame, int]:
    """Return the file's columns as texts, and how many rows were left out: they are not objects, or name no instrument."""
    cells, lost = json_columns(body, COLUMNS)
    frame = pl.DataFrame([text_column(name, cells[name]) for name in COLUMNS])
    listed = frame.height
    frame = frame.drop_nulls(_NAMING)
    if frame.is_empty():
        raise BadAnswer("the instrument file names no instrument")
    frame = frame.with_columns(
        _CODE.str.to_uppercase().replace(LONG_EXCHANGES), _KIND.str.to_uppercase().fill_null("")
    ).unique(["exch_seg", "token"], keep="first", maintain_order=True)
    return frame, lost + listed - frame.height


_NAMING = ("token", "symbol", "exch_seg")


def _strike() -> pl.Expr:
    strike = pl.col("strike").cast(pl.Float64, strict=False)
    return pl.when(_CODE == "CDS").then(strike / 10_000_000).otherwise(strike / 100)


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the segment. The file has no ISIN: for everything that trades like a share, words in its symbol decide."""
    by_index = pl.coalesce(
        pl.when(_SYMBOL.str.to_uppercase().str.contains(GOVERNMENT_INDEX)).then(pl.lit("fixed_income_indices")),
        _CODE.replace_strict({code: f"{head}_indices" for code, head in INDEX_HEADS.items()}, default=UNCATEGORISED),
    )
    cash, index, series = pl.col("cash"), _KIND == INDEX_KIND, pl.col("series")
    like_a_share = cash & (series.is_null() | series.str.contains(NSE_SHARES))
    return told(
        rows,
        (pl.when(index).then(by_index), Basis.STATED),
        (pl.when(~index & ~cash).then(_derivative_segment()), Basis.STATED),
        (pl.when(cash).then(by_series(pl.col("ours"), series)), Basis.STATED),
        (pl.when(like_a_share).then(first_match(pl.col("base"), SYMBOL_SEGMENTS)), Basis.WORDS),
        (pl.when(like_a_share).then(pl.lit("equities")), Basis.SUPPOSED),
    )


def _derivative_segment() -> pl.Expr:
    here = pl.any_horizontal(*((code == _CODE) & _KIND.is_in(kinds) for code, kinds in KINDS_OF.items()))
    segment = _KIND.replace_strict(DERIVATIVE_KINDS, default=None, return_dtype=pl.String)
    on_goods = _CODE.is_in(["MCX", "NCDEX", "NCO"])
    segment = pl.when(on_goods).then(segment.str.replace("^equity_index", "commodity_index")).otherwise(segment)
    complete = pl.col("underlying").str.len_chars().gt(0) & pl.col("expiry").is_not_null()
    complete &= pl.col("future") | (pl.col("side").is_not_null() & (pl.col("strike") > 0))
    return pl.when(here & complete).then(segment)


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    option = derived & pl.col("option")
    cash, index, fits = pl.col("cash"), _KIND == INDEX_KIND, pl.col("bare") != UNCATEGORISED
    in_series = listed_symbol(pl.col("ours"), pl.col("base"), pl.col("series"))
    symbol = pl.when(cash).then(in_series).otherwise(_SYMBOL.str.to_uppercase())
    lot = pl.col("lotsize").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    tick = pl.col("tick_size").cast(pl.Float64, strict=False)
    speaks_lots = _CODE.is_in(LOT_EXCHANGES)
    units = _contract_units(lot)
    goods = _CODE == "MCX"
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(~derived).then(symbol),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike")),
        option_type=pl.when(option).then(pl.col("side")),
        name=pl.col("name"),
        lot_size=pl.when(speaks_lots).then(units).otherwise(pl.when(lot > 0).then(lot)),
        tick_size=pl.when(tick > 0).then((tick / 100).round(6)),
        contract_units=pl.when(goods)
        .then(pl.when(lot == 1).then(units))
        .when(speaks_lots)
        .then(units)
        .otherwise(pl.lit(1)),
        broker_token=_CODE + "|" + pl.col("token"),
        tradingsymbol=_SYMBOL,
        broker_exchange=_CODE,
        basis=pl.col("basis"),
        series=pl.col("series"),
        exchange_token=pl.when(cash | (fits & ~index)).then(pl.col("token")),
        short_name=pl.when(index).then(pl.col("name")),
        words=broker_words(pl.col("bare"), _CODE, _KIND, pl.col("series")),
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )


def _contract_units(lot: pl.Expr) -> pl.Expr:
    """Units in one contract where SmartAPI counts in lots; null = not known.

    MCX's lotsize is the exchange's trading unit (GOLD 1, quoted per 10 grams: 100 units). So where the file and the table
    of these contracts agree on it, the table gives the units. On other exchanges a lotsize is trusted only above 1.
    """
    expires, underlying = pl.col("expiry"), pl.col("underlying")
    return (
        pl.when(_KIND.is_in(CURRENCY_KINDS))
        .then(pl.lit(CURRENCY_UNITS))
        .when(_CODE == "MCX")
        .then(pl.when(lot == trading_unit_of(underlying, expires)).then(units_of(underlying, expires)))
        .when((_CODE != "CDS") & (lot > 1))
        .then(lot)
    )
