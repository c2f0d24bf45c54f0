"""How many units one contract has, and how far brokers agree on that. Only for currencies and commodities: some brokers count
these in lots and others in units (order-engine 4.3). Pure."""

from collections import Counter
from enum import StrEnum

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.brokers.listings.mcx_contracts import contract
from onebroker.brokers.records import Listing
from onebroker.config.instruments import Shape, calendar_of


class SizeStatus(StrEnum):
    AGREED = "agreed"
    """All brokers that give a size give the same one; two or more brokers."""
    MAJORITY = "majority"
    """More than half give the same size; at least two brokers."""
    SINGLE = "single"
    """Only one broker gives a size."""
    DISPUTED = "disputed"
    UNKNOWN = "unknown"


@attrs.frozen
class ContractSize:
    status: SizeStatus
    units: int | None
    """The size that most brokers give; None when no broker gives one, or no size has a majority."""

    @property
    def trusted(self) -> int | None:
        """Units per contract where an order may rely on them, else None."""
        return self.units if self.status in (SizeStatus.AGREED, SizeStatus.MAJORITY) else None


def contract_size(instrument: Instrument) -> ContractSize | None:
    """Return the size of a currency or commodity contract. None for any other instrument: there each broker's own lot counts.

    A broker counts if its own file gives the size (`Listing.lot_size`) and its quantities are understood. A broker that takes
    the size from the others does not count.
    """
    identity = instrument.identity
    if identity.shape is Shape.SECURITY or calendar_of(identity.segment) == "equity":
        return None
    if identity.exchange == "mcx" and (known := contract(identity.underlying_symbol, identity.expiry_date)) is not None:
        return ContractSize(SizeStatus.AGREED, known.units)  # the exchange's own size, whatever the brokers' files say
    told = Counter(
        listing.lot_size for listing in instrument.listings.values() if listing.lot_size and listing.contract_units
    )
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
    """Tell whether a broker's listing contradicts the trusted size: by the size that it gives, or by the lots in which orders are sent."""
    own_lots = listing.contract_units not in (None, 1, units)
    return own_lots or (listing.lot_size or units) != units
