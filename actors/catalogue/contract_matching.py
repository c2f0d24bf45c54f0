"""Gives futures and options that are the same contract the same underlying and segment. Pure; polars throughout.

Expiry, strike and side are in every file. Two things differ: the name of the underlying (BSE's codes), and its kind (an index or a share,
a pair of currencies or a rate). Both belong to the underlying, so they are decided for the few underlyings, not for the many contracts.
"""

import polars as pl

from onebroker.actors.catalogue.changed_terms import Remembered, outdated
from onebroker.actors.catalogue.security_matching import TRUSTED_SHARE, Aligned, changed, most_voted, weight
from onebroker.config.instruments import SEGMENT_SHAPES, Shape

_MARKETS = {"equity": "equity", "currency": "currency", "fixed_income": "currency", "commodity": "commodity"}
"""Head of a segment -> the market whose contracts share one numbering."""
CONTRACT_SEGMENTS = tuple(name for name, shape in SEGMENT_SHAPES.items() if shape is not Shape.SECURITY)
_HEADS = {name: name.rpartition("_")[0] for name in CONTRACT_SEGMENTS}
_MARKET_OF = {name: _MARKETS[head.removesuffix("_index")] for name, head in _HEADS.items()}

_UNDERLYING = ["exchange", "market", "underlying_symbol"]
_SAYING = ["exchange", "underlying_symbol", "rank", "bare"]
_TERMS = ["exchange", "market", "exchange_token", "expiry_date", "strike_price", "option_type"]


def is_contract() -> pl.Expr:
    return pl.col("bare").is_in(CONTRACT_SEGMENTS) & pl.col("underlying_symbol").is_not_null()


def align_contracts(rows: pl.DataFrame, remembered: Remembered | None = None) -> Aligned:
    """Give contracts on the same underlying the same name and segment. `rows` must satisfy `is_contract`."""
    said = rows.group_by(_SAYING).agg(pl.col("basis").max()).with_columns(
        market=pl.col("bare").replace_strict(_MARKET_OF, return_dtype=pl.String),
        head=pl.col("bare").replace_strict(_HEADS, return_dtype=pl.String),
    )  # fmt: skip
    said = said.with_columns(own=pl.col("underlying_symbol"))
    said, several = _one_name(said, rows)
    said = _one_head(said)
    decided = said.filter((pl.col("own") != pl.col("underlying_symbol")) | (pl.col("head") != pl.col("voted")))
    undecided = said.filter("tied")
    contradicted = [several]
    if undecided.height:
        key = undecided.select("exchange", "rank", "bare", underlying_symbol="own")
        contradicted.append(rows.join(key, on=_SAYING, how="semi").select("row", "rank"))
    moved = rows.clear()
    if decided.height:
        tail = pl.col("bare").str.extract("(_futures|_options)$")
        key = decided.select(
            "exchange", "rank", "bare", underlying_symbol="own", called="underlying_symbol", now=pl.col("voted") + tail
        )
        moved = rows.join(key, on=_SAYING, how="inner").with_columns(bare="now", underlying_symbol="called")
        rest = rows.join(key, on=_SAYING, how="anti")
        rows = pl.concat([rest, moved.select(rows.columns)])
    against, outvoted, followed = _odd_terms(rows, remembered)
    return Aligned(changed(moved), pl.concat([*contradicted, against]).unique(), outvoted, followed)


def _one_name(said: pl.DataFrame, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rename an underlying that only one broker knows, if its contracts have the numbers and terms of another underlying's.

    There must be exactly one such other underlying, and it must match at least half of the contracts whose number another broker lists at
    all. So a broker that lists more strikes than the others is no evidence against the name.
    """
    alone = said.filter(pl.col("rank").n_unique().over(_UNDERLYING) == 1).select([*_UNDERLYING, "rank"]).unique()
    none = rows.select("row", "rank").clear()
    if alone.is_empty() or said["rank"].n_unique() == 1:
        return said, none
    names = rows.filter(pl.col("underlying_symbol").is_in(alone["underlying_symbol"].implode()))
    odd = _with_market(names.drop_nulls("exchange_token")).join(alone, on=[*_UNDERLYING, "rank"], how="semi")
    near = rows.filter(pl.col("exchange_token").is_in(odd["exchange_token"].unique().implode()))
    others = _with_market(near).join(alone, on=[*_UNDERLYING, "rank"], how="anti").select(
        [*_TERMS, pl.col("underlying_symbol").alias("called"), pl.col("rank").alias("other")]
    )  # fmt: skip
    found = odd.join(others, on=_TERMS, how="inner", nulls_equal=True).filter(pl.col("rank") != pl.col("other"))
    place = [*_UNDERLYING, "rank"]
    found = found.group_by(place).agg(pl.col("called").unique().sort(), matches=pl.col("row").n_unique())
    compared = (
        odd.join(others, on=["exchange", "market", "exchange_token"], how="semi").group_by(place).agg(compared=pl.len())
    )
    found = found.join(compared, on=place)
    trusted = (pl.col("called").list.len() == 1) & (pl.col("matches") >= TRUSTED_SHARE * pl.col("compared"))
    several = odd.join(found.filter(pl.col("called").list.len() > 1), on=place, how="semi").select("row", "rank")
    alias = found.filter(trusted).select([*place, pl.col("called").list.first()])
    said = said.join(alias, on=place, how="left").with_columns(
        underlying_symbol=pl.coalesce("called", "underlying_symbol")
    )
    return said.drop("called"), several


def _with_market(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(market=pl.col("bare").replace_strict(_MARKET_OF, return_dtype=pl.String))


def _one_head(said: pl.DataFrame) -> pl.DataFrame:
    """Vote on the kind of each underlying; when two kinds have equally good votes, each file keeps its own."""
    of_broker = said.group_by([*_UNDERLYING, "rank", "head"]).agg(pl.col("basis").max())
    votes = most_voted(of_broker, _UNDERLYING, "head", weight(pl.col("basis")).sum())
    votes = votes.select([*_UNDERLYING, "tied", pl.col("head").alias("voted")])
    said = said.join(votes, on=_UNDERLYING, how="left")
    return said.with_columns(voted=pl.when("tied").then(pl.col("head")).otherwise(pl.col("voted")))


def _odd_terms(
    rows: pl.DataFrame, remembered: Remembered | None
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
    """Return the rows whose number other brokers give to a contract on other terms, the subset of them that two brokers outvote, and the rows
    that are listed under the terms of now.

    If most of a broker's numbers in a market disagree, the broker has its own numbering there, and the rows say nothing. A row with the same
    expiry, strike and side as the others' is not outvoted: files call an underlying by several names. If the exchange has changed the
    contract since the mapping before, the file that knows the change is newer and outweighs all files that do not. Their rows get the new terms,
    where it is sure that they are of the same contract, and are left out elsewhere (`changed_terms.py`).
    """
    numbered = _with_market(rows.filter(pl.col("exchange_token").is_not_null())).select(
        "row", "rank", "exchange", "market",
        place=pl.struct("exchange", "market", "exchange_token").hash(),
        terms=pl.struct("underlying_symbol", "expiry_date", "strike_price", "option_type").hash(),
        dated=pl.struct("expiry_date", "strike_price", "option_type").hash(),
    )  # fmt: skip
    several = numbered.group_by("place").agg(
        odd=pl.col("terms").min() != pl.col("terms").max(), alone=pl.col("rank").min() == pl.col("rank").max()
    )
    shared = several.filter(~pl.col("alone"))
    odd = numbered.join(shared.filter("odd"), on="place", how="semi")
    if odd.is_empty():
        return odd.select("row", "rank"), odd.select("row", "rank"), None
    past = odd.select("row", "rank").clear()
    followed = None
    if remembered is not None:
        found = outdated(rows, numbered, odd, remembered)
        followed, past = found.followed, found.rows.join(found.followed.select("row"), on="row", how="anti")
        settled = odd.join(found.rows, on="row", how="semi").select("place").unique()
        odd = odd.join(settled, on="place", how="anti")
    brokers = pl.col("rank").n_unique()
    names = most_voted(odd, ["place"], "terms", brokers).select("place", voted="terms")
    dates = most_voted(odd, ["place"], "dated", brokers).select("place", "votes", "tied", voted_dated="dated")
    odd = odd.join(names, on="place", how="left").join(dates, on="place", how="left")
    odd = odd.filter(pl.col("terms") != pl.col("voted"))
    area = ["rank", "exchange", "market"]
    compared = numbered.join(shared, on="place", how="semi").group_by(area).agg(compared=pl.len())
    own = odd.group_by(area).agg(odd=pl.len()).join(compared, on=area)
    odd = odd.join(own.filter(pl.col("odd") > TRUSTED_SHARE * pl.col("compared")), on=area, how="anti")
    outvoted = (pl.col("votes") > 1) & ~pl.col("tied") & (pl.col("dated") != pl.col("voted_dated"))
    return (
        pl.concat([odd.select("row", "rank"), past]),
        pl.concat([odd.filter(outvoted).select("row", "rank"), past]),
        followed,
    )
