"""Groww's instrument file (one CSV of all exchanges) into the normalized frame.

Source: sheet groww 4 (header and rows as seen in 2026-09). Columns are read by name: their order, and which there are, has
changed. Kinds of securities are told by series and ISIN (general knowledge, unchecked). The file's freeze_quantity is in units
that contradict each other, so it is shown and not used; lots and ticks are blank for an index.
"""

from collections.abc import Sequence
from datetime import datetime

import polars as pl
from polars.exceptions import PolarsError

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.groww.values import BETWEEN, CASH, COMMODITY, DERIVATIVES, EXCHANGES, INDEX
from onebroker.brokers.listings import GOVERNMENT_INDEX, NSE_SERIES, RAW_PREFIX, first_match, listing_frame
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

COLUMNS = (
    "exchange", "exchange_token", "trading_symbol", "groww_symbol", "name", "instrument_type", "segment", "series", "isin",
    "underlying_symbol", "underlying_exchange_token", "expiry_date", "strike_price", "lot_size", "tick_size",
)  # fmt: skip
RAW_COLUMNS = (
    "exchange_token", "groww_symbol", "instrument_type", "series", "underlying_exchange_token", "freeze_quantity",
    "is_reserved", "buy_allowed", "sell_allowed", "internal_trading_symbol", "is_intraday",
)  # fmt: skip
"""What nothing else carries."""

BSE_GROUPS: Sequence[tuple[str, str]] = (
    (r"^[FG]$", "fixed_income"),  # corporate and government paper
    (r"^IF$", "investment_trusts"),
)
ISINS: Sequence[tuple[str, str]] = (
    (r"^INF", "exchange_traded_funds"),  # units of a fund, listed like a share
    (r"^INE.{4}(23|25)", "investment_trusts"),
    (r"^(IN[0-4]|INE.{4}(07|08|14|16|24))", "fixed_income"),  # governments; debentures, bonds, commercial paper
    (r"^(INE.{4}01|IN9)", "equities"),
)
"""ISIN -> segment: the kind of security stands behind the issuer's four characters."""
SHARE_SERIES = r"^(EQ|BE|BZ|SM|ST|SZ|A|B|T|X|XT|Z|ZP|M|MT|P)$"
"""For a row without an ISIN."""

_BOM = b"\xef\xbb\xbf"
_EXCHANGE, _SYMBOL, _SEGMENT = pl.col("exchange"), pl.col("trading_symbol"), pl.col("segment")
_TYPE, _SERIES, _ISIN = pl.col("instrument_type"), pl.col("series"), pl.col("isin")
_FUTURE, _OPTION = _TYPE == "FUT", _TYPE.is_in(["CE", "PE"])


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """The file needs no login."""
    yield WireRequest(kind=CallKind.FILE, method="GET", url=access.endpoints.instruments_url)


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names nothing is dropped, one that fits nothing is uncategorised.

    Raises `BadAnswer` for a body that is not the file.
    """
    rows = _read(bodies[0])
    rows = rows.with_columns(
        ours=_EXCHANGE.replace_strict(EXCHANGES, default="unknown"),
        expiry=pl.col("expiry_date").str.to_date("%Y-%m-%d", strict=False).dt.to_string(),
        strike=pl.col("strike_price").cast(pl.Float64, strict=False),
        underlying=pl.col("underlying_symbol").str.to_uppercase(),
        place=pl.when(_TYPE == INDEX).then(pl.lit(INDEX)).otherwise(_SEGMENT),
    )
    rows = rows.with_columns(token=pl.concat_str([_EXCHANGE, "place", _SYMBOL], separator=":"))
    rows = rows.unique("token", keep="first", maintain_order=True)
    rows = rows.with_columns(bare=_bare_segment(rows))
    return listing_frame(_normalized(rows))


def _read(body: bytes) -> pl.DataFrame:
    try:
        rows = pl.read_csv(
            body.removeprefix(_BOM), infer_schema=False, truncate_ragged_lines=True, encoding="utf8-lossy"
        )
    except PolarsError as error:
        raise BadAnswer(f"the instrument file cannot be read: {error}") from error
    missing = [name for name in COLUMNS if name not in rows.columns]
    if missing:
        raise BadAnswer(f"the instrument file has no column {', '.join(missing)}")
    wanted = dict.fromkeys((*COLUMNS, *RAW_COLUMNS))
    rows = rows.select(
        (pl.col(name).str.strip_chars().replace("", None) if name in rows.columns else pl.lit(None, pl.String)).alias(
            name
        )
        for name in wanted
    )
    named = _SYMBOL.is_not_null() & _EXCHANGE.is_not_null() & _SEGMENT.is_not_null() & _TYPE.is_not_null()
    return rows.filter(named).with_columns(
        _EXCHANGE.str.to_uppercase(), _SEGMENT.str.to_uppercase(), _TYPE.str.to_uppercase(), _ISIN.str.to_uppercase(),
        _SERIES.str.to_uppercase(),
    )  # fmt: skip


def _bare_segment(rows: pl.DataFrame) -> pl.Expr:
    by_index = (
        pl.when(_EXCHANGE == "MCX")
        .then(pl.lit("commodity_indices"))
        .when(pl.col("name").str.to_uppercase().str.contains(GOVERNMENT_INDEX).fill_null(False))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    return (
        pl.when(_TYPE == INDEX)
        .then(by_index)
        .when(_FUTURE | _OPTION)
        .then(_derivative_segment(rows))
        .when((_SEGMENT == CASH) & _EXCHANGE.is_in(["NSE", "BSE"]))
        .then(_cash_segment())
        .otherwise(pl.lit(UNCATEGORISED))
    )


def _cash_segment() -> pl.Expr:
    return pl.coalesce(
        pl.when(_EXCHANGE == "NSE").then(first_match(_SERIES, NSE_SERIES)),
        pl.when(_EXCHANGE == "BSE").then(first_match(_SERIES, BSE_GROUPS)),
        first_match(_ISIN, ISINS),
        pl.when(_ISIN.is_null() & _SERIES.str.contains(SHARE_SERIES)).then(pl.lit("equities")),
        pl.lit(UNCATEGORISED),
    )


def _derivative_segment(rows: pl.DataFrame) -> pl.Expr:
    """A contract is on an index when the file lists its underlying as one, by number or by symbol."""
    indices = rows.filter(_TYPE == INDEX)
    numbers = (indices["exchange"] + ":" + indices["exchange_token"]).drop_nulls().to_list()
    symbols = (indices["exchange"] + ":" + indices["trading_symbol"].str.to_uppercase()).drop_nulls().to_list()
    on_index = pl.concat_str([_EXCHANGE, "underlying_exchange_token"], separator=":").is_in(numbers).fill_null(False)
    on_index |= pl.concat_str([_EXCHANGE, "underlying"], separator=":").is_in(symbols).fill_null(False)
    # A segment that no row was ever seen of (currency) is not guessed.
    head = _SEGMENT.replace_strict({DERIVATIVES: "equity", COMMODITY: "commodity"}, default=None)
    complete = pl.col("underlying").is_not_null() & pl.col("expiry").is_not_null()
    complete &= _FUTURE | (pl.col("strike") > 0)
    index = pl.when(on_index).then(pl.lit("_index")).otherwise(pl.lit(""))
    shape = pl.when(_FUTURE).then(pl.lit("_futures")).otherwise(pl.lit("_options"))
    return pl.when(complete & head.is_not_null()).then(head + index + shape).otherwise(pl.lit(UNCATEGORISED))


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    index = pl.col("place") == INDEX
    # The exchange's own name of an index is in the column `name`; the trading symbol is the short one of its derivatives.
    written = pl.when(index).then(pl.coalesce("name", _SYMBOL)).otherwise(_SYMBOL).str.to_uppercase()
    base = written.str.strip_suffix("-" + _SERIES)
    rows = rows.with_columns(base=pl.when(_SERIES.is_null()).then(written).otherwise(base))
    # A share can be listed in two series at once and an issuer's debentures are many: then the series tells them apart.
    alone = pl.len().over("ours", "bare", "base") == 1
    symbol = pl.when(alone | _SERIES.is_null()).then(pl.col("base")).otherwise(pl.col("base") + "-" + _SERIES)
    lot = pl.col("lot_size").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    tick = pl.col("tick_size").cast(pl.Float64, strict=False)
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(~derived).then(symbol),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(derived & _OPTION).then(pl.col("strike")),
        option_type=pl.when(derived & _OPTION).then(_TYPE),
        name=pl.col("name"),
        isin=pl.when(_ISIN.str.contains("^IN[A-Z0-9]{10}$")).then(_ISIN),
        lot_size=pl.when(lot > 0).then(lot),
        tick_size=pl.when(tick > 0).then(tick),
        contract_units=pl.lit(1),
        broker_token=pl.col("token"),
        tradingsymbol=_SYMBOL,
        broker_exchange=_EXCHANGE,
        other_names=pl.when(pl.col("exchange_token").is_not_null()).then(
            pl.concat_str(["exchange_token", pl.col("groww_symbol").fill_null("")], separator=BETWEEN)
        ),
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in RAW_COLUMNS},
    )
