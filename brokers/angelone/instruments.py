"""SmartAPI's instrument file (one JSON list of all exchanges, every value a text) into the normalized frame.

Sources: SmartAPI documentation, instruments, and rows of other projects' test data; not re-read by us. Segments are told from
instrumenttype, NSE's series and words of the symbol (general knowledge, unchecked). ISIN and freeze quantity are not in the
file. Ticks and strikes are paise, strikes of the currency exchange ten-millionths of a rupee.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
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
from onebroker.brokers.fields import text
from onebroker.brokers.listings import GOVERNMENT_INDEX, NSE_SERIES, RAW_PREFIX, first_match, listing_frame
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

COLUMNS = ("token", "symbol", "name", "expiry", "strike", "lotsize", "instrumenttype", "exch_seg", "tick_size")
RAW_COLUMNS = ("token", "instrumenttype")
"""What nothing else carries."""

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
"""instrumenttype -> bare segment. Not here: COMDTY, the goods themselves, which are quoted but not listed."""
KINDS_OF = {
    **dict.fromkeys(("NFO", "BFO"), ("FUTIDX", "OPTIDX", "FUTSTK", "OPTSTK")),
    "CDS": ("FUTCUR", "OPTCUR", "FUTIRC", "OPTIRC"),
    **dict.fromkeys(("MCX", "NCDEX", "NCO"), ("FUTCOM", "OPTFUT", "OPTCOM", "FUTIDX", "OPTIDX")),
}
"""Exchange -> the kinds that are listed there; on a commodity exchange an index is one of goods."""

SERIES_SEGMENTS: Sequence[tuple[str, str]] = (
    *NSE_SERIES,
    (r"^(EQ|BE|BZ|SM|ST|SZ|E[0-9]|X[0-9])$", ""),  # shares (and funds, by name): all that is traded like them
)
"""NSE series (behind the symbol) -> segment; a series that is not here says neither what it is nor that an ordinary order
belongs there: uncategorised."""
SYMBOL_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"ETF|BEES$", "exchange_traded_funds"),
    (r"(REIT|INVIT)$", "investment_trusts"),
    (r"%|\d{3,4}GOI|\bSDL\b|^SGB|-PVT$|^\d.*\d\d$", "fixed_income"),
)
"""Words of a security's symbol -> segment, first that fits; the rest are shares. On BSE, whose symbols carry no group, paper
begins with its rate and ends with its year."""

PLAIN_SERIES = "EQ"

_CODE, _SYMBOL, _KIND = pl.col("exch_seg"), pl.col("symbol"), pl.col("instrumenttype")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """The whole file needs no login."""
    yield WireRequest(kind=CallKind.FILE, method="GET", url=access.endpoints.instruments_url)


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names nothing is dropped, one that fits nothing is uncategorised.

    Raises `BadAnswer` for a body that is not the file.
    """
    rows = _frame(bodies[0])
    rows = rows.with_columns(
        ours=_CODE.replace_strict(EXCHANGES, default="unknown"),
        underlying=pl.col("name").str.to_uppercase(),
        expiry=pl.col("expiry").str.to_date("%d%b%Y", strict=False).dt.to_string(),
        strike=_strike(),
        future=_KIND.str.starts_with("FUT"),
        option=_KIND.str.starts_with("OPT"),
        side=_SYMBOL.str.to_uppercase().str.extract(r"\d(CE|PE)$"),
        series=pl.when(_CODE == "NSE").then(_SYMBOL.str.to_uppercase().str.extract(r"-([A-Z0-9]{1,2})$")),
    )
    upper = _SYMBOL.str.to_uppercase()
    stem = upper.str.replace(r"-[A-Z0-9]{1,2}$", "")
    rows = rows.with_columns(base=pl.when(pl.col("series").is_not_null()).then(stem).otherwise(upper))
    rows = rows.with_columns(bare=_bare_segment())
    return listing_frame(_normalized(rows))


def _frame(body: bytes) -> pl.DataFrame:
    """Return the file's columns as texts; a row that is no object, or names no instrument, is left out."""
    named = [row for row in _rows(body) if isinstance(row, dict) and all(_word(row.get(name)) for name in _NAMING)]
    if not named:
        raise BadAnswer("the instrument file names no instrument")
    frame = pl.DataFrame(
        {name: pl.Series([_word(row.get(name)) for row in named], dtype=pl.String) for name in COLUMNS}
    )
    return frame.with_columns(
        _CODE.str.to_uppercase().replace(LONG_EXCHANGES), _KIND.str.to_uppercase().fill_null("")
    ).unique(["exch_seg", "token"], keep="first", maintain_order=True)


_NAMING = ("token", "symbol", "exch_seg")
_BARE_NAN = re.compile(rb":\s*(?:NaN|-?Infinity)\b")


def _rows(body: bytes) -> list[object]:
    try:
        return msgspec.json.decode(body, type=list[object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:  # a cell that is no number, written bare, is no JSON (lesson 15)
        return msgspec.json.decode(_BARE_NAN.sub(b":null", body), type=list[object])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the instrument file cannot be read: {error}") from error


def _word(value: object) -> str | None:
    """Return a cell as text; what stands for nothing, and anything but a word or a number, is null."""
    if isinstance(value, (dict, list)):
        return None
    word = text(value)
    return None if word is None else word.strip()


def _strike() -> pl.Expr:
    strike = pl.col("strike").cast(pl.Float64, strict=False)
    return pl.when(_CODE == "CDS").then(strike / 10_000_000).otherwise(strike / 100)


def _bare_segment() -> pl.Expr:
    by_index = pl.coalesce(
        pl.when(_SYMBOL.str.to_uppercase().str.contains(GOVERNMENT_INDEX)).then(pl.lit("fixed_income_indices")),
        _CODE.replace_strict({code: f"{head}_indices" for code, head in INDEX_HEADS.items()}, default=UNCATEGORISED),
    )
    return (
        pl.when(_KIND == INDEX_KIND)
        .then(by_index)
        .when(_CODE.is_in(CASH_EXCHANGES) & (_KIND == ""))
        .then(_cash_segment())
        .otherwise(_derivative_segment())
    )


def _cash_segment() -> pl.Expr:
    by_series = first_match(pl.col("series").fill_null(PLAIN_SERIES), SERIES_SEGMENTS)
    by_symbol = pl.coalesce(first_match(pl.col("base"), SYMBOL_SEGMENTS), pl.lit("equities"))
    return pl.when(by_series == "").then(by_symbol).otherwise(by_series.fill_null(UNCATEGORISED))


def _derivative_segment() -> pl.Expr:
    here = pl.any_horizontal(*((code == _CODE) & _KIND.is_in(kinds) for code, kinds in KINDS_OF.items()))
    segment = _KIND.replace_strict(DERIVATIVE_KINDS, default=None, return_dtype=pl.String)
    on_goods = _CODE.is_in(["MCX", "NCDEX", "NCO"])
    segment = pl.when(on_goods).then(segment.str.replace("^equity_index", "commodity_index")).otherwise(segment)
    complete = pl.col("underlying").str.len_chars().gt(0) & pl.col("expiry").is_not_null()
    complete &= pl.col("future") | (pl.col("side").is_not_null() & (pl.col("strike") > 0))
    return pl.when(here & complete).then(segment).otherwise(pl.lit(UNCATEGORISED))


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    option = derived & pl.col("option")
    # A share can be listed in two series at once and an issuer's debentures are many: then the series stays in the symbol.
    alone = pl.len().over("ours", "bare", "base") == 1
    plain = (pl.col("bare") != UNCATEGORISED) & (alone | (pl.col("series") == PLAIN_SERIES).fill_null(True))
    symbol = pl.when(plain).then(pl.col("base")).otherwise(_SYMBOL.str.to_uppercase())
    lot = pl.col("lotsize").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    tick = pl.col("tick_size").cast(pl.Float64, strict=False)
    speaks_lots = _CODE.is_in(LOT_EXCHANGES)
    units = _contract_units(lot)
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
        contract_units=pl.when(speaks_lots).then(units).otherwise(pl.lit(1)),
        broker_token=_CODE + "|" + pl.col("token"),
        tradingsymbol=_SYMBOL,
        broker_exchange=_CODE,
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )


def _contract_units(lot: pl.Expr) -> pl.Expr:
    """Units in one lot where SmartAPI speaks lots; null = not known.

    MCX's lotsize counts units (several of its contracts are one gram or one piece); the others' is believed above 1 only.
    """
    return (
        pl.when(_KIND.is_in(CURRENCY_KINDS))
        .then(pl.lit(CURRENCY_UNITS))
        .when((_CODE == "MCX") & (lot > 0) | (_CODE != "CDS") & (lot > 1))
        .then(lot)
    )
