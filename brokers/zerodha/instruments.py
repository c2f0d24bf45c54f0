"""Kite's instrument file (one CSV of all exchanges) into the normalized frame.

Sources: Zerodha's recorded file; Kite Connect 3 documentation, market-quotes, not re-read by us. Segments are told from the
file's own fields, by words and series that are general knowledge, unchecked. ISIN and freeze quantity are not in the file, nor
are the units per lot where its lot_size is 1 (currency, commodity).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl
from polars.exceptions import PolarsError

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.listings import GOVERNMENT_INDEX, NSE_SERIES, RAW_PREFIX, first_match, listing_frame
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.brokers.zerodha.values import COMMODITY_UNITS, CURRENCY_UNITS, EXCHANGES, LOT_EXCHANGES
from onebroker.brokers.zerodha.wire import VERSION
from onebroker.config.instruments import UNCATEGORISED

COLUMNS = (
    "instrument_token", "exchange_token", "tradingsymbol", "name", "last_price", "expiry", "strike", "tick_size",
    "lot_size", "instrument_type", "segment", "exchange",
)  # fmt: skip
RAW_COLUMNS = ("exchange_token", "last_price", "instrument_type", "segment")
"""What nothing else carries."""

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
"""Kite's exchange -> head of the derivative's segment; interest rate contracts on CDS and BCD are told by the underlying."""

SERIES_SEGMENTS: Sequence[tuple[str, str]] = (
    *NSE_SERIES,
    (r"^(EQ|BE|BZ|SM|ST|SZ|E[0-9]|X[0-9])$", ""),  # shares (and funds, by name): all that is traded like them
)
"""NSE series (the two characters behind the symbol) -> segment; no suffix is series EQ. A series that is not here, such
as the block window BL, says neither what it is nor that an ordinary order belongs there: uncategorised."""

NAME_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"\bETF\b|BEES\b|EXCHANGE[ -]TR", "exchange_traded_funds"),
    (r"\bREIT\b|\bINVIT\b|(INFRA\w*|INVESTMENT|OFFICE PARKS) TRUST", "investment_trusts"),
    (r"\bFUND\b", "mutual_funds"),
    (r"%|\d{3,4}GOI|\bSDL\b|\bNCDS?\b|\bBONDS?\b|\bSGB|T-?BILL|-PVT$", "fixed_income"),
)
"""Words of a security's name (and symbol) -> segment, first that fits; the rest are shares."""
SYMBOL_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"(ETF|BEES)$", "exchange_traded_funds"),
    (r"(REIT|INVIT)$", "investment_trusts"),
)

CURRENCY_PAIR = r"^(USD|EUR|GBP|JPY)(INR|USD|JPY)$"
INDEX_BRANDS = ["NIFTY", "SENSEX", "BANKEX"]
"""Names under which NSE and BSE list contracts on their own indices, for a file whose index rows are missing."""

_CODE, _SYMBOL, _NAME = pl.col("exchange"), pl.col("tradingsymbol"), pl.col("name")
_SEGMENT, _TYPE = pl.col("segment"), pl.col("instrument_type")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """The whole file needs no login."""
    yield WireRequest(
        kind=CallKind.FILE,
        method="GET",
        url=access.endpoints.instruments_url,
        headers={"X-Kite-Version": VERSION},
    )


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names nothing is dropped, one that fits nothing is uncategorised.

    Raises `BadAnswer` for a body that is not the file.
    """
    rows = _read(bodies[0])
    rows = rows.with_columns(
        ours=_CODE.replace_strict(EXCHANGES, default="unknown"),
        expiry=pl.col("expiry").str.to_date("%Y-%m-%d", strict=False).dt.to_string(),
        strike=pl.col("strike").cast(pl.Float64, strict=False),
        series=pl.when(_SEGMENT == "NSE").then(_SYMBOL.str.extract(r"-([A-Z0-9]{2})$")),
        future=_TYPE == "FUT",
        option=_TYPE.is_in(["CE", "PE"]),
    )
    rows = rows.with_columns(base=pl.when(pl.col("series").is_not_null()).then(_SYMBOL.str.head(-3)).otherwise(_SYMBOL))
    rows = rows.with_columns(underlying=pl.when(pl.col("future") | pl.col("option")).then(_underlying()))
    rows = rows.with_columns(bare=_bare_segment(rows))
    return listing_frame(_normalized(rows))


def _read(body: bytes) -> pl.DataFrame:
    try:
        rows = pl.read_csv(body, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy")
    except PolarsError as error:
        raise BadAnswer(f"the instrument file cannot be read: {error}") from error
    missing = [name for name in COLUMNS if name not in rows.columns]
    if missing:
        raise BadAnswer(f"the instrument file has no column {', '.join(missing)}")
    rows = rows.select(pl.col(name).str.strip_chars().replace("", None) for name in COLUMNS)
    named = pl.col("instrument_token").str.contains(r"^\d+$") & _SYMBOL.is_not_null() & _CODE.is_not_null()
    return (
        rows.filter(named)
        .unique("instrument_token", keep="first", maintain_order=True)
        .with_columns(_SYMBOL.alias("written"), _SYMBOL.str.to_uppercase(), _NAME.str.to_uppercase().alias("words"))
    )


def _underlying() -> pl.Expr:
    """The name; older files leave it blank, and then it is the symbol without its type, strike and five characters of
    expiry (`18JAN`, and `25807` for weekly contracts)."""
    strike = pl.col("strike").cast(pl.String).str.strip_suffix(".0")
    stem = pl.when(pl.col("option")).then(_SYMBOL.str.head(-2).str.strip_suffix(strike)).otherwise(_SYMBOL.str.head(-3))
    return pl.coalesce(pl.col("words"), stem.str.head(-5))


def _bare_segment(rows: pl.DataFrame) -> pl.Expr:
    by_index = pl.coalesce(
        pl.when(pl.col("words").str.contains(GOVERNMENT_INDEX)).then(pl.lit("fixed_income_indices")),
        _CODE.replace_strict({code: f"{head}_indices" for code, head in INDEX_HEADS.items()}, default=UNCATEGORISED),
    )
    return (
        pl.when(_SEGMENT == INDEX_SEGMENT)
        .then(by_index)
        .when(pl.col("future") | pl.col("option"))
        .then(_derivative_segment(rows))
        .when(_SEGMENT.is_in(CASH_SEGMENTS) & (_TYPE == "EQ"))
        .then(_cash_segment())
        .otherwise(pl.lit(UNCATEGORISED))
    )


def _cash_segment() -> pl.Expr:
    by_series = first_match(pl.col("series").fill_null("EQ"), SERIES_SEGMENTS)
    by_name = pl.coalesce(
        first_match(pl.col("base"), SYMBOL_SEGMENTS),
        first_match(pl.col("words"), NAME_SEGMENTS),
        first_match(_SYMBOL, NAME_SEGMENTS[-1:]),
        pl.lit("equities"),
    )
    return pl.when(by_series == "").then(by_name).otherwise(by_series.fill_null(UNCATEGORISED))


def _derivative_segment(rows: pl.DataFrame) -> pl.Expr:
    currency = pl.col("underlying").str.contains(CURRENCY_PAIR)
    head = _CODE.replace_strict(DERIVATIVE_HEADS, default=None)
    head = pl.when((head == "currency") & ~currency).then(pl.lit("fixed_income")).otherwise(head)
    index = pl.when(_on_index(rows)).then(pl.lit("_index")).otherwise(pl.lit(""))
    shape = pl.when(pl.col("future")).then(pl.lit("_futures")).otherwise(pl.lit("_options"))
    complete = pl.col("underlying").str.len_chars().gt(0) & pl.col("expiry").is_not_null()
    complete &= pl.col("future") | (pl.col("strike") > 0)
    return pl.when(complete & head.is_not_null()).then(head + index + shape).otherwise(pl.lit(UNCATEGORISED))


def _on_index(rows: pl.DataFrame) -> pl.Expr:
    """Whether the underlying is an index: one of the file's own; else no share of the file and named after a family of
    its indices (`NIFTY 50` heads the family of BANKNIFTY) or a brand."""
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
    # A share can be listed in two series at once and an issuer's debentures are many: then the series stays in the symbol.
    alone = pl.len().over("ours", "bare", "base") == 1
    keep = (pl.col("bare") == UNCATEGORISED) | ~alone
    units = _contract_units()
    speaks_lots = _CODE.is_in(LOT_EXCHANGES)
    listed_lot = pl.col("lot_size").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    tick = pl.col("tick_size").cast(pl.Float64, strict=False)
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(~derived).then(pl.when(keep).then(_SYMBOL).otherwise(pl.col("base"))),
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
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )


def _contract_units() -> pl.Expr:
    """Units in one lot where Kite speaks lots; null = not known."""
    table: Mapping[str, int] = COMMODITY_UNITS
    return (
        pl.when(pl.col("bare").str.contains("^currency_(futures|options)$"))
        .then(pl.lit(CURRENCY_UNITS))
        .when(_CODE == "MCX")
        .then(pl.col("underlying").replace_strict(table, default=None, return_dtype=pl.Int64))
    )
