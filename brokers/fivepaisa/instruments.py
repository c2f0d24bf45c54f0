"""5paisa's instrument file (one gzipped CSV of all exchanges) into the normalized frame.

Source: fact sheet section 4 and its sample rows; an older file spells some columns otherwise. Segments are told from the file's
own fields: script type, series, ISIN, the rows of its indices. Words, series and ISIN kinds are general knowledge, unchecked.
Ticks and strikes are rupees. `QtyLimit` is the most of one order, 0 when not known.
"""

import gzip
import zlib
from collections.abc import Mapping, Sequence
from datetime import datetime

import polars as pl
from polars.exceptions import PolarsError

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.fivepaisa.values import CASH_SEGMENTS, EXCHANGES, FIRST_INDEX, LOT_SEGMENTS
from onebroker.brokers.listings import GOVERNMENT_INDEX, NSE_SERIES, RAW_PREFIX, first_match, listing_frame
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

COLUMNS = (
    "Exch", "ExchType", "ScripCode", "Name", "Expiry", "ScripType", "StrikeRate", "FullName", "TickSize", "LotSize",
    "QtyLimit", "Multiplier", "SymbolRoot", "BOCOAllowed", "ISIN", "ScripData", "Series",
)  # fmt: skip
NEEDED = ("Exch", "ExchType", "ScripCode", "Name", "ScripType")
OLDER_NAMES = {"CPTYPE": "ScripType", "ROOT": "SymbolRoot", "COBOALLOWED": "BOCOAllowed"}
"""Columns of the older file, in capitals without blanks -> the name they have now."""
RAW_COLUMNS = ("ScripType", "QtyLimit", "Multiplier", "SymbolRoot", "BOCOAllowed", "ScripData", "Series")
"""What nothing else carries."""

SERIES_SEGMENTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "N:C": NSE_SERIES,
    "B:C": (
        (r"^[FG]$", "fixed_income"),  # corporate and government paper
        (r"^IF$", "investment_trusts"),
    ),
}
ISIN_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"^INF", "exchange_traded_funds"),  # units of a fund, listed like a share
    (r"^INE.{4}(23|25)", "investment_trusts"),  # units of infrastructure and real estate trusts
    (r"^(IN[0-4]|INE.{4}(07|08|14|16|24))", "fixed_income"),  # governments; debentures, bonds, commercial paper
    (r"^(INE.{4}01|IN9)", "equities"),  # shares; with differing rights or partly paid
)
"""ISIN -> segment: the kind of security stands behind the issuer's four characters."""
SHARE_SERIES = r"^(EQ|BE|BZ|SM|ST|SZ|A|B|T|X|XT|Z|ZP|M|MT|P)$"
"""For a row without an ISIN."""

DERIVATIVE_HEADS = {
    "N:D": "equity", "B:D": "equity", "N:U": "currency", "B:U": "currency", "M:D": "commodity", "N:X": "commodity",
    "N:Y": "commodity", "B:Y": "commodity",
}  # fmt: skip
CURRENCY_PAIR = r"^(USD|EUR|GBP|JPY)(INR|USD|JPY)$"
"""What else is traded with the currencies is an interest rate."""
COMMODITY_INDEX = r"^MCX[A-Z]+DEX$"
INDEX_BRANDS = ["NIFTY", "SENSEX", "BANKEX"]
"""Names under which NSE and BSE list contracts on their own indices, for a file whose index rows are missing."""

_GZIP = b"\x1f\x8b"
_WHERE, _CODE, _NAME, _TYPE = pl.col("where"), pl.col("ScripCode"), pl.col("Name"), pl.col("ScripType")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """The whole file needs no login."""
    yield WireRequest(
        kind=CallKind.FILE, method="GET", url=access.endpoints.instruments_url, headers={"Accept-Encoding": "gzip"}
    )


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names nothing is dropped, one that fits nothing is uncategorised.

    Of contracts that are listed under several codes the highest counts. Raises `BadAnswer` for a body that is not the file.
    """
    rows = _read(_plain(bodies[0]))
    cash = _WHERE.is_in(CASH_SEGMENTS)
    rows = rows.with_columns(
        ours=_WHERE.replace_strict(EXCHANGES, default="unknown"),
        index=cash & (pl.col("code") >= FIRST_INDEX),
        future=~cash & (_TYPE == "XX"),
        option=~cash & _TYPE.is_in(["CE", "PE"]),
        expiry=pl.col("Expiry").str.extract(r"^(\d{4}-\d\d-\d\d)").str.to_date("%Y-%m-%d", strict=False).dt.to_string(),
        strike=_number("StrikeRate"),
        underlying=pl.col("SymbolRoot").str.to_uppercase(),
    )
    rows = rows.with_columns(bare=_bare_segment(rows))
    return listing_frame(_normalized(_once(rows)))


def _plain(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error) as error:
        raise BadAnswer(f"the instrument file cannot be unpacked: {error}") from error


def _read(body: bytes) -> pl.DataFrame:
    """Return the columns we know as texts, blank ones null; a row that names no instrument is left out."""
    try:
        rows = _csv(body, '"')
    except PolarsError:
        # A name with a quotation mark of its own: then commas in names are not kept together, and such a row is odd.
        try:
            rows = _csv(body, None)
        except PolarsError as error:
            raise BadAnswer(f"the instrument file cannot be read: {error}") from error
    rows = rows.rename(_renamed(rows.columns))
    missing = [name for name in NEEDED if name not in rows.columns]
    if missing:
        raise BadAnswer(f"the instrument file has no column {', '.join(missing)}")
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
    return rows.unique(["where", "code"], keep="first", maintain_order=True)


def _csv(body: bytes, quote: str | None) -> pl.DataFrame:
    return pl.read_csv(body, infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy", quote_char=quote)


def _renamed(columns: Sequence[str]) -> dict[str, str]:
    """Map the file's columns to ours, whatever their case, blanks and age; the first of two alike counts."""
    names = {**{name.upper(): name for name in COLUMNS}, **OLDER_NAMES}
    renamed: dict[str, str] = {}
    for column in columns:
        name = names.get(column.strip('\ufeff" ').replace(" ", "").upper())
        if name is not None and name not in renamed.values():
            renamed[column] = name
    # A stray column must not be in the way of the name it has by chance.
    return renamed | {column: f"other {column}" for column in columns if column not in renamed}


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _bare_segment(rows: pl.DataFrame) -> pl.Expr:
    words = pl.concat_str("Name", "FullName", "SymbolRoot", separator=" ", ignore_nulls=True).str.to_uppercase()
    by_index = (
        pl.when(words.str.contains(GOVERNMENT_INDEX))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    return (
        pl.when(pl.col("index"))
        .then(by_index)
        .when(_WHERE.is_in(CASH_SEGMENTS))
        .then(_cash_segment())
        .when(pl.col("future") | pl.col("option"))
        .then(_derivative_segment(rows))
        .otherwise(pl.lit(UNCATEGORISED))
    )


def _cash_segment() -> pl.Expr:
    series, isin = pl.col("Series").str.to_uppercase(), pl.col("ISIN")
    return pl.coalesce(
        *(pl.when(where == _WHERE).then(first_match(series, patterns)) for where, patterns in SERIES_SEGMENTS.items()),
        first_match(isin, ISIN_SEGMENTS),
        pl.when(isin.is_null() & series.str.contains(SHARE_SERIES)).then(pl.lit("equities")),
        pl.lit(UNCATEGORISED),
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
    return pl.when(complete).then(head + index + shape).otherwise(pl.lit(UNCATEGORISED))


def _on_index(rows: pl.DataFrame) -> pl.Expr:
    """Whether the underlying is an index: named by an index row of its exchange, else no share there and a brand."""
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
    """Keep the highest code of derivatives that are listed several times, identical otherwise."""
    key = ["ours", "bare", "underlying", "expiry", "strike", "ScripType"]
    derived = pl.col("bare").str.contains("_(futures|options)$")
    twins = pl.col("code").max().over(key)
    return rows.filter(~derived | (pl.col("code") == twins))


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    option = derived & pl.col("option")
    # An index is called NIFTY in derivatives' rows and NIFTY 50 by the exchange, which its root says.
    symbol = pl.when(pl.col("index")).then(pl.coalesce("SymbolRoot", "Name")).otherwise(_NAME).str.to_uppercase()
    rows = rows.with_columns(symbol=pl.when(~derived).then(symbol), units=_contract_units())
    # An issuer's debentures can share a name: then the series tells them apart.
    alone = pl.len().over("ours", "bare", "symbol") == 1
    speaks_lots = _WHERE.is_in(LOT_SEGMENTS)
    listed_lot, tick, most = _number("LotSize"), _number("TickSize"), _number("QtyLimit")
    lot = pl.when(speaks_lots).then(pl.col("units")).otherwise(pl.when(listed_lot >= 1).then(listed_lot))
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(alone | pl.col("Series").is_null() | pl.col("index"))
        .then(pl.col("symbol"))
        .otherwise(pl.col("symbol") + "-" + pl.col("Series")),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike")),
        option_type=pl.when(option).then(_TYPE),
        name=pl.coalesce("FullName", "Name"),
        isin=pl.when(pl.col("ISIN").str.contains("^IN[A-Z0-9]{10}$")).then(pl.col("ISIN")),
        lot_size=lot.cast(pl.Int64, strict=False),
        tick_size=pl.when(tick > 0).then(tick),
        freeze_quantity=pl.when(most > 1).then(most * pl.col("units")).floor().cast(pl.Int64, strict=False),
        contract_units=pl.col("units").cast(pl.Int64, strict=False),
        broker_token=_WHERE + ":" + pl.col("code").cast(pl.String),
        tradingsymbol=_NAME,
        broker_exchange=_WHERE,
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )


def _contract_units() -> pl.Expr:
    """Units in one of the broker's quantities: the file's multiplier; null = it counts contracts and the file does not say
    how large they are (a multiplier of 1 is not believed: no currency contract is one unit, and MCX's were never seen)."""
    multiplier = _number("Multiplier")
    whole = (multiplier > 1) & (multiplier == multiplier.floor())
    return pl.when(_WHERE.is_in(LOT_SEGMENTS)).then(pl.when(whole).then(multiplier)).otherwise(pl.lit(1.0))
