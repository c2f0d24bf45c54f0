"""How many units one contract has, and how far brokers agree on it: for currencies and commodities, of which some brokers speak in
lots and others in units (order-engine 4.3). Pure."""

from collections import Counter
from enum import StrEnum

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.brokers.listings.mcx_contracts import contract
from onebroker.brokers.records import Listing
from onebroker.config.instruments import Shape, calendar_of


class SizeStatus(StrEnum):
    AGREED = "agreed"
    """All that say it say the same; two or more."""
    MAJORITY = "majority"
    """More than half say the same; at least two."""
    SINGLE = "single"
    """One broker alone says it."""
    DISPUTED = "disputed"
    UNKNOWN = "unknown"


@attrs.frozen
class ContractSize:
    status: SizeStatus
    units: int | None
    """What most say; None when nobody says it or no size has most."""

    @property
    def trusted(self) -> int | None:
        """Units per contract when an order may be built on them, else None."""
        return self.units if self.status in (SizeStatus.AGREED, SizeStatus.MAJORITY) else None


def contract_size(instrument: Instrument) -> ContractSize | None:
    """Return the size of a currency or commodity contract; None for any other instrument, which has each broker's own lot.

    Counted are brokers whose own file tells the size (`Listing.lot_size`) and whose quantities are understood, not those that take
    the size from the others.
    """
    identity = instrument.identity
    if identity.shape is Shape.SECURITY or calendar_of(identity.segment) == "equity":
        return None
    if identity.exchange == "mcx" and (known := contract(identity.underlying_symbol, identity.expiry_date)) is not None:
        return ContractSize(SizeStatus.AGREED, known.units)  # the exchange's own size, whatever files make of it
    told = Counter(one.lot_size for one in instrument.listings.values() if one.lot_size and one.contract_units)
    if not told:
        return ContractSize(SizeStatus.UNKNOWN, None)
    (units, votes), count = told.most_common(1)[0], told.total()
    if count == 1:
        return ContractSize(SizeStatus.SINGLE, units)
    if votes == count:
        return ContractSize(SizeStatus.AGREED, units)
    if votes >= 2 and 2 * votes > count:
        return ContractSize(SizeStatus.MAJORITY, units)
    return ContractSize(SizeStatus.DISPUTED, None)


def differs(listing: Listing, units: int) -> bool:
    """Tell whether a broker's listing contradicts the trusted size: in the size it tells, or in the lots it is sent."""
    own_lots = listing.contract_units not in (None, 1, units)
    return own_lots or (listing.lot_size or units) != units
