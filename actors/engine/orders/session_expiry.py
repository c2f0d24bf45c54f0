"""Orders that lapsed with their session at a broker that has no word for it (order-engine 2.2, row 18). An order that nobody cancelled here
and that ended at or after its session's close has expired, whatever the broker calls that. Pure.

Where nobody looked around the close (the service was down, the login dead), the book says afterwards only that the order is cancelled: the exchange may
have ended it, or its owner a moment before. A row that tells when it last changed decides, then the broker's words: where a lapsed order has a status of its
own, a cancelled order was cancelled. Else the order counts as lapsed: every order ends at the close, owners rarely cancel in just that hour, and a stop of
many days that ended with it would guard nothing the next morning.
"""

from datetime import datetime, timedelta

import msgspec

from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.brokers.records import OrderRow
from onebroker.config.calendars import MOST_DAYS_SEARCHED, Calendar
from onebroker.config.clock import from_epoch
from onebroker.config.instruments import bare_segment, calendar_of
from onebroker.config.vocabulary import OrderStatus, Validity

AHEAD_SECONDS = 2.0
"""How far a broker's clock may be ahead of ours (2.7)."""
PLACED_SECONDS = 60.0
"""So long after an order was sent or changed its row may still show that as its last change, where no process has seen it since."""
GONE_SECONDS = 900.0
"""How long after its session's close an unfinished order may be missing from the book before it counts as lapsed."""


def as_ended(
    leg: LegRecord, row: OrderRow, stood: float | None, heard: float, calendar: Calendar, *, tells_expiry: bool
) -> OrderRow:
    """Return the row. Its status becomes EXPIRED where it shows a cancelled order that nobody cancelled here and that ended at its session's
    close or later. `stood`: when this process last saw the order unfinished, None = never; `heard`: when its end was first heard of; epoch seconds.
    `tells_expiry`: whether the broker has a word for it (`Broker.books_tell_expiry`)."""
    if row.status != OrderStatus.CANCELLED or leg.cancel_reason is not None or leg.validity == Validity.IOC:
        return row
    closes = _close(leg, calendar)
    if closes is None or heard < closes - AHEAD_SECONDS:
        return row
    seen = max(leg.sent_at, leg.moved_at, leg.updated_at) + PLACED_SECONDS if stood is None else stood + AHEAD_SECONDS
    changed = [at for at in _times(row) if at > seen]
    lapsed = max(changed) >= closes - AHEAD_SECONDS if changed else not tells_expiry
    return msgspec.structs.replace(row, status=OrderStatus.EXPIRED) if lapsed else row


def _times(row: OrderRow) -> list[float]:
    """Return the moments that a row tells of its order, epoch seconds."""
    told = [moment for moment in (row.order_timestamp, row.exchange_timestamp) if moment is not None]
    return [datetime.fromisoformat(moment).timestamp() for moment in told]


def has_lapsed(leg: LegRecord, began: float, calendar: Calendar) -> bool:
    """Whether a leg has lapsed with its session. A book read begun at `began` (epoch seconds) does not show the leg."""
    closes = _close(leg, calendar)
    return closes is not None and began >= closes + GONE_SECONDS


def _close(leg: LegRecord, calendar: Calendar) -> float | None:
    """When the leg's session closes, epoch seconds; for a leg sent after hours, the close of the next session. None = not known."""
    if not leg.sent_at:
        return None
    bare, first = bare_segment(leg.segment), from_epoch(leg.sent_at).date()
    exchange = leg.segment.removesuffix(f"_{bare}")
    for day in (first + timedelta(days=n) for n in range(MOST_DAYS_SEARCHED)):
        sessions = calendar.sessions(exchange, calendar_of(bare), day)
        if sessions and sessions[-1].closes.timestamp() > leg.sent_at:
            return sessions[-1].closes.timestamp()
    return None
