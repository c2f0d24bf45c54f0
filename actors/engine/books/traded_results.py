"""Computes the result of today's trades, and of carried-in units since the previous close. Pure.

    result = sold - bought + left x last price - carried in x previous close        left = carried in + bought - sold, all by instrument

Carried-in units count from the previous close on, because the result is the day's. Delivery is kept apart: units sold beyond those carried in and
bought today come out of the holdings, which are no position.

Where a broker's positions do not report today's trades, its executed orders do (ICICI Direct, some rows of Fyers). An order counts with its filled
quantity and its average price: ICICI Direct's trade book also has one averaged row per order. That average comes in whole paise. For an order with
several fills, up to half a paisa per unit is therefore unknown.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias

import attrs

from onebroker.actors.engine.orders.leg_rows import is_of_day
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.clock import latest_boundary
from onebroker.config.money import value_paise
from onebroker.config.vocabulary import Product, Side

_DELIVERY = frozenset({Product.CNC, Product.MTF})


@attrs.frozen(kw_only=True)
class Sides:
    """What was bought and sold today of one instrument. Units and paise."""

    bought: int = 0
    sold: int = 0
    bought_paise: int = 0
    sold_paise: int = 0

    @property
    def net(self) -> int:
        return self.bought - self.sold


Held: TypeAlias = tuple[str, bool]
"""What is added together: (broker_token, whether it is delivery)."""
Traded: TypeAlias = Mapping[Held, Sides]


@attrs.frozen
class Result:
    """The day's result, in paise."""

    paise: int
    realized_paise: int | None
    """None = not known separately from the result of what is open."""


def held_as(row: OrderRow | PositionRow) -> Held:
    return row.instrument_token, is_delivery(row.product)


def is_delivery(product: str) -> bool:
    return product in _DELIVERY


def traded_today(orders: Iterable[OrderRow], now: datetime) -> Traded | None:
    """Return what the orders of the broking day of `now` have filled. None when one of them does not report its contract units, its side or its
    price."""
    day, found = latest_boundary(now), dict[tuple[str, bool], Sides]()
    for row in orders:
        if not row.filled_quantity or not is_of_day(row, day):
            continue
        if row.contract_units is None or row.average_price <= 0 or row.transaction_type not in (Side.BUY, Side.SELL):
            return None
        key, value = held_as(row), value_paise(row.filled_quantity, row.average_price)
        sides = found.get(key, Sides())
        if row.transaction_type == Side.BUY:
            found[key] = attrs.evolve(
                sides, bought=sides.bought + row.filled_quantity, bought_paise=sides.bought_paise + value
            )
        else:
            found[key] = attrs.evolve(sides, sold=sides.sold + row.filled_quantity, sold_paise=sides.sold_paise + value)
    return found


def carried_in(rows: Iterable[PositionRow], traded: Traded) -> dict[Held, int] | None:
    """Return the units, below zero for short ones, that net rows began the day with; None when a row does not report its quantity. `rows` and
    `traded` must be of one moment. A delivery that was sold before today is gone: none of it is carried in."""
    carried: dict[Held, int] = {}
    for row in rows:
        if row.quantity is None:
            return None
        carried[held_as(row)] = carried.get(held_as(row), 0) + row.quantity
    for held, sides in traded.items():
        carried[held] = carried.get(held, 0) - sides.net
    return {held: units for held, units in carried.items() if units > 0 or (units and not held[1])}


def out_of_holdings(sides: Sides, carried: int = 0) -> int:
    """Return how many units of a delivery come out of the holdings: the units sold beyond those bought and carried in."""
    return max(0, -(carried + sides.net))


def day_result(sides: Sides, carried: int, *, last: float | None, close: float | None) -> Result | None:
    """Return the day's result of an instrument; None when a price that it needs is not known. `close` is the previous day's."""
    paise = result_paise(sides, carried, last=last, close=close)
    return None if paise is None else Result(paise, _realized(sides, carried, paise))


def _realized(sides: Sides, carried: int, paise: int) -> int | None:
    """Return the realized part of a result, in paise: all of it when nothing is left, zero when nothing was closed. Otherwise the sums do not
    determine it (None)."""
    if carried + sides.net == 0:
        return paise
    against = (sides.bought, sides.sold) if carried == 0 else (sides.sold if carried > 0 else sides.bought,)
    return None if min(against) else 0


def result_paise(sides: Sides, carried: int, *, last: float | None, close: float | None) -> int | None:
    """Return the day's result in paise; None when a price that it needs is not known. `close` is the previous day's."""
    left = carried + sides.net
    if (left and last is None) or (carried and close is None):
        return None
    return (
        sides.sold_paise
        - sides.bought_paise
        + (value_paise(left, last) if last is not None else 0)
        - (value_paise(carried, close) if close is not None else 0)
    )
