"""Asks for the quotes without which a part that is due cannot act (order-engine 1.11). Part of a plan parent's actor.

The feeds carry every instrument that an open plan watches. A feed may still be silent about one of them: a far option that nobody trades, a
subscription that a broker has lost. REST answers then, from any broker that lists the instrument. The quote book joins the asks of several
plans for one instrument, and its answer may be acted on for a few seconds (`actors/quotes/reader.py`). So an instrument is asked for at most
once in `AGAIN_SECONDS` for each plan, however many looks find it missing.
"""

import math
from collections.abc import Collection

from onebroker.actors.engine.parent.open_parent import OpenParent
from onebroker.actors.engine.plan_parent.open_plan import OpenPlan

AGAIN_SECONDS = 15.0
"""After so long an instrument that is still missing is asked for again."""


class AskedQuotes:
    """The quotes that one plan has asked for. Only the plan's actor calls it."""

    def __init__(self, parent: OpenParent, plan: OpenPlan) -> None:
        self._parent = parent
        self._plan = plan
        self._due: dict[str, float] = {}
        """Instrument -> monotonic seconds from which it may be asked for again. Both methods compare with this sum: two sums that differ in
        their last digit made a parent look for ever at one moment."""

    def ask(self, blind: Collection[str]) -> None:
        """Ask for the quotes of these instruments, unless that was done a moment ago. Forget the others."""
        now = self._parent.clock.monotonic()
        self._due = {one: due for one, due in self._due.items() if one in blind or now < due}
        for instrument_id in blind:
            if now >= self._due.get(instrument_id, -math.inf):
                self._due[instrument_id] = now + AGAIN_SECONDS
                self._parent.tasks.nursery.start_soon(self._ask, instrument_id)

    def again_in_seconds(self, blind: Collection[str]) -> float:
        """Return the seconds until the first of these instruments may be asked for again."""
        now = self._parent.clock.monotonic()
        return min((self._due[one] - now for one in blind if one in self._due), default=math.inf)

    async def _ask(self, instrument_id: str) -> None:
        if await self._parent.context.quotes.fetch(instrument_id):
            self._plan.news.tell()
