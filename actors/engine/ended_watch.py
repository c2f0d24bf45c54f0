"""Corrects what parents that have ended say of open units, once fewer are held of their positions (order-engine 1.13): `<n> units are open without a
stop`, and that a caller ended their stop.

An ended parent has no actor, so nobody looks at it again. But its position can go: its broker squares it off a moment after it has cancelled the
exits, a person closes it, a close within its tag takes its units out of a position that goes on for another plan. Then the sentence is not true any more, and neither is the alert. So once a second the ended parents that say it are
compared with what is held, as far as that is settled and was read after the sentence was first said: nothing held, and the sentence goes; fewer units
held than it says, and it says how many. Every other trouble of theirs stays.
"""

import logging
from collections.abc import Collection
from typing import NoReturn

import trio

from onebroker.actors.engine.books.held_places import Place, is_closed, places_of, units_held
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.troubles import Trouble
from onebroker.actors.engine.ended_orders import EndedOrders
from onebroker.actors.engine.placing.write_ahead import load_parent
from onebroker.config.converters import StructureError
from onebroker.config.messages import plan_life as texts

WATCH_SECONDS = 1.0
_LOG = logging.getLogger(__name__)


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
            places = self._places[parent_id]
            gone = [row for row in rows if self._is_gone(row, places)]
            stays = {row.sentence for row in rows if row not in gone}
            untrue: dict[str, str | None] = {row.sentence: None for row in gone if row.sentence not in stays}
            untrue |= {row.sentence: fewer for row in rows if row not in gone and (fewer := self._fewer(row, places))}
            if untrue:
                del self._places[parent_id]
                self._ended.tell_untrue(parent_id, untrue)

    async def _places_of(self, parent_id: str) -> tuple[Place, ...]:
        try:
            record = await load_parent(self._context.store, parent_id)
            return () if record is None else tuple(places_of(record))
        except StructureError:
            return ()  # damaged: it keeps its sentence, and is named by GET parents

    def _is_gone(self, row: Trouble, places: Collection[Place]) -> bool:
        """Whether nothing of the parent is open in the instrument that a sentence is about; after a restart it names only the parent's."""
        about = places if row.found.units is None else [one for one in places if one.instrument_id == row.instrument_id]
        return bool(about) and all(is_closed(self._context, place, row.since) for place in about)

    def _fewer(self, row: Trouble, places: Collection[Place]) -> str | None:
        """Return what is true of a sentence whose units have become fewer; None where they have not, or where that is not known."""
        about = [place for place in places if place.instrument_id == row.instrument_id]
        units = texts.units_without_stop(row.sentence)
        if units is None or len(about) != 1:
            return None
        held = units_held(self._context, about[0], row.since)
        return None if held is None or not 0 < held < units else texts.without_stop(held)
