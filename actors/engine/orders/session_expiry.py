"""Orders that lapsed with their session at a broker that has no word for it (order-engine 2.2, row 18): an order that ended unasked at or
after its session's close has expired, whatever its broker calls that. Pure."""

from datetime import timedelta

import msgspec

from onebroker.actors.engine.orders.records import LegRecord
from onebroker.brokers.records import OrderRow
from onebroker.config.calendars import MOST_DAYS_SEARCHED, Calendar
from onebroker.config.clock import from_epoch
from onebroker.config.instruments import bare_segment, calendar_of
from onebroker.config.vocabulary import OrderStatus, Validity

AHEAD_SECONDS = 2.0
"""How far a broker's clock may be ahead of ours (2.7)."""
STOOD_SECONDS = 180.0
"""How long before the close an order may last have been seen to stand: books are read at least once a minute."""
GONE_SECONDS = 900.0
"""How long after its session's close an order that stood may be missing from the book before it counts as lapsed."""


def as_ended(leg: LegRecord, row: OrderRow, stood: float | None, heard: float, calendar: Calendar) -> OrderRow:
    """Return the row, as EXPIRED where it shows an order cancelled that nobody asked for here and that ended at its session's close or
    later. `stood`: when it was last seen to stand, `heard`: when its end was first heard of; epoch seconds.

    One that nobody saw stand around the close (the service was down, the login dead) may have been cancelled by its owner, who does not
    want it back the next morning: it stays cancelled.
    """
    if (
        stood is None
        or row.status != OrderStatus.CANCELLED
        or leg.cancel_reason is not None
        or leg.validity == Validity.IOC
    ):
        return row
    closes = _close(leg, calendar)
    lapsed = closes is not None and stood >= closes - STOOD_SECONDS and heard >= closes - AHEAD_SECONDS
    return msgspec.structs.replace(row, status=OrderStatus.EXPIRED) if lapsed else row


def has_lapsed(leg: LegRecord, began: float, calendar: Calendar) -> bool:
    """Whether a leg that a book begun at `began` (epoch seconds) does not show has lapsed with its session."""
    closes = _close(leg, calendar)
    return closes is not None and began >= closes + GONE_SECONDS


def _close(leg: LegRecord, calendar: Calendar) -> float | None:
    """When the day ends for it, epoch seconds: of one sent after hours that is the next session's. None = its time is not known."""
    if not leg.sent_at:
        return None
    bare, first = bare_segment(leg.segment), from_epoch(leg.sent_at).date()
    exchange = leg.segment.removesuffix(f"_{bare}")
    for day in (first + timedelta(days=n) for n in range(MOST_DAYS_SEARCHED)):
        sessions = calendar.sessions(exchange, calendar_of(bare), day)
        if sessions and sessions[-1].closes.timestamp() > leg.sent_at:
            return sessions[-1].closes.timestamp()
    return None
