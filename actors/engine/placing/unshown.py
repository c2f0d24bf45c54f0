"""Orders of ours that may be at their brokers and stand in no book yet: they may still fill, whatever is closed meanwhile."""

from onebroker.actors.engine.context.context import EngineDoors
from onebroker.actors.engine.orders.leg_rows import row_of
from onebroker.actors.engine.orders.records import LegRecord
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.sessions.view import SessionView
from onebroker.config.clock import Clock, latest_boundary


def is_unshown(leg: LegRecord, doors: EngineDoors) -> bool:
    """Whether a leg has not ended and its broker does not show it: of unknown outcome, or accepted a moment ago.

    One that was given up is none: its broker shows more orders that could be it than there are, and each of them is seen.
    """
    if leg.state.final or leg.given_up:
        return False
    door, today = doors.sessions.get(leg.broker), session_day(doors.clock)
    if door is None:
        return True
    view = door.view.value
    if leg.session_day < today and _was_read_today(view, doors.clock):
        return False  # what rests from an earlier day would stand in today's book, where all rows are seen
    return row_of(leg, view.orders, today) is None


def _was_read_today(view: SessionView, clock: Clock) -> bool:
    if view.orders_read_started is None:
        return False
    began = clock.epoch() - (clock.monotonic() - view.orders_read_started)
    return began >= latest_boundary(clock.now()).timestamp()


def unshown(doors: EngineDoors) -> list[LegRecord]:
    """Return such legs of all parents, by broker and leg."""
    found = [leg for leg in doors.legs.unfinished if is_unshown(leg, doors)]
    return sorted(found, key=lambda leg: (leg.broker, leg.leg_id))
