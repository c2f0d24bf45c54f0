"""Fills that a broker takes back: the exchange has annulled a trade, or corrected its units (order-engine 2.3). Pure.

A lower filled quantity is nearly always old news: books run behind, streams overtake them. So the fold only grows, and a lower figure is believed
under all of these conditions:

- Two whole books show the same lower figure, and none between them shows another. `STANDS_SECONDS` lie between the first and the last of them:
  no book runs so far behind.
- The broker's positions agree, in a read that began after the first of these books. What was carried in and all of the day's fills, with the
  lower figure, give the net position that is shown. The higher figure must not give it. Where a person has converted units to another product, no
  product's fills give its position, but those of all products together do.

Where the positions cannot tell (units that are not known, a product in the broker's own words), nothing is believed.
"""

from collections.abc import Collection, Iterable, Mapping

import attrs

from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.vocabulary import Side

STANDS_SECONDS = 30.0


@attrs.frozen(kw_only=True)
class _Lowered:
    row: OrderRow
    since: float
    """Monotonic seconds at which the first whole book began that showed this figure."""
    until: float
    """The same of the last such book."""

    @property
    def stands(self) -> bool:
        return self.until - self.since >= STANDS_SECONDS


@attrs.define
class TakenBack:
    """The lower fills that one broker's whole books show."""

    _lowered: dict[str, _Lowered] = attrs.field(factory=dict)

    def book(self, rows: Iterable[OrderRow], folded: Mapping[str, OrderRow], began: float) -> None:
        """Take in a whole book that began at `began`; `folded` are the orders after it."""
        before, self._lowered = self._lowered, {}
        for row in rows:
            known = folded.get(row.order_id)
            if known is None or row.filled_quantity >= known.filled_quantity:
                continue
            held = before.get(row.order_id)
            same = held is not None and held.row.filled_quantity == row.filled_quantity
            since = held.since if held is not None and same else began
            self._lowered[row.order_id] = _Lowered(row=row, since=since, until=began)

    def agreed(
        self, folded: Mapping[str, OrderRow], positions: Iterable[PositionRow], positions_began: float | None
    ) -> list[OrderRow]:
        """Return the rows whose lower fills are to be believed, as the books show them."""
        standing = [lowered for lowered in self._lowered.values() if lowered.stands]
        if not standing or positions_began is None:
            return []
        shown = tuple(positions)
        believed = [
            lowered.row
            for lowered in standing
            if positions_began > lowered.since and _agrees(lowered.row, standing, folded, shown)
        ]
        for row in believed:
            del self._lowered[row.order_id]
        return believed


def _agrees(
    row: OrderRow, standing: Iterable[_Lowered], folded: Mapping[str, OrderRow], positions: Iterable[PositionRow]
) -> bool:
    """Whether the net position is that of the lower fills: in the order's product, or in all products of its instrument together, because units that were
    converted are in no fill. Other lowered orders there count with their lower figure too."""
    lower = {lowered.row.order_id: lowered.row.filled_quantity for lowered in standing}
    nets = [one for one in positions if (one.view, one.instrument_token) == ("net", row.instrument_token)]
    fills = [
        one
        for one in folded.values()
        if one.instrument_token == row.instrument_token and one.transaction_type in tuple(Side)
    ]
    own_nets = [one for one in nets if one.product == row.product]
    own_fills = [one for one in fills if one.product == row.product]
    return _adds_up(own_nets, own_fills, lower) or _adds_up(nets, fills, lower)


def _adds_up(nets: Collection[PositionRow], fills: Collection[OrderRow], lower: Mapping[str, int]) -> bool:
    """Whether what was carried in and the fills, those of the lowered orders with their lower figures and not otherwise, give the net position."""
    if any(position.quantity is None for position in nets):
        return False
    net = sum(position.quantity or 0 for position in nets)
    carried = sum(position.overnight_quantity or 0 for position in nets)
    higher = sum(Side(one.transaction_type).sign * one.filled_quantity for one in fills)
    lowered = sum(Side(one.transaction_type).sign * lower.get(one.order_id, one.filled_quantity) for one in fills)
    return net == carried + lowered and lowered != higher
