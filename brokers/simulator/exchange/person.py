"""A person at the brokers' own apps: orders, changes, cancels, reductions and conversions that no API client sent.

An account has one owner and several hands. The app's orders are in the same books, reserve the same shares and use the same money as those of the API,
but nothing tells an API client whose they are. So they do not count against the limits of the API, and faults that refuse the API's order messages do
not refuse them. The ledger keeps them as acts, not as messages, so a judge can tell the hands apart.

A conversion moves units from one product to another. Orders and trades keep the product with which they were made: the calls that convert name
positions only (docs/brokers/, the tables of endpoints). So the trades of the day no longer explain a position in one product, but still explain the
instrument. No socket tells of a conversion.
"""

from decimal import Decimal

import attrs

from onebroker.brokers.simulator.exchange.accounts import Account
from onebroker.brokers.simulator.exchange.changes import Changes
from onebroker.brokers.simulator.exchange.ledger import Ledger
from onebroker.brokers.simulator.exchange.trading import Trading, World
from onebroker.brokers.simulator.world.model import (
    Contract,
    NewOrder,
    RefusalReason,
    SimOrder,
    SimPosition,
    SimRefusal,
)
from onebroker.config.clock import Clock
from onebroker.config.instruments import Shape
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

HAND = "person"
_ZERO = Decimal(0)


class Person:
    """Every verb names the broker first. Quantities are units, prices ₹. Raises KeyError for a broker without an account, and SimRefusal, in the
    exchange's words, for an act that the broker refuses."""

    def __init__(
        self, world: World, accounts: dict[str, Account], trading: Trading, clock: Clock, changes: Changes,
        ledger: Ledger,
    ) -> None:  # fmt: skip
        self._world, self._accounts, self._trading = world, accounts, trading
        self._clock, self._changes, self._ledger = clock, changes, ledger

    def place(self, broker: str, new: NewOrder) -> SimOrder:
        """Place an order. An order that the risk check accepts but the exchange refuses comes back REJECTED."""
        account = self._accounts[broker]
        with self._changes.transaction():
            order = self._trading.place(account, new)
            self._note("place", order, quantity=new.quantity, price=new.price, trigger_price=new.trigger_price)
        return self._now(account, order)

    def modify(
        self, broker: str, order_id: str, *, quantity: int | None = None, price: Decimal | None = None,
        trigger_price: Decimal | None = None,
    ) -> SimOrder:  # fmt: skip
        """Change an open order, whoever placed it. None leaves a value as it is."""
        account = self._accounts[broker]
        given = {"quantity": quantity, "price": price, "trigger_price": trigger_price}
        wanted: dict[str, object] = {name: value for name, value in given.items() if value is not None}
        with self._changes.transaction():
            order = self._trading.modify(account, order_id, wanted)
            self._note("modify", order, **wanted)
        return self._now(account, order)

    def cancel(self, broker: str, order_id: str) -> SimOrder:
        """Cancel an open order, whoever placed it."""
        account = self._accounts[broker]
        with self._changes.transaction():
            order = self._trading.cancel(account, order_id)
            self._note("cancel", order)
        return self._now(account, order)

    def reduce(
        self, broker: str, instrument_id: str, product: Product, quantity: int | None = None
    ) -> SimOrder:  # fmt: skip
        """Square off a position, or `quantity` units of it, by a market order."""
        account = self._accounts[broker]
        held = account.net_quantity(instrument_id, product)
        units = self._units(held, quantity)
        new = NewOrder(
            instrument_id=instrument_id, side=Side.SELL if held > 0 else Side.BUY, product=product,
            order_type=OrderType.MARKET, validity=Validity.DAY, quantity=units,
        )  # fmt: skip
        with self._changes.transaction():
            order = self._trading.place(account, new)
            self._note("reduce", order, quantity=units)
        return self._now(account, order)

    def convert(
        self, broker: str, instrument_id: str, product: Product, to: Product, quantity: int | None = None
    ) -> None:  # fmt: skip
        """Move a position, or `quantity` units of it, to another product."""
        account = self._accounts[broker]
        contract = self._world.universe.by_id.get(instrument_id)
        held = account.position(instrument_id, product)
        units = self._units(held.quantity, quantity)
        if contract is None or to is product or not _takes(contract, to):
            raise SimRefusal(RefusalReason.NOT_TRADABLE, f"the position cannot become {to}")
        if Product.CNC in (product, to) and held.quantity < 0:
            raise SimRefusal(RefusalReason.NOT_TRADABLE, "a sold position cannot be converted")
        if product is Product.CNC and account.sellable(instrument_id) < units:
            raise SimRefusal(RefusalReason.NO_HOLDING, "open sell orders hold these shares")
        left, moved = _split(held, units)
        taken = account.position(instrument_id, to)
        with self._changes.transaction():
            account.put_position(left)
            account.put_position(_joined(taken, moved))
            if account.true_funds().available < 0:
                account.put_position(held)
                account.put_position(taken)
                raise SimRefusal(RefusalReason.NO_MARGIN, "insufficient funds to convert the position")
            self._changes.keep_account(account)
            self._changes.keep(
                self._ledger.add_act(
                    self._clock.now().isoformat(), HAND, "convert", broker, instrument_id,
                    product=product, to_product=to, quantity=units,
                )
            )  # fmt: skip

    @staticmethod
    def _units(held: int, quantity: int | None) -> int:
        units = abs(held) if quantity is None else quantity
        if not 0 < units <= abs(held):
            raise SimRefusal(RefusalReason.BAD_QUANTITY, f"the position has {abs(held)} units")
        return units

    @staticmethod
    def _now(account: Account, order: SimOrder) -> SimOrder:
        return account.entry(order.order_id).order

    def _note(self, verb: str, order: SimOrder, **more: object) -> None:
        new = order.new
        self._changes.keep(
            self._ledger.add_act(
                self._clock.now().isoformat(), HAND, verb, order.broker, new.instrument_id,
                order_id=order.order_id, product=new.product, side=new.side, **more,
            )
        )  # fmt: skip


def _takes(contract: Contract, product: Product) -> bool:
    """Whether positions in the contract can have the product: CNC for shares, NRML for everything else, MIS for both."""
    return product is Product.MIS or (product is Product.CNC) is (contract.identity.shape is Shape.SECURITY)


def _split(held: SimPosition, units: int) -> tuple[SimPosition, SimPosition]:
    """Return what stays and what moves. Today's units move first, at their average price, then carried units at theirs."""
    name, sign = ("buy", 1) if held.quantity > 0 else ("sell", -1)
    had, value = getattr(held, f"day_{name}_quantity"), getattr(held, f"day_{name}_value")
    today = min(units, had)
    worth = value * today / had if today else _ZERO
    carried = sign * (units - today)
    left = attrs.evolve(
        held,
        overnight_quantity=held.overnight_quantity - carried,
        **{f"day_{name}_quantity": had - today, f"day_{name}_value": value - worth},
    )
    empty = attrs.evolve(
        held, overnight_quantity=carried, day_buy_quantity=0, day_buy_value=_ZERO, day_sell_quantity=0,
        day_sell_value=_ZERO,
    )  # fmt: skip
    return left, attrs.evolve(empty, **{f"day_{name}_quantity": today, f"day_{name}_value": worth})


def _joined(taken: SimPosition, moved: SimPosition) -> SimPosition:
    """Return the position of the new product with the moved units. Carried units of both have one average price; carried units that meet carried units
    of the other side count as traded today, so that the gain of both stays."""
    if taken.overnight_quantity * moved.overnight_quantity < 0:
        name = "buy" if moved.overnight_quantity > 0 else "sell"
        units = abs(moved.overnight_quantity)
        worth = getattr(moved, f"day_{name}_value") + units * moved.overnight_price
        units += getattr(moved, f"day_{name}_quantity")
        moved = attrs.evolve(moved, overnight_quantity=0, **{f"day_{name}_quantity": units, f"day_{name}_value": worth})
    carried = taken.overnight_quantity + moved.overnight_quantity
    carried_worth = taken.overnight_quantity * taken.overnight_price + moved.overnight_quantity * moved.overnight_price
    return attrs.evolve(
        taken,
        overnight_quantity=carried,
        overnight_price=carried_worth / carried if carried else taken.overnight_price,
        day_buy_quantity=taken.day_buy_quantity + moved.day_buy_quantity,
        day_buy_value=taken.day_buy_value + moved.day_buy_value,
        day_sell_quantity=taken.day_sell_quantity + moved.day_sell_quantity,
        day_sell_value=taken.day_sell_value + moved.day_sell_value,
    )
