"""Tells which of two files is newer where they give one number to a contract on different terms. Pure; polars throughout.

On the morning after an exchange has changed contracts (strike, expiry, name of the underlying; their numbers stay), some brokers' files are
still yesterday's. The majority would then choose yesterday, or one contract would get two ids. The mappings before (`previous_mapping.py`)
say what a number meant. A row that says the same as then is *as before*; a row with one or two other terms is *news*; a row that says what an
even earlier mapping said, and the last one did not, is *late*. Rows as before are outdated where news is believed; late rows always are
where another row is newer.

The broker of an outdated row still trades the contract under its token. So the row is listed under the new terms where it is sure that the
token means the contract: the mapping before knew the token, and knew it as the contract that changed. It is not sure, and the row is left out,
where one file lists the old and the new terms side by side. Then a contract with the old terms exists (after a dividend the exchange lists the
old strikes of a share anew), and an order by the symbol of yesterday's file could reach it.

News is believed when it has the shape of an act of an exchange, because a wrong file also differs from yesterday's:
- Strike: most strikes of the broker on that underlying, and few of its contracts in the market (a broker that writes another unit).
- Name: most contracts of the former name, all with the same new name, and few of the broker's contracts in the market.
- Expiry: at least two contracts, and most of an underlying's contracts of that expiry, or most of the market's. Nearly all of a market can
  move in one night, so no share of the market is too large. But when most expiries of one broker alone move by the same one day, it has
  mistaken the zone of its dates.
When news is not believed, the vote of the brokers decides (`contract_matching.py`).

Invariant: after this step a number that had a meaning before has rows of one meaning, if any news about it is believed.
"""

from collections.abc import Sequence
from typing import Protocol

import attrs
import polars as pl

from onebroker.actors.catalogue.previous_mapping import MOST_MOVED_DAYS
from onebroker.actors.catalogue.security_matching import TRUSTED_SHARE

MOST_ADJUSTED = 0.1
"""Largest share of a broker's contracts in a market whose strike or name changes on one morning: the cause is one of a few underlyings. A
larger share has another cause.
"""
LEAST_MOVED = 2
"""Fewest contracts whose moved expiry is believed: a single odd date is a mistake in a file more often than an act of an exchange."""

_CHANGING = ("underlying_symbol", "expiry_date", "strike_price")
_TERMS = (*_CHANGING, "option_type")
SEGMENT_AND_TERMS = ("bare", *_TERMS)
_AREA = ["rank", "exchange", "market"]


class Remembered(Protocol):
    """Rows, by their numbers -> what their brokers' tokens named in the mappings before (`previous_mapping.TERMS`), in row order."""

    def terms(self, numbers: pl.Series) -> pl.DataFrame: ...

    def former(self, numbers: pl.Series) -> Sequence[pl.DataFrame]: ...


@attrs.frozen
class Outdated:
    """The rows that are older than another row of the same number."""

    rows: pl.DataFrame
    """Columns `row` and `rank` of all of them."""
    followed: pl.DataFrame
    """Those whose broker lists the contract under the new terms: also `newer` (a row that has them), segment and terms of now."""


def outdated(rows: pl.DataFrame, numbered: pl.DataFrame, odd: pl.DataFrame, remembered: Remembered) -> Outdated:
    """Return the rows that are older than another row of the same number.

    `numbered` are all rows with a number of the exchange (row, rank, exchange, market, place), `odd` those whose number has several meanings.
    """
    here = _with_former(rows, odd, remembered)
    here = here.with_columns(late=_late(here, remembered))
    here = here.with_columns(news=pl.col("news") & ~pl.col("late"))
    newer = here.filter("as_before")
    if here["news"].any():
        shared = numbered.join(rows.select("row", *_CHANGING), on="row", how="left", maintain_order="left")
        shared = shared.with_columns(shared=pl.col("rank").n_unique().over("place") > 1)
        told = _told(here, shared)
        newer = pl.concat([newer.join(told, on="place", how="anti"), told])
        past = here.filter("as_before").join(told, on="place", how="semi")
    else:
        past = here.clear()
    late = here.filter("late").join(newer, on="place", how="semi")
    old = pl.concat([past, late])
    return Outdated(old.select("row", "rank"), _followed(old, newer, rows))


def _followed(old: pl.DataFrame, newer: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Return the outdated rows of which it is sure that they are the contract of the newer rows (the module's head)."""
    former = [f"old_{name}" for name in _TERMS]
    same = newer.group_by("place").agg(
        pl.struct(*_TERMS, *former).n_unique().alias("meanings"),
        pl.col("row").min().alias("newer"),
        pl.col(former).first(),
    )
    same = same.filter(pl.col("meanings") == 1).drop("meanings")
    found = old.filter("known").join(same, on=["place", *former], how="inner", nulls_equal=True)
    if found.is_empty():
        return found.select("row", "rank", "newer").with_columns(rows.clear().select(*SEGMENT_AND_TERMS))
    late = [f"late_{name}" for name in _TERMS]
    now = rows.select(pl.col("row").alias("newer"), *SEGMENT_AND_TERMS)
    found = found.select("row", "rank", "exchange", "newer", **{f"late_{name}": name for name in _TERMS})
    found = found.join(now, on="newer", how="left")
    said = rows.select("exchange", *_TERMS, file="rank")
    with_new = found.join(said, on=["exchange", *_TERMS], how="inner", nulls_equal=True)
    with_old = found.join(
        said, left_on=["exchange", *late], right_on=["exchange", *_TERMS], how="inner", nulls_equal=True
    )
    beside = with_new.join(with_old, on=["row", "file"], how="semi")
    return found.join(beside, on="row", how="anti").select("row", "rank", "newer", *SEGMENT_AND_TERMS)


def _with_former(rows: pl.DataFrame, odd: pl.DataFrame, remembered: Remembered) -> pl.DataFrame:
    """Return the odd rows with their terms, the former terms (`old_...`), and whether they are news or as before."""
    here = odd.select("row", "rank", "exchange", "market", "place").join(
        rows.select("row", *_TERMS), on="row", how="left", maintain_order="left"
    )
    old = remembered.terms(here["row"])
    here = here.with_columns(old[name].alias(f"old_{name}") for name in _TERMS)
    # A token that contains the changed term named nothing in the mapping before: use the former terms of the others.
    unknown = pl.col("old_underlying_symbol").is_null()
    here = here.with_columns(known=~unknown)
    here = here.with_columns(
        pl.when(unknown)
        .then(pl.col(f"old_{name}").max().over("place"))
        .otherwise(pl.col(f"old_{name}"))
        .alias(f"old_{name}")
        for name in _TERMS
    )
    here = here.with_columns(
        **{f"new_{name}": pl.col(name).ne_missing(pl.col(f"old_{name}")) for name in _CHANGING}, days=_moved_days()
    )
    changed = pl.sum_horizontal(f"new_{name}" for name in _CHANGING)
    same_side = pl.col("old_underlying_symbol").is_not_null() & pl.col("option_type").eq_missing(
        pl.col("old_option_type")
    )
    near = pl.col("days").abs() <= MOST_MOVED_DAYS
    return here.with_columns(
        news=(same_side & changed.is_between(1, len(_CHANGING) - 1) & near).fill_null(False),
        as_before=(same_side & (changed == 0)).fill_null(False),
    )


def _moved_days() -> pl.Expr:
    new, old = (pl.col(name).str.to_date("%Y-%m-%d", strict=False) for name in ("expiry_date", "old_expiry_date"))
    return (new - old).dt.total_days()


def _late(here: pl.DataFrame, remembered: Remembered) -> pl.Series:
    """Tell which news an earlier mapping than the last one knows as the meaning of that token or of the number."""
    late = pl.lit(False)
    if here["news"].any():
        for number, former in enumerate(remembered.former(here["row"])):
            if former.height == here.height:
                here = here.with_columns(former[name].alias(f"{number}_{name}") for name in _TERMS)
                late = late | pl.all_horizontal(pl.col(name).eq_missing(pl.col(f"{number}_{name}")) for name in _TERMS)
    return here.select(late=pl.col("news") & late)["late"]


def _told(here: pl.DataFrame, shared: pl.DataFrame) -> pl.DataFrame:
    """Return the news that is believed, of the places where it has one meaning."""
    news = here.filter("news")
    for name, believed in (("strike_price", _strikes), ("underlying_symbol", _names), ("expiry_date", _expiries)):
        found = believed(news, shared)["row"]
        news = news.filter(~pl.col(f"new_{name}") | pl.col("row").is_in(found.implode()))
    return news.filter(pl.struct(_TERMS).n_unique().over("place") == 1)


def _few(news: pl.DataFrame, all_rows: pl.DataFrame) -> pl.DataFrame:
    """Return the areas of which `news` is a small part."""
    counts = news.group_by(_AREA).agg(changed=pl.len()).join(all_rows.group_by(_AREA).agg(listed=pl.len()), on=_AREA)
    return counts.filter(pl.col("changed") <= MOST_ADJUSTED * pl.col("listed")).select(_AREA)


def _strikes(news: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """Return the news with another strike that is believed."""
    news = news.filter("new_strike_price")
    of_underlying = [*_AREA, "underlying_symbol"]
    options = numbered.filter(pl.col("strike_price").is_not_null())
    listed = options.filter("shared").group_by(of_underlying).agg(listed=pl.len())
    counts = news.group_by(of_underlying).agg(changed=pl.len()).join(listed, on=of_underlying)
    most = counts.filter(pl.col("changed") >= TRUSTED_SHARE * pl.col("listed"))
    return news.join(most, on=of_underlying, how="semi").join(_few(news, options), on=_AREA, how="semi")


def _names(news: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """Return the news with another name of the underlying that is believed."""
    news = news.filter("new_underlying_symbol")
    of_name = [*_AREA, "old_underlying_symbol"]
    stayed = _stayed(numbered, of_name)
    counts = news.group_by(of_name).agg(changed=pl.len(), names=pl.col("underlying_symbol").n_unique())
    counts = counts.join(stayed, on=of_name, how="left").with_columns(pl.col("stayed").fill_null(0))
    most = counts.filter((pl.col("names") == 1) & (pl.col("changed") >= pl.col("stayed")))
    return news.join(most, on=of_name, how="semi").join(_few(news, numbered), on=_AREA, how="semi")


def _expiries(news: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """Return the news with another expiry that is believed."""
    news = news.filter("new_expiry_date")
    parts = []
    for group in ([*_AREA, "old_underlying_symbol", "old_expiry_date"], [*_AREA, "old_expiry_date"]):
        counts = news.group_by(group).agg(changed=pl.len(), dates=pl.col("expiry_date").n_unique())
        counts = counts.join(_stayed(numbered, group), on=group, how="left", nulls_equal=True)
        enough = (pl.col("changed") >= LEAST_MOVED) & (pl.col("changed") >= pl.col("stayed").fill_null(0))
        most = counts.filter(enough & (pl.col("dates") == 1))
        parts.append(news.join(most, on=group, how="semi"))
    found = pl.concat(parts).unique("row")
    return found.join(_mistaken_zone(news, numbered), on=_AREA, how="anti")


def _mistaken_zone(news: pl.DataFrame, numbered: pl.DataFrame) -> pl.DataFrame:
    """Return the areas of a broker in which most expiries moved by the same one day, and no other broker says so."""
    says = news.select("place", "expiry_date", "rank").unique()
    seconded = says.filter(pl.col("rank").n_unique().over("place", "expiry_date") > 1).select("place").unique()
    alone = news.join(seconded, on="place", how="anti").filter(pl.col("days").abs() == 1)
    moved = alone.group_by([*_AREA, "days"]).agg(moved=pl.col("expiry_date").n_unique())
    listed = numbered.filter("shared").group_by(_AREA).agg(listed=pl.col("expiry_date").n_unique())
    counts = moved.join(listed, on=_AREA)
    return counts.filter((pl.col("moved") > 1) & (2 * pl.col("moved") > pl.col("listed"))).select(_AREA)


def _stayed(numbered: pl.DataFrame, group: Sequence[str]) -> pl.DataFrame:
    """Count the shared rows that still have the former terms of a group."""
    now = [name.removeprefix("old_") for name in group]
    counted = numbered.filter("shared").group_by(now).agg(stayed=pl.len())
    return counted.rename(dict(zip(now, group, strict=True)))
