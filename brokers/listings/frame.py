"""The normalized frame into which every broker's instrument file is read, one row per listing, and the codecs' shared
functions.

Columns and dtypes are fixed. LISTING_COLUMNS say what a listing is. By EVIDENCE_COLUMNS it is recognised in another
broker's file. `raw.<column>` holds, as text, a column of the broker's file that no other column carries
(additional_details shows these). docs/instrument-matching.md describes how rows of ten brokers are matched.
"""

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

import polars as pl
from polars.exceptions import PolarsError

from onebroker.brokers.listings.index_names import with_contract_names
from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.brokers.listings.tick_sizes import with_sound_ticks
from onebroker.brokers.listings.unpacking import gunzipped
from onebroker.brokers.requests import BadAnswer
from onebroker.config.instruments import UNCATEGORISED

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

EVIDENCE_COLUMNS: dict[str, type[pl.DataType]] = {
    "basis": pl.Int8,  # a Basis: how sure the segment is; null = SUPPOSED
    "series": pl.String,  # series (NSE) or group (BSE) of a security; null = not given
    # The exchange's own number of a listing, where the file carries it. A row that matches no segment has it only in the
    # cash market: for other such rows the number does not say in which market it counts.
    "exchange_token": pl.String,
    "short_name": pl.String,  # for an index: the name that its contracts use; null = not given
    "words": pl.String,  # for a row that matches no segment: exchange, segment and kind in the broker's words
    "unread": pl.Int64,  # the same in every row: how many rows of the files name nothing, or repeat a token
    "absent": pl.String,  # the same in every row: names of columns we read that the files lack, one a line; null = none
}


class Basis(IntEnum):
    """The evidence for a row's segment; a vote with a higher value outweighs all votes with lower values."""

    UNKNOWN = 0
    """The row matches no segment."""
    SUPPOSED = 1
    """Nothing speaks against the segment."""
    WORDS = 2
    """Words of names and symbols, or other content of the file."""
    ISIN = 3
    STATED = 4
    """A field of the file that states the segment: series, group, type."""


NSE_SERIES: Sequence[tuple[str, str]] = (
    (r"^(GS|GB|SG|TB|CG|[NYZ][0-9A-Z])$", "fixed_income"),  # state and government paper, gold bonds, debentures
    (r"^(IV|RR)$", "investment_trusts"),
    (r"^(MF|ME)$", "mutual_funds"),
    (r"^[PW][0-9]$", "equities"),  # preference shares, warrants
)
"""Series of NSE's cash market -> the kind of listing that exists only there. General knowledge, unchecked against a circular."""

BSE_GROUPS: Sequence[tuple[str, str]] = (
    (r"^[FG]$", "fixed_income"),  # corporate and government paper
    (r"^IF$", "investment_trusts"),
    (r"^E$", "exchange_traded_funds"),
)
"""The same for groups of BSE's cash market."""

NSE_SHARE_SERIES = ("EQ", "BE", "BZ", "SM", "ST", "SZ")
"""Series of NSE in which a share trades under its plain symbol. Of several series at once, the first one here has the
symbol. General knowledge."""

NSE_PLAIN_SERIES = rf"^({'|'.join(NSE_SHARE_SERIES)}|GS|GB|SG|TB|CG|IV|RR|MF|ME)$"
"""Series whose symbols name one listing. In the other series (debentures, block windows) one issuer's symbol stands for
several listings."""

NSE_SHARES = rf"^({'|'.join(NSE_SHARE_SERIES)}|[EPWX][0-9]|RE)$"
BSE_SHARES = r"^(A|B|T|X|XT|Z|ZP|M|MT|MS|P|R|TS|W)$"
"""Series and groups of everything that trades like a share, for files without ISINs, where words tell funds and trusts
from shares. Included are the series of partly paid and further classes, preference shares, warrants and rights
entitlements."""
SHARE_SERIES = rf"{NSE_SHARES}|{BSE_SHARES}"
"""Series (NSE) and groups (BSE) in which shares are listed: used for a row without an ISIN. General knowledge, unchecked."""

ISIN_SEGMENTS: Sequence[tuple[str, str]] = (
    (r"^INF", "exchange_traded_funds"),  # units of a fund, listed like a share
    (r"^INE.{4}(23|25)", "investment_trusts"),  # units of infrastructure and real estate trusts
    (r"^(IN[0-4]|INE.{4}(07|08|14|16|24))", "fixed_income"),  # governments; debentures, bonds, commercial paper
    # Shares; preference shares, warrants, rights entitlements (each its own listing next to the share); differing rights,
    # partly paid.
    (r"^(INE.{4}(01|03|04|13|20)|IN9)", "equities"),
)
"""ISIN -> segment: the kind of security follows the issuer's four characters. General knowledge, unchecked."""

ISIN_PATTERN = r"^IN[A-Z0-9]{10}$"

GOVERNMENT_INDEX = r"\bGS\b|\bG-?SEC\b|\bSDL\b|\bBOND\b"
"""Words in the name of an index of government bonds."""

CURRENCY_PAIR = r"^(USD|EUR|GBP|JPY)(INR|USD|JPY)$"
"""Anything else that trades with the currencies is an interest rate."""

INDEX_BRANDS = ["NIFTY", "SENSEX", "BANKEX"]
"""Names under which NSE and BSE list contracts on their own indices, for a file without index rows."""

_BOM = b"\xef\xbb\xbf"
_GZIP = b"\x1f\x8b"
_CELL = rb'(?: *"(?:[^"]|"")*" *|[^",]*)'
_QUOTED_LINE = re.compile(_CELL + rb"(?:," + _CELL + rb")*\r?")


# the frame ---------------------------------------------------------------------------------------------------------------


OF_THE_FILES = ("unread", "absent")
"""The EVIDENCE_COLUMNS that describe the files, not a row."""


def listing_frame(frame: pl.DataFrame, *, unread: int = 0, absent: Iterable[str] = ()) -> pl.DataFrame:
    """Return `frame` with exactly the columns of listings and evidence (missing ones null, cast) and its `raw.` columns.

    `unread` counts the rows of the files that are not in the frame; `absent` names the columns that the files lack
    (`lacking`). An impossible tick size becomes null (`tick_sizes.py`). Contracts on an index get the exchange's name for
    them (`index_names.py`).
    """
    fixed = [
        (pl.col(name) if name in frame.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in (LISTING_COLUMNS | EVIDENCE_COLUMNS).items()
        if name not in OF_THE_FILES
    ]
    raw = [pl.col(name).cast(pl.String) for name in frame.columns if name.startswith(RAW_PREFIX)]
    lacked = pl.lit("\n".join(sorted(set(absent))) or None, pl.String).alias("absent")
    return with_contract_names(
        with_sound_ticks(frame.select(*fixed, pl.lit(unread, pl.Int64).alias("unread"), lacked, *raw))
    )


# reading -----------------------------------------------------------------------------------------------------------------


def read_table(
    body: bytes, what: str = "the instrument file", *, columns: Sequence[str] | None = None
) -> tuple[pl.DataFrame, int]:
    """Return a CSV as texts, and how many of its rows were left out because they are incomplete.

    The header gives the column names; for a file without a header, `columns` does. Cells beyond the named columns are
    ignored. A byte order mark may come before the header, and lines may end in CR LF. An unpaired quotation mark costs
    only its own line, not everything up to the next mark. A last line without a line end counts as cut when it has too
    few fields, or when its last value occurs in no other row. Raises `BadAnswer` for a body that is not such a table.
    """
    body = body.removeprefix(_BOM)
    if columns is not None:
        body = ",".join(columns).encode() + b"\n" + body
    lines = body.count(b"\n")
    if not lines and not body.strip():
        raise BadAnswer(f"{what} is empty")
    whole = body.endswith(b"\n")
    quoted = b'"' in body
    rows = _parsed(body, what, quoted)
    lost = 0
    if rows is None or (quoted and rows.height < lines - 1):
        written = body.split(b"\n")
        for is_whole in (_has_twins, _is_quoted_right):
            kept = [line for line in written if is_whole(line)]
            lost = lines + (not whole) - len(kept) + whole
            rows = _parsed(b"\n".join(kept), what, quoted)
            if rows is not None:
                break
        else:
            raise BadAnswer(f"{what} cannot be read")
    rows = rows.rename({name: name.strip("\r") for name in rows.columns if name.endswith("\r")})
    if not whole and rows.height and _is_cut(rows):
        rows, lost = rows.head(-1), lost + 1
    return rows, lost


def lacking(
    rows: pl.DataFrame, naming: Iterable[str], others: Iterable[str] = (), what: str = "the instrument file"
) -> Sequence[str]:
    """Return which of `others` the file lacks; raise `BadAnswer` where it lacks one of the columns `naming` that name its
    rows.

    Only the `naming` columns are required: another missing column costs its own figures, not the broker's instruments.
    """
    missing = [name for name in naming if name not in rows.columns]
    if missing:
        raise BadAnswer(f"{what} has no column {', '.join(missing)}")
    return [name for name in others if name not in rows.columns]


def _has_twins(line: bytes) -> bool:
    return line.count(b'"') % 2 == 0


def _is_quoted_right(line: bytes) -> bool:
    """Tell whether quotation marks enclose only whole cells."""
    return b'"' not in line or _QUOTED_LINE.fullmatch(line) is not None


def _parsed(body: bytes, what: str, quoted: bool) -> pl.DataFrame | None:
    """Return the parsed body; None where its quotation marks may be the cause of the failure."""
    try:
        return pl.read_csv(
            body,
            infer_schema=False,
            truncate_ragged_lines=True,
            encoding="utf8-lossy",
            quote_char='"' if quoted else None,
        )
    except PolarsError as error:
        if quoted:
            return None
        raise BadAnswer(f"{what} cannot be read: {str(error).splitlines()[0]}") from error


def _is_cut(rows: pl.DataFrame) -> bool:
    last = rows.columns[-1]
    value = rows[last][-1]
    return value is None or int((rows[last] == value).sum()) == 1


def unpacked(body: bytes, what: str = "the instrument file") -> bytes:
    """Return a body that may still be gzip, unpacked; of a truncated body the part that came. Raises `BadAnswer` for a damaged body."""
    if not body.startswith(_GZIP):
        return body
    try:
        return gunzipped(body, what)
    except zlib.error as error:
        raise BadAnswer(f"{what} cannot be unpacked: {error}") from error


def texts(rows: pl.DataFrame, names: Sequence[str]) -> list[pl.Expr]:
    """Return these columns stripped of blanks, blank cells null; a column that the file lacks is null."""
    return [
        (
            pl.col(name).str.strip_chars(" \t\r").replace("", None) if name in rows.columns else pl.lit(None, pl.String)
        ).alias(name)
        for name in names
    ]


# telling segments --------------------------------------------------------------------------------------------------------


def first_match(column: pl.Expr, patterns: Sequence[tuple[str, str]]) -> pl.Expr:
    """Return the word of the first pattern found in `column`; null where no pattern is found."""
    return pl.coalesce(pl.when(column.str.contains(pattern)).then(pl.lit(word)) for pattern, word in patterns)


def told(rows: pl.DataFrame, *grounds: tuple[pl.Expr, Basis]) -> pl.DataFrame:
    """Add `bare` and `basis` from the first ground that gives a segment; a row without such a ground is uncategorised."""
    words = [f"_ground{place}" for place in range(len(grounds))]
    rows = rows.with_columns(ground.alias(word) for (ground, _), word in zip(grounds, words, strict=True))
    sure = [
        pl.when(pl.col(word).is_not_null()).then(pl.lit(int(basis), pl.Int8))
        for (_, basis), word in zip(grounds, words, strict=True)
    ]
    return rows.with_columns(
        bare=pl.coalesce(*words, pl.lit(UNCATEGORISED)),
        basis=pl.coalesce(*sure, pl.lit(int(Basis.UNKNOWN), pl.Int8)),
    ).drop(words)


def by_series(exchange: pl.Expr, series: pl.Expr) -> pl.Expr:
    """Return the segment that a series of NSE or a group of BSE implies by itself; null where it implies none."""
    return (
        pl.when(exchange == "nse").then(first_match(series, NSE_SERIES)).when(exchange == "bse").then(first_match(series, BSE_GROUPS))
    )  # fmt: skip


def by_isin(isin: pl.Expr) -> pl.Expr:
    """Return the segment that an ISIN implies; null where it implies none."""
    return first_match(isin, ISIN_SEGMENTS)


def share_by_series(isin: pl.Expr, series: pl.Expr) -> pl.Expr:
    """Return `equities` for a row without an ISIN in a series of shares; null for other rows."""
    return pl.when(isin.is_null() & series.str.contains(SHARE_SERIES)).then(pl.lit("equities"))


def listed_symbol(exchange: pl.Expr, base: pl.Expr, series: pl.Expr) -> pl.Expr:
    """Return the symbol of a security: on NSE with its series, where the symbol alone stands for several listings.

    It depends only on the row, so that a security keeps its id when its issuer lists another one.
    """
    plain = series.is_null() | (exchange != "nse") | series.str.contains(NSE_PLAIN_SERIES)
    return pl.when(plain).then(base).otherwise(base + "-" + series).str.to_uppercase()


def broker_words(bare: pl.Expr, *words: pl.Expr) -> pl.Expr:
    """Return the column `words`: these words of the broker, for rows that match no segment."""
    return pl.when(bare == UNCATEGORISED).then(pl.concat_str(*words, separator=" ", ignore_nulls=True))


def stated(heads: Mapping[str, str], word: pl.Expr) -> pl.Expr:
    """Return our word for a broker's word; null for a word that is not in the table."""
    return word.replace_strict(heads, default=None, return_dtype=pl.String)
