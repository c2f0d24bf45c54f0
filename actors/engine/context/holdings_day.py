"""What a broker's holdings have shown over one broking day (order-engine 4.11). Pure.

No fill explains holdings, so a read of them cannot be compared with anything. Two things make a single read wrong for an exit:

- an answer lacks a row. The exit of these shares would find nothing to sell, and would end;
- shares are sold. Some brokers leave them in the holdings until the evening, others take them out at once. All of them show the sale as a
  delivery position below zero. Where the broker takes them out, `holdings now + position` counts the sale twice.

So the most units that a read of the day has shown count: with the position they give what is left, at both kinds of broker. A fall in one read
moves nothing.

Doubt: units that leave the holdings without a sale (a transfer to another account) count until the next broking day. That is the safe side. An exit
that sells too much is refused by the broker, since there is no short in delivery, and its owner is told. An exit that has been ended guards
nothing, in silence.
"""

from collections import Counter
from collections.abc import Collection, Iterable

import attrs

from onebroker.brokers.records import HoldingRow


@attrs.define
class HoldingsDay:
    """The holdings of one broker's account over a broking day."""

    is_read: bool = False
    """Whether the holdings were read today."""
    _taken: object = None
    """The rows that were taken up last."""
    _most: dict[tuple[str, str | None], int] = attrs.field(factory=dict)
    """(broker's token, ISIN) -> the most settled and T1 units of a read."""

    def take(self, rows: Iterable[HoldingRow]) -> None:
        """Take up a read of today."""
        if rows is self._taken:
            return
        self.is_read, self._taken = True, rows
        units = Counter[tuple[str, str | None]]()
        for row in rows:
            units[row.instrument_token, row.isin] += row.settled_quantity + row.t1_quantity
        for place, shown in units.items():
            self._most[place] = max(shown, self._most.get(place, 0))

    def units(self, tokens: Collection[str], isin: str | None) -> int:
        """Return the units of a share: its tokens at every exchange, or its ISIN, since some brokers list a holding at one exchange only."""
        return sum(
            units for (token, of), units in self._most.items() if token in tokens or (isin is not None and of == isin)
        )
