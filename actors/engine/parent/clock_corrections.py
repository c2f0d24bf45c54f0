"""Corrects times that were noted while the wall clock ran ahead (order-engine 2.7). After the clock is corrected, such times lie in the
future. They would say that an order was sent, moved or refused, or that a part had its turn, on a day that is still to come. Pure.
"""

from collections.abc import Mapping
from datetime import timedelta

import attrs

from onebroker.actors.engine.orders.leg_refusals import Refusals
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.orders.part_state import Bars, Memory, PartRecord
from onebroker.config.clock import from_epoch

TOLERANCE_SECONDS = 2.0
"""A smaller step is the normal correction of the clock, a little at a time."""


@attrs.frozen(kw_only=True)
class ClockPut:
    """The wall clock after it was set, or at a start. Times in epoch seconds."""

    now: float
    today: str
    """As `session_day`."""
    put_seconds: float
    """By how much the clock was set: -3600 is an hour back. After a restart, only the time of the record's last change shows this."""
    restarted: bool = False

    def is_ahead(self, at: float) -> bool:
        return at > self.now + TOLERANCE_SECONDS

    def right(self, at: float) -> float:
        """Return the time that a right clock would have shown, no later than now; the same time when it is not ahead."""
        return min(self.now, at + self.put_seconds) if self.is_ahead(at) else at

    def right_if_any(self, at: float | None) -> float | None:
        return None if at is None else self.right(at)


def leg_put_right(leg: LegRecord, clock: ClockPut) -> LegRecord:
    """Return a leg with times no later than now; the same object when none of its times is ahead.

    After a restart it is unknown when such a leg was sent. It counts as sent the evening before, so that today's daily order is not left
    out. If its broker still shows the order, the order is followed, and no other is sent in its place.
    """
    if not any(clock.is_ahead(at) for at in (leg.sent_at, leg.moved_at, leg.taken_off_at, leg.updated_at)):
        return leg
    sent_at, day = leg.sent_at, leg.session_day
    if clock.is_ahead(sent_at):
        sent_at = _evening_before(clock.now) if clock.restarted else min(clock.now, sent_at + clock.put_seconds)
        day = min(day, clock.today)
    return attrs.evolve(
        leg,
        sent_at=sent_at,
        moved_at=clock.right(leg.moved_at),
        taken_off_at=clock.right(leg.taken_off_at),
        updated_at=clock.right(leg.updated_at),
        session_day=day,
    )


def parts_put_right(parts: Mapping[str, PartRecord], clock: ClockPut) -> Mapping[str, PartRecord]:
    """Return the parts' records with no time later than now, and no daily order noted as done for a day to come. The same mapping when
    there are no such times. The interval between two times of a part stays the same."""
    right = {path: _part_put_right(part, clock) for path, part in parts.items()}
    return parts if all(right[path] is part for path, part in parts.items()) else right


def refusals_put_right(refusals: Mapping[str, Refusals], clock: ClockPut) -> dict[str, Refusals]:
    """Return the refusals of brokers with no time later than now."""
    return {
        one: attrs.evolve(
            told,
            cancelled_at=clock.right(told.cancelled_at),
            changed_at=clock.right(told.changed_at),
            wanted_since=clock.right(told.wanted_since),
        )
        for one, told in refusals.items()
    }


def _part_put_right(part: PartRecord, clock: ClockPut) -> PartRecord:
    right = attrs.evolve(
        part,
        due_at=clock.right_if_any(part.due_at),
        fired_at=clock.right_if_any(part.fired_at),
        started_at=clock.right_if_any(part.started_at),
        rows_at=clock.right_if_any(part.rows_at),
        armed_day=_day_put_right(part.armed_day, clock),
        actions_seen=_day_put_right(part.actions_seen, clock),
        changed_day=_day_put_right(part.changed_day, clock),
        memory=_memory_put_right(part.memory, clock),
        condition_bars={place: _bars_put_right(bars, clock) for place, bars in part.condition_bars.items()},
    )
    return part if right == part else right


def _day_put_right(day: str | None, clock: ClockPut) -> str | None:
    return None if day is None else min(day, clock.today)


def _memory_put_right(memory: Memory, clock: ClockPut) -> Memory:
    return attrs.evolve(
        memory,
        since=clock.right_if_any(memory.since),
        began=clock.right_if_any(memory.began),
        past_limit_since=clock.right_if_any(memory.past_limit_since),
        bars=_bars_put_right(memory.bars, clock),
    )


def _bars_put_right(bars: Bars, clock: ClockPut) -> Bars:
    """Bars that lie in the future would take no price until then. Closed bars stay; the open bar begins again."""
    times = (None if bars.open_bar is None else bars.open_bar.began, bars.until)
    if not any(at is not None and clock.is_ahead(at) for at in times):
        return bars
    return attrs.evolve(bars, open_bar=None, until=None)


def _evening_before(now: float) -> float:
    midnight = from_epoch(now).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - timedelta(seconds=1)).timestamp()
