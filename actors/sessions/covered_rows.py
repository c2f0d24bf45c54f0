"""Marks delivery positions below zero that the holdings cover (rules 1.2.5-38; order-engine 5.7). Pure.

A SELL in CNC of 5 held shares shows as a delivery position of -5 until the shares leave the account in the evening. It is no short: nothing has to
be bought back. A flatten buys it back all the same (rules 2.4.7-4), so the row says what it is.

- Only the net view is marked: the day view lists trades.
- Holdings are compared by the broker's token, or by its trading symbol for a share sold at the other exchange. Each held unit covers one unit.
- Some brokers take the sold units out of the holdings at once. There the row stays unmarked when nothing is left: no mark is the safe side, because
  an unmarked row is closed and a marked row may be left as it is.
- Holdings that are not known, or whose last read failed, cover nothing.
"""

from collections.abc import Iterable, Sequence

import msgspec

from onebroker.brokers.records import HoldingRow, PositionRow
from onebroker.config.vocabulary import Product


def marked(positions: tuple[PositionRow, ...], holdings: Sequence[HoldingRow]) -> tuple[PositionRow, ...]:
    """Return the rows with the mark as these holdings give it; the same tuple when no mark changes."""
    if not any(_is_sale(row) or row.covered_by_holdings for row in positions):
        return positions
    left = [row.settled_quantity + row.t1_quantity for row in holdings]
    rows = tuple(_marked(row, holdings, left) for row in positions)
    return positions if all(before is after for before, after in zip(positions, rows, strict=True)) else rows


def _is_sale(row: PositionRow) -> bool:
    return row.product == Product.CNC and row.view == "net" and row.quantity is not None and row.quantity < 0


def _marked(row: PositionRow, holdings: Sequence[HoldingRow], left: list[int]) -> PositionRow:
    covered = _is_sale(row) and _take(-(row.quantity or 0), _same(row, holdings), left)
    if covered == row.covered_by_holdings:
        return row
    return msgspec.structs.replace(row, covered_by_holdings=covered)


def _same(row: PositionRow, holdings: Sequence[HoldingRow]) -> list[int]:
    """Return the places of the holdings of a position's share."""
    names = (row.instrument_token, row.tradingsymbol)
    return [
        place
        for place, held in enumerate(holdings)
        if held.instrument_token == names[0] or held.tradingsymbol == names[1]
    ]


def _take(units: int, places: Iterable[int], left: list[int]) -> bool:
    """Take units from what is left of these holdings, if there are as many; return whether there were."""
    places = list(places)
    if sum(left[place] for place in places) < units:
        return False
    for place in places:
        taken = min(units, left[place])
        left[place] -= taken
        units -= taken
    return True
