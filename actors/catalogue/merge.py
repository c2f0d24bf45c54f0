"""Ten brokers' normalized frames into one row per instrument. Pure; polars throughout, no row by row.

First the rows of all files that are the same thing get the same natural key (`matching.py`, `indices.py`, `contracts.py`). Then a
listing that cannot be trusted is left out and counted, never guessed (an order must not reach another instrument):

- a row without a complete identity or without a token;
- two tokens of one broker for one natural key: which of them is meant is not known;
- one token of one broker for two natural keys: its ticks and fills could not be told apart.

What fits no segment stands under the exchange `unknown` as `uncategorised`, each broker's own under its own words: it is shown,
nothing is merged with it, and no order can be sent to it (spec 2 §2.1).

The result depends neither on the order of rows nor on which broker a value came from, but for the documented ties.
"""

from collections.abc import Callable, Mapping, Sequence

import polars as pl
import uuid_utils

from onebroker.actors.catalogue.contracts import align_contracts, is_contract
from onebroker.actors.catalogue.indices import align_indices, is_index
from onebroker.actors.catalogue.matching import DECIDED, Aligned, align_securities, is_security
from onebroker.actors.catalogue.report import BrokerReport
from onebroker.brokers.listings import EVIDENCE_COLUMNS, LISTING_COLUMNS, RAW_PREFIX, Basis
from onebroker.config.instruments import (
    EXCHANGES,
    NAMESPACE,
    SEGMENT_SHAPES,
    SEGMENTS,
    UNCATEGORISED,
    Exchange,
    Shape,
    segments_of,
    strike_text,
)

INSTRUMENT_COLUMNS = (
    "instrument_id", "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", "strike_price",
    "option_type", "name", "isin", "lot_size", "tick_size", "freeze_quantity",
)  # fmt: skip
LISTING_FIELDS = (
    "broker", "broker_token", "tradingsymbol", "exchange", "lot_size", "tick_size", "freeze_quantity", "contract_units",
    "other_names", "attributes",
)  # fmt: skip
"""Fields of an element of the column `listings`; `attributes` is a JSON object of the file's other columns."""
EXAMPLES = 5

FEW = 1000
"""Rows of which examples are looked for."""

_NAMESPACE = uuid_utils.UUID(str(NAMESPACE))
_SHAPES = {name: shape.value for name, shape in SEGMENT_SHAPES.items()}
_FACTS = (
    "row", "rank", "exchange", "bare", "symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type", "isin",
    "basis", "series", "exchange_token", "short_name",
)  # fmt: skip
"""What rows are matched by."""
_IDENTITY = ("symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type")

_ALIGNED: Sequence[tuple[Callable[[], pl.Expr], Callable[[pl.DataFrame], Aligned]]] = (
    (is_security, align_securities),
    (is_index, align_indices),
    (is_contract, align_contracts),
)


def merge(frames: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, dict[str, BrokerReport]]:
    """Return the catalogue, sorted by exchange, segment and identity, and what each broker gave.

    `frames` are in the order of the registry, which decides ties of names and lot sizes.
    """
    reports = {code: BrokerReport(unread=_unread(frame)) for code, frame in frames.items()}
    ranked = list(reports.values())
    if not frames:
        return pl.DataFrame(), reports
    # A row's number is that of its place among all: frames stand behind each other in the order of their ranks.
    rows = pl.concat([_identified(frame, code, rank) for rank, (code, frame) in enumerate(frames.items())])
    rows = rows.with_row_index("row")
    rows = _keyed(_categorised(_matched(rows, ranked)))
    complete = pl.col("key").is_not_null() & pl.col("broker_token").is_not_null()
    refused = rows.select("rank", complete=complete).filter(~pl.col("complete"))
    _count(ranked, "refused", refused)
    rows = rows.filter(complete) if refused.height else rows
    rows, instruments = _placed(rows)
    trusted = _trusted(rows, ranked)
    _describe(trusted, ranked)
    for report in ranked:
        report.error = None if report.rows else "its file lists no instrument"
    if trusted.is_empty():
        return pl.DataFrame(), reports
    return _instruments(trusted, instruments), reports


def segment_counts(catalogue: pl.DataFrame) -> dict[str, int]:
    """Return stored segment -> instruments, in name order."""
    if catalogue.is_empty():
        return {}
    return dict(catalogue.group_by("segment").len().sort("segment").iter_rows())


# One broker's rows


def _unread(frame: pl.DataFrame) -> int:
    return int(frame["unread"][0] or 0) if frame.height and "unread" in frame.columns else 0


def _identified(frame: pl.DataFrame, code: str, rank: int) -> pl.DataFrame:
    """Return the rows cleaned: upper-case names, dates that are dates, figures that can be some, each with its broker."""
    evidence = [
        pl.col(name) if name in frame.columns else pl.lit(None, kind).alias(name)
        for name, kind in EVIDENCE_COLUMNS.items()
        if name != "unread"
    ]
    rows = frame.select(*(pl.col(name) for name in LISTING_COLUMNS), *evidence, attributes=_attributes(frame))
    strike = pl.col("strike_price")
    return rows.rename({"segment": "bare"}).with_columns(
        broker=pl.lit(code),
        rank=pl.lit(rank, pl.Int32),
        symbol=_upper("symbol"),
        underlying_symbol=_upper("underlying_symbol"),
        short_name=_upper("short_name"),
        series=_upper("series"),
        exchange_token=_filled("exchange_token").str.strip_chars_start("0"),
        basis=pl.col("basis").fill_null(int(Basis.SUPPOSED)),
        expiry_date=_days(rows["expiry_date"]),
        strike_price=pl.when(strike.is_finite() & (strike > 0)).then(strike),
        option_type=pl.when(pl.col("option_type").is_in(["CE", "PE"])).then(pl.col("option_type")),
        broker_token=_filled("broker_token"),
        name=_filled("name"),
        isin=_filled("isin"),
        **_figures(),
    )


def _attributes(frame: pl.DataFrame) -> pl.Expr:
    raw = [name for name in frame.columns if name.startswith(RAW_PREFIX)]
    if not raw:
        return pl.lit(None, pl.String)
    return pl.struct(pl.col(name).alias(name.removeprefix(RAW_PREFIX)) for name in raw).struct.json_encode()


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
    written = texts.str.contains(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$") & texts.str.to_date("%Y-%m-%d", strict=False).is_not_null()
    bad = texts.filter(~written.fill_null(True))
    return pl.lit(column) if bad.is_empty() else pl.when(~pl.col(column.name).is_in(bad.implode())).then(pl.col(column.name))


# All brokers' rows: what is the same


def _matched(rows: pl.DataFrame, reports: Sequence[BrokerReport]) -> pl.DataFrame:
    """Let all files decide what each row is, and count what they changed and what they contradict."""
    facts = rows.select(_FACTS)
    decided = [align(part) for is_kind, align in _ALIGNED if (part := facts.filter(is_kind())).height]
    if not decided:
        return rows
    moved = pl.concat([part.moved for part in decided])
    _count(reports, "matched", moved)
    contradicted = pl.concat([part.contradicted for part in decided])
    _count(reports, "contradicted", contradicted)
    _exemplify(reports, rows.join(contradicted.head(FEW).select("row"), on="row", how="semi"))
    rows = _patched(rows, moved.select("row", *DECIDED))
    left_out = pl.concat([part.left_out for part in decided])
    return rows.join(left_out.select("row"), on="row", how="anti") if left_out.height else rows


def _patched(rows: pl.DataFrame, patch: pl.DataFrame) -> pl.DataFrame:
    """Put the columns of `patch` in place of those of the rows it names by `row`."""
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


def _count(reports: Sequence[BrokerReport], field: str, rows: pl.DataFrame) -> None:
    for rank, count in rows.group_by("rank").len().iter_rows():
        setattr(reports[rank], field, getattr(reports[rank], field) + count)


def _exemplify(reports: Sequence[BrokerReport], rows: pl.DataFrame) -> None:
    """Add a few of the rows to their brokers' examples, as natural keys."""
    if rows.is_empty():
        return
    keyed = rows if "key" in rows.columns else _keyed(_categorised(rows))
    for rank, key in keyed.drop_nulls("key").select("rank", "key").unique().sort("rank", "key").iter_rows():
        examples = reports[rank].examples
        if len(examples) < EXAMPLES and key not in examples:
            examples.append(key)


# All brokers' rows: natural keys


def _categorised(rows: pl.DataFrame) -> pl.DataFrame:
    """Put what fits no segment of its exchange under `unknown`, with a symbol of its broker alone.

    That symbol is broker, its word for the exchange and its trading symbol, with the token where several have it. It carries
    no ISIN, so that no holding is taken for it.
    """
    listed = pl.any_horizontal(
        (pl.col("exchange") == exchange.value) & pl.col("bare").is_in(segments_of(exchange)) for exchange in EXCHANGES
    )
    stray = rows.filter(~(listed & (pl.col("bare") != UNCATEGORISED)).fill_null(False))
    own = pl.concat_str(
        "broker", pl.coalesce("broker_exchange", "exchange", pl.lit("-")), pl.coalesce("tradingsymbol", "broker_token"),
        separator=":",
    ).str.to_uppercase()  # fmt: skip
    said = pl.concat_str("exchange", "bare", separator=" ", ignore_nulls=True)
    several = pl.col("broker_token").n_unique().over("symbol") > 1
    patch = stray.with_columns(words=pl.coalesce("words", said), symbol=own).select(
        "row",
        "words",
        symbol=pl.when(several).then(pl.concat_str("symbol", "broker_token", separator=":")).otherwise(pl.col("symbol")),
        isin=pl.lit(None, pl.String),
        exchange=pl.lit(Exchange.UNKNOWN.value),
        bare=pl.lit(UNCATEGORISED),
    )
    return _patched(rows, patch)


def _keyed(rows: pl.DataFrame) -> pl.DataFrame:
    """Add shape and stored segment, empty the fields of other shapes, and add `key`, as `Identity.natural_key` writes it.

    It is null where a field is missing.
    """
    rows = rows.with_columns(
        shape=pl.col("bare").replace_strict(_SHAPES, return_dtype=pl.String),
        segment=pl.when(pl.col("bare") == UNCATEGORISED)
        .then(pl.col("bare"))
        .otherwise(pl.concat_str("exchange", "bare", separator="_")),
    )
    security, option = pl.col("shape") == Shape.SECURITY.value, pl.col("shape") == Shape.OPTION.value
    rows = rows.with_columns(
        *(pl.when(security).then(pl.col(name)) for name in ("symbol",)),
        *(pl.when(~security).then(pl.col(name)) for name in ("underlying_symbol", "expiry_date")),
        *(pl.when(option).then(pl.col(name)) for name in ("strike_price", "option_type")),
    )
    complete = (
        pl.when(security)
        .then(pl.col("symbol").is_not_null())
        .otherwise(
            pl.all_horizontal(pl.col("underlying_symbol", "expiry_date").is_not_null())
            & (~option | pl.all_horizontal(pl.col("strike_price", "option_type").is_not_null()))
        )
    )
    fields = [
        "exchange", "segment", "shape", "symbol", "underlying_symbol", "expiry_date", _strike_texts(rows["strike_price"]),
        "option_type",
    ]  # fmt: skip
    return rows.with_columns(key=pl.when(complete).then(pl.concat_str(fields, separator="|", ignore_nulls=True)))


def _strike_texts(column: pl.Series) -> pl.Expr:
    strikes = column.drop_nulls().unique()
    texts = pl.Series([strike_text(value) for value in strikes], dtype=pl.String)
    return pl.col(column.name).replace_strict(strikes, texts, default=None, return_dtype=pl.String)


def _placed(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows with `place`, that of their instrument in the catalogue's order, and the instruments by place."""
    instruments = rows.group_by("key").agg(pl.col("exchange", "bare", "segment", "shape", *_IDENTITY).first())
    instruments = instruments.sort(
        _order("exchange", EXCHANGES), _order("bare", SEGMENTS),
        pl.coalesce("symbol", "underlying_symbol"), "expiry_date", "strike_price", "option_type", "key",
    ).with_row_index("place")  # fmt: skip
    places = rows.select("key").join(instruments.select("key", "place"), on="key", how="left", maintain_order="left")
    return rows.with_columns(places["place"]), instruments


def _trusted(rows: pl.DataFrame, reports: Sequence[BrokerReport]) -> pl.DataFrame:
    """Return the rows that can be trusted, and count what is left out."""
    marked = rows.select(
        "row",
        # Two tokens that make the same number are looked at again below.
        listed=pl.col("place").cast(pl.Int64) * len(reports) + pl.col("rank"),
        token=pl.struct("rank", "broker_token").hash(),
    )
    suspects = marked.filter(pl.col("listed").is_duplicated() | pl.col("token").is_duplicated())
    if suspects.is_empty():
        return rows
    twins = rows.join(suspects.select("row"), on="row", how="semi")
    # A row that is written twice counts once; of twins that differ elsewhere the first in the order of their values.
    values = [name for name in (*LISTING_COLUMNS, "attributes") if name in twins.columns and name != "segment"]
    once = twins.sort("rank", "place", "broker_token", *values)
    once = once.unique(["rank", "place", "broker_token"], keep="first", maintain_order=True)
    doubtful = pl.struct("rank", "place").is_duplicated() | pl.struct("rank", "broker_token").is_duplicated()
    left_out = once.filter(doubtful)
    _count(reports, "ambiguous", left_out)
    _exemplify(reports, left_out)
    gone = twins.select("row").join(once.filter(~doubtful).select("row"), on="row", how="anti")
    return rows.join(gone, on="row", how="anti")


def _describe(rows: pl.DataFrame, reports: Sequence[BrokerReport]) -> None:
    for rank, segment, count in rows.group_by("rank", "segment").len().sort("rank", "segment").iter_rows():
        reports[rank].segments[segment] = count
        reports[rank].rows += count
        if segment == UNCATEGORISED:
            reports[rank].uncategorised = count
    unknown = rows.filter(pl.col("bare") == UNCATEGORISED).group_by("rank", "words").len()
    for rank, words, count in unknown.sort("rank", "len", "words", descending=[False, True, False]).iter_rows():
        if len(reports[rank].unknown_words) < EXAMPLES:
            reports[rank].unknown_words[words or "nothing"] = count


# One row per natural key


def _instruments(rows: pl.DataFrame, instruments: pl.DataFrame) -> pl.DataFrame:
    # Rows stand in the order of their brokers: sorted by place alone they do so inside of each instrument too.
    rows = _with_agreed_lots(rows.sort("place", maintain_order=True))
    listing = pl.struct(
        "broker", "broker_token", "tradingsymbol", pl.col("broker_exchange").alias("exchange"), "lot_size", "tick_size",
        "freeze_quantity", "contract_units", "other_names", "attributes",
    )  # fmt: skip
    listed = rows.group_by("place", maintain_order=True).agg(
        pl.col("name").drop_nulls().first(), listings=listing
    )
    merged = listed.join(instruments, on="place", how="left", maintain_order="left")
    for votes in (
        _voted(rows, "isin", pl.col("isin").first()),
        _voted(rows, "lot_size", pl.col("lot_size").first()),
        _voted(rows, "tick_size", pl.lit(None, pl.Float64)),
        _voted(rows, "freeze_quantity", pl.col("freeze_quantity").min()),
    ):
        merged = merged.join(votes, on="place", how="left", maintain_order="left")
    ids = [str(uuid_utils.uuid5(_NAMESPACE, key)) for key in merged["key"]]
    ids_column = pl.Series("instrument_id", ids, dtype=pl.String)
    return merged.with_columns(ids_column).select(*INSTRUMENT_COLUMNS, "listings").rechunk()


def _with_agreed_lots(rows: pl.DataFrame) -> pl.DataFrame:
    """Fill the units per lot of brokers that speak lots of a size their files do not say, where the others agree on it.

    Agreement is one size above 1 among all brokers that do say: a wrong size would send an order of another size, so with
    two sizes, or none, it stays unknown and no such order is sent.
    """
    unknown = rows.filter(pl.col("contract_units").is_null()).select("row", "place", "lot_size")
    said = rows.select("place", "lot_size", "contract_units").join(unknown, on="place", how="semi")
    said = said.filter(pl.col("contract_units").is_not_null() & (pl.col("lot_size") > 1))
    agreed = said.group_by("place").agg(agreed=pl.col("lot_size").min(), largest=pl.col("lot_size").max())
    agreed = agreed.filter(pl.col("agreed") == pl.col("largest"))
    patch = unknown.join(agreed, on="place", how="inner")
    return _patched(rows, patch.select("row", lot_size="agreed", contract_units="agreed"))


def _voted(rows: pl.DataFrame, column: str, tied: pl.Expr) -> pl.DataFrame:
    """Return place and the value most brokers give; of several with equally many votes, what `tied` makes of them.

    `tied` sees the values by votes, then by the brokers' order.
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


def _order(column: str, names: Sequence[str]) -> pl.Expr:
    order = {str(name): place for place, name in enumerate(names)}
    return pl.col(column).replace_strict(order, return_dtype=pl.Int32)
