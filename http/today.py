"""What a plan is judged against when it comes in: today's instruments, the clock, the brokers in service."""

from collections.abc import Mapping
from datetime import date, datetime

import attrs

from onebroker.actors.catalogue.interface import Instrument, Snapshot


@attrs.frozen(kw_only=True)
class Today:
    """Implements `plan.reading.surroundings.World` at one moment."""

    now: datetime
    """Aware, India time."""
    snapshot: Snapshot
    brokers: tuple[str, ...]
    freeze_table: Mapping[str, int]

    @property
    def mapping_date(self) -> date:
        return self.snapshot.mapping_date

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self.snapshot.instrument(instrument_id)
