"""The common part of the order book and the trade book: each broker's rows are rendered once and joined in broker order. Pure.

A row is rendered again when the row, its engine columns or its instrument changed. `book_rows.py` puts a broker's rows together.
"""

from collections.abc import Mapping
from itertools import chain, zip_longest
from operator import is_
from typing import Generic

import msgspec

from onebroker.actors.catalogue.interface import CatalogueState, Snapshot
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import ROWS_PER_STEP, Content, Steps, array_pieces, latest_snapshot
from onebroker.actors.portfolio.book_rows import Book, BookPart, Inputs, RenderedRow, Row, Tally, book_part
from onebroker.actors.portfolio.order_owners import LegIndex
from onebroker.actors.portfolio.read_status import BrokerRead, day_start
from onebroker.actors.sessions.slices import Slice
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.records import OrderRow, TradeRow

DAY_SECONDS = 86_400.0


class BookAssembler(Generic[Row]):
    """Merges the brokers' slices of one book."""

    def __init__(self, book: Book[Row], catalogue: Published[CatalogueState], legs: LegIndex) -> None:
        self._book: Book[Row] = book
        self._catalogue = catalogue
        self._legs = legs
        # Kept while a broker is unreadable, so that orders finished before stay finished after.
        self._parts: dict[str, tuple[float, BookPart[Row]]] = {}
        """Broker -> the start of the broking day of its rows (epoch seconds), and the rows."""
        self._content: tuple[list[BookPart[Row]], Content] | None = None
        self._looked: dict[str, tuple[int, tuple[object, ...]]] = {}
        """Broker -> the version of its legs, and the rows about which nothing more could be learnt at that version."""

    @property
    def resource(self) -> Resource:
        return self._book.resource

    def broker_entry(self, read: BrokerRead) -> dict[str, object]:
        return read.entry()

    async def prepare(self, slices: Mapping[str, Slice], store: Store) -> bool:
        """Find the owners of the rows, so that none is shown as placed elsewhere because the engine has not read its legs yet."""
        found = True
        for broker, held in slices.items():
            version, rows = self._legs.version_of(broker), held.rows if isinstance(held.rows, tuple) else ()
            learnt = [
                await self._legs.learn(store, row, broker)
                for row in self._not_looked_at(broker, rows, version)
                if isinstance(row, OrderRow | TradeRow) and not self._legs.knows(row, broker)
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
        if seen is rows:
            return []
        return [row for row, known in zip_longest(rows, seen[: len(rows)]) if row is not known]

    def assemble(self, slices: Mapping[str, Slice]) -> Steps[Content]:
        snapshot = latest_snapshot(self._catalogue)
        for broker, held in slices.items():
            yield from self._refresh(broker, held, snapshot)
        parts = [self._parts[broker][1] for broker in sorted(slices)]
        if self._content is None or not _same_objects(self._content[0], parts):
            yield
            self._content = parts, self._join(parts)
        return self._content[1]

    def _refresh(self, broker: str, held: Slice, snapshot: Snapshot | None) -> Steps[None]:
        day, before = self._parts.get(broker, (0.0, None))
        if before is None or not day <= held.received_at < day + DAY_SECONDS:
            day, before = day_start(held.received_at), None  # brokers reuse order ids on another day
        inputs = Inputs(
            source=held.rows,
            acknowledged=held.acknowledged,
            snapshot=snapshot,
            legs_version=self._legs.version_of(broker),
        )
        if before is None or not before.inputs.same(inputs):
            self._parts[broker] = day, (yield from self._part(broker, held, before, inputs))

    def _part(self, broker: str, held: Slice, before: BookPart[Row] | None, inputs: Inputs) -> Steps[BookPart[Row]]:
        known: Mapping[str, RenderedRow[Row]] = before.rendered if before is not None else {}
        rows: tuple[Row, ...] = held.rows if isinstance(held.rows, tuple) else ()  # type: ignore[assignment]  # by resource
        same_owners = before is not None and before.inputs.same_owners(inputs)
        usual = before.at_place[: len(rows)] if before is not None and same_owners else ()
        rendered: dict[str, RenderedRow[Row]] = {}
        at_place: list[RenderedRow[Row]] = []
        for number, (row, made) in enumerate(zip_longest(rows, usual)):
            if made is None or made.row is not row:
                key = self._book.key(row)
                made = known.get(key)
                if made is None or made.row is not row or not same_owners:
                    made = self._render(broker, key, row, made, before, inputs)
            rendered[made.key] = made
            at_place.append(made)
            if number % ROWS_PER_STEP == 0:
                yield
        return (yield from book_part(before, inputs, rendered, at_place))

    def _render(
        self,
        broker: str,
        key: str,
        new: Row,
        known: RenderedRow[Row] | None,
        before: BookPart[Row] | None,
        inputs: Inputs,
    ) -> RenderedRow[Row]:
        """Render a row, or return the row `known` from before when nothing in it changed."""
        row = new
        if before is not None and known is not None:
            if new == known.row:
                row = known.row
            elif key not in before.inputs.acknowledged:
                row = self._book.settle(known.row, new)
        owner = self._book.owner(self._legs, broker, row)
        instrument_id = self._instrument_id(broker, row, known, before, inputs)
        if known is not None and row is known.row and owner == known.owner and instrument_id == known.instrument_id:
            return known
        tallied = self._book.tally(row)
        view = self._book.view(broker, row, tallied[2], instrument_id, owner)
        return RenderedRow(key, row, instrument_id, owner, view, self._book.sort_key(row), tallied)

    @staticmethod
    def _instrument_id(
        broker: str, row: Row, known: RenderedRow[Row] | None, before: BookPart[Row] | None, inputs: Inputs
    ) -> str | None:
        snapshot, token = inputs.snapshot, row.instrument_token
        same_snapshot = before is not None and before.inputs.snapshot is snapshot
        if known is not None and same_snapshot and token == known.row.instrument_token:
            return known.instrument_id
        return None if snapshot is None else snapshot.by_token(broker, token)

    def _join(self, parts: list[BookPart[Row]]) -> Content:
        summary = msgspec.json.encode(self._book.summary(Tally.total(part.tally for part in parts)))
        return Content(
            pieces=(
                *array_pieces(self._book.list_name, chain.from_iterable([part.encoded for part in parts])),
                b',"summary":',
                summary,
            ),
            rows=tuple(chain.from_iterable([part.views for part in parts])),
            summary=summary,
        )


def _same_objects(one: list[BookPart[Row]], other: list[BookPart[Row]]) -> bool:
    return len(one) == len(other) and all(map(is_, one, other))
