"""The conditions for accepting an order, what an order blocks, and what a position is worth. Pure rules.

There are two kinds of refusal. `refuse` raises SimRefusal before an order id exists. `rejection` gives the sentence for an order that gets its id and
comes back REJECTED (freeze quantity, price band, margin), as a broker's risk system does.
"""

from collections.abc import Callable
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.world.model import Contract, NewOrder, RefusalReason, SimOrder, SimPosition, SimRefusal
from onebroker.config.instruments import Shape
from onebroker.config.money import is_multiple, plain
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, SENDABLE_VALIDITIES, OrderType, Product, Side

SPAN, EXPOSURE = Decimal("0.15"), Decimal("0.05")
INTRADAY = Decimal("0.20")
COLLATERAL_AFTER_HAIRCUT = Decimal("0.90")
_ZERO = Decimal(0)


@attrs.frozen(kw_only=True)
class Blocked:
    """Rupees that an account cannot use."""

    span: Decimal = _ZERO
    exposure: Decimal = _ZERO
    option_premium: Decimal = _ZERO
    delivery: Decimal = _ZERO

    @property
    def total(self) -> Decimal:
        return self.span + self.exposure + self.option_premium + self.delivery

    def __add__(self, other: "Blocked") -> "Blocked":
        return Blocked(
            span=self.span + other.span,
            exposure=self.exposure + other.exposure,
            option_premium=self.option_premium + other.option_premium,
            delivery=self.delivery + other.delivery,
        )

    def __neg__(self) -> "Blocked":
        return Blocked(
            span=-self.span, exposure=-self.exposure, option_premium=-self.option_premium, delivery=-self.delivery
        )


NOTHING = Blocked()


def refuse(contract: Contract, new: NewOrder) -> None:
    """Raise SimRefusal for an order that no risk system would accept: kind, quantity, lot, tick, prices."""
    if contract.is_index:
        raise SimRefusal(RefusalReason.NOT_TRADABLE, "an index cannot be traded")
    if new.product not in SENDABLE_PRODUCTS or new.validity not in SENDABLE_VALIDITIES:
        raise SimRefusal(RefusalReason.NOT_TRADABLE, "this product or validity is not offered")
    if new.product is not Product.MIS and (new.product is Product.CNC) is not (
        contract.identity.shape is Shape.SECURITY
    ):
        raise SimRefusal(RefusalReason.NOT_TRADABLE, f"product {new.product} is not offered for this segment")
    refuse_terms(
        contract, new.order_type, new.quantity, new.disclosed_quantity, price=new.price, trigger_price=new.trigger_price
    )


def refuse_terms(
    contract: Contract,
    order_type: OrderType,
    quantity: int,
    disclosed_quantity: int,
    *,
    price: Decimal | None,
    trigger_price: Decimal | None,
) -> None:
    """Raise SimRefusal for quantities and prices that do not fit the contract or the order type."""
    lot = contract.lot_size
    if quantity <= 0 or not 0 <= disclosed_quantity <= quantity:
        raise SimRefusal(RefusalReason.BAD_QUANTITY, "quantity must be above zero")
    if quantity % lot or disclosed_quantity % lot:
        raise SimRefusal(RefusalReason.BAD_LOT, f"quantity must be a multiple of the lot size {lot}")
    wanted = ((order_type.takes_price, price, "price"), (order_type.takes_trigger, trigger_price, "trigger price"))
    for takes, value, name in wanted:
        if takes and (value is None or value <= 0):
            raise SimRefusal(RefusalReason.BAD_PRICE, f"a {order_type} order needs a {name}")
        if takes and value is not None and not is_multiple(value, contract.tick_size):
            tick = plain(contract.tick_size)
            raise SimRefusal(RefusalReason.BAD_TICK, f"{name} must be a multiple of the tick size {tick}")


def rejection(contract: Contract, order: SimOrder, circuits: tuple[int, int]) -> SimRefusal | None:
    """Return why the exchange rejects an order's quantity (freeze) or prices (circuit band), or None. Raises nothing."""
    freeze = contract.freeze_quantity
    if freeze is not None and order.quantity > freeze:
        return SimRefusal(RefusalReason.FREEZE, f"quantity {order.quantity} exceeds the freeze quantity {freeze}")
    lower, upper = (ticks * contract.tick_size for ticks in circuits)
    if any(price is not None and not lower <= price <= upper for price in (order.price, order.trigger_price)):
        limits = f"{plain(lower)} - {plain(upper)}"
        return SimRefusal(RefusalReason.PRICE_BAND, f"price is outside the circuit limits {limits}")
    return None


def shortfall(needed: Decimal, available: Decimal) -> SimRefusal | None:
    """Return why an order is rejected for lack of money, or None."""
    if needed <= 0 or needed <= available:
        return None
    return SimRefusal(
        RefusalReason.NO_MARGIN, f"insufficient funds: required margin {needed:.2f}, available margin {available:.2f}"
    )


def block_for_order(
    contract: Contract, product: Product, side: Side, price: Decimal, position: int, pending: int
) -> Blocked:
    """Return what an order's `pending` units block. Units that close `position` (signed) need no margin."""
    if product is Product.CNC:
        return Blocked(delivery=price * pending) if side is Side.BUY else NOTHING
    if contract.identity.shape is Shape.OPTION and side is Side.BUY:
        return Blocked(option_premium=price * pending)
    opening = pending - min(pending, max(0, -side.sign * position))
    return _margin(contract, product, opening, price)


def block_for_position(contract: Contract, position: SimPosition) -> Blocked:
    """Return the margin that a position needs. Premium, and money paid for shares, are counted separately."""
    quantity = position.quantity
    if position.product is Product.CNC or quantity == 0:
        return NOTHING
    if contract.identity.shape is Shape.OPTION and quantity > 0:
        return NOTHING
    return _margin(contract, position.product, abs(quantity), open_price(position))


def _margin(contract: Contract, product: Product, units: int, price: Decimal) -> Blocked:
    shape = contract.identity.shape
    if shape is Shape.SECURITY:
        return Blocked(span=price * units * INTRADAY) if product is Product.MIS else NOTHING
    if shape is Shape.OPTION:
        price = Decimal(repr(contract.identity.strike_price))
    return Blocked(span=price * units * SPAN, exposure=price * units * EXPOSURE)


def sides_of(position: SimPosition) -> tuple[int, Decimal, int, Decimal]:
    """Return bought units, their value, sold units and their value. The carried leg is counted on its own side."""
    carried = position.overnight_quantity
    value = abs(carried) * position.overnight_price
    return (
        position.day_buy_quantity + max(carried, 0),
        position.day_buy_value + (value if carried > 0 else _ZERO),
        position.day_sell_quantity + max(-carried, 0),
        position.day_sell_value + (value if carried < 0 else _ZERO),
    )


def open_price(position: SimPosition) -> Decimal:
    """Return the average price of the open side; zero when flat. Four places."""
    bought, buy_value, sold, sell_value = sides_of(position)
    quantity, value = (bought, buy_value) if bought > sold else (sold, sell_value)
    return _ZERO if bought == sold else (value / quantity).quantize(Decimal("0.0001"))


def realized(position: SimPosition) -> Decimal:
    """Return the profit of the closed units, by average prices; four places."""
    bought, buy_value, sold, sell_value = sides_of(position)
    if bought == sold:
        return sell_value - buy_value
    matched = min(bought, sold)
    if not matched:
        return _ZERO
    return (sell_value * matched / sold - buy_value * matched / bought).quantize(Decimal("0.0001"))


def profit(position: SimPosition, price: Decimal) -> Decimal:
    """Return realized and unrealized profit together, at a price. Exact."""
    _, buy_value, _, sell_value = sides_of(position)
    return sell_value - buy_value + position.quantity * price


def paid(position: SimPosition) -> Decimal:
    """Return the money paid today, less the money received today."""
    return position.day_buy_value - position.day_sell_value


def position_blocks(
    positions: list[SimPosition], contract_of: Callable[[str], Contract | None]
) -> tuple[Blocked, Decimal]:
    """Return what an account's positions block, and the realized profit that counts as cash (all but delivery)."""
    total, gained = NOTHING, _ZERO
    for position in positions:
        contract = contract_of(position.instrument_id)
        if contract is None:
            continue
        total += block_for_position(contract, position)
        if position.product is Product.CNC:
            total += Blocked(delivery=paid(position))
            continue
        earned = realized(position)
        gained += earned
        if contract.identity.shape is Shape.OPTION:
            # Premium is cash: money paid today that is not realized yet stays used.
            total += Blocked(option_premium=paid(position) + earned)
    return total, gained
