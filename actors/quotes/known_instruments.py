"""A cache of the latest mapping's instruments. Every tick asks for its instrument, and a look into the file costs some twenty
microseconds."""

from onebroker.actors.catalogue.interface import CatalogueState, Instrument, Snapshot
from onebroker.actors.kernel.published import Published

MOST_REMEMBERED = 100_000
"""Most tokens per broker, and most instruments. A cache that is full is emptied."""


class KnownInstruments:
    """Remembers answers of the catalogue's latest snapshot. A new snapshot empties the cache."""

    def __init__(self, catalogue: Published[CatalogueState]) -> None:
        self._catalogue = catalogue
        self._snapshot: Snapshot | None = None
        self._ids: dict[str, dict[str, str | None]] = {}
        """Broker -> token -> instrument_id."""
        self._instruments: dict[str, Instrument | None] = {}

    @property
    def snapshot(self) -> Snapshot | None:
        """The latest mapping. Reading it empties the cache when the mapping is new."""
        latest = self._catalogue.value.latest
        if latest is not self._snapshot:
            self._snapshot = latest
            self._ids, self._instruments = {}, {}
        return latest

    def id_of(self, broker: str, broker_token: str) -> str | None:
        """Return the instrument_id of a broker's token, or None if the mapping does not know the token."""
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
        """Tell whether a broker lists the instrument."""
        found = self.instrument(instrument_id)
        return found is not None and broker in found.listings
