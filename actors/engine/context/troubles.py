"""What the owner of the orders must know now: units that are open without a stop, orders that nobody watches, orders whose cancel has not reached
their broker.

Each open parent reports its own troubles (`ParentActor`) in its `status_message`. The same sentences are kept here for `/api/health`. They go to
the log when they begin, when they change and when they are over. Troubles of an ended parent stay until the next broking day, also over restarts:
the engine no longer acts on them, and it cannot tell when somebody else has.
"""

import logging
from collections.abc import Collection

import attrs

_log = logging.getLogger("onebroker.engine")


@attrs.frozen(kw_only=True)
class Trouble:
    """One thing that is wrong with one parent."""

    parent_id: str
    instrument_id: str
    """The instrument that is open; the parent's own instrument where the trouble is about its orders."""
    sentence: str
    since: float
    """Epoch seconds."""
    is_ended: bool = False
    """Whether the parent has ended, so that the engine no longer acts on the trouble."""


class Troubles:
    """All troubles, by parent. Parents write, `/api/health` and `/metrics` read."""

    def __init__(self) -> None:
        self._by_parent: dict[str, tuple[Trouble, ...]] = {}
        self._day = ""

    @property
    def rows(self) -> tuple[Trouble, ...]:
        """Return the present troubles, oldest first."""
        rows = (trouble for rows in self._by_parent.values() for trouble in rows)
        return tuple(sorted(rows, key=lambda row: (row.since, row.parent_id, row.instrument_id, row.sentence)))

    def note(self, parent_id: str, found: Collection[tuple[str, str]], now: float, *, is_ended: bool) -> None:
        """Replace the troubles of a parent by all that it has now: (instrument id, sentence). `now` in epoch seconds."""
        before = {(trouble.instrument_id, trouble.sentence): trouble for trouble in self._by_parent.get(parent_id, ())}
        rows = []
        for instrument_id, sentence in found:
            known = before.pop((instrument_id, sentence), None)
            if known is None:
                _log.warning("parent %s, %s: %s", parent_id, instrument_id, sentence)
            since = now if known is None else known.since
            rows.append(
                Trouble(
                    parent_id=parent_id, instrument_id=instrument_id, sentence=sentence, since=since, is_ended=is_ended
                )
            )
        for instrument_id, sentence in before:
            _log.info("parent %s, %s: no longer so: %s", parent_id, instrument_id, sentence)
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
