"""What an incoming order is judged against: today's instruments and hours, the brokers in service, the global switches."""

from collections.abc import Mapping
from datetime import date, datetime

import attrs

from onebroker.actors.catalogue.interface import Instrument, Snapshot
from onebroker.config.calendars import Calendar, Session
from onebroker.config.instruments import calendar_of
from onebroker.config.sections import EngineSettings


@attrs.frozen(kw_only=True)
class Today:
    """Implements `plan.reading.surroundings.World` at one moment."""

    now: datetime
    """Aware, India time."""
    snapshot: Snapshot
    brokers: tuple[str, ...]
    calendar: Calendar
    settings: EngineSettings

    @property
    def mapping_date(self) -> date:
        return self.snapshot.mapping_date

    @property
    def freeze_table(self) -> Mapping[str, int]:
        return self.settings.freeze_quantities

    def instrument(self, instrument_id: str) -> Instrument | None:
        return self.snapshot.instrument(instrument_id)

    def sessions(self, instrument: Instrument, day: date) -> tuple[Session, ...]:
        identity = instrument.identity
        return self.calendar.sessions(identity.exchange, calendar_of(identity.segment), day)

    def pre_open(self, instrument: Instrument, day: date) -> Session | None:
        return self.calendar.pre_open(instrument.identity.exchange, day)
