"""Merges ten brokers' normalized frames into one row per instrument. Pure; polars throughout, never row by row.

First, rows of all files that are the same instrument get the same natural key (`security_matching.py`, `index_matching.py`, `contract_matching.py`, then
`natural_keys.py`). Then a listing that cannot be trusted is left out and counted, never guessed (an order must not reach another
instrument):
- a row without a complete identity or without a token;
- two tokens of one broker for one natural key: it is unknown which token is meant;
- one token of one broker for two natural keys: its ticks and fills could not be told apart.
A row that fits no segment goes under the exchange `unknown` as `uncategorised`, separately for each broker, with the broker's own words.
It is shown, nothing is merged with it, and no order can be sent to it (rules 2.2.1). The remaining rows make the instruments
(`voting.py`).

The result does not depend on the order of rows or on which broker gave a value, except for the documented ties.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Protocol, TypeAlias

import polars as pl
import uuid_utils

from onebroker.actors.catalogue.attributes import names_text
from onebroker.actors.catalogue.broker_rows import BrokerRows, identified
from onebroker.actors.catalogue.changed_terms import SEGMENT_AND_TERMS
from onebroker.actors.catalogue.contract_matching import align_contracts, is_contract
from onebroker.actors.catalogue.file_columns import ATTRIBUTE_NAMES, INSTRUMENT_COLUMNS
from onebroker.actors.catalogue.index_matching import align_indices, is_index
from onebroker.actors.catalogue.natural_keys import FACTS, MATCHED_BY, categorised, keyed, placed
from onebroker.actors.catalogue.report import BrokerReport
from onebroker.actors.catalogue.security_matching import DECIDED, Aligned, align_securities, is_security, patched
from onebroker.actors.catalogue.voting import one_row_each
from onebroker.brokers.listings.frame import LISTING_COLUMNS
from onebroker.brokers.listings.mcx_contracts import units_of
from onebroker.config.instruments import NAMESPACE, UNCATEGORISED

LISTING_FIELDS = (
    "broker", "broker_token", "tradingsymbol", "exchange", "lot_size", "tick_size", "freeze_quantity", "contract_units",
    "other_names", "attributes",
)  # fmt: skip
"""Fields of an element of the column `listings`; `attributes` holds the values of the file's other columns."""
EXAMPLES = 5

FEW = 1000
"""Most rows that are searched for examples."""

_LISTED = tuple("broker_exchange" if name == "exchange" else name for name in LISTING_FIELDS)
"""The rows' columns that become a listing's fields."""

_NAMESPACE = uuid_utils.UUID(str(NAMESPACE))


class Witness(Protocol):
    """The mappings before today's (`previous_mapping.Before`)."""

    def terms(self, tokens: Sequence[tuple[str, str | None]]) -> pl.DataFrame: ...

    def former(self, tokens: Sequence[tuple[str, str | None]]) -> Sequence[pl.DataFrame]: ...


_Aligning: TypeAlias = tuple[Callable[[], pl.Expr], Callable[[pl.DataFrame], Aligned]]
_ALIGNED: Sequence[_Aligning] = (
    (is_security, align_securities),
    (is_index, align_indices),
)


def merge(
    frames: Mapping[str, pl.DataFrame], before: Witness | None = None
) -> tuple[pl.DataFrame, dict[str, BrokerReport]]:
    """Return `merged` for the brokers' normalized frames."""
    return merged({code: identified(frame) for code, frame in frames.items()}, before)


def merged(
    brokers: Mapping[str, BrokerRows], before: Witness | None = None
) -> tuple[pl.DataFrame, dict[str, BrokerReport]]:
    """Return the catalogue, sorted by exchange, segment and identity, and a report of each broker's files.

    The brokers are in the order of the registry, which decides ties of names and lot sizes. `before` is the mapping of the day before.
    """
    reports = {code: BrokerReport(unread=broker.unread, absent=list(broker.absent)) for code, broker in brokers.items()}
    ranked = list(reports.values())
    if not brokers:
        return pl.DataFrame(), reports
    # A row's number is its place among all rows: the frames follow each other in the order of their ranks.
    rows = pl.concat(
        broker.rows.with_columns(broker=pl.lit(code), rank=pl.lit(rank, pl.Int32))
        for rank, (code, broker) in enumerate(brokers.items())
    ).with_row_index("row")
    matched, followed = _matched(rows, ranked, before)
    rows = _with_lots_of_now(rows, followed)
    facts = keyed(categorised(matched, rows))
    complete = pl.col("key").is_not_null() & pl.col("broker_token").is_not_null()
    refused = facts.select("rank", complete=complete).filter(~pl.col("complete"))
    _count(ranked, "refused", refused)
    instruments, listed = placed(facts.filter(complete) if refused.height else facts)
    trusted = _trusted(listed, instruments, rows, ranked)
    _describe(trusted, instruments, ranked)
    for report in ranked:
        report.error = None if report.rows else "its file lists no instrument"
    if trusted.is_empty():
        return pl.DataFrame(), reports
    names = names_text({code: broker.attribute_names for code, broker in brokers.items()})
    return _instruments(trusted, instruments, rows, names), reports


def segment_counts(catalogue: pl.DataFrame) -> dict[str, int]:
    """Return stored segment -> instruments, in name order."""
    if catalogue.is_empty():
        return {}
    return dict(catalogue.group_by("segment").len().sort("segment").iter_rows())


# All brokers' rows: what is the same


def _matched(
    rows: pl.DataFrame, reports: Sequence[BrokerReport], before: Witness | None
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Let all files together decide what each row is; count changed and contradicted rows. Returns FACTS, and the rows that got the terms of newer
    files."""
    facts = rows.select(FACTS).rechunk()
    matched_by = facts.select(MATCHED_BY)

    remembered = None if before is None else _Remembered(before, rows)
    aligned: Sequence[_Aligning] = (*_ALIGNED, (is_contract, partial(align_contracts, remembered=remembered)))
    decided = [align(part) for is_kind, align in aligned if (part := matched_by.filter(is_kind())).height]
    if not decided:
        return facts, None
    moved = pl.concat([part.moved for part in decided])
    _count(reports, "matched", moved)
    contradicted = pl.concat([part.contradicted for part in decided])
    _count(reports, "contradicted", contradicted)
    _exemplify(reports, keyed(categorised(facts[contradicted.head(FEW)["row"]], rows)))
    facts = patched(facts, moved.select("row", *DECIDED))
    followed = next((part.followed for part in decided if part.followed is not None), None)
    if followed is not None:
        _count(reports, "matched", followed)
        facts = patched(facts, followed.select("row", *SEGMENT_AND_TERMS))
    left_out = pl.concat([part.left_out for part in decided])
    facts = facts.join(left_out.select("row"), on="row", how="anti") if left_out.height else facts
    return facts, followed


def _with_lots_of_now(rows: pl.DataFrame, followed: pl.DataFrame | None) -> pl.DataFrame:
    """Forget the units of a lot in the rows of late files, where the file that knows the contract's change says other units or none: an order of
    yesterday's lot would be of another size. `voting.py` takes the units from the other brokers."""
    if followed is None or followed.is_empty():
        return rows
    lots = ("lot_size", "contract_units")
    late = followed.select("row", "newer").with_columns(rows.select(lots)[followed["row"]])
    late = late.with_columns(now=rows["lot_size"][followed["newer"]])
    other = late.filter(pl.col("lot_size").ne_missing(pl.col("now")))
    return patched(
        rows,
        other.select(
            "row",
            lot_size=pl.lit(None, pl.Int64),
            contract_units=pl.when(pl.col("contract_units") == 1).then(pl.col("contract_units")),
        ),
    )


class _Remembered:
    """Implements `changed_terms.Remembered` over the mappings before, by the brokers' tokens."""

    def __init__(self, before: Witness, rows: pl.DataFrame) -> None:
        self._before = before
        self._rows = rows

    def terms(self, numbers: pl.Series) -> pl.DataFrame:
        return self._before.terms(self._tokens(numbers))

    def former(self, numbers: pl.Series) -> Sequence[pl.DataFrame]:
        return self._before.former(self._tokens(numbers))

    def _tokens(self, numbers: pl.Series) -> list[tuple[str, str | None]]:
        return self._rows[numbers].select("broker", "broker_token").rows()


def _count(reports: Sequence[BrokerReport], field: str, rows: pl.DataFrame) -> None:
    for rank, count in rows.group_by("rank").len().iter_rows():
        setattr(reports[rank], field, getattr(reports[rank], field) + count)


def _exemplify(reports: Sequence[BrokerReport], rows: pl.DataFrame) -> None:
    """Add a few of the rows, as natural keys, to their brokers' examples."""
    for rank, key in rows.drop_nulls("key").select("rank", "key").unique().sort("rank", "key").iter_rows():
        examples = reports[rank].examples
        if len(examples) < EXAMPLES and key not in examples:
            examples.append(key)


# Which of them can be trusted


def _trusted(
    listed: pl.DataFrame, instruments: pl.DataFrame, rows: pl.DataFrame, reports: Sequence[BrokerReport]
) -> pl.DataFrame:
    """Return the listed rows that can be trusted, and count the rows left out."""
    marked = listed.select(
        "row",
        # Different tokens with the same hash are checked again below.
        listed=pl.col("place").cast(pl.Int64) * len(reports) + pl.col("rank"),
        token=pl.struct("rank", "broker_token").hash(),
    )
    suspects = marked.filter(pl.col("listed").is_duplicated() | pl.col("token").is_duplicated())
    if suspects.is_empty():
        return listed
    twins = listed.join(suspects.select("row"), on="row", how="semi")
    # A row that occurs twice counts once; of twins that differ in other columns, the first by their values counts.
    others = [name for name in (*LISTING_COLUMNS, "attributes") if name not in (*listed.columns, "segment")]
    twins = twins.with_columns(rows.select(others)[twins["row"]])
    once = twins.sort("rank", "place", "broker_token", "isin", *others)
    once = once.unique(["rank", "place", "broker_token"], keep="first", maintain_order=True)
    doubtful = pl.struct("rank", "place").is_duplicated() | pl.struct("rank", "broker_token").is_duplicated()
    left_out = once.filter(doubtful)
    _count(reports, "ambiguous", left_out)
    _exemplify(reports, left_out.select("rank", key=instruments["key"][left_out["place"]]))
    gone = twins.select("row").join(once.filter(~doubtful).select("row"), on="row", how="anti")
    return listed.join(gone, on="row", how="anti", maintain_order="left")


def _describe(listed: pl.DataFrame, instruments: pl.DataFrame, reports: Sequence[BrokerReport]) -> None:
    segments = instruments["segment"].cast(pl.Categorical)
    counts = listed.select("rank", segment=segments[listed["place"]]).group_by("rank", "segment").len()
    for rank, segment, count in counts.cast({"segment": pl.String}).sort("rank", "segment").iter_rows():
        reports[rank].segments[segment] = count
        reports[rank].rows += count
        if segment == UNCATEGORISED:
            reports[rank].uncategorised = count
    nowhere = instruments.filter(pl.col("bare") == UNCATEGORISED).select("place")
    unknown = listed.join(nowhere, on="place", how="semi").group_by("rank", "words").len()
    for rank, words, count in unknown.sort("rank", "len", "words", descending=[False, True, False]).iter_rows():
        if len(reports[rank].unknown_words) < EXAMPLES:
            reports[rank].unknown_words[words or "nothing"] = count


# One row per natural key


def _sized() -> pl.Expr:
    """Return the lot: for MCX contracts the exchange's own where known, because files give it in two units; else what most files say."""
    known = units_of(pl.col("underlying_symbol"), pl.col("expiry_date"))
    return pl.coalesce(pl.when(pl.col("exchange") == "mcx").then(known), pl.col("lot_size")).alias("lot_size")


def _instruments(listed: pl.DataFrame, instruments: pl.DataFrame, rows: pl.DataFrame, names: str) -> pl.DataFrame:
    """Return the catalogue: the instruments that still have a listed row; `names` is in the first instrument's row."""
    listed = listed.select("place", "row", "rank", "isin")
    # Gathering from the brokers' separate frames takes five times as long.
    payload = rows.select("name", *_LISTED).rechunk()
    found = one_row_each(listed.hstack(payload[listed["row"]]))
    found = found.join(instruments, on="place", how="left", maintain_order="left")
    ids = [str(uuid_utils.uuid5(_NAMESPACE, key)) for key in found["key"]]
    return (
        found.with_columns(
            pl.Series("instrument_id", ids, dtype=pl.String),
            _sized(),
            pl.Series(ATTRIBUTE_NAMES, [names], dtype=pl.String).extend_constant(None, found.height - 1),
        )
        .select(*INSTRUMENT_COLUMNS, ATTRIBUTE_NAMES, "listings")
        .rechunk()
    )
