"""ICICI Direct's security master (a zip of text CSVs, one per market) into the normalized frame.

Source: docs/brokers/icicidirect.md, section 4 (public fixtures, live rows of 2026-09). Symbols are the exchanges' own
(`ExchangeCode`), because only this broker uses its short names; the short names make the broker_token. Segments are
derived from series, ISIN and instrument name, by words that are general knowledge, unchecked. Contracts' tick sizes are
paise. Shares have none: in the live file BSE's column `TickSize` is the upper price band, and NSE's says 0.01 for every
share. Freeze quantities are not given.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from datetime import datetime

import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.icicidirect import values
from onebroker.brokers.icicidirect.naming import STREAM_EXCHANGES
from onebroker.brokers.icicidirect.wire import USER_AGENT
from onebroker.brokers.listings.frame import (
    GOVERNMENT_INDEX,
    ISIN_PATTERN,
    Basis,
    broker_words,
    by_isin,
    by_series,
    first_match,
    lacking,
    listed_symbol,
    listing_frame,
    read_table,
    share_by_series,
    told,
)
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.listings.unpacking import unzipped
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

MEMBERS = {
    "FONSE": "NFO",
    "FOBSE": "BFO",
    "CDNSE": "NDX",
    "MCX": "MCX",
    "NSE": "NSE",
    "BSE": "BSE",
}
"""Beginning of a member's name -> exchange code. Mutual funds (MFScripMaster) are a separate service."""

CASH_COLUMNS = ("Token", "ShortName", "Series", "CompanyName", "LotSize", "ISINCode", "ExchangeCode")
DERIVATIVE_COLUMNS = (
    "Token", "InstrumentName", "ShortName", "ExpiryDate", "StrikePrice", "OptionType", "LotSize", "TickSize", "CompanyName",
    "ExchangeCode",
)  # fmt: skip
CASH_NAMING = ("Token", "ShortName", "Series", "ExchangeCode")
DERIVATIVE_NAMING = ("Token", "InstrumentName", "ShortName", "ExpiryDate", "StrikePrice", "OptionType", "ExchangeCode")
"""A member without these columns is not the expected member."""
RAW_COLUMNS = ("Token", "ShortName", "Series", "InstrumentName", "MinimumLotQty", "MarginPercentage", "ScripCode")
"""Columns that no other column of the frame carries; a column the member lacks is null."""

NO_NUMBER = r"^(0+|NA)$"
"""Values of `Token` for a listing without a number."""
INDEX_SERIES = "0"
SERIES_RANK = ("EQ", "BE", "BZ", "SM", "ST", "SZ", "A", "B", "T", "X", "XT")
"""An order names a short name without its series: of several rows with one name, the most ordinary series is meant (inferred)."""

HEADS: Sequence[tuple[str, str, str]] = (
    ("NDX", r"^(FUT|OPT)(IR|IRC|IRD|IRT)", "fixed_income"),
    ("NDX", "", "currency"),
    ("MCX", r"^(FUT|OPT)ID", "commodity_index"),
    ("MCX", "", "commodity"),
    ("", r"^(FUT|OPT)(IDX|IND|IVX)", "equity_index"),
    ("", r"^(FUT|OPT)", "equity"),
)
"""Exchange code (blank: any), pattern of the instrument name -> head of the segment; the first match counts."""

LEAST_PAISE = {"NDX": 0.01}
"""A tick below this value is already in rupees; on other exchanges the value is 1. Only a currency contract's tick is a
fraction of a paisa."""

_UNPACKING = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    OSError,
    ValueError,
    RuntimeError,
    struct.error,
)
"""Exceptions that the library raises for a damaged archive."""

_SHORT, _SERIES = pl.col("ShortName"), pl.col("Series")
_TOKEN, _NAME = pl.col("Token"), pl.col("InstrumentName")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the call for the one file; it needs no login."""
    headers = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    yield WireRequest(kind=CallKind.FILE, method="GET", url=access.endpoints.instruments_url, headers=headers)


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    Raises `BadAnswer` for a body that is not the zip, or a member without its columns. A missing member means that this
    market is not listed today.
    """
    parts = [_normalized_member(code, body) for code, body in _members(bodies[0])]
    if not parts:
        raise BadAnswer("the security master holds no market")
    return listing_frame(
        pl.concat([rows for rows, _, _ in parts], how="diagonal_relaxed"),
        unread=sum(unread for _, unread, _ in parts),
        absent=[name for _, _, absent in parts for name in absent],
    )


def _members(body: bytes) -> list[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            named = [(_code_of(name), name) for name in archive.namelist()]
            return [(code, unzipped(archive, name, "the security master")) for code, name in named if code is not None]
    except _UNPACKING as error:
        raise BadAnswer(f"the security master cannot be unpacked: {error}") from error


def _code_of(member: str) -> str | None:
    file = member.rpartition("/")[2].upper()
    if not file.endswith(".TXT"):
        return None
    return next((code for start, code in MEMBERS.items() if file.startswith(start)), None)


def _normalized_member(code: str, body: bytes) -> tuple[pl.DataFrame, int, Sequence[str]]:
    """Return a member's normalized rows, how many rows were left out, and which columns it lacks."""
    cash = code in values.CASH_EXCHANGES
    rows, lost, absent = _rows(code, body)
    listed = rows.height + lost
    rows = _securities(code, rows) if cash else _derivatives(code, rows)
    return rows, listed - rows.height, absent


def _rows(code: str, body: bytes) -> tuple[pl.DataFrame, int, Sequence[str]]:
    """Return the member's rows as texts, blanks as null, how many rows were left out, and which columns it lacks.

    NSE's header has blanks before its quotes.
    """
    rows, lost = read_table(body, f"the security master of {code}")
    listed = rows.height + lost
    known = {name.lower(): name for name in (*CASH_COLUMNS, *DERIVATIVE_COLUMNS, *RAW_COLUMNS, "ScripID")}
    spelled = {name: name.strip().strip('"').strip().lower() for name in rows.columns}
    rows = rows.select(
        pl.col(name).str.strip_chars(' "').replace("", None).alias(known[spelling])
        for name, spelling in spelled.items()
        if spelling in known
    )
    cash = code in values.CASH_EXCHANGES
    naming, wanted = (CASH_NAMING, CASH_COLUMNS) if cash else (DERIVATIVE_NAMING, DERIVATIVE_COLUMNS)
    lacked = lacking(rows, naming, wanted, f"the security master of {code}")
    empty = [pl.lit(None, pl.String).alias(name) for name in known.values() if name not in rows.columns]
    rows = (
        rows.with_columns(empty)
        .filter(_TOKEN.is_not_null() & _SHORT.is_not_null())
        .with_columns(_SHORT.str.to_uppercase(), pl.col("ExchangeCode", "CompanyName", "ScripID").str.to_uppercase())
    )
    return rows, listed - rows.height, lacked


# shares and indices


def _securities(code: str, rows: pl.DataFrame) -> pl.DataFrame:
    index = _SERIES == INDEX_SERIES
    rank = _SERIES.replace_strict({name: place for place, name in enumerate(SERIES_RANK)}, default=len(SERIES_RANK))
    # BSE's own symbol is the scrip id.
    symbol = pl.coalesce("ScripID", "ExchangeCode") if code == "BSE" else pl.col("ExchangeCode")
    rows = (
        rows.with_columns(index=index.fill_null(False), isin=_isin())
        # The exchange's own name of an index is its token.
        .with_columns(written=pl.when(pl.col("index")).then(_TOKEN.str.to_uppercase()).otherwise(symbol))
        .filter(pl.col("written").is_not_null())
        .sort(rank.fill_null(len(SERIES_RANK)), maintain_order=True)
        .unique("ShortName", keep="first", maintain_order=True)
        .with_columns(
            ours=pl.lit(values.EXCHANGES[code]), series=pl.when(~pl.col("index")).then(_SERIES.str.to_uppercase())
        )
    )
    rows = _told(rows)
    # A scrip's number on BSE is its scrip code.
    number = pl.coalesce("ScripCode", "Token") if code == "BSE" else _TOKEN
    lot = pl.col("LotSize").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    return rows.select(
        exchange=pl.lit(values.EXCHANGES[code]),
        segment=pl.col("bare"),
        symbol=listed_symbol(pl.col("ours"), pl.col("written"), pl.col("series")),
        name=pl.col("CompanyName"),
        isin=pl.col("isin"),
        lot_size=pl.when(lot > 0).then(lot),
        contract_units=pl.lit(1, pl.Int64),
        broker_token=pl.lit(f"{code}:") + _SHORT,
        tradingsymbol=_SHORT,
        other_names=_room(code),
        broker_exchange=pl.lit(code),
        basis=pl.col("basis"),
        series=pl.col("series"),
        exchange_token=pl.when(~pl.col("index")).then(number),
        short_name=pl.when("index").then(pl.col("ExchangeCode")),
        words=broker_words(pl.col("bare"), pl.lit(code), _SERIES),
        **_raw(),
    )


def _isin() -> pl.Expr:
    written = pl.col("ISINCode").str.to_uppercase()
    return pl.when(written.str.contains(ISIN_PATTERN)).then(written)


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    bonds = _TOKEN.str.to_uppercase().str.contains(GOVERNMENT_INDEX)
    by_index = pl.when(bonds).then(pl.lit("fixed_income_indices")).otherwise(pl.lit("equity_indices"))
    index, isin, series = pl.col("index"), pl.col("isin"), pl.col("series")
    return told(
        rows,
        (pl.when(index).then(by_index), Basis.STATED),
        (by_series(pl.col("ours"), series), Basis.STATED),
        (pl.when(~index).then(by_isin(isin)), Basis.ISIN),
        (pl.when(~index).then(share_by_series(isin, series)), Basis.SUPPOSED),
    )


# futures and options


def _derivatives(code: str, rows: pl.DataFrame) -> pl.DataFrame:
    kind = pl.col("OptionType").str.to_uppercase()
    option = kind.is_in(["CE", "PE"]).fill_null(False)
    rows = rows.with_columns(
        expiry=_expiry(),
        strike=pl.col("StrikePrice").cast(pl.Float64, strict=False),
        option=option,
        kind=pl.when(option).then(kind),
        head=_head(code),
    )
    complete = pl.col("ExchangeCode").is_not_null() & pl.col("head").is_not_null()
    complete &= ~pl.col("option") | (pl.col("strike") > 0)
    shape = pl.when(pl.col("option")).then(pl.lit("_options")).otherwise(pl.lit("_futures"))
    strike_text = pl.col("strike").cast(pl.String).str.strip_suffix(".0")
    tick = pl.col("TickSize").cast(pl.Float64, strict=False)
    lot = pl.col("LotSize").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    written = _SHORT + "-" + _day_text()
    rows = rows.filter(pl.col("expiry").is_not_null()).with_columns(
        broker_token=pl.concat_str(
            [pl.lit(code), _SHORT, pl.col("expiry"), pl.when("option").then(strike_text), pl.col("kind")],
            separator=":",
            ignore_nulls=True,
        ),
        contract=pl.when("option")
        .then(pl.lit("OPT-") + written + "-" + strike_text + "-" + pl.col("kind"))
        .otherwise(pl.lit("FUT-") + written),
        bare=pl.when(complete).then(pl.col("head") + shape).otherwise(pl.lit(UNCATEGORISED)),
        complete=complete,
    )
    # Paise, except where that is impossible.
    paise = tick >= LEAST_PAISE.get(code, 1.0)
    return rows.unique("broker_token", keep="first", maintain_order=True).select(
        exchange=pl.lit(values.EXCHANGES[code]),
        segment=pl.col("bare"),
        symbol=pl.when(~pl.col("complete")).then(pl.col("contract").str.to_uppercase()),
        underlying_symbol=pl.when("complete").then(pl.col("ExchangeCode")),
        expiry_date=pl.when("complete").then(pl.col("expiry")),
        strike_price=pl.when(pl.col("complete") & pl.col("option")).then(pl.col("strike")),
        option_type=pl.when(pl.col("complete")).then(pl.col("kind")),
        name=pl.col("CompanyName"),
        # MCX counts its lots in the unit of delivery (tonnes), which is not the price's unit.
        lot_size=pl.when((lot > 0) & pl.lit(code != "MCX")).then(lot),
        tick_size=pl.when(tick > 0).then(pl.when(paise).then(tick / 100).otherwise(tick)),
        contract_units=pl.lit(1, pl.Int64),
        broker_token=pl.col("broker_token"),
        tradingsymbol=pl.col("contract"),
        other_names=_room(code),
        broker_exchange=pl.lit(code),
        basis=pl.lit(int(Basis.STATED), pl.Int8),
        exchange_token=pl.when("complete").then(_TOKEN),
        words=broker_words(pl.col("bare"), pl.lit(code), _NAME, pl.col("OptionType")),
        **_raw(),
    )


def _head(code: str) -> pl.Expr:
    fits = [(pattern, head) for exchange, pattern, head in HEADS if exchange == code]
    fits = fits or [(pattern, head) for exchange, pattern, head in HEADS if not exchange]
    return first_match(_NAME.str.to_uppercase(), fits)


def _expiry() -> pl.Expr:
    """The day, as YYYY-MM-DD, of a text like 29-Sep-2026."""
    parts = pl.col("ExpiryDate").str.to_uppercase().str.extract_groups(r"^(\d{1,2})-([A-Z]{3})-(\d{4})")
    months = {name: f"{place:02d}" for place, name in enumerate(values.MONTHS, 1)}
    day = parts.struct.field("1").str.zfill(2)
    month = parts.struct.field("2").replace_strict(months, default=None, return_dtype=pl.String)
    written = parts.struct.field("3") + "-" + month + "-" + day
    return written.str.to_date("%Y-%m-%d", strict=False).dt.to_string()


def _day_text() -> pl.Expr:
    """The expiry as `values.day_text` writes it."""
    names = {f"{place:02d}": name.title() for place, name in enumerate(values.MONTHS, 1)}
    day = pl.col("expiry")
    month = day.str.slice(5, 2).replace_strict(names, default=None, return_dtype=pl.String)
    return day.str.slice(8, 2) + "-" + month + "-" + day.str.slice(0, 4)


def _room(code: str) -> pl.Expr:
    """Return the room; null without a number: a room shared by several listings would mix their prices."""
    return pl.when(~_TOKEN.str.contains(NO_NUMBER)).then(pl.lit(f"{STREAM_EXCHANGES[code]}!") + _TOKEN)


def _raw() -> dict[str, pl.Expr]:
    return {f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS}
