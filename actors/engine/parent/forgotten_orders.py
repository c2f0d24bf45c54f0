"""Takes up the orders of one parent that the store has lost and that brokers show, or say they have (order-engine 2.5, K19). The rules are
in `store_recovery.py`."""

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.orders.parent_records import ParentRecord, encode_entry, entry_of
from onebroker.actors.engine.parent.store_recovery import with_found_legs, with_lost_legs
from onebroker.actors.engine.placing.write_ahead import KEPT_SECONDS, Recorder, session_day
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set


class ForgottenOrders:
    """The lost orders of one parent. Only the parent's actor calls it."""

    def __init__(self, recorder: Recorder, context: EngineContext) -> None:
        self._recorder = recorder
        self._context = context
        self._clock = context.clock
        self._looked_through: frozenset[tuple[str, str]] = frozenset()
        """(broker, token) of orders that the store may have lost and that were already checked for being this parent's."""

    @property
    def may_be_there(self) -> bool:
        """Whether there are orders that the store may have lost."""
        return bool(self._context.legs.strangers or self._context.legs.has_found)

    def take_up(self, newest: ParentRecord) -> bool:
        """Put the parent's lost orders into its record; return whether there were any. `newest`: as `Work.newest`."""
        legs = self._context.legs
        there = {*legs.strangers, *((found.broker, found.leg.token) for found in legs.found)}
        if there <= self._looked_through:
            return False
        self._looked_through = frozenset(there)
        today, now = session_day(self._clock), self._clock.epoch()
        record = with_lost_legs(newest, legs.strangers, today, now, self._context.writes.runs)
        record = with_found_legs(record, legs.found, today, now)
        for leg in record.legs[len(newest.legs) :]:
            legs.note(record, leg)
            entry = encode_entry(entry_of(record, leg))
            self._context.store.post(Set(keys.leg_token(leg.token), entry, KEPT_SECONDS))
        if record is not newest:
            self._recorder.change(record)
        return record is not newest
