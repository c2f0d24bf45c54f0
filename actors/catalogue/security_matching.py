"""Gives rows of ten brokers' files that are the same listing the same symbol, underlying and segment. Pure; polars throughout.

A natural key contains the segment, and files differ on one security: some have its ISIN or series, others only a name. So all files
together decide what a row is, in this order. Rows are recognised as one listing by the exchange's own number (with the symbol or the
ISIN as a second witness), else by the ISIN, else by the symbol. Then the segment is voted on; a vote with a better basis outweighs all
votes with a lesser basis (`listings.Basis`). A contradiction between equally good votes is not decided: the row stays as its file
says, or fits nothing, and is counted. A row that two brokers or more contradict is left out. The rules in a table:
docs/instrument-matching.md.

Indices are in `index_matching.py`, contracts in `contract_matching.py`; this module has the securities, and the parts that all three share.
"""

import attrs
import polars as pl

from onebroker.brokers.listings.frame import NSE_SHARE_SERIES
from onebroker.config.instruments import UNCATEGORISED, Exchange

TRUSTED_SHARE = 0.5
"""A broker's numbers count as the exchange's if at least this share of the numbers it has in common with others names the same listing."""
VOTES = (0, 1, 100, 10_000, 1_000_000)
"""Basis -> weight of a vote: more than the votes of all brokers together on the next lower basis."""

DECIDED = ("bare", "symbol", "underlying_symbol")
"""The columns of a row that other brokers' files can change."""

_CASH_EXCHANGES = (Exchange.NSE.value, Exchange.BSE.value)
_PLACE = ["exchange", "exchange_token"]


@attrs.frozen
class Aligned:
    """The result of matching rows with other brokers' files."""

    moved: pl.DataFrame
    """The rows that other brokers' files changed, with the new values of `DECIDED`.

    `row` numbers the given rows; `rank` is the place of their broker in the registry.
    """
    contradicted: pl.DataFrame
    """Columns `row` and `rank` of the rows that other brokers' files contradict."""
    left_out: pl.DataFrame
    """The contradicted rows that must be left out; the same columns."""
    followed: pl.DataFrame | None = None
    """Rows of contracts whose terms an exchange has changed since their file (`changed_terms.Outdated`)."""


def changed(rows: pl.DataFrame, before: pl.DataFrame | None = None) -> pl.DataFrame:
    """Return `row`, `rank` and the decided columns, of all rows or only of those that differ from `before`."""
    rows = rows.select("row", "rank", *DECIDED)
    if before is None:
        return rows
    joined = rows.join(before.select("row", *DECIDED), on="row", how="left", suffix=".before")
    other = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}.before")) for name in DECIDED)
    return joined.filter(other).select(rows.columns)


def patched(rows: pl.DataFrame, patch: pl.DataFrame) -> pl.DataFrame:
    """Replace the columns of `patch` in the rows that it names by `row`."""
    if patch.is_empty():
        return rows
    names = [name for name in patch.columns if name != "row"]
    joined = rows.select("row", *names).join(
        patch.with_columns(patched=pl.lit(True)), on="row", how="left", suffix=".new", maintain_order="left"
    )
    new = joined.select(
        pl.when(pl.col("patched").is_not_null()).then(pl.col(f"{name}.new")).otherwise(pl.col(name)).alias(name)
        for name in names
    )
    return rows.with_columns(new.get_columns())


def weight(basis: pl.Expr) -> pl.Expr:
    """Return the weight of a vote."""
    return basis.replace_strict(dict(enumerate(VOTES)), return_dtype=pl.Int64)


def spelling(column: str) -> pl.Expr:
    """Return a name without blanks and signs, so that different spellings of it are equal."""
    return pl.col(column).str.replace_all(r"[^A-Z0-9]", "")


def most_voted(rows: pl.DataFrame, place: list[str], column: str, votes: pl.Expr) -> pl.DataFrame:
    """Return for each place the most voted value of `column`, its number of votes, and whether another value has as many (`tied`).

    Of values with equally many votes the first broker's counts. Nulls do not vote.
    """
    counted = rows.drop_nulls([*place, column]).group_by([*place, column]).agg(votes=votes, rank=pl.col("rank").min())
    best = counted.sort([*place, "votes", "rank", column], descending=[*[False] * len(place), True, False, False])
    return best.group_by(place, maintain_order=True).agg(
        pl.col(column).first(),
        votes=pl.col("votes").first(),
        tied=(pl.col("votes") == pl.col("votes").max()).sum() > 1,
    )


def is_security() -> pl.Expr:
    """Select rows of the cash markets, without indices. An uncategorised row counts only if it has an exchange number."""
    cash = pl.col("exchange").is_in(_CASH_EXCHANGES) & pl.col("symbol").is_not_null()
    other = pl.col("bare").str.contains("_(indices|futures|options)$")
    return cash & ~other & ((pl.col("bare") != UNCATEGORISED) | pl.col("exchange_token").is_not_null())


def align_securities(rows: pl.DataFrame) -> Aligned:
    """Give the rows of one security one symbol and one segment. `rows` must satisfy `is_security`."""
    before = rows
    rows = _with_numbers(rows.with_columns(spelled=spelling("symbol")))
    numbered = _witnessed(rows)
    against = numbered.filter(~pl.col("agrees"))
    outvoted = against.filter(pl.col("votes") > 1).select("row", "rank")
    rows = numbered.filter(pl.col("agrees") | (pl.col("votes") <= 1))
    rows = rows.with_columns(
        symbol=pl.when("agrees").then(pl.coalesce("voted_symbol", "symbol")).otherwise(pl.col("symbol"))
    )
    rows = _by_isin(rows.drop("votes", "voted_symbol", "spelled"))
    rows = _told_apart(rows)
    rows, undecided = _one_segment(rows)
    contradicted = pl.concat([against.select("row", "rank"), undecided]).unique()
    return Aligned(changed(rows, before), contradicted, outvoted)


def _with_numbers(rows: pl.DataFrame) -> pl.DataFrame:
    """Empty the numbers of brokers whose numbers turn out not to be the exchange's."""
    shared = _witnessed(rows).filter(pl.col("exchange_token").is_not_null() & (pl.col("brokers") > 1))
    own = shared.group_by("rank", "exchange").agg(pl.col("agrees").mean()).filter(pl.col("agrees") < TRUSTED_SHARE)
    if own.is_empty():
        return rows
    rows = rows.join(own.select("rank", "exchange", own=pl.lit(True)), on=["rank", "exchange"], how="left")
    return rows.with_columns(exchange_token=pl.when(pl.col("own").is_null()).then(pl.col("exchange_token"))).drop("own")


def _witnessed(rows: pl.DataFrame) -> pl.DataFrame:
    """Add the majority view of a row's number (`voted_symbol`, `votes`, `brokers`), and whether the row `agrees` with it.

    A row agrees when it has the majority's symbol or ISIN: a renamed share keeps its ISIN, a split share keeps its symbol.
    """
    brokers = pl.col("rank").n_unique()
    spelled = most_voted(rows, _PLACE, "spelled", brokers).select(*_PLACE, "votes", voted_spelled="spelled")
    isin = most_voted(rows, _PLACE, "isin", brokers).select(*_PLACE, voted_isin="isin")
    number = rows.drop_nulls("exchange_token").group_by(_PLACE).agg(brokers=brokers)
    joined = rows
    for votes in (spelled, isin, number):
        joined = joined.join(votes, on=_PLACE, how="left")
    # With several symbols the ISIN decides; without an ISIN, the majority's symbol.
    leader = (pl.col("spelled") == pl.col("voted_spelled")).fill_null(False)
    same_paper = (pl.col("isin") == pl.col("voted_isin")).fill_null(False)
    paper_of_leader = joined.filter(leader).group_by(_PLACE).agg(leading=same_paper.any())
    joined = joined.join(paper_of_leader, on=_PLACE, how="left")
    agrees = leader | (same_paper & pl.col("leading").fill_null(False)) | pl.col("exchange_token").is_null()
    joined = joined.with_columns(agrees=agrees)
    names = most_voted(joined.filter("agrees"), _PLACE, "symbol", brokers).select(*_PLACE, voted_symbol="symbol")
    return joined.join(names, on=_PLACE, how="left").drop("voted_spelled", "voted_isin", "leading")


def _by_isin(rows: pl.DataFrame) -> pl.DataFrame:
    """Give a row without a number the symbol of the only numbered listing of its ISIN on its exchange."""
    known = rows.filter(pl.col("exchange_token").is_not_null()).drop_nulls("isin")
    known = known.group_by("exchange", "isin").agg(pl.col("symbol").unique()).filter(pl.col("symbol").list.len() == 1)
    known = known.with_columns(same_paper=pl.col("symbol").list.first()).drop("symbol")
    rows = rows.join(known, on=["exchange", "isin"], how="left")
    unnumbered = pl.col("exchange_token").is_null()
    return rows.with_columns(
        symbol=pl.when(unnumbered).then(pl.coalesce("same_paper", "symbol")).otherwise(pl.col("symbol"))
    ).drop("same_paper")


def _told_apart(rows: pl.DataFrame) -> pl.DataFrame:
    """Leave a symbol that two listings of an exchange share to one of them; the other listing's symbol gets an addition.

    On NSE a share can be listed in two series at once: the ordinary series keeps the plain symbol, whichever brokers list it. On BSE,
    when a broker has one symbol for two scrips, the lower scrip code keeps it.
    """
    place = {name: rank for rank, name in enumerate(NSE_SHARE_SERIES)}
    rank = pl.when(pl.col("exchange") == Exchange.NSE.value).then(
        pl.col("series").fill_null(NSE_SHARE_SERIES[0]).replace_strict(place, default=None, return_dtype=pl.Int32)
    )
    rows = rows.with_columns(place=rank)
    second = pl.col("place") > pl.col("place").min().over("exchange", "symbol")
    scrips = rows.filter(pl.col("exchange") == Exchange.BSE.value).select(
        "rank", "symbol", "exchange", "exchange_token", code=pl.col("exchange_token").cast(pl.Int64, strict=False)
    )
    later = scrips.filter(pl.col("code") > pl.col("code").min().over("rank", "symbol"))
    later = later.select(*_PLACE, "symbol", later=pl.lit(True)).unique()
    rows = rows.join(later, on=[*_PLACE, "symbol"], how="left")
    return rows.with_columns(
        symbol=pl.when(second.fill_null(False))
        .then(pl.col("symbol") + "-" + pl.col("series"))
        .when(pl.col("later").fill_null(False))
        .then(pl.col("symbol") + "-" + pl.col("exchange_token"))
        .otherwise(pl.col("symbol"))
    ).drop("place", "later")


def _one_segment(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Vote on the segment of each symbol; when two segments have equally good votes, the row becomes uncategorised."""
    place = ["exchange", "symbol"]
    votes = most_voted(rows.filter(pl.col("bare") != UNCATEGORISED), place, "bare", weight(pl.col("basis")).sum())
    rows = rows.join(votes.select(*place, "tied", voted="bare"), on=place, how="left")
    tied = pl.col("tied").fill_null(False)
    undecided = rows.filter(tied).select("row", "rank")
    bare = pl.when(tied).then(pl.lit(UNCATEGORISED)).otherwise(pl.coalesce("voted", "bare"))
    return rows.with_columns(bare=bare).drop("tied", "voted"), undecided
