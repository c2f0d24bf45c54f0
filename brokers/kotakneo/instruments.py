"""Kotak Neo's scrip files (seven CSVs of a day) into the normalized frame.

Source: docs/brokers/kotakneo.md, section 4. Header names carry stray blanks and a semicolon. Ticks and strikes are paise;
for currency this is not sure. Expiries count from 1980 in two files and from 1970 in the others. A fact with another
source than the broker's page, general knowledge or a public row of a real file says so where it is used.
"""

from collections.abc import Sequence

import polars as pl

from onebroker.brokers.codec.instrument_files import read_each
from onebroker.brokers.kotakneo.scrip_files import file_requests as file_requests
from onebroker.brokers.kotakneo.values import CASH_SEGMENTS, EXCHANGES, token_of
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
    texts,
    told,
)
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.requests import BadAnswer
from onebroker.config.instruments import UNCATEGORISED

NAMING = ("pSymbol", "pExchSeg", "pTrdSymbol")
"""A file without these columns is not the expected file."""
COLUMNS = (
    *NAMING, "pGroup", "pInstType", "pSymbolName", "pOptionType", "pISIN", "pDesc", "dTickSize", "lLotSize", "lExpiryDate",
    "lMultiplier", "dStrikePrice", "pInstName", "lFreezeQty",
)  # fmt: skip
RAW_COLUMNS = (
    "pGroup", "pInstType", "pInstName", "pScripRefKey", "lMultiplier", "lPrecision", "dHighPriceRange", "dLowPriceRange",
    "dGenNum", "dGenDen", "dPriceNum", "dPriceDen", "iMaxOrderSize", "iBoardLotQty", "iPermittedToTrade", "CASEligible",
)  # fmt: skip
"""Columns that no other column of the frame carries."""

INDEX_NAMES = {
    "NIFTY": "Nifty 50",
    "BANKNIFTY": "Nifty Bank",
    "FINNIFTY": "Nifty Fin Service",
    "MIDCPNIFTY": "NIFTY MID SELECT",
    "NIFTYNXT50": "Nifty Next 50",
    "INDIAVIX": "INDIA VIX",
}
"""An index' name in the file -> the display name, with its exact case, that quotes and the stream use. The broker's page
gives some; the others are the exchange's own names (general knowledge, unchecked). An index that is not here is known by
its trading symbol."""


DERIVATIVE_HEADS: Sequence[tuple[str, str]] = (
    (r"^((FUT|OPT)STK|SF|SO)$", "equity"),
    (r"^((FUT|OPT)IDX|IF|IO)$", "equity_index"),
    (r"^(FUT|OPT)CUR$", "currency"),
    (r"^(FUT|OPT)IR[CDT]$", "fixed_income"),
    (r"^(FUTCOM|OPTFUT|OPTCOM)$", "commodity"),
)
"""Instrument type -> head of the derivative's segment. The broker's page shows FUTSTK, FUTCUR, OPTFUT and FUTCOM; BSE's two letters are
the exchange's own (general knowledge, unchecked)."""
COMMODITY_FILES = ("mcx_fo", "nse_com")

FROM_1980 = ("nse_fo", "cde_fo")
"""Files whose expiries count Indian seconds from the beginning of 1980. The others use Unix time: the last second of the
day in UTC (the broker's page's GOLDM row)."""
DAYS_TO_1980 = 3652
DAY_SECONDS = 86_400

PAISE = 100.0
CURRENCY_SCALES = (100.0, 10_000.0, 10_000_000.0)
SMALLEST_CURRENCY_TICK, LARGEST_CURRENCY_TICK = 0.0005, 0.05
"""Rupees. The file's unit of currency prices is not known: we take the unit in which a row's tick is a possible tick."""

CONTRACT_FILES = ("cde_fo", "mcx_fo", "nse_com")
"""Files where a lot of 1 means that the broker counts contracts; the units of a contract are then the multiplier, if given."""

_SEGMENT, _ISIN, _GROUP = pl.col("pExchSeg"), pl.col("pISIN"), pl.col("pGroup")
_OPTION = pl.col("pOptionType").is_in(["CE", "PE"])


def read_files(bodies: Sequence[bytes]) -> pl.DataFrame:
    """Return the normalized frame; a row that names no instrument is dropped, a row that matches no segment is
    uncategorised.

    The first body is the list of the files. Raises `BadFiles` for bodies that are not such files; a file without rows is
    fine (NSE's commodities on most days).
    """
    parts = read_each(bodies[1:], _read, first=1)
    rows = pl.concat([rows for rows, _, _ in parts])
    listed = rows.height + sum(lost for _, lost, _ in parts)
    absent = list(dict.fromkeys(name for _, _, lacked in parts for name in lacked))
    rows = rows.filter(
        pl.col("pSymbol").is_not_null() & pl.col("pTrdSymbol").is_not_null() & _SEGMENT.is_not_null()
    ).unique(["pExchSeg", "pSymbol"], keep="first", maintain_order=True)
    if rows.is_empty():
        raise BadAnswer("the instrument files name no instrument")
    index = _SEGMENT.is_in(CASH_SEGMENTS) & _ISIN.is_null() & _GROUP.is_null()
    rows = rows.with_columns(
        ours=_SEGMENT.replace_strict(EXCHANGES, default="unknown"),
        cash=_SEGMENT.is_in(CASH_SEGMENTS) & ~index,
        display=pl.when(index).then(_display_name()),
        underlying=pl.col("pSymbolName").str.to_uppercase(),
        expiry=_expiry(),
        scale=_scale(),
    ).with_columns(strike=pl.col("dStrikePrice") / pl.col("scale"), units=_contract_units())
    return listing_frame(_normalized(_told(rows)), unread=listed - rows.height, absent=absent)


def _read(body: bytes) -> tuple[pl.DataFrame, int, Sequence[str]]:
    """Return one file's rows, how many rows were left out, and which columns it lacks."""
    rows, lost = read_table(body, "an instrument file")
    rows = rows.rename({name: name.strip(" ;") for name in rows.columns})
    absent = lacking(rows, NAMING, COLUMNS, "an instrument file")
    rows = rows.select(texts(rows, _every_column()))
    numbers = ("dTickSize", "lLotSize", "lExpiryDate", "lMultiplier", "dStrikePrice", "lFreezeQty")
    raw = [pl.col(name).alias(f"{RAW_PREFIX}{name}") for name in RAW_COLUMNS]
    rows = rows.with_columns(
        *raw,
        *(pl.col(name).cast(pl.Float64, strict=False) for name in numbers),
        pl.col("pISIN", "pGroup", "pOptionType", "pInstType", "pInstName").str.to_uppercase(),
    )
    return rows, lost, absent


def _every_column() -> list[str]:
    return list(dict.fromkeys((*COLUMNS, *RAW_COLUMNS)))


def _display_name() -> pl.Expr:
    named = pl.col("pSymbolName").str.to_uppercase().replace_strict(INDEX_NAMES, default=None, return_dtype=pl.String)
    return pl.coalesce(named, pl.col("pTrdSymbol"))


def _expiry() -> pl.Expr:
    """The day of an expiry; -1 and 0 mean none."""
    counted = pl.when(pl.col("lExpiryDate") > 0).then((pl.col("lExpiryDate") / DAY_SECONDS).floor())
    days = counted + pl.when(_SEGMENT.is_in(FROM_1980)).then(DAYS_TO_1980).otherwise(0)
    return pl.from_epoch(days.cast(pl.Int32, strict=False), time_unit="d").dt.to_string()


def _scale() -> pl.Expr:
    """Price units of the file in a rupee; for currency null when no unit makes the tick a possible tick."""
    tick = pl.col("dTickSize")
    fitting = pl.coalesce(
        *(
            pl.when((tick / scale).is_between(SMALLEST_CURRENCY_TICK, LARGEST_CURRENCY_TICK)).then(pl.lit(scale))
            for scale in CURRENCY_SCALES
        ),
        pl.lit(None, dtype=pl.Float64),
    )
    return pl.when(_SEGMENT == "cde_fo").then(fitting).otherwise(pl.lit(PAISE))


def _contract_units() -> pl.Expr:
    """Units in one of the broker's quantities. Null = it counts contracts and the size of one is not known, or nothing
    says what it counts."""
    lot, multiplier = pl.col("lLotSize"), pl.col("lMultiplier")
    size = pl.when(multiplier > 1).then(multiplier)
    counts_units = _SEGMENT.is_in(CONTRACT_FILES).not_() | (lot > 1)
    return pl.when(counts_units).then(pl.lit(1.0)).when(lot.is_not_null()).then(size)


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    government = pl.col("display").str.to_uppercase().str.contains(GOVERNMENT_INDEX)
    by_index = pl.when(government).then(pl.lit("fixed_income_indices")).otherwise(pl.lit("equity_indices"))
    cash, index = pl.col("cash"), pl.col("display").is_not_null()
    return told(
        rows,
        (pl.when(index).then(by_index), Basis.STATED),
        (pl.when(~index & ~cash & (pl.col("ours") != "unknown")).then(_derivative_segment()), Basis.STATED),
        (pl.when(cash).then(by_series(pl.col("ours"), _GROUP)), Basis.STATED),
        (pl.when(cash).then(by_isin(_ISIN)), Basis.ISIN),
    )


def _derivative_segment() -> pl.Expr:
    kind = pl.coalesce("pInstType", "pInstName")
    head = first_match(kind, DERIVATIVE_HEADS)
    on_goods = (head == "equity_index") & _SEGMENT.is_in(COMMODITY_FILES)
    head = pl.when(on_goods).then(pl.lit("commodity_index")).otherwise(head)
    shape = pl.when(_OPTION).then(pl.lit("_options")).otherwise(pl.lit("_futures"))
    # A future has XX or, in commodities, nothing.
    known = _OPTION | pl.col("pOptionType").is_null() | pl.col("pOptionType").is_in(["XX", "FUT"])
    complete = known & pl.col("underlying").is_not_null() & pl.col("expiry").is_not_null()
    complete &= _OPTION.fill_null(False).not_() | (pl.col("strike") > 0).fill_null(False)
    return pl.when(complete.fill_null(False)).then(head + shape)


def _normalized(rows: pl.DataFrame) -> pl.DataFrame:
    derived = pl.col("bare").str.contains("_(futures|options)$")
    option = derived & _OPTION
    index = pl.col("display").is_not_null()
    cash, fits = pl.col("cash"), pl.col("bare") != UNCATEGORISED
    in_series = listed_symbol(pl.col("ours"), pl.coalesce("pSymbolName", "pTrdSymbol"), _GROUP)
    symbol = pl.when(index).then(pl.col("display")).when(cash).then(in_series).otherwise(pl.col("pTrdSymbol"))
    lot, tick, freeze = pl.col("lLotSize"), pl.col("dTickSize"), pl.col("lFreezeQty")
    lot = pl.when(lot * pl.col("units") >= 1).then(lot * pl.col("units"))
    # A real row of NSE's options says 1801 where the exchange publishes 1800: in that file the figure is the first
    # quantity refused.
    most = pl.when(_SEGMENT == "nse_fo").then(freeze - 1).otherwise(freeze) * pl.col("units")
    return rows.select(
        exchange=pl.col("ours"),
        segment=pl.col("bare"),
        symbol=pl.when(~derived).then(symbol.str.to_uppercase()),
        underlying_symbol=pl.when(derived).then(pl.col("underlying")),
        expiry_date=pl.when(derived).then(pl.col("expiry")),
        strike_price=pl.when(option).then(pl.col("strike")),
        option_type=pl.when(option).then(pl.col("pOptionType")),
        name=pl.coalesce("pDesc", "pSymbolName"),
        isin=pl.when(_ISIN.str.contains(ISIN_PATTERN)).then(_ISIN),
        lot_size=lot.cast(pl.Int64),
        tick_size=pl.when(tick > 0).then(tick / pl.col("scale")),
        # 1 cannot be the limit of any market.
        freeze_quantity=pl.when(freeze > 1).then(most).floor().cast(pl.Int64),
        contract_units=pl.col("units").cast(pl.Int64),
        broker_token=pl.format(token_of("{}", "{}"), _SEGMENT, "pSymbol"),
        tradingsymbol=pl.col("pTrdSymbol"),
        broker_exchange=_SEGMENT,
        other_names=pl.col("display"),
        basis=pl.col("basis"),
        series=pl.when(cash).then(_GROUP),
        exchange_token=pl.when(cash | (fits & ~index)).then(pl.col("pSymbol")),
        short_name=pl.when(index).then(pl.col("pSymbolName")),
        words=broker_words(pl.col("bare"), _SEGMENT, pl.coalesce("pInstType", "pInstName"), _GROUP),
        **{f"{RAW_PREFIX}{name}": pl.col(f"{RAW_PREFIX}{name}") for name in RAW_COLUMNS},
    )
