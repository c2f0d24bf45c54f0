"""Kite's instrument file (one CSV of all exchanges) into the normalized frame.

Sources: Zerodha's recorded file; Kite Connect 3 documentation, market-quotes, not re-read by us. Segments are derived
from the file's own fields, by words and series (general knowledge, unchecked). ISIN and freeze quantity are not in the
file, nor are the units per lot where its lot_size is 1 (currency, commodity).
"""

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.listings.frame import (
    CURRENCY_PAIR,
    GOVERNMENT_INDEX,
    INDEX_BRANDS,
    NSE_SHARES,
    Basis,
    broker_words,
    by_series,
    first_match,
    lacking,
    listed_symbol,
    listing_frame,
    read_table,
    texts,
    told,
)
from onebroker.brokers.listings.mcx_contracts import units_of
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.requests import CallKind, WireRequest
from onebroker.brokers.zerodha.values import CURRENCY_UNITS, EXCHANGES, LOT_EXCHANGES
from onebroker.brokers.zerodha.wire import VERSION
from onebroker.config.instruments import UNCATEGORISED

COLUMNS = (
    "instrument_token", "exchange_token", "tradingsymbol", "name", "last_price", "expiry", "strike", "tick_size",
    "lot_size", "instrument_type", "segment", "exchange",
)  # fmt: skip
NAMING = ("instrument_token", "tradingsymbol", "name", "expiry", "strike", "instrument_type", "segment", "exchange")
"""A file without these columns is not the expected file."""
RAW_COLUMNS = ("exchange_token", "last_price", "instrument_type", "segment")
"""Columns that no other column of the frame carries."""

INDEX_SEGMENT = "INDICES"
INDEX_HEADS = {
    "NSE": "equity",
    "BSE": "equity",
    "MCX": "commodity",
    "CDS": "currency",
    "BCD": "currency",
    "NCO": "commodity",
}
CASH_SEGMENTS = ("NSE", "BSE")
DERIVATIVE_HEADS = {
    "NFO": "equity", "BFO": "equity", "CDS": "currency", "BCD": "currency", "MCX": "commodity", "NCO": "commodity",
}  # fmt: skip
"""Kite's exchange -> head of the derivative's segment; the underlying shows which contracts on CDS and BCD are on interest rates."""

PLAIN_SERIES = "EQ"
"""The series of an NSE symbol without a suffix (the series is the two characters after the symbol). A row in an unknown
series, such as the block window BL, shows neither its kind nor that an ordinary order belongs there."""

NAME_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"\bETF\b|BEES\b|EXCHANGE[ -]TR", "exchange_traded_funds"),
    (r"\bREIT\b|\bINVIT\b|(INFRA\w*|INVESTMENT|OFFICE PARKS) TRUST", "investment_trusts"),
    (r"\bFUND\b", "mutual_funds"),
    (r"%|\d{3,4}GOI|\bSDL\b|\bNCDS?\b|\bBONDS?\b|\bSGB|T-?BILL|-PVT$", "fixed_income"),
)
"""Words of a security's name (and symbol) -> segment, the first match counts; all others are shares."""
SYMBOL_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"(ETF|BEES)$", "exchange_traded_funds"),
    (r"(REIT|INVIT)$", "investment_trusts"),
)

_CODE, _SYMBOL, _NAME = pl.col("exchange"), pl.col("tradingsymbol"), pl.col("name")
_SEGMENT, _TYPE = pl.col("segment"), pl.col("instrument_type")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the call for the whole file; it needs no login."""
    yield WireRequest(
        kind=CallKind.FILE,
        method="GET",
        url=access.endpoints.instruments_url,
        headers={"X-Kite-Version": VERSION},
    )


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    Raises `BadAnswer` for a body that is not the file.
    """
    rows, unread, absent = _read(bodies[0])
    rows = rows.with_columns(
        ours=_CODE.replace_strict(EXCHANGES, default="unknown"),
        expiry=pl.col("expiry").str.to_date("%Y-%m-%d", strict=False).dt.to_string(),
        strike=pl.col("strike").cast(pl.Float64, strict=False),
        suffix=pl.when(_SEGMENT == "NSE").then(_SYMBOL.str.extract(r"-([A-Z0-9]{2})$")),
        cash=_SEGMENT.is_in(CASH_SEGMENTS) & (_TYPE == "EQ").fill_null(False),
        future=_TYPE == "FUT",
        option=_TYPE.is_in(["CE", "PE"]),
    )
    rows = rows.with_columns(
        base=pl.when(pl.col("suffix").is_not_null()).then(_SYMBOL.str.head(-3)).otherwise(_SYMBOL),
        series=pl.when(pl.col("cash") & (_SEGMENT == "NSE")).then(pl.col("suffix").fill_null(PLAIN_SERIES)),
        underlying=pl.when(pl.col("future") | pl.col("option")).then(_underlying()),
    )
    return listing_frame(_normalized(_told(rows)), unread=unread, absent=absent)


def _read(body: bytes) -> tuple[pl.DataFrame, int, Sequence[str]]:
    """Return the rows, how many rows were left out, and which columns the file lacks."""
    rows, lost = read_table(body)
    absent = lacking(rows, NAMING, COLUMNS)
    listed = rows.height + lost
    rows = rows.select(texts(rows, COLUMNS))
    named = pl.col("instrument_token").str.contains(r"^\d+$") & _SYMBOL.is_not_null() & _CODE.is_not_null()
    rows = rows.filter(named).unique("instrument_token", keep="first", maintain_order=True)
    unread = listed - rows.height
    rows = rows.with_columns(
        _SYMBOL.alias("written"), _SYMBOL.str.to_uppercase(), _NAME.str.to_uppercase().alias("words")
    )
    return rows, unread, absent


def _underlying() -> pl.Expr:
    """Return the underlying's name. Older files leave it blank; then it is the symbol without its type, strike and five
    characters of expiry (`18JAN`, and `25807` for weekly contracts)."""
    strike = pl.col("strike").cast(pl.String).str.strip_suffix(".0")
    stem = pl.when(pl.col("option")).then(_SYMBOL.str.head(-2).str.strip_suffix(strike)).otherwise(_SYMBOL.str.head(-3))
    return pl.coalesce(pl.col("words"), stem.str.head(-5))


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the segment. The file has no ISIN: for everything that trades like a share, words in its names decide."""
    by_index = pl.coalesce(
        pl.when(pl.col("words").str.contains(GOVERNMENT_INDEX)).then(pl.lit("fixed_income_indices")),
        _CODE.replace_strict({code: f"{head}_indices" for code, head in INDEX_HEADS.items()}, default=UNCATEGORISED),
    )
    by_name = pl.coalesce(
        first_match(pl.col("base"), SYMBOL_SEGMENTS),
        first_match(pl.col("words"), NAME_SEGMENTS),
        first_match(_SYMBOL, NAME_SEGMENTS[-1:]),
    )
    cash, index, series = pl.col("cash"), _SEGMENT == INDEX_SEGMENT, pl.col("series")
    like_a_share = cash & (series.is_null() | series.str.contains(NSE_SHARES))
    return told(
        rows,
        (pl.when(index).then(by_index), Basis.STATED),
        (pl.when(~index & (pl.col("future") | pl.col("option"))).then(_derivative_segment(rows)), Basis.WORDS),
        (pl.when(cash).then(by_series(pl.col("ours"), series)), Basis.STATED),
        (pl.when(like_a_share).then(by_name), Basis.WORDS),
        (pl.when(like_a_share).then(pl.lit("equities")), Basis.SUPPOSED),
    )


def _derivative_segment(rows: pl.DataFrame) -> pl.Expr:
    currency = pl.col("underlying").str.contains(CURRENCY_PAIR)
    head = _CODE.replace_strict(DERIVATIVE_HEADS, default=None)
    head = pl.when((head == "currency") & ~currency).then(pl.lit("fixed_income")).otherwise(head)
    index = pl.when(_on_index(rows)).then(pl.lit("_index")).otherwise(pl.lit(""))
    shape = pl.when(pl.col("future")).then(pl.lit("_futures")).otherwise(pl.lit("_options"))
    complete = pl.col("underlying").str.len_chars().gt(0) & pl.col("expiry").is_not_null()
    complete &= pl.col("future") | (pl.col("strike") > 0)
    return pl.when(complete & head.is_not_null()).then(head + index + shape)


def _on_index(rows: pl.DataFrame) -> pl.Expr:
    """Whether the underlying is an index. It is, if the file lists it as an index. Otherwise it must not be a share of
    the file, and its name must contain a family name of the file's indices (`NIFTY 50` heads the family of BANKNIFTY) or
    a brand."""
    result = pl.lit(False)
    for exchange in sorted(set(EXCHANGES.values())):
        here = rows.filter(pl.col("ours") == exchange)
        indices = here.filter(_SEGMENT == INDEX_SEGMENT)["tradingsymbol"]
        exact = indices.str.replace_all(" ", "").to_list()
        families = [word for word in indices.str.extract(r"^(\S{4,})").unique() if word]
        shares = here.filter(_SEGMENT.is_in(CASH_SEGMENTS))["base"].unique().to_list()
        underlying = pl.col("underlying")
        named = ~underlying.is_in(shares) & underlying.str.contains_any(families + INDEX_BRANDS)
        result |= (pl.col("ours") == exchange) & (underlying.is_in(exact) | named)
    return result


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    cash, fits = pl.col("cash"), pl.col("bare") != UNCATEGORISED
    symbol = pl.when(cash).then(listed_symbol(pl.col("ours"), pl.col("base"), pl.col("series"))).otherwise(_SYMBOL)
    units = _contract_units()
    speaks_lots = _CODE.is_in(LOT_EXCHANGES)
    listed_lot = pl.col("lot_size").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    tick = pl.col("tick_size").cast(pl.Float64, strict=False)
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(~derived).then(symbol),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(derived & pl.col("option")).then(pl.col("strike")),
        option_type=pl.when(derived & pl.col("option")).then(_TYPE),
        name=_NAME,
        lot_size=pl.when(speaks_lots).then(units).otherwise(pl.when(listed_lot > 0).then(listed_lot)),
        tick_size=pl.when(tick > 0).then(tick),
        contract_units=pl.when(speaks_lots).then(units).otherwise(pl.lit(1)),
        broker_token=pl.col("instrument_token"),
        tradingsymbol=pl.col("written"),
        broker_exchange=_CODE,
        basis=pl.col("basis"),
        series=pl.col("series"),
        exchange_token=pl.when(cash | (fits & (_SEGMENT != INDEX_SEGMENT))).then(pl.col("exchange_token")),
        words=broker_words(pl.col("bare"), _CODE, _SEGMENT, _TYPE, pl.col("series")),
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )


def _contract_units() -> pl.Expr:
    """Units in one lot where Kite counts in lots; null = not known."""
    return (
        pl.when(pl.col("bare").str.contains("^currency_(futures|options)$"))
        .then(pl.lit(CURRENCY_UNITS))
        .when(_CODE == "MCX")
        .then(units_of(pl.col("underlying"), pl.col("expiry")))
    )
