"""The catalogue's interface: an immutable snapshot, read without awaiting."""

from collections.abc import Mapping
from datetime import date
from typing import Protocol

import attrs

from onebroker.actors.catalogue.contract_list import ContractList
from onebroker.actors.catalogue.finder.find import Finder
from onebroker.actors.catalogue.master import Master
from onebroker.actors.store.durable_history import Rename
from onebroker.brokers.records import Listing
from onebroker.config.instruments import Identity


@attrs.frozen(kw_only=True)
class Instrument:
    """One instrument with the data of all brokers."""

    instrument_id: str
    identity: Identity
    name: str | None
    isin: str | None
    lot_size: int | None
    """Units; the value most brokers give."""
    tick_size: float | None
    """Rupees; the size most brokers agree on; None when no broker gives one or on a tie (order-engine 4.3)."""
    freeze_quantity: int | None
    """Units; the value most brokers give."""
    listings: Mapping[str, Listing]
    """Broker code -> the broker's listing of the instrument."""


class Snapshot(Protocol):
    """One mapping date's catalogue."""

    @property
    def mapping_date(self) -> date: ...

    @property
    def master(self) -> Master:
        """The mapping as a list: its segments, its records, search."""

    @property
    def contracts(self) -> ContractList:
        """The futures and options, by underlying and expiry."""

    @property
    def finder(self) -> Finder | None:
        """The search over all segments; None while its index is being built, and for an older mapping."""

    def at(self, row: int) -> Instrument:
        """Return the instrument of a row of `contracts` or `finder`."""

    def instrument(self, instrument_id: str) -> Instrument | None: ...

    def instrument_once(self, instrument_id: str) -> Instrument | None:
        """Return the same as `instrument`, without caching it: for long lists read once."""

    def attributes(self, instrument_id: str) -> Mapping[str, Mapping[str, str]]:
        """Return broker code -> the columns of its file that no other field carries, as text; empty when not mapped."""

    def find(self, identity: Identity) -> Instrument | None: ...

    def by_token(self, broker: str, broker_token: str) -> str | None:
        """Return the instrument_id that a broker's token names; None when it names no instrument or several."""

    def by_isin(self, isin: str) -> tuple[str, ...]:
        """Return the instrument_ids that have this ISIN, NSE listings first."""

    def listings(self, broker: str) -> Mapping[str, Listing]:
        """Return a broker's listings by broker_token: the same mapping object for the life of the snapshot."""


@attrs.frozen(kw_only=True)
class Found:
    """An instrument that is or was listed."""

    instrument: Instrument
    """Has no listings when no broker lists the instrument any more."""
    mapping_date: date
    """The last mapping date that held the instrument; the latest date when it is listed."""


class Unlisted(Protocol):
    """The instruments that were once listed and are not in the latest mapping."""

    @property
    def count(self) -> int: ...

    def find(self, instrument_id: str) -> Found | None: ...


class _None:
    count = 0

    def find(self, instrument_id: str) -> Found | None:
        return None


NONE_UNLISTED: Unlisted = _None()
"""For the time before any instrument has left the mapping."""


@attrs.frozen(kw_only=True)
class CatalogueState:
    """The state that the catalogue actor publishes."""

    latest: Snapshot | None
    """None = no instruments have ever been mapped (503)."""
    published_today: bool
    """Whether orders may be taken (architecture 8, today's catalogue)."""
    reason: str
    """Why orders may not be taken, for the 503; empty when published."""
    lost: Mapping[str, str] = attrs.field(factory=dict)
    """Broker code -> why the latest mapping holds nothing from the broker."""
    missing: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    """Broker code -> name of one of its files -> why the latest mapping holds nothing from that file."""
    shrunk: Mapping[str, Mapping[str, int]] = attrs.field(factory=dict)
    """Broker code -> stored segment -> listings in the mapping before, if the latest mapping has far fewer."""
    trouble: str | None = None
    """Why the last build failed, or could not be kept for a restart; the latest mapping is still served."""
    unlisted: Unlisted = NONE_UNLISTED
    renames: tuple[Rename, ...] = ()
    """Contracts whose id changed because the exchange changed their strike, expiry or name, by day; `source` is one of the values in `contract_renames.py`."""

    def find_ever(self, instrument_id: str) -> Found | None:
        """Find an instrument that is or was listed, for the history routes (rules 1.4.4)."""
        listed = None if self.latest is None else self.latest.instrument(instrument_id)
        if self.latest is not None and listed is not None:
            return Found(instrument=listed, mapping_date=self.latest.mapping_date)
        return self.unlisted.find(instrument_id)

    def find_ever_by(self, identity: Identity) -> Found | None:
        """Find it by its identity fields."""
        return self.find_ever(identity.instrument_id)


NOT_MAPPED = CatalogueState(latest=None, published_today=False, reason="no instruments have been mapped yet")
"""The state before the first build."""
