"""The instruments of the latest mapping at hand: what is watched is asked for at every tick, and a look into the file costs
some twenty microseconds."""

from onebroker.actors.catalogue.interface import CatalogueState, Instrument, Snapshot
from onebroker.actors.kernel.published import Published

MOST_REMEMBERED = 100_000
"""Names and instruments; beyond it everything is asked for anew."""


class KnownInstruments:
    """Follows the catalogue: what was remembered of an older snapshot is forgotten."""

    def __init__(self, catalogue: Published[CatalogueState]) -> None:
        self._catalogue = catalogue
        self._snapshot: Snapshot | None = None
        self._ids: dict[str, dict[str, str | None]] = {}
        """Broker -> token -> instrument_id."""
        self._instruments: dict[str, Instrument | None] = {}

    @property
    def snapshot(self) -> Snapshot | None:
        """The latest mapping; what was remembered is of it."""
        latest = self._catalogue.value.latest
        if latest is not self._snapshot:
            self._snapshot = latest
            self._ids, self._instruments = {}, {}
        return latest

    def id_of(self, broker: str, broker_token: str) -> str | None:
        """Return the instrument a broker's token names, if it names one."""
        snapshot = self.snapshot
        ids = self._ids.get(broker)
        if ids is None:
            ids = self._ids[broker] = {}
        try:
            return ids[broker_token]
        except KeyError:
            found = None if snapshot is None else snapshot.by_token(broker, broker_token)
            if len(ids) >= MOST_REMEMBERED:
                ids.clear()
            ids[broker_token] = found
            return found

    def instrument(self, instrument_id: str) -> Instrument | None:
        snapshot = self.snapshot
        try:
            return self._instruments[instrument_id]
        except KeyError:
            found = None if snapshot is None else snapshot.instrument(instrument_id)
            if len(self._instruments) >= MOST_REMEMBERED:
                self._instruments.clear()
            self._instruments[instrument_id] = found
            return found

    def lists(self, instrument_id: str, broker: str) -> bool:
        """Tell whether a broker lists it."""
        found = self.instrument(instrument_id)
        return found is not None and broker in found.listings
