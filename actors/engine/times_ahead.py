"""Times that were noted while the wall clock ran ahead (order-engine 2.7): after it was put right they lie in the future, and would say
that an order was sent, moved or refused on a day that is still to come. Pure.
"""

from collections.abc import Mapping
from datetime import timedelta

import attrs

from onebroker.actors.engine.plan.state import PartRecord
from onebroker.actors.engine.records import LegRecord
from onebroker.config.clock import from_epoch

TOLERANCE_SECONDS = 2.0
"""Less is the clock being kept right, a little at a time."""


def leg_put_right(leg: LegRecord, now: float, today: str, *, restarted: bool) -> LegRecord:
    """Return a leg with times no later than now (epoch seconds); the very leg when they are none. `today` as `session_day`.

    While the service ran it was sent today at the latest. After a restart nobody knows when: it counts as sent the evening before,
    so that a daily order of today is not left out; an order that its broker still shows is followed and keeps another from going.
    """
    if leg.sent_at <= now + TOLERANCE_SECONDS:
        return leg
    sent_at = _evening_before(now) if restarted else now
    return attrs.evolve(
        leg, sent_at=sent_at, moved_at=min(leg.moved_at, now), session_day=min(leg.session_day, today)
    )


def parts_put_right(parts: Mapping[str, PartRecord], today: str) -> Mapping[str, PartRecord]:
    """Return the parts' records with no daily order noted as done for a day to come; the very mapping when there is none."""
    ahead = {path: part for path, part in parts.items() if part.armed_day is not None and part.armed_day > today}
    if not ahead:
        return parts
    return {**parts, **{path: attrs.evolve(part, armed_day=today) for path, part in ahead.items()}}


def _evening_before(now: float) -> float:
    midnight = from_epoch(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - timedelta(seconds=1)).timestamp()
