"""The catalogue as everybody else sees it: an immutable snapshot, read without awaiting."""

from collections.abc import Mapping
from datetime import date
from typing import Protocol

import attrs

from onebroker.brokers.records import Listing
from onebroker.config.instruments import Identity


@attrs.frozen(kw_only=True)
class Instrument:
    """One instrument with what all brokers say of it."""

    instrument_id: str
    identity: Identity
    name: str | None
    isin: str | None
    lot_size: int | None
    """Units; what most brokers give."""
    tick_size: float | None
    """Rupees; the size most brokers agree on; None when none is given or on a tie (order-engine 4.3)."""
    freeze_quantity: int | None
    """Units; what most brokers give."""
    listings: Mapping[str, Listing]
    """Broker code -> how that broker names it."""


class Snapshot(Protocol):
    """One mapping date's catalogue."""

    @property
    def mapping_date(self) -> date: ...

    def instrument(self, instrument_id: str) -> Instrument | None: ...

    def find(self, identity: Identity) -> Instrument | None: ...

    def by_token(self, broker: str, broker_token: str) -> str | None:
        """Return the instrument_id a broker's token names, or None when it names none or more than one."""

    def by_isin(self, isin: str) -> tuple[str, ...]:
        """Return the instrument_ids that carry an ISIN, NSE listings first."""

    def listings(self, broker: str) -> Mapping[str, Listing]:
        """Return a broker's listings by broker_token: the same mapping object for the life of the snapshot."""


@attrs.frozen(kw_only=True)
class CatalogueState:
    """What the catalogue actor publishes."""

    latest: Snapshot | None
    """None = no instruments have ever been mapped (503)."""
    published_today: bool
    """Whether orders may be taken (architecture 8, today's catalogue)."""
    reason: str
    """Why not, for the 503; empty when published."""
    lost: Mapping[str, str] = attrs.field(factory=dict)
    """Broker code -> why the latest mapping holds nothing of it."""


NOT_MAPPED = CatalogueState(latest=None, published_today=False, reason="no instruments have been mapped yet")
"""Before the first build."""
