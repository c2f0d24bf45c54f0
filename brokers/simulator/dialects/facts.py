"""What rows of positions, holdings and depth need, computed once from the exchange's values. No broker's words.

Quantities are units, values and prices are rupees (Decimal). A dialect's rows put the broker's field names on these facts, divide quantities by the
units of the broker's quantities, and write numbers as the broker writes them.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.world.model import Level, Market, SimPosition

Row = dict[str, object]
"""One JSON object of an answer."""

FOUR_PLACES = Decimal("0.0001")
_NOTHING = Decimal(0)
_DEPTH_LEVELS = 5


@attrs.frozen
class Leg:
    """Units that were bought or sold together, and their value."""

    quantity: int
    """Units, never negative."""
    value: Decimal
    """₹."""
    places: Decimal | None = None
    """The quantum to which the average is rounded; None = the exact average."""

    @property
    def average(self) -> Decimal:
        """₹ for one unit; zero for a leg without units."""
        if not self.quantity:
            return _NOTHING
        average = self.value / self.quantity
        return average if self.places is None else average.quantize(self.places)

    def __add__(self, other: "Leg") -> "Leg":
        return Leg(self.quantity + other.quantity, self.value + other.value, self.places)


@attrs.frozen(kw_only=True)
class PositionFacts:
    """A position with its carried leg and today's legs. Profits follow from the averages, rounded as the averages are."""

    last_price: Decimal
    carried: int
    """Carried units; negative for a short position."""
    carried_buy: Leg
    carried_sell: Leg
    day_buy: Leg
    day_sell: Leg

    @property
    def bought(self) -> Leg:
        """All units bought, the carried units included."""
        return self.carried_buy + self.day_buy

    @property
    def sold(self) -> Leg:
        """All units sold, the carried units included."""
        return self.carried_sell + self.day_sell

    @property
    def quantity(self) -> int:
        """Open units; negative for a short position."""
        return self.bought.quantity - self.sold.quantity

    @property
    def value(self) -> Decimal:
        """₹ received for the sold units less ₹ paid for the bought units."""
        return self.sold.value - self.bought.value

    @property
    def held_price(self) -> Decimal:
        """Average price of the side that is open; zero for a closed position."""
        if not self.quantity:
            return _NOTHING
        return self.bought.average if self.quantity > 0 else self.sold.average

    @property
    def realized(self) -> Decimal:
        """₹ gained by the units that are both bought and sold."""
        closed = min(self.bought.quantity, self.sold.quantity)
        return (self.sold.average - self.bought.average) * closed if closed else _NOTHING

    @property
    def unrealized(self) -> Decimal:
        """₹ that the open units would gain at the last price."""
        return (self.last_price - self.held_price) * self.quantity

    @property
    def total_gain(self) -> Decimal:
        """₹ of both profits, from the values, so without the rounding of averages."""
        return self.value + self.quantity * self.last_price


def position_facts(
    position: SimPosition,
    market: Market,
    *,
    carried_price: Decimal | None = None,
    with_carried: bool = True,
    places: Decimal | None = FOUR_PLACES,
) -> PositionFacts:
    """Return the facts of a position.

    `carried_price` is the price of the carried units; None = their cost. Without `with_carried` only today's units count. Averages are rounded to
    `places`; None = exact.
    """
    carried = position.overnight_quantity if with_carried else 0
    price = position.overnight_price if carried_price is None else carried_price
    long, short = max(carried, 0), max(-carried, 0)
    return PositionFacts(
        last_price=market.last_price,
        carried=carried,
        carried_buy=Leg(long, long * price, places),
        carried_sell=Leg(short, short * price, places),
        day_buy=Leg(position.day_buy_quantity, position.day_buy_value, places),
        day_sell=Leg(position.day_sell_quantity, position.day_sell_value, places),
    )


def day_change(market: Market) -> Decimal:
    """Return the ₹ between the last price and the previous close."""
    return market.last_price - market.previous_close


def percent(part: Decimal, whole: Decimal, places: Decimal | None = FOUR_PLACES) -> Decimal:
    """Return `part` in percent of `whole`, rounded to `places` (None = exact); zero if `whole` is zero."""
    if not whole:
        return _NOTHING
    share = part * 100 / whole
    return share if places is None else share.quantize(places)


def four_places(value: Decimal) -> Decimal:
    return value.quantize(FOUR_PLACES)


def in_lots(units: int, size: int) -> int:
    """Return signed units in lots of `size` units. An incomplete lot does not count."""
    return units // size if units >= 0 else -(-units // size)


def depth_rows(levels: Sequence[Level], row_of: Callable[[Level], Row], empty: Mapping[str, object]) -> list[Row]:
    """Return one side's rows of a five-level depth, best price first. Levels that do not exist get the row `empty`."""
    rows = [row_of(level) for level in levels[:_DEPTH_LEVELS]]
    return rows + [dict(empty)] * (_DEPTH_LEVELS - len(rows))


def rupees(value: Decimal | None) -> float:
    """Return a price or sum as a JSON number; None is zero, and a zero has no sign."""
    return float(value or 0)


def stamp(moment: datetime | None) -> str | None:
    """Return a moment as `2026-11-23 10:00:00`, in Indian time without an offset; None stays None."""
    return None if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")
