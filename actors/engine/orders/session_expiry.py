"""Orders that lapsed with their session at a broker that has no word for it (order-engine 2.2, row 18). An order that nobody cancelled here
and that ended at or after its session's close has expired, whatever the broker calls that. Pure."""

from datetime import timedelta

import msgspec

from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.brokers.records import OrderRow
from onebroker.config.calendars import MOST_DAYS_SEARCHED, Calendar
from onebroker.config.clock import from_epoch
from onebroker.config.instruments import bare_segment, calendar_of
from onebroker.config.vocabulary import OrderStatus, Validity

AHEAD_SECONDS = 2.0
"""How far a broker's clock may be ahead of ours (2.7)."""
STOOD_SECONDS = 180.0
"""An order lapses only if it was last seen unfinished no earlier than this before the close. Books are read at least once a minute."""
GONE_SECONDS = 900.0
"""How long after its session's close an unfinished order may be missing from the book before it counts as lapsed."""


def as_ended(leg: LegRecord, row: OrderRow, stood: float | None, heard: float, calendar: Calendar) -> OrderRow:
    """Return the row. Its status becomes EXPIRED where it shows a cancelled order that nobody cancelled here and that ended at its session's
    close or later. `stood`: when the order was last seen unfinished; `heard`: when its end was first heard of; epoch seconds.

    If nobody saw the order unfinished around the close (the service was down, the login dead), its owner may have cancelled it. The owner does
    not want it back the next morning, so it stays cancelled.
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
