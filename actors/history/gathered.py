"""What a run over brokers' candles is made of: the jobs that go in, the outcomes that come out, part by part."""

from datetime import date

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.history.judging import Refused


@attrs.frozen(kw_only=True)
class Job:
    """Candles of one instrument to be read."""

    instrument: Instrument
    interval: str
    first: date
    last: date
    """Inclusive; a day whose last session is over."""

    @property
    def name(self) -> str:
        """For people: exchange, segment and what it is called."""
        return self.instrument.identity.natural_key.replace("|", " ")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one job."""

    instrument_id: str
    name: str
    broker: str | None = None
    """Whose candles were taken; None when no broker's were."""
    rows: int = 0
    """Taken in."""
    newest: int | None = None
    """Time of the newest of them, microseconds UTC."""
    refused: tuple[Refused, ...] = ()
    trouble: str | None = None
    """Why no broker's candles could be read."""
    later: bool = False
    """Whether that may pass by itself: no login, a limit, no answer."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Some outcomes whose candles are on disk, and what became of the rows."""

    outcomes: tuple[Outcome, ...] = ()
    added: int = 0
    replaced: int = 0
    equal: int = 0


@attrs.define
class BrokerShare:
    """What one broker has done in a run."""

    instruments: int = 0
    rows: int = 0
    why: str | None = None
    """Why it is left alone for the rest of the run, or waits."""
