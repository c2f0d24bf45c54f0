"""The most units one order may have before the exchange freezes it (order-engine 4.4). Pure."""

from collections.abc import Mapping

from onebroker.actors.catalogue.interface import Instrument


def freeze_of(instrument: Instrument, code: str, table: Mapping[str, int]) -> int | None:
    """Return the freeze quantity at one broker in units. None when no freeze quantity is known; then it is not checked.

    The operator's table decides, by underlying. Else the catalogue's figure counts: the one that most brokers' files agree on, or
    the smallest. It is never more than this broker's own file says, because above that the broker's systems refuse.
    """
    listing = instrument.listings.get(code)
    lot = _lot(instrument, code)
    configured = table.get(instrument.identity.underlying_symbol or "", 0)
    if configured >= lot:
        return configured
    given = (instrument.freeze_quantity, listing.freeze_quantity if listing is not None else None)
    return min((units for units in given if units is not None and units > 1 and units >= lot), default=None)


def most_per_order(instrument: Instrument, code: str, table: Mapping[str, int]) -> int | None:
    """Return the largest whole number of lots not above the freeze quantity, in units; None as in `freeze_of`."""
    freeze = freeze_of(instrument, code, table)
    return None if freeze is None else freeze - freeze % _lot(instrument, code)


def _lot(instrument: Instrument, code: str) -> int:
    listing = instrument.listings.get(code)
    own = listing.lot_size if listing is not None else None
    return own or instrument.lot_size or 1
