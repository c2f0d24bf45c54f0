"""Fyers' instrument files into the normalized frame: seven CSVs without a header, and their JSON twins for what the CSVs
lack.

Only the JSON has the freeze quantity and the size of a contract (`qtyMultiplier`). A further small file gives the data
socket's names of indices. Sources: rows kept in public projects' tests (layout); documentation "FYERS API v3", symbol
master, not re-read by us (types, segments); fyers-apiv3 3.2.0 (names of indices). Segments are derived from type and
series, then from ISIN; the meaning of series and ISINs is general knowledge, unchecked.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec
import polars as pl

from onebroker.brokers.broker import Access, ReadFlow
from onebroker.brokers.codec.instrument_files import is_missing, read_each
from onebroker.brokers.codec.json_listings import number_column, text_column
from onebroker.brokers.fyers.values import CASH_SEGMENTS, EXCHANGES, LOT_SEGMENTS, SEGMENTS
from onebroker.brokers.listings.frame import (
    CURRENCY_PAIR,
    GOVERNMENT_INDEX,
    ISIN_PATTERN,
    Basis,
    broker_words,
    by_isin,
    by_series,
    listed_symbol,
    listing_frame,
    read_table,
    stated,
    texts,
    told,
)
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest
from onebroker.config.instruments import UNCATEGORISED

FILES = ("NSE_CM", "NSE_FO", "NSE_CD", "NSE_COM", "BSE_CM", "BSE_FO", "MCX_COM")
CSV_ENDING, JSON_ENDING = ".csv", "_sym_master.json"
INDEX_NAMES = "/index_hsm_mapping.json"
"""One object: ticker of an index -> its name on the data socket."""

COLUMNS = (
    "fytoken", "name", "type", "minimum_lot", "tick", "isin", "trading_session", "last_update", "expiry", "ticker",
    "exchange_number", "segment_number", "exchange_token", "underlying", "underlying_token", "strike", "option_type",
    "underlying_fytoken",
)  # fmt: skip
"""The columns of the CSV in their order; further columns are reserved."""
RAW_COLUMNS = (
    "fytoken", "type", "exchange_token", "trading_session", "last_update", "underlying_token", "underlying_fytoken",
)  # fmt: skip
RAW_MASTER = ("mtf_tradable", "leverage", "face_value", "upper_price", "lower_price")
"""Columns that no other column of the frame carries; the second tuple is for the JSON."""

INDEX_TYPE = "10"
TYPE_SEGMENTS = {
    "1": "equities",  # preference shares
    "2": "fixed_income",  # debentures
    "3": "equities",  # warrants
    "5": "fixed_income",  # sovereign gold bonds
    "6": "fixed_income",  # government securities
    "7": "fixed_income",  # treasury bills
    "8": "mutual_funds",
    "9": "exchange_traded_funds",
}
"""Type of a cash instrument -> segment; 0 is anything that is listed like a share."""
SHARE_TYPE = "0"
EQUITY_DERIVATIVES = frozenset({"nse_fo", "bse_fo"})
CURRENCY_DERIVATIVES = frozenset({"cde_fo", "bcs_fo"})
INDEX_DERIVATIVES, SHARE_DERIVATIVES = ("11", "12", "14"), ("13", "15")
"""Types of equity derivatives: futures, volatility futures and options on indices; futures and options on shares."""
COMMODITY_INDEX_TYPE = "11"

INDIA_SECONDS, DAY_SECONDS = 19_800, 86_400

_TYPE, _TICKER, _SEGMENT = pl.col("type"), pl.col("ticker"), pl.col("segment_word")


class MasterRow(msgspec.Struct, gc=False):
    """The fields of a JSON row that the CSV lacks; values may be texts or numbers."""

    qtyFreeze: object = None
    qtyMultiplier: object = None
    is_mtf_tradable: object = None
    leverage: object = None
    faceValue: object = None
    upperPrice: object = None
    lowerPrice: object = None


def file_requests(access: Access, now: datetime) -> ReadFlow:
    """Yield the calls for all files; none needs a login."""
    base = access.endpoints.instruments_url
    for ending in (CSV_ENDING, JSON_ENDING):
        for name in FILES:
            yield _file(f"{base}/{name}{ending}")
    yield _file(f"{base}{INDEX_NAMES}")


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    Without the file of index names, the indices are left out. Raises `BadFiles` for bodies that are not the files.
    """
    if len(bodies) != 2 * len(FILES) + 1:
        raise BadAnswer(f"{len(bodies)} instrument files instead of {2 * len(FILES) + 1}")
    parts = read_each(bodies[: len(FILES)], _read)
    rows = pl.concat([rows for rows, _ in parts])
    listed = rows.height + sum(lost for _, lost in parts)
    if rows.is_empty():
        raise BadAnswer("the instrument files name no instrument")
    rows = rows.unique("fytoken", keep="first", maintain_order=True)
    unread = listed - rows.height
    rows = rows.join(_masters(bodies[len(FILES) : -1]), on="ticker", how="left", maintain_order="left")
    rows = rows.join(_index_names(bodies[-1]), on="ticker", how="left", maintain_order="left")
    rows = _told(rows)
    if is_missing(bodies[-1]):  # only this file has the exchange's name of an index
        rows = rows.filter(~pl.col("index").fill_null(False))
    return listing_frame(_normalized(rows), unread=unread)


def _file(url: str) -> WireRequest:
    return WireRequest(kind=CallKind.FILE, method="GET", url=url)


def _read(body: bytes) -> tuple[pl.DataFrame, int]:
    """Return one CSV's rows, and how many rows were left out; the file of a segment without contracts is empty."""
    if not body.strip():
        return pl.DataFrame(schema=dict.fromkeys(COLUMNS, pl.String)), 0
    rows, lost = read_table(body, "an instrument file", columns=COLUMNS)
    listed = rows.height + lost
    rows = rows.select(texts(rows, COLUMNS))
    # A row is recognised by its own numbers: this also drops a header that the file may get one day.
    named = pl.col("fytoken").str.contains(r"^\d{11,}$") & _TICKER.str.contains(r"^[A-Z]+:.+")
    rows = rows.filter(named)
    if rows.is_empty():
        raise BadAnswer("an instrument file names no instrument")
    return rows, listed - rows.height


def _masters(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the data of each ticker from the JSON files that came."""
    masters = [] if all(map(is_missing, bodies)) else read_each(bodies, _master, first=len(FILES))
    tickers = [ticker for rows in masters for ticker in rows]
    found = [row for rows in masters for row in rows.values()]
    frame = pl.DataFrame(
        [
            pl.Series("ticker", tickers, dtype=pl.String),
            number_column("freeze", [row.qtyFreeze for row in found]),
            number_column("multiplier", [row.qtyMultiplier for row in found]),
            text_column(RAW_MASTER[0], [row.is_mtf_tradable for row in found]),
            text_column(RAW_MASTER[1], [row.leverage for row in found]),
            text_column(RAW_MASTER[2], [row.faceValue for row in found]),
            text_column(RAW_MASTER[3], [row.upperPrice for row in found]),
            text_column(RAW_MASTER[4], [row.lowerPrice for row in found]),
        ]
    )
    return frame.unique("ticker", keep="first", maintain_order=True)


def _master(body: bytes) -> dict[str, MasterRow]:
    try:
        return msgspec.json.decode(body, type=dict[str, MasterRow])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswer(f"an instrument master cannot be read: {error}") from error


def _index_names(body: bytes) -> pl.DataFrame:
    (names,) = [{}] if is_missing(body) else read_each([body], _names, first=2 * len(FILES))
    return pl.DataFrame(
        [
            pl.Series("ticker", list(names), dtype=pl.String),
            pl.Series("stream_name", [name.strip() for name in names.values()], dtype=pl.String),
        ]
    ).with_columns(pl.col("stream_name").replace("", None))


def _names(body: bytes) -> dict[str, str]:
    try:
        return msgspec.json.decode(body, type=dict[str, str])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadAnswer(f"the names of the indices cannot be read: {error}") from error


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """Add what the rows imply: segment, end of the ticker, day of expiry, strike, shape."""
    stem = _TICKER.str.extract(r"^[A-Z]+:(.+)$").str.to_uppercase()
    rows = rows.with_columns(
        segment_word=(pl.col("exchange_number") + pl.col("segment_number")).replace_strict(SEGMENTS, default=""),
        stem=stem,
        # Names themselves contain dashes (BAJAJ-AUTO-EQ): the series follows the last one.
        series=stem.str.extract(r"-([A-Z0-9]+)$"),
        base=stem.str.replace(r"-[A-Z0-9]+$", ""),
        strike=pl.col("strike").cast(pl.Float64, strict=False),
        day=_expiry_day(),
        underlying=pl.col("underlying").str.to_uppercase(),
    )
    # A future's option type is XX, or nothing (BSE's).
    option = pl.col("option_type").is_in(["CE", "PE"]).fill_null(False)
    rows = rows.with_columns(
        ours=_SEGMENT.replace_strict(EXCHANGES, default="unknown"),
        index=_SEGMENT.is_in(CASH_SEGMENTS) & (_TYPE == INDEX_TYPE).fill_null(False),
        cash=_SEGMENT.is_in(CASH_SEGMENTS) & ~(_TYPE == INDEX_TYPE).fill_null(False),
        option=option,
        shape=pl.when(option).then(pl.lit("_options")).otherwise(pl.lit("_futures")),
        units=_contract_units(),
    )
    return _with_segments(rows)


def _expiry_day() -> pl.Expr:
    """The Indian day of the expiry time."""
    moment = pl.col("expiry").cast(pl.Float64, strict=False)
    moment = pl.when(moment > 0).then(moment)
    days = ((moment + INDIA_SECONDS) / DAY_SECONDS).floor().cast(pl.Int32, strict=False)
    return pl.from_epoch(days, time_unit="d").dt.to_string()


def _contract_units() -> pl.Expr:
    """Units in one of Fyers' quantities; null = it counts in lots and the size of one is not known.

    A multiplier of 1 is trusted only for a commodity; a currency contract is never one unit.
    """
    multiplier = pl.col("multiplier")
    whole = (multiplier >= 1) & (multiplier == multiplier.floor())
    size = pl.when(whole & ((multiplier > 1) | ~_SEGMENT.is_in(CURRENCY_DERIVATIVES))).then(multiplier)
    return pl.when(_SEGMENT.is_in(LOT_SEGMENTS)).then(size).otherwise(pl.lit(1.0)).cast(pl.Int64)


def _with_segments(rows: pl.DataFrame) -> pl.DataFrame:
    by_index = (
        pl.when(pl.coalesce("stream_name", "name").str.to_uppercase().str.contains(GOVERNMENT_INDEX))
        .then(pl.lit("fixed_income_indices"))
        .otherwise(pl.lit("equity_indices"))
    )
    cash, index, isin = pl.col("cash"), pl.col("index"), pl.col("isin")
    contract = (_SEGMENT != "") & ~cash & ~index
    return told(
        rows,
        (pl.when(index).then(by_index), Basis.STATED),
        (pl.when(contract).then(_derivative_segment(rows)), Basis.STATED),
        (pl.when(cash).then(by_series(pl.col("ours"), pl.col("series"))), Basis.STATED),
        (pl.when(cash).then(stated(TYPE_SEGMENTS, _TYPE)), Basis.STATED),
        (pl.when(cash).then(by_isin(isin)), Basis.ISIN),
        (pl.when(cash & isin.is_null() & (_TYPE == SHARE_TYPE)).then(pl.lit("equities")), Basis.SUPPOSED),
    )


def _derivative_segment(rows: pl.DataFrame) -> pl.Expr:
    head = (
        pl.when(_SEGMENT.is_in(EQUITY_DERIVATIVES))
        .then(_equity_head(rows))
        .when(_SEGMENT.is_in(CURRENCY_DERIVATIVES))
        .then(pl.when(pl.col("underlying").str.contains(CURRENCY_PAIR)).then(pl.lit("currency")).otherwise(pl.lit("fixed_income")))
        .when((_TYPE == COMMODITY_INDEX_TYPE) & ~pl.col("option"))
        .then(pl.lit("commodity_index"))
        .otherwise(pl.lit("commodity"))
    )  # fmt: skip
    complete = pl.col("underlying").is_not_null() & pl.col("day").is_not_null()
    priced = (pl.col("strike") > 0).fill_null(False)
    # An option without CE or PE is neither an option nor a future: it has a strike.
    complete &= (pl.col("option") & priced) | (~pl.col("option") & (pl.col("option_type").is_not_null() | ~priced))
    return pl.when(complete).then(head + pl.col("shape"))


def _equity_head(rows: pl.DataFrame) -> pl.Expr:
    """Index or share: by the type; where the type is another, by the row of the underlying."""
    indices = rows.filter(pl.col("index"))["fytoken"].to_list()
    cash = rows.filter(_SEGMENT.is_in(CASH_SEGMENTS) & ~pl.col("index"))["fytoken"].to_list()
    return (
        pl.when(_TYPE.is_in(INDEX_DERIVATIVES) | pl.col("underlying_fytoken").is_in(indices))
        .then(pl.lit("equity_index"))
        .when(_TYPE.is_in(SHARE_DERIVATIVES) | pl.col("underlying_fytoken").is_in(cash))
        .then(pl.lit("equity"))
    )


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    # Without a data-socket name the official client uses the ticker's own name, and so do we.
    stream_name = pl.coalesce("stream_name", "base")
    index, cash, fits = pl.col("index"), pl.col("cash"), pl.col("bare") != UNCATEGORISED
    in_series = listed_symbol(pl.col("ours"), pl.col("base"), pl.col("series"))
    symbol = pl.when(index).then(stream_name.str.to_uppercase()).when(cash).then(in_series).otherwise(pl.col("stem"))
    rows = rows.with_columns(
        symbol=pl.when(~derived).then(symbol),
        tail=pl.when(index).then(stream_name).otherwise(pl.col("fytoken").str.slice(10)),
    )
    listed_lot = pl.col("minimum_lot").cast(pl.Float64, strict=False).cast(pl.Int64, strict=False)
    tick, freeze = pl.col("tick").cast(pl.Float64, strict=False), pl.col("freeze")
    option = derived & pl.col("option")
    segment_word = pl.when(_SEGMENT != "").then(_SEGMENT).otherwise(pl.col("fytoken").str.head(4))
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.col("symbol"),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("day")),
        strike_price=pl.when(option).then(pl.col("strike")),
        option_type=pl.when(option).then(pl.col("option_type")),
        name=pl.col("name"),
        isin=pl.when(pl.col("isin").str.contains(ISIN_PATTERN)).then(pl.col("isin")),
        # Lots of a contract, or units: counted as in orders.
        lot_size=pl.when(listed_lot > 0).then(listed_lot * pl.col("units")),
        tick_size=pl.when(tick > 0).then(tick),
        # Assumed to be counted like orders too; zero and less mean none.
        freeze_quantity=pl.when(freeze >= 1).then(freeze.floor().cast(pl.Int64) * pl.col("units")),
        contract_units=pl.col("units"),
        broker_token=segment_word + "|" + pl.col("tail"),
        tradingsymbol=_TICKER,
        broker_exchange=_TICKER.str.extract(r"^([A-Z]+):"),
        basis=pl.col("basis"),
        series=pl.when(cash).then(pl.col("series")),
        exchange_token=pl.when(cash | (fits & ~index)).then(pl.col("exchange_token")),
        short_name=pl.when(index).then(pl.col("underlying")),
        words=broker_words(
            pl.col("bare"), pl.col("exchange_number"), pl.col("segment_number"), _TYPE, pl.col("series")
        ),
        **{f"{RAW_PREFIX}{name}": pl.col(name) for name in (*RAW_COLUMNS, *RAW_MASTER)},
    ).unique("broker_token", keep="first", maintain_order=True)
