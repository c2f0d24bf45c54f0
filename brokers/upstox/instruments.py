"""Upstox' instrument file (one gzipped JSON list of all exchanges) into the normalized frame.

Source: documentation page "Instruments" and its sample rows, not re-read by us. Segments are told from the file's own fields:
series, ISIN, type of the underlying. Tick sizes are paise (assumed for MCX). In the segments where quantities are contracts the
file's lot_size counts contracts or units, and qty_multiplier is the units in one contract.
"""

import gzip
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import msgspec
import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.fields import number, text
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
from onebroker.brokers.upstox.values import (
    CASH_SEGMENTS,
    EXCHANGES,
    INDEX_SEGMENTS,
    LOT_SEGMENTS,
    QUOTE_ONLY_SEGMENTS,
)
from onebroker.brokers.upstox.wire import INSTRUMENTS_FILE
from onebroker.config.instruments import UNCATEGORISED

TEXT_COLUMNS = (
    "segment", "name", "isin", "instrument_key", "trading_symbol", "instrument_type", "underlying_symbol", "asset_symbol",
    "underlying_type", "asset_type", "expiry",
)  # fmt: skip
NUMBER_COLUMNS = ("tick_size", "lot_size", "freeze_quantity", "qty_multiplier", "strike_price")
RAW_COLUMNS = (
    "exchange_token", "short_name", "instrument_type", "security_type", "weekly", "minimum_lot", "qty_multiplier",
    "underlying_key", "underlying_type", "mtf_enabled", "mtf_bracket", "intraday_margin", "cas_eligible",
    "last_trading_date", "price_quote_unit",
)  # fmt: skip
"""What nothing else carries."""

SERIES_SEGMENTS: Mapping[str, Sequence[tuple[str, str]]] = {
    "NSE_EQ": NSE_SERIES,
    "BSE_EQ": BSE_GROUPS,
}
"""Segment -> series (NSE) or group (BSE), which the file calls instrument_type -> what is listed there and nowhere else."""


UNDERLYING_HEADS = {
    "EQUITY": "equity", "INDEX": "equity_index", "CUR": "currency", "IRD": "fixed_income", "COM": "commodity",
}  # fmt: skip
COMMODITY_SEGMENTS = ("MCX_FO", "NSE_COM")

INDIA_MILLISECONDS = 19_800_000
"""India's offset from UTC: an expiry is the last second of its Indian day."""
DAY_MILLISECONDS = 86_400_000

_GZIP = b"\x1f\x8b"
_BARE_NAN = re.compile(rb":\s*(?:NaN|-?Infinity)\b")
_SEGMENT, _KEY, _TYPE = pl.col("segment"), pl.col("instrument_key"), pl.col("instrument_type")


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """The whole file needs no login."""
    url = f"{access.endpoints.instruments_url}{INSTRUMENTS_FILE}"
    yield WireRequest(kind=CallKind.FILE, method="GET", url=url, headers={"Accept-Encoding": "identity"})


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names nothing is dropped, one that fits nothing is uncategorised.

    The body may still be gzip, which is then its content, not its encoding. Raises `BadAnswer` for a body that is not
    the file.
    """
    rows = _frame(_rows(_plain(bodies[0])))
    future, option = _TYPE == "FUT", _TYPE.is_in(["CE", "PE"])
    rows = rows.with_columns(
        ours=_SEGMENT.replace_strict(EXCHANGES, default="unknown"),
        expiry=_expiry(),
        underlying=pl.coalesce("underlying_symbol", "asset_symbol").str.to_uppercase(),
        shape=pl.when(future).then(pl.lit("_futures")).when(option).then(pl.lit("_options")),
    )
    rows = rows.with_columns(bare=_bare_segment())
    return listing_frame(_normalized(rows))


def _plain(body: bytes) -> bytes:
    if not body.startswith(_GZIP):
        return body
    try:
        return gzip.decompress(body)
    except (OSError, EOFError, zlib.error) as error:
        raise BadAnswer(f"the instrument file cannot be unpacked: {error}") from error


def _rows(body: bytes) -> list[object]:
    try:
        return msgspec.json.decode(body, type=list[object])
    except (msgspec.DecodeError, UnicodeDecodeError):
        pass
    try:  # a cell that is no number, written bare, is no JSON
        return msgspec.json.decode(_BARE_NAN.sub(b":null", body), type=list[object])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the instrument file cannot be read: {error}") from error


def _frame(rows: list[object]) -> pl.DataFrame:
    """Return the columns we know as texts and numbers; a row that is no object, or names no instrument, is left out."""
    named = [row for row in rows if isinstance(row, dict) and text(row.get("instrument_key"))]
    if not named:
        raise BadAnswer("the instrument file names no instrument")

    def column(name: str, read: Callable[[object], object], kind: type[pl.DataType], prefix: str = "") -> pl.Series:
        return pl.Series(f"{prefix}{name}", [read(row.get(name)) for row in named], dtype=kind)

    frame = pl.DataFrame(
        [
            *(column(name, _word, pl.String) for name in TEXT_COLUMNS),
            *(column(name, number, pl.Float64) for name in NUMBER_COLUMNS),
            *(column(name, _word, pl.String, RAW_PREFIX) for name in RAW_COLUMNS),
        ]
    )
    return (
        frame.filter(~_SEGMENT.is_in(QUOTE_ONLY_SEGMENTS).fill_null(False))
        .filter(pl.col("trading_symbol").is_not_null())
        .unique("instrument_key", keep="first", maintain_order=True)
        .with_columns(_TYPE.str.to_uppercase(), pl.col("trading_symbol", "isin").str.to_uppercase())
    )


def _word(value: object) -> str | None:
    """Return a cell as text; what stands for nothing, and anything but a word or a number, is null."""
    if isinstance(value, (dict, list)):
        return None
    word = text(value)
    return None if word is None or word.strip() in ("NaN", "nan", "null") else word.strip()


def _expiry() -> pl.Expr:
    """The Indian day, from epoch milliseconds; a day that is written out is taken as it is."""
    day = pl.col("expiry")
    moment = day.cast(pl.Float64, strict=False)
    moment = pl.when(moment > 0).then(moment)
    days = ((moment + INDIA_MILLISECONDS) / DAY_MILLISECONDS).floor().cast(pl.Int32, strict=False)
    written = day.str.extract(r"^(\d{4}-\d\d-\d\d)").str.to_date("%Y-%m-%d", strict=False)
    return pl.coalesce(written, pl.from_epoch(days, time_unit="d")).dt.to_string()


def _bare_segment() -> pl.Expr:
    by_index = (
        pl.when(_SEGMENT == "MCX_INDEX")
        .then(pl.lit("commodity_indices"))
        .when(_KEY.str.to_uppercase().str.contains(GOVERNMENT_INDEX))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    return (
        pl.when(_SEGMENT.is_in(INDEX_SEGMENTS))
        .then(by_index)
        .when(_SEGMENT.is_in(CASH_SEGMENTS))
        .then(_cash_segment())
        .when(_SEGMENT.is_in(list(EXCHANGES)))
        .then(_derivative_segment())
        .otherwise(pl.lit(UNCATEGORISED))
    )


def _cash_segment() -> pl.Expr:
    isin = pl.col("isin")
    return pl.coalesce(
        *(pl.when(code == _SEGMENT).then(first_match(_TYPE, patterns)) for code, patterns in SERIES_SEGMENTS.items()),
        first_match(isin, ISIN_SEGMENTS),
        pl.when(isin.is_null() & _TYPE.str.contains(SHARE_SERIES)).then(pl.lit("equities")),
        pl.lit(UNCATEGORISED),
    )


def _derivative_segment() -> pl.Expr:
    kind = pl.coalesce("underlying_type", "asset_type").str.to_uppercase()
    head = kind.replace_strict(UNDERLYING_HEADS, default=None, return_dtype=pl.String)
    on_goods = (kind == "INDEX") & _SEGMENT.is_in(COMMODITY_SEGMENTS)
    head = pl.when(on_goods).then(pl.lit("commodity_index")).otherwise(head)
    complete = pl.col("underlying").is_not_null() & pl.col("expiry").is_not_null()
    complete &= (_TYPE == "FUT") | (pl.col("strike_price") > 0)
    named = head + pl.col("shape")
    return pl.when(complete & named.is_not_null()).then(named).otherwise(pl.lit(UNCATEGORISED))


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    option = derived & (pl.col("shape") == "_options")
    index = _SEGMENT.is_in(INDEX_SEGMENTS)
    # The exchange's own name of an index is in its key (`NSE_INDEX|Nifty 50`).
    symbol = pl.when(index).then(_KEY.str.extract(r"\|(.+)$").str.to_uppercase()).otherwise(pl.col("trading_symbol"))
    rows = rows.with_columns(symbol=pl.when(~derived).then(symbol), units=_contract_units())
    # An issuer's debentures can share a symbol: then the series tells them apart.
    alone = pl.len().over("ours", "bare", "symbol") == 1
    listed_lot, tick, freeze = pl.col("lot_size"), pl.col("tick_size"), pl.col("freeze_quantity")
    listed_lot = pl.when(listed_lot >= 1).then(listed_lot)
    lot = pl.when(_SEGMENT.is_in(LOT_SEGMENTS)).then(pl.col("units")).otherwise(listed_lot)
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(alone | _TYPE.is_null()).then(pl.col("symbol")).otherwise(pl.col("symbol") + "-" + _TYPE),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike_price")),
        option_type=pl.when(option).then(_TYPE),
        name=pl.col("name"),
        isin=pl.when(pl.col("isin").str.contains("^IN[A-Z0-9]{10}$")).then(pl.col("isin")),
        lot_size=lot.cast(pl.Int64),
        tick_size=pl.when(tick > 0).then(tick / 100),
        # Counted as the file's lot_size is: units, or contracts.
        freeze_quantity=pl.when(freeze > 0).then(freeze * lot / listed_lot).floor().cast(pl.Int64),
        contract_units=pl.col("units").cast(pl.Int64),
        broker_token=_KEY,
        tradingsymbol=pl.col("trading_symbol"),
        broker_exchange=_SEGMENT,
        **{f"{RAW_PREFIX}{name}": pl.col(f"{RAW_PREFIX}{name}") for name in RAW_COLUMNS},
    )


def _contract_units() -> pl.Expr:
    """Units in one of the broker's quantities; null = it counts contracts and the size of one is not known.

    A multiplier of 1 is believed only of a commodity whose lot is 1 as well; a currency contract is never one unit.
    """
    multiplier = pl.col("qty_multiplier")
    single = (multiplier == 1) & (pl.col("lot_size") == 1) & _SEGMENT.is_in(COMMODITY_SEGMENTS)
    size = pl.when((multiplier > 1) & (multiplier == multiplier.floor()) | single).then(multiplier)
    return pl.when(_SEGMENT.is_in(LOT_SEGMENTS)).then(size).otherwise(pl.lit(1.0))
