"""The rendered rows of one broker in the order book or the trade book, with their part of the summary. Pure.

A broker's rows are one unbroken piece of the document, because both books are sorted by broker first. The piece is kept as bytes. After a
change, only its changed rows are rendered, and only they are added to the summary and taken from it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from operator import attrgetter, is_
from typing import Generic, Protocol, TypeAlias, TypeVar

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.portfolio.assembler import Steps
from onebroker.actors.portfolio.order_owners import LegIndex, LegOwner
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import OrderRow, TradeRow

Row = TypeVar("Row", OrderRow, TradeRow)

SortKey: TypeAlias = tuple[str, str]
"""Time and id. Rows are sorted only within one broker."""
Tallied: TypeAlias = tuple[str, str, int]
"""What a row adds to the summary: the name to count it under, the name of its amount, the amount in the book's own unit of money."""


LOT_ROWS = 64
"""Rows encoded together. To encode them one by one would take twice the time; to encode all would take too long for one changed row."""


class EngineColumns(msgspec.Struct, frozen=True, gc=False):
    """The columns of rules 2.2.2 that the engine's parents add to a row. All are null for orders placed elsewhere."""

    engine_parent_id: str | None = None
    synthetic_type: str | None = None
    intent_id: str | None = None
    leg_role: str | None = None


NOT_OURS = EngineColumns()


def engine_columns(owner: LegOwner | None) -> EngineColumns:
    if owner is None:
        return NOT_OURS
    return EngineColumns(owner.parent_id, owner.synthetic_type, owner.intent_id, owner.leg_role)


class Book(Protocol[Row]):
    """The rules that differ between orders and trades. All pure."""

    resource: Resource
    list_name: str
    """The document's field that holds the rows."""

    def key(self, row: Row) -> str:
        """Name the row within its broker."""

    def settle(self, before: Row, new: Row) -> Row:
        """Return the row that counts after `new` was read on top of `before`: `before` itself when `new` contradicts it."""

    def owner(self, legs: LegIndex, broker: str, row: Row) -> LegOwner | None: ...

    def tally(self, row: Row) -> Tallied: ...

    def view(
        self, broker: str, row: Row, amount: int, instrument_id: str | None, owner: LegOwner | None
    ) -> msgspec.Struct:
        """Render a row. `amount` is that of its tally."""

    def sort_key(self, row: Row) -> SortKey: ...

    def summary(self, total: "Tally") -> msgspec.Struct: ...


class RenderedRow(msgspec.Struct, Generic[Row], frozen=True, gc=False):
    """A row of the document, and the inputs it was made from."""

    key: str
    row: Row
    instrument_id: str | None
    owner: LegOwner | None
    view: msgspec.Struct
    sort_key: SortKey
    tallied: Tallied


@attrs.frozen
class Tally:
    """What a broker or the whole book adds to the summary, by name. A name may stay with zero."""

    counts: Counter[str] = attrs.field(factory=Counter)
    amounts: Counter[str] = attrs.field(factory=Counter)
    """Amounts as whole numbers in the book's own unit of money."""

    @classmethod
    def total(cls, parts: "Iterable[Tally]") -> "Tally":
        total = cls()
        for part in parts:
            total.counts.update(part.counts)
            total.amounts.update(part.amounts)
        return total

    def changed(self, come: Iterable[Tallied], gone: Iterable[Tallied]) -> "Tally":
        """Return this tally with the rows that came and without the rows that went."""
        counts, amounts = self.counts.copy(), self.amounts.copy()
        for counted, named, amount in come:
            counts[counted] += 1
            amounts[named] += amount
        for counted, named, amount in gone:
            counts[counted] -= 1
            amounts[named] -= amount
        return Tally(counts, amounts)


@attrs.frozen(kw_only=True)
class Inputs:
    """What one broker's part of a book is made from."""

    source: object
    """The slice's `rows` object."""
    acknowledged: frozenset[str]
    """Keys of rows with changes that the broker does not show yet (`Slice.acknowledged`). The next row of such a key counts, whatever it
    says."""
    snapshot: Snapshot | None
    legs_version: int

    def same(self, other: "Inputs") -> bool:
        return (
            self.source is other.source
            and self.snapshot is other.snapshot
            and self.legs_version == other.legs_version
            and self.acknowledged == other.acknowledged
        )

    def same_owners(self, other: "Inputs") -> bool:
        """Tell whether equal rows have equal instruments and owners under both."""
        return self.snapshot is other.snapshot and self.legs_version == other.legs_version


@attrs.frozen(kw_only=True)
class BookPart(Generic[Row]):
    """One broker's rows in the document."""

    inputs: Inputs
    rendered: Mapping[str, RenderedRow[Row]]
    """Key -> row, in the order of the slice."""
    at_place: tuple[RenderedRow[Row], ...]
    """The row made at each place of the slice. Usually all of a new slice's rows but a few are the same objects at the same places."""
    views: tuple[msgspec.Struct, ...]
    encoded: tuple[bytes, ...]
    """The views as JSON with commas between them, in lots of LOT_ROWS."""
    tally: Tally


def book_part(
    before: BookPart[Row] | None,
    inputs: Inputs,
    rendered: Mapping[str, RenderedRow[Row]],
    at_place: list[RenderedRow[Row]],
) -> Steps[BookPart[Row]]:
    """Put the rows of a broker together. What did not change since `before` is taken from it."""
    known: Mapping[str, RenderedRow[Row]] = before.rendered if before is not None else {}
    if before is not None and _same(known.values(), rendered.values()):
        return attrs.evolve(before, inputs=inputs, at_place=tuple(at_place))
    come = [row.tallied for key, row in rendered.items() if known.get(key) is not row]
    gone = [row.tallied for key, row in known.items() if rendered.get(key) is not row]
    tally = before.tally if before is not None else Tally()
    views = tuple([row.view for row in sorted(rendered.values(), key=attrgetter("sort_key"))])
    yield
    return BookPart(
        inputs=inputs,
        rendered=rendered,
        at_place=tuple(at_place),
        views=views,
        encoded=(yield from _encoded(views, before)),
        tally=tally.changed(come, gone),
    )


def _encoded(views: tuple[msgspec.Struct, ...], before: BookPart[Row] | None) -> Steps[tuple[bytes, ...]]:
    """Encode the rows in lots. A lot with the same rows as before is taken from there."""
    encoder = msgspec.json.Encoder()
    encoded: list[bytes] = []
    for number, start in enumerate(range(0, len(views), LOT_ROWS)):
        lot = views[start : start + LOT_ROWS]
        if before is not None and _same(lot, before.views[start : start + LOT_ROWS]):
            encoded.append(before.encoded[number])
        else:
            encoded.append(encoder.encode(lot)[1:-1])
            yield
    return tuple(encoded)


def _same(one: Collection[object], other: Collection[object]) -> bool:
    """Tell whether both hold the same objects."""
    return len(one) == len(other) and all(map(is_, one, other))
