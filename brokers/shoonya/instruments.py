"""Shoonya's instrument files (a zipped CSV for each of seven groups of exchanges) into the normalized frame.

Source: docs/brokers/shoonya.md, section 4 (rows recorded in public repositories; the files were not fetched by us). No
file has a name, an ISIN or a freeze quantity: its series or group and the ending of its symbol decide what a share is
(general knowledge, unchecked).
"""

import io
import zipfile
import zlib
from collections.abc import Sequence
from datetime import datetime

import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.instrument_files import read_each
from onebroker.brokers.listings.frame import (
    BSE_SHARES,
    GOVERNMENT_INDEX,
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
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.listings.unpacking import unzipped
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.brokers.shoonya.values import EXCHANGES
from onebroker.config.instruments import UNCATEGORISED

FILES = ("NSE", "BSE", "NFO", "BFO", "CDS", "MCX", "NCX")
"""BCD's rows are expected in CDS's file; the exchange that a row names decides its place."""

NAMING = ("Exchange", "Token", "Symbol", "TradingSymbol", "Instrument")
"""A file without these columns is not the expected file."""
COLUMNS = (*NAMING, "LotSize", "TickSize")
"""Columns of every file."""
OTHER_COLUMNS = ("Expiry", "OptionType", "StrikePrice", "Precision", "Multiplier", "GNGD")
"""Columns of some files."""
RAW_COLUMNS = ("Token", "LotSize", "Symbol", "Instrument", "Precision", "Multiplier", "GNGD")
"""Columns that no other column of the frame carries, or only in another unit."""

CASH = ("NSE", "BSE")
LOTS = ("CDS", "BCD")
GOODS = ("MCX", "NCX")
DERIVATIVE_HEADS = {
    "NFO": "equity", "BFO": "equity", "CDS": "currency", "BCD": "currency", "MCX": "commodity", "NCX": "commodity",
}  # fmt: skip
INDEX_HEADS = {"NSE": "equity", "BSE": "equity", "MCX": "commodity", "NCX": "commodity", "CDS": "currency"}
INDEX = "INDEX"

SYMBOL_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"(ETF|BEES)$", "exchange_traded_funds"),
    (r"(REIT|INVIT)$", "investment_trusts"),
)

CODED_UNDERLYINGS = {"BSXOPT": "SENSEX", "BSXFUT": "SENSEX", "BKXOPT": "BANKEX", "BKXFUT": "BANKEX"}
"""BFO names the underlying by a code."""
SENSEX_TOKEN = "1"
"""SENSEX on BSE, whose file has no indices; added where the files list contracts on it."""

LAST_DUMMY = 100
"""Tokens of CDS up to this are placeholders."""

_CODE, _KIND, _SYMBOL, _WRITTEN = pl.col("Exchange"), pl.col("Instrument"), pl.col("Symbol"), pl.col("TradingSymbol")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the calls for seven files; none needs a login."""
    for name in FILES:
        url = f"{access.endpoints.instruments_url}/{name}_symbols.txt.zip"
        yield WireRequest(kind=CallKind.FILE, method="GET", url=url, headers={"Accept-Encoding": "identity"})


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    Raises `BadFiles` for bodies that are not such files.
    """
    parts = read_each(bodies, _read)
    rows = pl.concat([rows for rows, _, _ in parts])
    listed = rows.height + sum(lost for _, lost, _ in parts)
    rows = rows.unique(["Exchange", "Token"], keep="first", maintain_order=True)
    unread = listed - rows.height
    rows = _with_sensex(rows)
    rows = rows.with_columns(
        ours=_CODE.replace_strict(EXCHANGES, default="unknown"),
        expiry=pl.col("Expiry").str.to_titlecase().str.to_date("%d-%b-%Y", strict=False).dt.to_string(),
        strike=_number("StrikePrice"),
        option=_KIND.str.starts_with("OPT").fill_null(False),
        future=_KIND.str.starts_with("FUT").fill_null(False),
        base=_SYMBOL.str.to_uppercase(),
    )
    rows = rows.with_columns(
        underlying=_underlying(),
        units=_units(),
        cash=_CODE.is_in(CASH) & (_KIND != INDEX) & ~pl.col("future") & ~pl.col("option"),
    )
    absent = [name for _, _, lacked in parts for name in lacked]
    return listing_frame(_normalized(_told(rows)), unread=unread, absent=absent)


# One file


def _read(body: bytes) -> tuple[pl.DataFrame, int, Sequence[str]]:
    """Return one file's rows, how many rows were left out, and which columns it lacks."""
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as packed:
            text = unzipped(packed, packed.namelist()[0], "an instrument file")
    except (zipfile.BadZipFile, zlib.error, IndexError, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise BadAnswer(f"an instrument file cannot be unpacked: {error}") from error
    # Each line, even the header, ends with a comma: one additional empty column.
    rows, lost = read_table(text, "an instrument file")
    rows = rows.rename({name: name.strip() for name in rows.columns if name.strip() and name.strip() != name})
    absent = lacking(rows, NAMING, COLUMNS, "an instrument file")
    rows = rows.select(texts(rows, (*COLUMNS, *OTHER_COLUMNS)))
    named = rows.filter(_names_something())
    unread = lost + rows.filter(~(_names_something() | _is_placeholder()).fill_null(False)).height
    return named.with_columns(_KIND.str.to_uppercase(), tick=_tick(named)), unread, absent


def _names_something() -> pl.Expr:
    named = (
        pl.col("Token").str.contains(r"^\d+$") & _SYMBOL.is_not_null() & _WRITTEN.is_not_null() & _CODE.is_not_null()
    )
    return named.fill_null(False) & ~_is_placeholder()


def _is_placeholder() -> pl.Expr:
    """Rows that are always there and are not instruments: with blank symbols (NFO), with the lowest tokens (CDS)."""
    blank = _CODE.is_in(["NFO", "BFO"]) & _SYMBOL.is_null() & _WRITTEN.is_null() & pl.col("Token").is_not_null()
    dummy = _CODE.is_in(LOTS) & (pl.col("Token").cast(pl.Int64, strict=False) <= LAST_DUMMY)
    return blank.fill_null(False) | dummy.fill_null(False)


def _tick(rows: pl.DataFrame) -> pl.Expr:
    """Rupees. The unit of the cash files is doubtful (0.05 was recorded, live code divides by 100): the whole file
    decides.

    In rupees some shares' ticks are always fractions; a file without a single fraction is in paise.
    """
    tick = _number("TickSize")
    listed = rows.filter(_CODE.is_in(CASH) & (_number("TickSize") > 0)).select(tick).to_series()
    in_paise = listed.len() > 0 and bool((listed == listed.floor()).all())
    return pl.when(tick > 0).then(pl.when(_CODE.is_in(CASH) & pl.lit(in_paise)).then(tick / 100).otherwise(tick))


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _with_sensex(rows: pl.DataFrame) -> pl.DataFrame:
    named = CODED_UNDERLYINGS.get("BSXOPT")
    coded = rows.filter((_CODE == "BFO") & _SYMBOL.replace(CODED_UNDERLYINGS).eq(named))
    held = rows.filter((_CODE == "BSE") & (pl.col("Token") == SENSEX_TOKEN))
    if coded.is_empty() or not held.is_empty():
        return rows
    added = {"Exchange": "BSE", "Token": SENSEX_TOKEN, "Symbol": named, "TradingSymbol": named, "Instrument": INDEX}
    return pl.concat([rows, pl.DataFrame([added], schema=dict.fromkeys(added, pl.String))], how="diagonal")


# All rows


def _underlying() -> pl.Expr:
    """The symbol. On BFO, the underlying of a known code, or the symbol where the trading symbol begins with it."""
    written = pl.when(_WRITTEN.str.to_uppercase().str.starts_with(pl.col("base"))).then(pl.col("base"))
    on_bse = pl.coalesce(
        pl.col("base").replace_strict(CODED_UNDERLYINGS, default=None, return_dtype=pl.String), written
    )
    underlying = pl.when(_CODE == "BFO").then(on_bse).otherwise(pl.col("base"))
    return pl.when(pl.col("future") | pl.col("option")).then(underlying)


def _units() -> pl.Expr:
    """Our units in one of Shoonya's quantities: 1, the Multiplier of a currency contract, the GNGD of a commodity.

    Null = not known.
    """
    multiplier, factor = _number("Multiplier"), _number("GNGD")
    return (
        pl.when(_CODE.is_in(LOTS))
        .then(pl.when((multiplier > 1) & (multiplier == multiplier.floor())).then(multiplier))
        .when(_CODE.is_in(GOODS))
        .then(pl.when(factor > 0).then(factor))
        .otherwise(pl.lit(1.0))
    )


def _lot() -> pl.Expr:
    """Units per lot."""
    lot = _number("LotSize") * pl.col("units")
    return pl.when(lot > 0).then(lot)


def _measured() -> pl.Expr:
    """Whether a contract's quantities can be read at all, or an unknown size is that of a lot (currency: one quantity,
    one lot).

    Without its factor, a commodity's quantity has an unknown unit: it must not be taken for lots, nor for units.
    """
    rounded = _lot().round(6)
    whole = (rounded == rounded.floor()).fill_null(False)
    single = _CODE.is_in(LOTS) & pl.col("units").is_null() & (_number("LotSize") == 1)
    return whole | single | ~_CODE.is_in([*LOTS, *GOODS]) | (_KIND == INDEX)


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the segment. The files have no ISIN: for everything that trades like a share, words in its symbol decide."""
    by_index = pl.coalesce(
        pl.when(pl.col("base").str.contains(GOVERNMENT_INDEX)).then(pl.lit("fixed_income_indices")),
        _CODE.replace_strict({code: f"{head}_indices" for code, head in INDEX_HEADS.items()}, default=UNCATEGORISED),
    )
    cash, contract = pl.col("cash"), (_KIND != INDEX) & (pl.col("future") | pl.col("option"))
    of_shares = pl.when(_CODE == "NSE").then(_KIND.str.contains(NSE_SHARES)).otherwise(_KIND.str.contains(BSE_SHARES))
    like_a_share = cash & of_shares.fill_null(False)
    return told(
        rows,
        (pl.when(_KIND == INDEX).then(by_index), Basis.STATED),
        (pl.when(contract & _measured()).then(_derivative_segment()), Basis.STATED),
        (pl.when(cash).then(by_series(pl.col("ours"), _KIND)), Basis.STATED),
        (pl.when(like_a_share).then(first_match(pl.col("base"), SYMBOL_SEGMENTS)), Basis.WORDS),
        (pl.when(like_a_share).then(pl.lit("equities")), Basis.SUPPOSED),
    )


def _derivative_segment() -> pl.Expr:
    head = _CODE.replace_strict(DERIVATIVE_HEADS, default=None, return_dtype=pl.String)
    interest = (head == "currency") & _KIND.str.contains("^(FUT|OPT)IR")
    head = pl.when(interest).then(pl.lit("fixed_income")).otherwise(head)
    index = pl.when(_KIND.str.ends_with("IDX")).then(pl.lit("_index")).otherwise(pl.lit(""))
    shape = pl.when(pl.col("future")).then(pl.lit("_futures")).otherwise(pl.lit("_options"))
    underlying = _underlying()
    side = pl.col("OptionType").is_in(["CE", "PE"]) & (pl.col("strike") > 0)
    complete = underlying.is_not_null() & pl.col("expiry").is_not_null() & (pl.col("future") | side.fill_null(False))
    return pl.when(complete & head.is_not_null()).then(head + index + shape)


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    option = derived & pl.col("option")
    written = _WRITTEN.str.to_uppercase()
    cash, index, fits = pl.col("cash"), _KIND == INDEX, pl.col("bare") != UNCATEGORISED
    in_series = listed_symbol(pl.col("ours"), pl.col("base"), _KIND)
    symbol = pl.when(cash).then(in_series).when(index).then(pl.col("base")).otherwise(written)
    units = pl.col("units")
    whole = units == units.floor()
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(~derived).then(symbol),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike")),
        option_type=pl.when(option).then(pl.col("OptionType")),
        lot_size=_lot().round(6).cast(pl.Int64, strict=False),
        tick_size=pl.col("tick"),
        # Where one quantity is a fraction of a unit, the factor itself is kept, and quantities are read in units.
        contract_units=pl.when(whole).then(units).when(units.is_not_null()).then(pl.lit(1.0)).cast(pl.Int64),
        other_names=pl.when(~whole).then(pl.col("GNGD")),
        broker_token=pl.concat_str(_CODE, pl.lit("|"), pl.col("Token")),
        tradingsymbol=_WRITTEN,
        broker_exchange=_CODE,
        basis=pl.col("basis"),
        series=pl.when(cash).then(_KIND),
        exchange_token=pl.when(cash | (fits & ~index)).then(pl.col("Token")),
        words=broker_words(pl.col("bare"), _CODE, _KIND, pl.col("OptionType")),
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )
