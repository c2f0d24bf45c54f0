"""One broker's normalized frame as the merge takes it: names in capitals, dates that are dates, figures that can be some. Pure.

A row says what can be known of it by itself; what the other brokers' files say comes after (`merge.py`). The columns of the
broker's file that nothing else carries become one text a row (`attributes.py`), so that a frame of forty columns does not outlive
its reading.
"""

from collections.abc import Sequence

import attrs
import polars as pl

from onebroker.actors.catalogue.attributes import attribute_names, joined_values
from onebroker.brokers.listings.frame import EVIDENCE_COLUMNS, LISTING_COLUMNS, OF_THE_FILES, Basis


@attrs.frozen(kw_only=True)
class BrokerRows:
    """One broker's listings."""

    rows: pl.DataFrame
    """LISTING_COLUMNS, with the bare segment as `bare`; EVIDENCE_COLUMNS but OF_THE_FILES; `attributes`."""
    attribute_names: Sequence[str]
    """What the values in `attributes` are."""
    unread: int
    """Rows of the files that are not in the frame."""
    absent: Sequence[str]
    """Columns that the files lack."""


def identified(frame: pl.DataFrame) -> BrokerRows:
    """Return the rows of a broker's normalized frame, cleaned, in their order."""
    evidence = [
        pl.col(name) if name in frame.columns else pl.lit(None, kind).alias(name)
        for name, kind in EVIDENCE_COLUMNS.items()
        if name not in OF_THE_FILES
    ]
    rows = frame.select(*(pl.col(name) for name in LISTING_COLUMNS), *evidence)
    strike = pl.col("strike_price")
    rows = rows.rename({"segment": "bare"}).with_columns(
        joined_values(frame),
        symbol=_upper("symbol"),
        underlying_symbol=_upper("underlying_symbol"),
        short_name=_upper("short_name"),
        series=_upper("series"),
        # Some files write `0`, `00` or `NA` where a listing has no number: taken for one, it would make them one listing.
        exchange_token=_filled("exchange_token").str.strip_chars_start("0").str.extract("^([0-9]+)$"),
        basis=pl.col("basis").fill_null(int(Basis.SUPPOSED)),
        expiry_date=_days(rows["expiry_date"]),
        strike_price=pl.when(strike.is_finite() & (strike > 0)).then(strike),
        option_type=pl.when(pl.col("option_type").is_in(["CE", "PE"])).then(pl.col("option_type")),
        broker_token=_filled("broker_token"),
        name=_filled("name"),
        isin=_filled("isin"),
        **_figures(),
    )
    first = (
        frame.select(name for name in OF_THE_FILES if name in frame.columns).row(0, named=True) if frame.height else {}
    )
    return BrokerRows(
        rows=rows,
        attribute_names=attribute_names(frame),
        unread=int(first.get("unread") or 0),
        absent=(first.get("absent") or "").splitlines(),
    )


def _figures() -> dict[str, pl.Expr]:
    """Figures that cannot be one are empty: sizes of zero, a freeze quantity of one or below a lot (lesson 14)."""
    lot, tick, freeze = pl.col("lot_size"), pl.col("tick_size"), pl.col("freeze_quantity")
    return {
        "lot_size": pl.when(lot > 0).then(lot),
        "tick_size": pl.when(tick.is_finite() & (tick > 0)).then(tick.round(6)),
        "freeze_quantity": pl.when((freeze > 1) & (freeze >= lot.fill_null(1))).then(freeze),
    }


def _filled(name: str) -> pl.Expr:
    text = pl.col(name).str.strip_chars()
    return pl.when(text != "").then(text)


def _upper(name: str) -> pl.Expr:
    return _filled(name).str.to_uppercase()


def _days(column: pl.Series) -> pl.Expr:
    """Return the texts that are dates written YYYY-MM-DD; a file has few different ones."""
    texts = column.unique()
    written = (
        texts.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$") & texts.str.to_date("%Y-%m-%d", strict=False).is_not_null()
    )
    bad = texts.filter(~written.fill_null(True))
    return (
        pl.lit(column)
        if bad.is_empty()
        else pl.when(~pl.col(column.name).is_in(bad.implode())).then(pl.col(column.name))
    )
