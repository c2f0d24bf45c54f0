"""Whose ticks are recorded, by `[history] record` of the settings. Pure; who keeps them implements `TickRecorder`.

`held` is what is open, held or followed; `all` is whatever the feeds carry; a list is followed by the feeds for this alone.
"""

from typing import Protocol

from onebroker.actors.quotes.fold import Quote
from onebroker.actors.quotes.watching import Need, Wanted
from onebroker.config.sections import RecordedInstruments


class TickRecorder(Protocol):
    def record(self, instrument_id: str, quote: Quote) -> None:
        """Take one tick of one broker, as it was folded in: called for every tick, so it neither waits nor does I/O."""


def followed_for_recording(scope: RecordedInstruments) -> tuple[str, ...]:
    """Return what the feeds must carry because it is recorded."""
    return scope.instrument_ids if scope.scope == "listed" else ()


def recorded(scope: RecordedInstruments, wanted: Wanted) -> frozenset[str]:
    """Return the instruments of which every tick is recorded."""
    if scope.scope == "all":
        return frozenset(wanted)
    if scope.scope == "listed":
        return frozenset(scope.instrument_ids)
    return frozenset(one for one, need in wanted.items() if need is not Need.ASKED)
