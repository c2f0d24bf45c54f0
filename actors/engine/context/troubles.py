"""What the owner of the orders must know now: units that are open without a stop, orders that nobody watches, orders whose cancel has not reached
their broker.

Each open parent reports its own troubles (`ParentActor`) in its `status_message`. The same sentences are kept here for `/api/health`. They are
told as events when they begin, when they change and when they are over. Troubles of an ended parent stay until the next broking day, also over restarts:
the engine no longer acts on them, and it cannot tell when somebody else has.
"""

from collections.abc import Collection

import attrs

from onebroker.actors.kernel.events import Events
from onebroker.config.events import Event, ExposureProtected, ExposureUnprotected, ParentTrouble, ParentTroubleOver


@attrs.frozen
class Found:
    """One thing that is wrong with a parent."""

    instrument_id: str
    """The instrument that is open; the parent's own instrument where the trouble is about its orders."""
    sentence: str
    units: int | None = None
    """Units that are open without a stop, where the trouble is this."""
    why: str | None = attrs.field(default=None, eq=False)
    """Why their exits do not guard them, where it is known. Another reason is no other trouble."""

    def begins(self, parent_id: str) -> Event:
        """Return the event that the trouble is there."""
        if self.units is not None:
            return ExposureUnprotected(parent=parent_id, instrument=self.instrument_id, units=self.units, why=self.why)
        return ParentTrouble(parent=parent_id, instrument=self.instrument_id, words=self.sentence)

    def ends(self, parent_id: str) -> Event:
        """Return the event that the trouble is over."""
        if self.units is not None:
            return ExposureProtected(parent=parent_id, instrument=self.instrument_id, units=self.units)
        return ParentTroubleOver(parent=parent_id, instrument=self.instrument_id, words=self.sentence)


@attrs.frozen(kw_only=True)
class Trouble:
    """A trouble of one parent, and since when it is there."""

    parent_id: str
    found: Found
    since: float
    """Epoch seconds."""
    is_ended: bool = False
    """Whether the parent has ended, so that the engine no longer acts on the trouble."""

    @property
    def instrument_id(self) -> str:
        return self.found.instrument_id

    @property
    def sentence(self) -> str:
        return self.found.sentence


class Troubles:
    """All troubles, by parent. Parents write, `/api/health` and `/metrics` read."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._by_parent: dict[str, tuple[Trouble, ...]] = {}
        self._day = ""

    @property
    def rows(self) -> tuple[Trouble, ...]:
        """Return the present troubles, oldest first."""
        rows = (trouble for rows in self._by_parent.values() for trouble in rows)
        return tuple(sorted(rows, key=lambda row: (row.since, row.parent_id, row.instrument_id, row.sentence)))

    def note(self, parent_id: str, found: Collection[Found], now: float, *, is_ended: bool) -> None:
        """Replace the troubles of a parent by all that it has now. `now` in epoch seconds."""
        before = {trouble.found: trouble for trouble in self._by_parent.get(parent_id, ())}
        rows = []
        for trouble in found:
            known = before.pop(trouble, None)
            if known is None:
                self._events.tell(trouble.begins(parent_id))
            since = now if known is None else known.since
            rows.append(Trouble(parent_id=parent_id, found=trouble, since=since, is_ended=is_ended))
        for trouble in before:
            self._events.tell(trouble.ends(parent_id))
        if rows:
            self._by_parent[parent_id] = tuple(rows)
        else:
            self._by_parent.pop(parent_id, None)

    def begin_day(self, day: str) -> frozenset[str]:
        """Forget parents that ended on another broking day, and return their ids; `day` is YYYY-MM-DD."""
        if day == self._day:
            return frozenset()
        self._day = day
        ended = frozenset(name for name, rows in self._by_parent.items() if rows[0].is_ended)
        self._by_parent = {name: rows for name, rows in self._by_parent.items() if name not in ended}
        return ended
