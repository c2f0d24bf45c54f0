"""Tells the exits of a position when what is held of it has changed: a look then asks whether there is still something to exit (order-engine
1.13). One task of the engine.

Positions change without an event: a row of the next read is another one. A plan looks at quotes, legs and the clock, and would see it with its
next quote, which may be a minute away. So once a second the settled units of each broker are compared with those of the second before.
"""

import logging
from collections.abc import Mapping
from typing import NoReturn

import trio

from onebroker.actors.engine.books.settled_positions import judged
from onebroker.actors.engine.context.engine_context import EngineContext
from onebroker.actors.engine.context.position_days import RowKey
from onebroker.actors.sessions.session_view import SessionView

WATCH_SECONDS = 1.0
_LOG = logging.getLogger(__name__)


class HeldWatch:
    """What was held a second ago, by broker."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._seen: dict[str, tuple[object, ...]] = {}
        """Broker -> the rows that were compared last; equal rows are the same objects."""
        self._units: dict[str, Mapping[RowKey, int | None]] = {}
        """Broker -> position -> settled units; None = not settled."""
        self._holdings: dict[str, float | None] = {}
        """Broker -> when the read of its holdings began that was seen last."""

    async def run(self) -> NoReturn:
        while True:
            await trio.sleep(WATCH_SECONDS)
            try:
                self.look()
            except Exception:  # noqa: BLE001  # rows that nobody can compare are no reason to end the engine; its parents look all the same
                _LOG.exception("the held units could not be compared")

    def look(self) -> None:
        """Compare once, and tell the exits of every position that has changed."""
        for code, handle in self._context.sessions.items():
            view = handle.view.value
            if view.holdings_read_started != self._holdings.get(code):
                self._holdings[code] = view.holdings_read_started
                self._tell_all()  # what is missing has no row
            if self._is_same(code, view):
                continue
            before, now = self._units.get(code), self._settled(code)
            self._units[code] = now
            if before is None:
                continue
            for key in before.keys() | now.keys():
                if before.get(key) != now.get(key):
                    self._tell(code, key)

    def _is_same(self, code: str, view: SessionView) -> bool:
        """Whether nothing that decides has changed. What is doubted may settle by time alone."""
        seen = (view.positions, view.orders, view.holdings, view.positions_read_started, view.readable_positions)
        before, self._seen[code] = self._seen.get(code), seen
        doubted = any(units is None for units in self._units.get(code, {}).values())
        return before is not None and not doubted and all(one is other for one, other in zip(before, seen, strict=True))

    def _settled(self, code: str) -> Mapping[RowKey, int | None]:
        found = judged(self._context, code)
        if found is None:
            return {}
        return {**found.units, **dict.fromkeys(found.doubts), **dict.fromkeys(found.unjudged)}

    def _tell_all(self) -> None:
        for instrument_id in list(self._context.bounds.closing):
            self._context.bounds.tell_closing(instrument_id)

    def _tell(self, code: str, key: RowKey) -> None:
        latest = self._context.catalogue.value.latest
        instrument_id = None if latest is None else latest.by_token(code, key.token)
        instrument = None if latest is None or instrument_id is None else latest.instrument(instrument_id)
        if latest is None or instrument is None:
            return
        same = (
            () if instrument.isin is None else latest.by_isin(instrument.isin)
        )  # shares bought at one exchange are sold at the other
        for concerned in {instrument.instrument_id, *same}:
            self._context.bounds.tell_closing(concerned)
