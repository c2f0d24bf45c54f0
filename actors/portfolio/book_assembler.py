"""The common part of the order book and the trade book: each broker's rows are rendered once and joined in broker order. Pure.

Both books are sorted by broker first. So a broker's rows are one unbroken piece of the document, which is kept as bytes. A row is rendered
again when the row, its engine columns or its instrument changed.
"""

from collections import Counter
from collections.abc import Mapping
from itertools import zip_longest
from typing import Generic, Protocol, TypeAlias, TypeVar

import attrs
import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Content, Steps, latest_snapshot
from onebroker.actors.portfolio.order_owners import LegIndex, LegOwner
from onebroker.actors.portfolio.read_status import BrokerRead, broking_day
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import OrderRow, TradeRow

Row = TypeVar("Row", OrderRow, TradeRow)

SortKey: TypeAlias = tuple[str, str]
"""Time and id. Rows are sorted only within one broker."""


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


@attrs.frozen(kw_only=True)
class Tally:
    """What a row, a broker or the whole book adds to the summary, by name."""

    counts: Counter[str]
    amounts: Counter[str]
    """Amounts as whole numbers in the book's own unit of money."""

    @classmethod
    def total(cls, parts: "list[Tally]") -> "Tally":
        counts: Counter[str] = Counter()
        amounts: Counter[str] = Counter()
        for part in parts:
            counts.update(part.counts)
            amounts.update(part.amounts)
        return cls(counts=counts, amounts=amounts)


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

    def view(self, broker: str, row: Row, instrument_id: str | None, owner: LegOwner | None) -> msgspec.Struct: ...

    def sort_key(self, row: Row) -> SortKey: ...

    def tally(self, row: Row) -> tuple[str, str, int]:
        """Return the name to count the row under, the name of its amount, and the amount in the book's own unit."""

    def summary(self, total: Tally) -> msgspec.Struct: ...


class _Rendered(msgspec.Struct, Generic[Row], frozen=True, gc=False, kw_only=True):
    row: Row
    instrument_id: str | None
    owner: LegOwner | None
    view: msgspec.Struct
    encoded: bytes
    sort_key: SortKey
    tally: tuple[str, str, int]


@attrs.frozen(kw_only=True)
class _BrokerPart(Generic[Row]):
    """One broker's rows in the document, and the inputs they were made from."""

    source: object
    """The slice's `rows` object."""
    day: str
    snapshot: Snapshot | None
    legs_version: int
    rendered: dict[str, _Rendered[Row]]
    acknowledged: frozenset[str]
    """Keys of rows with changes that the broker does not show yet (`Slice.acknowledged`). The next row of such a key counts, whatever it
    says."""
    views: tuple[msgspec.Struct, ...]
    encoded: bytes
    """The rows in their order, with commas between them."""
    tally: Tally


class BookAssembler(Generic[Row]):
    """Merges the brokers' slices of one book."""

    def __init__(self, book: Book[Row], catalogue: Published[CatalogueState], legs: LegIndex) -> None:
        self._book: Book[Row] = book
        self._catalogue = catalogue
        self._legs = legs
        # Kept while a broker is unreadable, so that orders finished before stay finished after.
        self._parts: dict[str, _BrokerPart[Row]] = {}
        self._content: tuple[list[_BrokerPart[Row]], Content] | None = None
        self._looked: dict[str, tuple[int, tuple[object, ...]]] = {}
        """Broker -> the leg index's version, and the rows about which nothing more could be learnt at that version."""

    @property
    def resource(self) -> Resource:
        return self._book.resource

    def broker_entry(self, read: BrokerRead) -> dict[str, object]:
        return read.entry()

    async def prepare(self, slices: Mapping[str, Slice], store: Store) -> bool:
        """Find the owners of the orders that carry a token of the engine (trades follow their orders)."""
        version, found = self._legs.version, True
        for broker, held in slices.items():
            rows = held.rows if isinstance(held.rows, tuple) else ()
            learnt = [
                await self._legs.learn(store, row, broker)
                for row in self._not_looked_at(broker, rows, version)
                if isinstance(row, OrderRow) and not self._legs.knows(row, broker)
            ]
            if all(learnt):
                self._looked[broker] = version, rows
            found = found and all(learnt)
        return found

    def _not_looked_at(self, broker: str, rows: tuple[object, ...], version: int) -> list[object]:
        """Return the rows that are not the same objects at the same places as in the last look: few rows of a long book."""
        seen_version, seen = self._looked.get(broker, (version, ()))
        if seen_version != version:
            return list(rows)
        return [row for row, known in zip_longest(rows, seen[: len(rows)]) if row is not known]

    def assemble(self, slices: Mapping[str, Slice]) -> Steps[Content]:
        snapshot, version = latest_snapshot(self._catalogue), self._legs.version
        for broker, held in slices.items():
            yield from self._refresh(broker, held, snapshot, version)
        parts = [self._parts[broker] for broker in sorted(slices)]
        if self._content is None or not _same_objects(self._content[0], parts):
            yield
            self._content = parts, self._join(parts)
        return self._content[1]

    def _refresh(self, broker: str, held: Slice, snapshot: Snapshot | None, version: int) -> Steps[None]:
        before = self._parts.get(broker)
        day = broking_day(held.received_at)
        if before is not None and before.day != day:
            before = None  # brokers reuse order ids on another day
        if (
            before is not None
            and before.source is held.rows
            and before.acknowledged == held.acknowledged
            and before.snapshot is snapshot
            and before.legs_version == version
        ):
            return
        rendered: dict[str, _Rendered[Row]] = {}
        known = before.rendered if before is not None else {}
        same_snapshot = before is not None and before.snapshot is snapshot
        same_legs = before is not None and before.legs_version == version
        rows: tuple[Row, ...] = held.rows if isinstance(held.rows, tuple) else ()  # type: ignore[assignment]  # by resource
        for number, row in enumerate(rows):
            key = self._book.key(row)
            held_row = known.get(key)
            if held_row is not None and held_row.row is row and same_snapshot and same_legs:
                rendered[key] = held_row
            else:
                settles = before is None or key not in before.acknowledged
                rendered[key] = self._render(
                    broker, row, held_row, snapshot, same_snapshot=same_snapshot, settles=settles
                )
            if number % ROWS_PER_STEP == 0:
                yield
        if before is not None and _same_objects(list(known.values()), list(rendered.values())):
            self._parts[broker] = attrs.evolve(
                before, source=held.rows, snapshot=snapshot, legs_version=version, acknowledged=held.acknowledged
            )
            return
        ordered = sorted(rendered.values(), key=lambda rendered_row: rendered_row.sort_key)
        self._parts[broker] = _BrokerPart(
            source=held.rows,
            day=day,
            snapshot=snapshot,
            legs_version=version,
            rendered=rendered,
            acknowledged=held.acknowledged,
            views=tuple(rendered_row.view for rendered_row in ordered),
            encoded=b",".join([rendered_row.encoded for rendered_row in ordered]),
            tally=_tally_of(ordered),
        )

    def _render(
        self,
        broker: str,
        new: Row,
        known: _Rendered[Row] | None,
        snapshot: Snapshot | None,
        *,
        same_snapshot: bool,
        settles: bool,
    ) -> _Rendered[Row]:
        row = new
        if known is not None and new == known.row:
            row = known.row
        elif known is not None and settles:
            row = self._book.settle(known.row, new)
        owner = self._book.owner(self._legs, broker, row)
        if known is not None and same_snapshot and row.instrument_token == known.row.instrument_token:
            instrument_id = known.instrument_id
        else:
            instrument_id = None if snapshot is None else snapshot.by_token(broker, row.instrument_token)
        if known is not None and row is known.row and owner == known.owner and instrument_id == known.instrument_id:
            return known
        view = self._book.view(broker, row, instrument_id, owner)
        return _Rendered(
            row=row,
            instrument_id=instrument_id,
            owner=owner,
            view=view,
            encoded=msgspec.json.encode(view),
            sort_key=self._book.sort_key(row),
            tally=self._book.tally(row),
        )

    def _join(self, parts: list[_BrokerPart[Row]]) -> Content:
        total = Tally.total([part.tally for part in parts])
        summary = msgspec.json.encode(self._book.summary(total))
        rows = b",".join([part.encoded for part in parts if part.encoded])
        return Content(
            fields=b"".join((b'"', self._book.list_name.encode(), b'":[', rows, b'],"summary":', summary)),
            rows=tuple(view for part in parts for view in part.views),
            summary=summary,
        )


def _tally_of(rendered: list[_Rendered[Row]]) -> Tally:
    counts: Counter[str] = Counter()
    amounts: Counter[str] = Counter()
    for row in rendered:
        counted, named, amount = row.tally
        counts[counted] += 1
        amounts[named] += amount
    return Tally(counts=counts, amounts=amounts)


def _same_objects(
    one: list[_BrokerPart[Row]] | list[_Rendered[Row]], other: list[_BrokerPart[Row]] | list[_Rendered[Row]]
) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
