"""Folding book reads and stream events of one broker's orders into one cumulative record per order. Pure.

Rules (order-engine 2.3, spec 2 §3.1): the filled quantity only grows; a finished order stays finished; an event older than
what is held changes nothing; a book read replaces the rest of the row and drops orders of an earlier day.
"""

import attrs
import msgspec

from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import is_finished


@attrs.frozen
class OrderFold:
    """The orders of one broker's day, in the order in which they were first seen."""

    rows: dict[str, OrderRow] = attrs.field(factory=dict)
    contradictions: int = 0
    """Times a finished order was reported unfinished, or a filled quantity lower than before."""

    def read(self, rows: list[OrderRow], *, seen_before_read: frozenset[str]) -> "OrderFold":
        """Fold a whole book read.

        `seen_before_read` are the ids held when the read began: one of those that the read no longer shows is dropped (a
        new day), while one learnt during the read stays.
        """
        shown = {row.order_id for row in rows}
        kept = {
            order_id: row
            for order_id, row in self.rows.items()
            if order_id in shown or order_id not in seen_before_read
        }
        folded, contradictions = self._merge(kept, rows)
        return OrderFold(folded, self.contradictions + contradictions)

    def event(self, row: OrderRow) -> "OrderFold":
        """Fold one event of the order stream."""
        folded, contradictions = self._merge(dict(self.rows), [row])
        return OrderFold(folded, self.contradictions + contradictions)

    @staticmethod
    def _merge(held: dict[str, OrderRow], rows: list[OrderRow]) -> tuple[dict[str, OrderRow], int]:
        contradictions = 0
        for row in rows:
            before = held.get(row.order_id)
            if before is None:
                held[row.order_id] = row
                continue
            merged, contradicts = merge_order(before, row)
            contradictions += contradicts
            held[row.order_id] = merged
        return held, contradictions


def merge_order(before: OrderRow, new: OrderRow) -> tuple[OrderRow, bool]:
    """Return the order after `new` was reported on top of `before`, and whether the two contradict each other.

    The very object `before` is returned when nothing changes.
    """
    if new == before:
        return before, False
    if is_finished(before.status) and not is_finished(new.status):
        return before, True
    if new.filled_quantity < before.filled_quantity:
        if is_finished(new.status) and not is_finished(before.status):
            # The end of the order is news even when a late figure comes with it.
            kept = msgspec.structs.replace(
                new, filled_quantity=before.filled_quantity, average_price=before.average_price, pending_quantity=0
            )
            return kept, True
        return before, True
    if new.tag is None and before.tag is not None:
        new = msgspec.structs.replace(new, tag=before.tag)
    return (before if new == before else new), False
