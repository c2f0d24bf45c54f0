"""One row per natural key: the combined values of its listings. Pure; polars throughout, never row by row."""

import polars as pl

from onebroker.actors.catalogue.security_matching import patched


def one_row_each(rows: pl.DataFrame) -> pl.DataFrame:
    """Return name, ISIN, sizes and the `listings` for each `place`, in the order of places.

    `rows` are ordered by place, and within a place by broker (`rank`).
    """
    rows = _with_agreed_lots(rows)
    listing = pl.struct(
        "broker", "broker_token", "tradingsymbol", pl.col("broker_exchange").alias("exchange"), "lot_size", "tick_size",
        "freeze_quantity", "contract_units", "other_names", "attributes",
    )  # fmt: skip
    by_place = rows.group_by("place", maintain_order=True).agg(pl.col("name").drop_nulls().first(), listings=listing)
    said = by_place.drop("listings")  # the listings are large: no join may copy them
    for votes in (
        _voted(rows, "isin", pl.col("isin").first()),
        _voted(rows, "lot_size", pl.col("lot_size").first()),
        _voted(rows, "tick_size", pl.lit(None, pl.Float64)),
        _voted(rows, "freeze_quantity", pl.col("freeze_quantity").min()),
    ):
        said = said.join(votes, on="place", how="left", maintain_order="left")
    return said.with_columns(by_place["listings"])


def _with_agreed_lots(rows: pl.DataFrame) -> pl.DataFrame:
    """Fill the units per lot of brokers that count in lots but whose files do not say the size, if the other brokers agree on it.

    Agreement means one size above 1 among all brokers that do say it. A wrong size would send an order of another size; so with two sizes,
    or none, it stays unknown and no such order is sent. The `lot_size` of the filled brokers is left empty: a count of the brokers that
    say the size must not include brokers that took it from others (order-engine 4.3).
    """
    unknown = rows.filter(pl.col("contract_units").is_null()).select("row", "place", "lot_size")
    said = rows.select("place", "lot_size", "contract_units").join(unknown, on="place", how="semi")
    said = said.filter(pl.col("contract_units").is_not_null() & (pl.col("lot_size") > 1))
    agreed = said.group_by("place").agg(agreed=pl.col("lot_size").min(), largest=pl.col("lot_size").max())
    agreed = agreed.filter(pl.col("agreed") == pl.col("largest"))
    patch = unknown.join(agreed, on="place", how="inner")
    return patched(rows, patch.select("row", lot_size=pl.lit(None, pl.Int64), contract_units="agreed"))


def _voted(rows: pl.DataFrame, column: str, tied: pl.Expr) -> pl.DataFrame:
    """Return place and the value most brokers give; when several values have equally many votes, the result of `tied`.

    `tied` gets the values ordered by votes, then by the brokers' order.
    """
    given = rows.select("place", "rank", column).drop_nulls(column)
    spread = given.group_by("place").agg(pl.col(column).min(), largest=pl.col(column).max())
    agreed = spread.filter(pl.col(column) == pl.col("largest")).select("place", column)
    differing = spread.filter(pl.col(column) != pl.col("largest"))
    if differing.is_empty():
        return agreed
    counted = given.join(differing.select("place"), on="place", how="semi").group_by("place", column)
    best = counted.agg(votes=pl.len(), rank=pl.col("rank").min())
    best = best.sort("place", "votes", "rank", column, descending=[False, True, False, False])
    tie = (pl.col("votes") == pl.col("votes").max()).sum() > 1
    voted = best.group_by("place", maintain_order=True).agg(
        pl.when(tie).then(tied).otherwise(pl.col(column).first()).alias(column)
    )
    return pl.concat([agreed, voted])
