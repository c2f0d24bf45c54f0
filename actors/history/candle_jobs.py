"""The parts of a run over brokers' candles: the jobs that go in, and the outcomes that come out part by part."""

from datetime import date

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.history.broker_candles import Refused


@attrs.frozen(kw_only=True)
class Job:
    """A request to read candles of one instrument."""

    instrument: Instrument
    interval: str
    first: date
    last: date
    """Inclusive; the last session of this day is over."""

    @property
    def name(self) -> str:
        """For people: exchange, segment and the instrument's name."""
        return self.instrument.identity.natural_key.replace("|", " ")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one job."""

    instrument_id: str
    name: str
    broker: str | None = None
    """The broker whose candles were taken; None when no broker's were."""
    rows: int = 0
    """Number of candles stored."""
    newest: int | None = None
    """Time of the newest stored candle, microseconds UTC."""
    refused: tuple[Refused, ...] = ()
    trouble: str | None = None
    """Why no broker's candles could be read; None = they were, or there were none."""
    later: bool = False
    """Whether the trouble may pass by itself: no login, a limit, no answer."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Some outcomes whose candles are on disk, and the counts of their rows."""

    outcomes: tuple[Outcome, ...] = ()
    added: int = 0
    replaced: int = 0
    equal: int = 0


@attrs.define
class BrokerShare:
    """The share of one broker in a run."""

    instruments: int = 0
    rows: int = 0
    why: str | None = None
    """Why the broker is left alone for the rest of the run, or pauses."""
