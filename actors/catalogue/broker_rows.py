"""Prepares one broker's normalized frame for the merge: names in capitals, valid dates, plausible figures. Pure.

A row holds what can be known from the row alone; the evidence of other brokers' files comes later (`merge.py`). The columns of the file
that no other field carries become one text per row (`attributes.py`), so that a frame of forty columns can be freed after reading.
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
    """LISTING_COLUMNS, with the bare segment as `bare`; EVIDENCE_COLUMNS except OF_THE_FILES; `attributes`."""
    attribute_names: Sequence[str]
    """Names of the values in `attributes`."""
    unread: int
    """Number of rows of the files that are not in the frame."""
    absent: Sequence[str]
    """Columns that the files lack."""


def identified(frame: pl.DataFrame) -> BrokerRows:
    """Return the rows of a broker's normalized frame, cleaned, in the same order."""
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
        # Some files write `0`, `00` or `NA` where a listing has no number: as a real number it would merge such listings into one.
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
    """Empty implausible figures: sizes of zero, a freeze quantity of one or below a lot (lesson 14)."""
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
    """Return the texts that are dates in the form YYYY-MM-DD, others null; a file has few different dates."""
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
