"""What brokers still say of orders whose parents have ended: a fill that comes later, units that the exchange takes back (order-engine 2.3).

An ended parent has no actor, and nothing acts for it any more. But its orders are still in the books of the day, and a fill that nobody hears of leaves
units that nobody guards. So the fill is corrected in the stored record, and the owner is told: by the parent's `status_message`, by `/api/health`, by
an event. The problem stays until the next broking day, because the engine cannot know whether somebody has acted on it. Only units that are open
without a stop are seen: when fewer are held, or none, that sentence changes or goes (`ended_watch.py`).

Orders that count as not sent keep their parent's actor (`write_ahead.is_over`), so they are not the business of this module.
"""

import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

import attrs
import trio

from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.engine_lock import EngineLock
from onebroker.actors.engine.context.troubles import Found
from onebroker.actors.engine.orders.leg_rows import is_of
from onebroker.actors.engine.orders.parent_records import LegRecord, ParentRecord
from onebroker.actors.engine.orders.record_events import changes
from onebroker.actors.engine.orders.transitions import leg_seen, leg_taken_back
from onebroker.actors.engine.orders.true_sentences import with_true
from onebroker.actors.engine.placing.write_ahead import RETRY_SECONDS, final_ops, load_parent, session_day
from onebroker.actors.engine.plan.machine.open_units import open_units
from onebroker.actors.engine.plan.parts import OrderPart, walk
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.actors.store.interface import FencedOut, StoreError
from onebroker.brokers.records import OrderRow
from onebroker.config.converters import StructureError
from onebroker.config.messages import plan_life as plan_texts
from onebroker.config.messages import unknown_orders as texts

_LOG = logging.getLogger(__name__)


class EndedOrders:
    """Corrects the records of ended parents. Only the engine's actor starts it; the router tells it rows."""

    def __init__(self, context: EngineContext, lock: EngineLock) -> None:
        self._context, self._lock = context, lock
        self._rows: deque[tuple[str, str, OrderRow]] = deque()
        """(parent id, broker, row), oldest first."""
        self._untrue: deque[tuple[str, Mapping[str, str | None]]] = deque()
        """(parent id, sentences that are not true any more, each with the sentence that is true now), oldest first."""
        self._news = trio.Event()

    def tell_row(self, parent_id: str, code: str, row: OrderRow) -> None:
        """Hear the newest row of an order whose parent is not open."""
        self._rows.append((parent_id, code, row))
        self._news.set()

    def tell_untrue(self, parent_id: str, sentences: Mapping[str, str | None]) -> None:
        """Hear that fewer units are held than these sentences of an ended parent say. Each has the sentence that is true now; None: nothing is held."""
        self._untrue.append((parent_id, sentences))
        self._news.set()

    async def run(self) -> None:
        """Compare rows with records until it is cancelled. The store may be away as long as it likes: rows wait."""
        while True:
            await self._news.wait()
            self._news = trio.Event()
            while self._rows or self._untrue:
                heard: deque[Any] = self._rows or self._untrue
                try:
                    await (self._compare if heard is self._rows else self._take_back)(*heard[0])
                except StoreError:
                    await trio.sleep(RETRY_SECONDS)
                    continue
                except Exception:  # noqa: BLE001  # an ended parent that cannot be read must not end the engine, whose start would read it again
                    _LOG.exception("the record of the ended parent %s could not be corrected", heard[0][0])
                heard.popleft()

    async def _compare(self, parent_id: str, code: str, row: OrderRow) -> None:
        record = await self._ended_parent(parent_id)
        corrected = None if record is None else self._corrected(record, code, row)
        if record is not None and corrected is not None:
            await self._write(record, corrected)

    async def _take_back(self, parent_id: str, sentences: Mapping[str, str | None]) -> None:
        record = await self._ended_parent(parent_id)
        if record is None or parent_id in self._context.open_states:
            return
        left = with_true(record, sentences)
        if left.troubles != record.troubles:
            await self._write(record, attrs.evolve(left, updated_at=self._context.clock.epoch()))

    async def _ended_parent(self, parent_id: str) -> ParentRecord | None:
        try:
            record = await load_parent(self._context.store, parent_id)
        except StructureError:
            return None  # damaged: left alone, and named by GET parents
        return None if record is None or not record.state.final else record

    def _corrected(self, record: ParentRecord, code: str, row: OrderRow) -> ParentRecord | None:
        """Return the record with the fill that the broker shows now; None where it shows nothing new."""
        today, now = session_day(self._context.clock), self._context.clock.epoch()
        leg = next((leg for leg in record.legs if leg.broker == code and is_of(leg, row, today)), None)
        if leg is None or not leg.state.final or row.filled_quantity == leg.filled_quantity:
            return None
        if row.filled_quantity > leg.filled_quantity:
            changed, sentence = (
                leg_seen(leg, row, now, confirmed=True),
                texts.filled_after_end(code, row.filled_quantity - leg.filled_quantity),
            )
        elif self._context.sessions[code].view.value.corrected_fills.get(row.order_id) == row.filled_quantity:
            changed = leg_taken_back(leg, row, now, is_exit=_is_exit(record, leg))
            sentence = texts.took_back(code, leg.filled_quantity - row.filled_quantity)
        else:
            return None
        silent = with_true(record, dict.fromkeys(_left_open(record)))
        left = attrs.evolve(silent.with_leg(changed), updated_at=now)
        return attrs.evolve(left, troubles=tuple(dict.fromkeys([*silent.troubles, sentence, *_left_open(left)])))

    async def _write(self, before: ParentRecord, left: ParentRecord) -> None:
        """Write an ended parent anew, and tell what is wrong with it now. The same write is tried until the store has answered: a write whose answer was
        lost may have taken effect, and then the record alone no longer shows that something is to be told."""
        parent_id = left.parent_order_id
        while True:
            try:
                await self._context.store.commit(*final_ops(left), fence=self._lock.fence)
            except FencedOut:
                self._lock.lose()
                return
            except StoreError:
                await trio.sleep(RETRY_SECONDS)
            else:
                break
        for event in changes(before, left):
            self._context.events.tell(event)
        found = [_found(left, sentence) for sentence in left.troubles]
        self._context.troubles.note(parent_id, found, self._context.clock.epoch(), is_ended=True)
        self._context.parents.note(parent_id, left)


def _found(record: ParentRecord, sentence: str) -> Found:
    """Return a trouble with its instrument: of open units the instrument that has so many, or the only instrument with open units, fewer of which are held
    by now; of anything else the parent's."""
    units, opened = plan_texts.units_without_stop(sentence), open_units(record)
    of = [instrument_id for instrument_id, count in opened.items() if count == units] or list(opened)
    return Found(of[0] if units is not None and len(of) == 1 else record.instrument_id, sentence, units)


def _left_open(record: ParentRecord) -> list[str]:
    return [plan_texts.without_stop(units) for units in open_units(record).values()]


def _is_exit(record: ParentRecord, leg: LegRecord) -> bool:
    parts = [] if record.plan is None else list(walk(decode_plan(record.plan)))
    return any(isinstance(part, OrderPart) and part.path == leg.part and part.is_exit for part in parts)
