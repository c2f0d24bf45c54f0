"""Orders of ours that may be at their brokers but are in no book yet. They may still fill while positions are closed."""

from onebroker.actors.engine.context.context import EngineDoors
from onebroker.actors.engine.orders.leg_rows import row_of
from onebroker.actors.engine.orders.records import LegRecord
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.sessions.view import SessionView
from onebroker.config.clock import Clock, latest_boundary


def is_unshown(leg: LegRecord, doors: EngineDoors) -> bool:
    """Whether a leg has not ended and its broker does not show it: its outcome is unknown, or it was accepted a moment ago.

    A leg that was given up does not count: its broker shows more candidate orders than there are such legs, and each of them is seen.
    """
    if leg.state.final or leg.given_up:
        return False
    door, today = doors.sessions.get(leg.broker), session_day(doors.clock)
    if door is None:
        return True
    view = door.view.value
    if leg.session_day < today and _was_read_today(view, doors.clock):
        return False  # an order resting from an earlier day would be in today's book, where all rows are seen
    return row_of(leg, view.orders, today) is None


def _was_read_today(view: SessionView, clock: Clock) -> bool:
    if view.orders_read_started is None:
        return False
    began = clock.epoch() - (clock.monotonic() - view.orders_read_started)
    return began >= latest_boundary(clock.now()).timestamp()


def unshown(doors: EngineDoors) -> list[LegRecord]:
    """Return the unshown legs of all parents, sorted by broker and leg."""
    found = [leg for leg in doors.legs.unfinished if is_unshown(leg, doors)]
    return sorted(found, key=lambda leg: (leg.broker, leg.leg_id))
