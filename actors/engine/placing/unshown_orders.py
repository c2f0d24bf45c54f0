"""Orders of ours that may be at their brokers but are in no book yet. They may still fill while positions are closed."""

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.orders.leg_rows import row_of
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.placing.write_ahead import session_day
from onebroker.actors.sessions.session_view import SessionView
from onebroker.config.clock import Clock, latest_boundary


def is_unshown(leg: LegRecord, context: EngineContext) -> bool:
    """Whether a leg has not ended and its broker does not show it: its outcome is unknown, or it was accepted a moment ago.

    A leg that was given up does not count: its broker shows more candidate orders than there are such legs, and each of them is seen.
    """
    if leg.state.final or leg.given_up:
        return False
    handle, today = context.sessions.get(leg.broker), session_day(context.clock)
    if handle is None:
        return True
    view = handle.view.value
    if leg.session_day < today and _was_read_today(view, context.clock):
        return False  # an order resting from an earlier day would be in today's book, where all rows are seen
    return row_of(leg, view.orders, today) is None


def _was_read_today(view: SessionView, clock: Clock) -> bool:
    if view.orders_read_started is None:
        return False
    began = clock.epoch() - (clock.monotonic() - view.orders_read_started)
    return began >= latest_boundary(clock.now()).timestamp()


def unshown(context: EngineContext) -> list[LegRecord]:
    """Return the unshown legs of all parents, sorted by broker and leg."""
    found = [leg for leg in context.legs.unfinished if is_unshown(leg, context)]
    return sorted(found, key=lambda leg: (leg.broker, leg.leg_id))
