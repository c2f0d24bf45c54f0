"""The normalized frame into which every broker's instrument file is read, one row per listing.

Columns and dtypes are fixed; a codec selects exactly these and appends the columns of its file that nothing else carries,
as text, named `raw.<column>` (additional_details shows them).
"""

from collections.abc import Sequence

import polars as pl

LISTING_COLUMNS: dict[str, type[pl.DataType]] = {
    "exchange": pl.String,  # nse bse mcx ncdex unknown
    "segment": pl.String,  # bare name of config.instruments.SEGMENTS
    "symbol": pl.String,  # upper-case; null for derivatives
    "underlying_symbol": pl.String,  # upper-case; null for securities
    "expiry_date": pl.String,  # YYYY-MM-DD
    "strike_price": pl.Float64,  # rupees
    "option_type": pl.String,  # CE PE
    "name": pl.String,
    "isin": pl.String,
    "lot_size": pl.Int64,  # units per lot; null = not given
    "tick_size": pl.Float64,  # rupees; null = not given
    "freeze_quantity": pl.Int64,  # units; null = not given (never 1)
    "contract_units": pl.Int64,  # units in one of the broker's own order quantities
    "broker_token": pl.String,
    "tradingsymbol": pl.String,
    "broker_exchange": pl.String,
    "other_names": pl.String,  # further names that the broker's calls need; null = none
}

RAW_PREFIX = "raw."

NSE_SERIES: Sequence[tuple[str, str]] = (
    (r"^(GS|GB|SG|TB|CG|[NYZ][0-9A-Z])$", "fixed_income"),  # state and government paper, gold bonds, debentures
    (r"^(IV|RR)$", "investment_trusts"),
    (r"^(MF|ME)$", "mutual_funds"),
)
"""Series of NSE's cash market -> what is listed there and nowhere else. General knowledge, unchecked against a circular."""

BSE_GROUPS: Sequence[tuple[str, str]] = (
    (r"^[FG]$", "fixed_income"),  # corporate and government paper
    (r"^IF$", "investment_trusts"),
)
"""Groups of BSE's cash market, likewise."""

SHARE_SERIES = r"^(EQ|BE|BZ|SM|ST|SZ|A|B|T|X|XT|Z|ZP|M|MT|P)$"
"""Series (NSE) and groups (BSE) in which shares are listed: for a row without an ISIN. General knowledge, unchecked."""

ISIN_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"^INF", "exchange_traded_funds"),  # units of a fund, listed like a share
    (r"^INE.{4}(23|25)", "investment_trusts"),  # units of infrastructure and real estate trusts
    (r"^(IN[0-4]|INE.{4}(07|08|14|16|24))", "fixed_income"),  # governments; debentures, bonds, commercial paper
    (r"^(INE.{4}01|IN9)", "equities"),  # shares; with differing rights or partly paid
)
"""ISIN -> segment: the kind of security stands behind the issuer's four characters. General knowledge, unchecked."""

GOVERNMENT_INDEX = r"\bGS\b|\bG-?SEC\b|\bSDL\b|\bBOND\b"
"""Words of the name of an index of government bonds."""


def listing_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """Return `frame` with exactly the listing columns (missing ones null, cast) followed by its `raw.` columns."""
    fixed = [
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in LISTING_COLUMNS.items()
    ]
    raw = [pl.col(name).cast(pl.String) for name in frame.columns if name.startswith(RAW_PREFIX)]
    return frame.select(*fixed, *raw)


def first_match(column: pl.Expr, patterns: Sequence[tuple[str, str]]) -> pl.Expr:
    """Return the word of the first pattern found in `column`; null where none is."""
    return pl.coalesce(pl.when(column.str.contains(pattern)).then(pl.lit(word)) for pattern, word in patterns)
