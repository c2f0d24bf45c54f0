"""Folding book reads and stream events of one broker's orders into one cumulative record per order. Pure.

An order id is valid for its day only: another day's order with the same id is another order.

Rules (order-engine 2.3, rules 2.3.1): the filled quantity only grows; a finished order stays finished; otherwise the newest report counts.
A book may run behind, and an order just taken may be missing from it. So an order that a read does not show is still shown for a while.
After that it is hidden, but remembered to the end of the day. An order last reported before the day began is dropped by the first read
that does not show it.

Book and order stream overtake each other: the slower channel reports old news. A contradiction is counted only when one channel reverts its
own earlier report.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum

import attrs
import msgspec

from onebroker.brokers.records import OrderRow
from onebroker.config.clock import latest_boundary
from onebroker.config.vocabulary import is_finished

MISSING_SECONDS = 30.0
"""If a read begun this long after an order's last report does not show the order, it is not shown any more."""


class Channel(StrEnum):
    """The channel on which a broker reports orders."""

    BOOK = "book"
    STREAM = "stream"


@attrs.frozen
class OrderFold:
    """The orders of one broker's day, in the order in which they were first seen. Times are epoch seconds."""

    rows: dict[str, OrderRow] = attrs.field(factory=dict)
    contradictions: int = 0
    """How often one channel reported a finished order with another status, or a filled quantity lower than before."""
    _gone: dict[str, OrderRow] = attrs.field(factory=dict, repr=False)
    """Orders of the day that the book stopped showing."""
    _reported: dict[str, float] = attrs.field(factory=dict, repr=False)
    """order_id -> when the order was last reported, for `rows` and `_gone`."""
    _told: dict[tuple[Channel, str], OrderRow] = attrs.field(factory=dict, repr=False)
    """(channel, order_id) -> the furthest state of the order that the channel reported."""

    @classmethod
    def of(cls, rows: Iterable[OrderRow], *, at: float) -> "OrderFold":
        """Return the fold of a stored book, whose rows were reported at `at`."""
        held = {row.order_id: row for row in rows}
        told = {(Channel.BOOK, order_id): row for order_id, row in held.items()}
        return cls(held, 0, {}, dict.fromkeys(held, at), told)

    def read(self, rows: list[OrderRow], *, began: float, at: float, day_start: float) -> "OrderFold":
        """Fold a whole book read that began at `began` and ended at `at`. `day_start` is the 07:00 at which the day began."""
        shown = {row.order_id for row in rows}
        today = {order_id for order_id, when in self._reported.items() if when >= day_start}
        kept, gone = {}, {order_id: row for order_id, row in self._gone.items() if order_id in today}
        for order_id, row in self.rows.items():
            if order_id in shown or (order_id in today and began - self._reported[order_id] < MISSING_SECONDS):
                kept[order_id] = row
            elif order_id in today:
                gone[order_id] = row
        reported = {order_id: self._reported[order_id] for order_id in (*kept, *gone)}
        told = {key: row for key, row in self._told.items() if key[1] in reported}
        return self._merged(kept, gone, reported, told, Channel.BOOK, rows, at, day_start)

    def event(self, row: OrderRow, *, at: float, day_start: float, channel: Channel = Channel.STREAM) -> "OrderFold":
        """Fold one order from the order stream, or from a book that could be read only in part."""
        held, gone, reported, told = dict(self.rows), dict(self._gone), dict(self._reported), dict(self._told)
        return self._merged(held, gone, reported, told, channel, [row], at, day_start)

    def corrected(self, row: OrderRow, *, at: float) -> "OrderFold":
        """Take an order as `row` shows it, although the row has a lower fill than the fold: the broker took the units back (`taken_back.py`)."""
        told = {**self._told, **{(channel, row.order_id): row for channel in Channel}}
        rows = {**self.rows, row.order_id: _tagged(row, self.rows[row.order_id])}
        return OrderFold(rows, self.contradictions, self._gone, {**self._reported, row.order_id: at}, told)

    def fills_beyond(self, before: "OrderFold", reported: Iterable[OrderRow], *, day_start: float) -> bool:
        """Tell whether any of the orders just reported has filled further than in `before`."""
        return any(self.rows[row.order_id].filled_quantity > before._filled(row, day_start) for row in reported)

    def _filled(self, row: OrderRow, day_start: float) -> int:
        known = self.rows.get(row.order_id)
        if known is None or _is_another(known, row, self._reported[row.order_id], day_start):
            return 0
        return known.filled_quantity

    def _merged(
        self,
        held: dict[str, OrderRow],
        gone: dict[str, OrderRow],
        reported: dict[str, float],
        told: dict[tuple[Channel, str], OrderRow],
        channel: Channel,
        rows: list[OrderRow],
        at: float,
        day_start: float,
    ) -> "OrderFold":
        contradictions = self.contradictions
        for row in rows:
            before = held.get(row.order_id) or gone.pop(row.order_id, None)
            if before is not None and _is_another(before, row, reported[row.order_id], day_start):
                before = None
                for told_channel in Channel:
                    told.pop((told_channel, row.order_id), None)
            merged = row if before is None else merge_order(before, row)[0]
            own = told.get((channel, row.order_id), row)
            told[channel, row.order_id], contradicts = merge_order(own, row)
            contradictions += contradicts
            held[row.order_id] = merged
            reported[row.order_id] = at
        return OrderFold(held, contradictions, gone, reported, told)


def _is_another(before: OrderRow, row: OrderRow, reported: float, day_start: float) -> bool:
    """Tell whether `row` and `before` are different orders with the same id: brokers reuse ids on another day. `before` was last reported
    at `reported`. If a row lacks its order time, the day of that report decides."""
    if before.order_timestamp is None or row.order_timestamp is None:
        return reported < day_start and row != before
    return _day_of(row.order_timestamp) > _day_of(before.order_timestamp)


def _day_of(timestamp: str) -> datetime:
    return latest_boundary(datetime.fromisoformat(timestamp))


def merge_order(before: OrderRow, new: OrderRow) -> tuple[OrderRow, bool]:
    """Return the order after `new` was reported on top of `before`, and whether the two contradict each other.

    If nothing changes, the object `before` itself is returned.
    """
    if new == before:
        return before, False
    taken_back = (
        is_finished(before.status) and new.status != before.status
    )  # a finished order never changes, not even to another finished status
    lowered = new.filled_quantity < before.filled_quantity
    if taken_back:
        # A feed's CANCELLED can arrive before the last fill: then the fill counts, the status does not (order-engine 2.3).
        before = _tagged(before, new)
        return (before if new.filled_quantity <= before.filled_quantity else _filled_as(before, new)), True
    if lowered:
        # The end of the order counts even when an outdated filled quantity comes with it.
        ended = is_finished(new.status) and not is_finished(before.status)
        return (_filled_as(_tagged(new, before), before) if ended else _tagged(before, new)), True
    new = _tagged(new, before)
    return (before if new == before else new), False


def _tagged(row: OrderRow, other: OrderRow) -> OrderRow:
    """Return `row`, with the tag of `other` if `row` has none."""
    if row.tag is None and other.tag is not None:
        return msgspec.structs.replace(row, tag=other.tag)
    return row


def _filled_as(finished: OrderRow, fuller: OrderRow) -> OrderRow:
    """Return a finished order with the fill of a report that shows a larger fill."""
    left = max(0, finished.quantity - fuller.filled_quantity)
    return msgspec.structs.replace(
        finished,
        filled_quantity=fuller.filled_quantity,
        average_price=fuller.average_price,
        pending_quantity=0,
        cancelled_quantity=min(finished.cancelled_quantity, left),
    )
