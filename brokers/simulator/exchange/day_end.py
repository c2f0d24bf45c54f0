"""How an account enters a new trading day: shares move to T1 and to the demat account, derivatives are settled and carried.

Cash is exact: the value of everything bought, sold, marked to market or settled on expiry goes into the next day's opening cash.
"""

from collections.abc import Callable, Iterable
from datetime import date
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.exchange.accounts import AccountState
from onebroker.brokers.simulator.exchange.risk import open_price, paid, profit
from onebroker.brokers.simulator.world.model import Contract, SimHolding, SimPosition
from onebroker.config.instruments import Shape
from onebroker.config.vocabulary import Product

_ZERO = Decimal(0)


@attrs.frozen(kw_only=True)
class Closing:
    """The prices at which a day is closed."""

    contract: Callable[[str], Contract | None]
    close: Callable[[Contract], Decimal]
    """The closing price of the day that ends."""
    settlement: Callable[[Contract], Decimal | None]
    """The settlement price of an expired contract; None while the contract is not expired."""


def next_day(state: AccountState, positions: Iterable[SimPosition], day: date, closing: Closing) -> AccountState:
    """Return the account as it begins `day`. Intraday positions are squared off earlier (exchange.py)."""
    cash = state.cash
    holdings = {holding.instrument_id: _settled(holding) for holding in state.holdings}
    carried: list[SimPosition] = []
    for position in positions:
        contract = closing.contract(position.instrument_id)
        if contract is None:
            continue
        if position.product is Product.CNC:
            cash -= paid(position)
            _deliver(holdings, position)
            continue
        gained, rest = _carry(contract, position, closing)
        cash += gained
        carried.extend(rest)
    kept = [holding for holding in holdings.values() if holding.total_quantity]
    return AccountState(day=day, cash=cash, holdings=kept, positions=carried)


def _carry(contract: Contract, position: SimPosition, closing: Closing) -> tuple[Decimal, list[SimPosition]]:
    """Return the cash that a position brings at the day's end, and the part that is carried over."""
    settlement = closing.settlement(contract)
    quantity = position.quantity
    if contract.identity.shape is Shape.OPTION:  # premium is cash; a written or bought option keeps its price
        cash, price = -paid(position), open_price(position)
        if settlement is not None:
            return cash + quantity * settlement, []
    else:
        price = closing.close(contract) if settlement is None else settlement
        cash = profit(position, price)
    if quantity == 0 or settlement is not None:
        return cash, []
    return cash, [
        SimPosition(
            instrument_id=position.instrument_id, product=position.product, overnight_quantity=quantity,
            overnight_price=price, day_buy_quantity=0, day_buy_value=_ZERO, day_sell_quantity=0, day_sell_value=_ZERO,
        )
    ]  # fmt: skip


def _settled(held: SimHolding) -> SimHolding:
    return attrs.evolve(held, settled_quantity=held.settled_quantity + held.t1_quantity, t1_quantity=0)


def _deliver(holdings: dict[str, SimHolding], position: SimPosition) -> None:
    """Add bought units as T1; subtract sold units."""
    net = position.quantity
    held = holdings.get(position.instrument_id)
    if held is None:
        held = SimHolding(
            instrument_id=position.instrument_id, settled_quantity=0, t1_quantity=0, collateral_quantity=0,
            average_price=_ZERO,
        )  # fmt: skip
    if net > 0:
        price = position.day_buy_value / position.day_buy_quantity
        value = held.average_price * held.total_quantity + price * net
        average = (value / (held.total_quantity + net)).quantize(Decimal("0.0001"))
        held = attrs.evolve(held, t1_quantity=net, average_price=average)
    else:
        held = attrs.evolve(held, settled_quantity=held.settled_quantity + net)
    holdings[position.instrument_id] = held
