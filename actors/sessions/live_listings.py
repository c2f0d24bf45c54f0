"""A broker's listings as a mapping that always shows the catalogue's latest snapshot."""

from collections.abc import Iterator, Mapping

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.kernel.published import Published
from onebroker.brokers.records import Listing

_NONE: Mapping[str, Listing] = {}


class LiveListings(Mapping[str, Listing]):
    """broker_token -> listing; empty until a catalogue has been published."""

    def __init__(self, catalogue: Published[CatalogueState], broker: str) -> None:
        self._catalogue = catalogue
        self._broker = broker

    @property
    def current(self) -> Mapping[str, Listing]:
        """The mapping of the latest snapshot itself: the same object as long as the snapshot is the same."""
        latest = self._catalogue.value.latest
        return _NONE if latest is None else latest.listings(self._broker)

    def __getitem__(self, broker_token: str) -> Listing:
        return self.current[broker_token]

    def __iter__(self) -> Iterator[str]:
        return iter(self.current)

    def __len__(self) -> int:
        return len(self.current)
