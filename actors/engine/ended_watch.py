"""Takes back what parents that have ended say of open units, once nothing is held of their positions (order-engine 1.13): `<n> units are open without a
stop`, and that a caller ended their stop.

An ended parent has no actor, so nobody looks at it again. But its position can go: its broker squares it off a moment after it has cancelled the
exits, a person closes it. Then the sentence is not true any more, and neither is the alert. So once a second the ended parents that say it are
compared with what is held, as far as that is settled and was read after the sentence was first said. Every other trouble of theirs stays.
"""

import logging
from collections.abc import Collection, Iterator
from typing import NoReturn

import attrs
import trio

from onebroker.actors.engine.books.settled_positions import held_for, judged
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.troubles import Trouble
from onebroker.actors.engine.ended_orders import EndedOrders
from onebroker.actors.engine.orders.parent_records import ParentRecord
from onebroker.actors.engine.placing.write_ahead import load_parent
from onebroker.actors.engine.plan.machine.leg_actions import CLOSING
from onebroker.actors.engine.plan.machine.over_fills import closed_by_base
from onebroker.actors.engine.plan.parts import FromExposure, FromPosition, OrderPart, orders_of, own_orders_of
from onebroker.actors.engine.plan.stored_tree import decode_plan
from onebroker.config.converters import StructureError
from onebroker.config.messages import plan_life as texts
from onebroker.config.vocabulary import Side

WATCH_SECONDS = 1.0
_LOG = logging.getLogger(__name__)


@attrs.frozen
class Place:
    """Where a parent's units may be held: `side` is the side that closes them."""

    brokers: frozenset[str]
    """Brokers that must say that nothing is held; empty: all that list the instrument."""
    elsewhere: bool
    """Whether the units may also be at other brokers: their exit was pinned to none."""
    instrument_id: str
    product: str
    side: Side


class EndedWatch:
    """The ended parents that say that units are open without a stop, and where these may be held."""

    def __init__(self, context: EngineContext, ended: EndedOrders) -> None:
        self._context, self._ended = context, ended
        self._places: dict[str, tuple[Place, ...]] = {}

    async def run(self) -> NoReturn:
        while True:
            await trio.sleep(WATCH_SECONDS)
            try:
                await self._look()
            except Exception:  # noqa: BLE001  # a parent that nobody can compare keeps its sentence, and is no reason to end the engine
                _LOG.exception("what ended parents say could not be compared with what is held")

    async def _look(self) -> None:
        said: dict[str, list[Trouble]] = {}
        for row in self._context.troubles.rows:
            if row.is_ended and texts.is_of_open_units(row.sentence) and row.parent_id not in self._context.open_states:
                said.setdefault(row.parent_id, []).append(row)
        self._places = {parent_id: places for parent_id, places in self._places.items() if parent_id in said}
        for parent_id, rows in said.items():
            if parent_id not in self._places:
                self._places[parent_id] = await self._places_of(parent_id)
            gone = [row for row in rows if self._is_gone(row, self._places[parent_id])]
            stays = {row.sentence for row in rows if row not in gone}
            sentences = {row.sentence for row in gone} - stays
            if sentences:
                del self._places[parent_id]
                self._ended.tell_gone(parent_id, frozenset(sentences))

    async def _places_of(self, parent_id: str) -> tuple[Place, ...]:
        try:
            record = await load_parent(self._context.store, parent_id)
            return () if record is None else tuple(places_of(record))
        except StructureError:
            return ()  # damaged: it keeps its sentence, and is named by GET parents

    def _is_gone(self, row: Trouble, places: Collection[Place]) -> bool:
        """Whether nothing is held of the instrument that a sentence is about; after a restart it names only the parent's."""
        about = places if row.found.units is None else [one for one in places if one.instrument_id == row.instrument_id]
        return bool(about) and all(self._is_empty(place, row.since) for place in about)

    def _is_empty(self, place: Place, since: float) -> bool:
        """Whether nothing is held at a place, by reads that began after `since` (epoch seconds)."""
        clock = self._context.clock
        since_monotonic = clock.monotonic() - (clock.epoch() - since)
        instrument = (place.instrument_id, place.product, place.side)
        if not place.brokers:
            codes: Collection[str] = self._listing(place.instrument_id)
            held = [held_for(self._context, None, *instrument)]
        else:
            codes = place.brokers
            held = [held_for(self._context, code, *instrument) for code in codes]
        others = self._listing(place.instrument_id) - place.brokers if place.elsewhere else frozenset[str]()
        shown = any(held_for(self._context, code, *instrument) for code in others)
        return (
            not shown and all(units == 0 for units in held) and all(self._read(code, since_monotonic) for code in codes)
        )

    def _listing(self, instrument_id: str) -> frozenset[str]:
        latest = self._context.catalogue.value.latest
        instrument = None if latest is None else latest.instrument(instrument_id)
        return frozenset() if instrument is None else frozenset(instrument.listings) & self._context.sessions.keys()

    def _read(self, code: str, since: float) -> bool:
        found = judged(self._context, code)
        return found is not None and found.read.began >= since


def places_of(record: ParentRecord) -> Iterator[Place]:
    """Yield where the units may be held that a plan has opened, or that its exits guard. Nothing for a plan that closes whatever is there: what
    its units are is known only while it runs."""
    orders = [] if record.plan is None else list(orders_of(decode_plan(record.plan)))
    if record.plan is None or any(isinstance(order.quantity, FromPosition | FromExposure) for order in orders):
        return
    hanging: set[str] = set()
    for base, exits in closed_by_base(decode_plan(record.plan)):
        hanging.update(order.path for order in exits)
        for order in own_orders_of(base):
            brokers = {
                leg.broker
                for leg in record.legs
                if leg.part == order.path and leg.instance != CLOSING and leg.filled_quantity
            }
            if brokers:
                yield _place(order, brokers, Side(order.transaction_type).opposite, elsewhere=False)
    for order in orders:
        if order.is_exit and order.path not in hanging:
            brokers = {leg.broker for leg in record.legs if leg.part == order.path}
            pinned: set[str] = set() if order.broker is None else {order.broker}
            yield _place(order, pinned or brokers, Side(order.transaction_type), elsewhere=not pinned)


def _place(order: OrderPart, brokers: Collection[str], side: Side, *, elsewhere: bool) -> Place:
    return Place(frozenset(brokers), elsewhere, order.instrument_id, order.product, side)
