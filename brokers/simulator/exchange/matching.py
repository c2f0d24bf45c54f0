"""One contract's order book: price-time priority between the accounts' orders and a market maker's five levels.

Pure: prices are whole ticks, quantities are units. `exchange.py` decides what a trade means for orders and accounts. Every step replaces the market
maker's quotes. At the same price they come after the orders that already rested there.
"""

from bisect import insort
from collections.abc import Collection, Iterator

import attrs

from onebroker.config.vocabulary import Side

OrderRef = tuple[str, str]
"""(broker, order_id)."""


@attrs.define(slots=True)
class Resting:
    """An account's order in the book."""

    ref: OrderRef
    side: Side
    ticks: int
    quantity: int
    """Units left."""
    priority: int
    """Lower is earlier."""
    shown: int = 0
    """The disclosed quantity; 0 shows everything."""

    @property
    def rank(self) -> tuple[int, int]:
        """Sort key: the better price first, then the earlier order."""
        return (-self.side.sign * self.ticks, self.priority)


@attrs.define(slots=True)
class MakerLevel:
    """One price level of the market maker."""

    ticks: int
    quantity: int
    priority: int
    orders: int = 1


@attrs.frozen
class Match:
    """Units that changed hands, with an account's resting order or with the market maker (`resting` is None)."""

    ticks: int
    quantity: int
    resting: OrderRef | None


class Book:
    """Both sides of one contract."""

    def __init__(self) -> None:
        self._resting: dict[Side, list[Resting]] = {Side.BUY: [], Side.SELL: []}
        self._maker: dict[Side, list[MakerLevel]] = {Side.BUY: [], Side.SELL: []}
        self._by_ref: dict[OrderRef, Resting] = {}
        self.changes = 0
        """Number of changes to the book. Anything derived from the book is valid while this number stays the same."""

    @property
    def has_orders(self) -> bool:
        return bool(self._by_ref)

    def add(self, resting: Resting) -> None:
        """Put an order into the book. It must not cross; match it first."""
        self.changes += 1
        insort(self._resting[resting.side], resting, key=lambda order: order.rank)
        self._by_ref[resting.ref] = resting

    def remove(self, ref: OrderRef) -> None:
        """Take an order out of the book. Does nothing for an order that is not in the book."""
        resting = self._by_ref.pop(ref, None)
        if resting is not None:
            self.changes += 1
            self._resting[resting.side].remove(resting)

    def quote(self, buy: list[MakerLevel], sell: list[MakerLevel]) -> None:
        """Replace the market maker's quotes, best first."""
        self.changes += 1
        self._maker = {Side.BUY: buy, Side.SELL: sell}

    def take(self, side: Side, limit: int | None, quantity: int) -> list[Match]:
        """Match an incoming order against the other side, best price first. With `limit` None any price is taken."""
        matches: list[Match] = []
        while quantity > 0:
            best = self._best(side.opposite)
            if best is None or (limit is not None and side.sign * (best.ticks - limit) > 0):
                break
            units = min(quantity, best.quantity)
            matches.append(Match(best.ticks, units, best.ref if isinstance(best, Resting) else None))
            self._reduce(side.opposite, best, units)
            quantity -= units
        return matches

    def meet_maker(self) -> list[Match]:
        """Trade the orders that the market maker's new quotes cross, at the orders' own prices, because the orders were there first."""
        matches: list[Match] = []
        for side in Side:
            while self._resting[side] and self._maker[side.opposite]:
                resting, level = self._resting[side][0], self._maker[side.opposite][0]
                if side.sign * (level.ticks - resting.ticks) > 0:
                    break
                units = min(resting.quantity, level.quantity)
                matches.append(Match(resting.ticks, units, resting.ref))
                self._reduce(side, resting, units)
                self._reduce(side.opposite, level, units)
        return matches

    def flow(self, last_ticks: int, quantity: int, empty: Collection[Side] = ()) -> list[Match]:
        """Trade up to `quantity` units a side of the market's own flow, with orders whose price the last price has reached. Nobody of the market is on
        the sides that are `empty`."""
        matches: list[Match] = []
        for side in (side for side in Side if side.opposite not in empty):
            left = quantity
            while left > 0 and self._resting[side] and side.sign * (self._resting[side][0].ticks - last_ticks) >= 0:
                resting = self._resting[side][0]
                units = min(left, resting.quantity)
                matches.append(Match(resting.ticks, units, resting.ref))
                self._reduce(side, resting, units)
                left -= units
        return matches

    def meet(self, broker: str, order_id: str, quantity: int) -> Match | None:
        """Trade exactly `quantity` units with one resting order, whatever the market is. Return None if the order does not have that many left."""
        resting = self._by_ref.get((broker, order_id))
        if resting is None or not 0 < quantity <= resting.quantity:
            return None
        self._reduce(resting.side, resting, quantity)
        return Match(resting.ticks, quantity, resting.ref)

    def depth(self, side: Side, levels: int) -> list[tuple[int, int, int]]:
        """Return (ticks, shown units, orders) of the best price levels."""
        if not self._resting[side]:
            return [(level.ticks, level.quantity, level.orders) for level in self._maker[side][:levels]]
        rows: dict[int, list[int]] = {}
        for resting in self._resting[side]:
            row = rows.setdefault(resting.ticks, [0, 0])
            row[0] += min(resting.quantity, resting.shown or resting.quantity)
            row[1] += 1
        for level in self._maker[side]:
            row = rows.setdefault(level.ticks, [0, 0])
            row[0] += level.quantity
            row[1] += level.orders
        ranked = sorted(rows.items(), key=lambda item: -side.sign * item[0])
        return [(ticks, units, orders) for ticks, (units, orders) in ranked[:levels]]

    def resting(self) -> Iterator[Resting]:
        """Iterate over the accounts' orders in the book."""
        return iter(self._by_ref.values())

    def _best(self, side: Side) -> Resting | MakerLevel | None:
        mine = self._resting[side][0] if self._resting[side] else None
        level = self._maker[side][0] if self._maker[side] else None
        if mine is None or level is None:
            return mine or level
        return mine if mine.rank < (-side.sign * level.ticks, level.priority) else level

    def _reduce(self, side: Side, liquidity: Resting | MakerLevel, units: int) -> None:
        self.changes += 1
        liquidity.quantity -= units
        if liquidity.quantity == 0:
            if isinstance(liquidity, Resting):
                self.remove(liquidity.ref)
            else:
                self._maker[side].remove(liquidity)
