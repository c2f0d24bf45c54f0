"""Which instruments' ticks are recorded, by `[history] record` of the settings. Pure; a `TickRecorder` stores the ticks.

`held` means every instrument that is open, held or followed. `all` means every wanted instrument. The feeds carry a list's instruments
even if nothing else needs them.
"""

from typing import Protocol

from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.quotes.wanted_instruments import Need, Wanted
from onebroker.config.sections import RecordedInstruments


class TickRecorder(Protocol):
    def record(self, instrument_id: str, quote: Quote) -> None:
        """Take one tick of one broker after it was folded in. It runs for every tick, so it neither waits nor does I/O."""


def followed_for_recording(scope: RecordedInstruments) -> tuple[str, ...]:
    """Return the instruments that the feeds must carry because they are recorded."""
    return scope.instrument_ids if scope.scope == "listed" else ()


def recorded(scope: RecordedInstruments, wanted: Wanted) -> frozenset[str]:
    """Return the instruments whose every tick is recorded."""
    if scope.scope == "all":
        return frozenset(wanted)
    if scope.scope == "listed":
        return frozenset(scope.instrument_ids)
    return frozenset(instrument_id for instrument_id, need in wanted.items() if need is not Need.ASKED)
