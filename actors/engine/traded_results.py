"""What a broker's executed orders of the day made, for brokers whose positions tell only what is open (ICICI Direct). Pure.

An order counts with what has filled of it and its average price, which is all that such a broker tells: its trade book has one averaged
row an order too. The average comes in whole paise, so that of an order in several fills up to half a paisa a unit is not known.

    result = sold - bought + left x last price - carried in x previous close        left = carried in + bought - sold, all by instrument

What was carried in counts from the previous close on, because the result is the day's. Delivery is told apart: what is sold beyond what
was bought today comes out of the holdings, which are no position.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TypeAlias

import attrs

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


Traded: TypeAlias = Mapping[tuple[str, bool], Sides]
"""(broker_token, whether it is delivery) -> what was traded."""


def is_delivery(product: str) -> bool:
    return product in _DELIVERY


def traded_today(orders: Iterable[OrderRow], now: datetime) -> Traded | None:
    """Return what the orders of the broking day of `now` have filled; None when one of them does not say how much, which way or at what
    price."""
    day, found = latest_boundary(now), dict[tuple[str, bool], Sides]()
    for row in orders:
        if not row.filled_quantity or not _is_of(row, day):
            continue
        if row.contract_units is None or row.average_price <= 0 or row.transaction_type not in (Side.BUY, Side.SELL):
            return None
        key, value = (
            (row.instrument_token, is_delivery(row.product)),
            value_paise(row.filled_quantity, row.average_price),
        )
        sides = found.get(key, Sides())
        if row.transaction_type == Side.BUY:
            found[key] = attrs.evolve(
                sides, bought=sides.bought + row.filled_quantity, bought_paise=sides.bought_paise + value
            )
        else:
            found[key] = attrs.evolve(sides, sold=sides.sold + row.filled_quantity, sold_paise=sides.sold_paise + value)
    return found


def carried_in(rows: Iterable[PositionRow], traded: Traded) -> dict[str, int] | None:
    """Return broker_token -> units, below zero for short ones, that positions began the day with, delivery apart; None when a row does not
    say its quantity. `rows` and `traded` must be of one moment."""
    carried: dict[str, int] = {}
    for row in rows:
        if row.quantity is None:
            return None
        if not is_delivery(row.product):
            carried[row.instrument_token] = carried.get(row.instrument_token, 0) + row.quantity
    for (token, delivered), sides in traded.items():
        if not delivered:
            carried[token] = carried.get(token, 0) - sides.net
    return {token: units for token, units in carried.items() if units}


def out_of_holdings(sides: Sides) -> int:
    """Return how many units of a delivery were held before: those sold beyond the bought ones."""
    return max(0, -sides.net)


def result_paise(sides: Sides, carried: int, *, last: float | None, close: float | None) -> int | None:
    """Return the day's result in paise; None when a price that it takes is not known. `close` is the previous day's."""
    left = carried + sides.net
    if (left and last is None) or (carried and close is None):
        return None
    return (
        sides.sold_paise
        - sides.bought_paise
        + (value_paise(left, last) if last is not None else 0)
        - (value_paise(carried, close) if close is not None else 0)
    )


def _is_of(row: OrderRow, day: datetime) -> bool:
    """Tell whether an order is of the day that began then; one that does not say when it was placed is, being in the day's book."""
    return row.order_timestamp is None or latest_boundary(datetime.fromisoformat(row.order_timestamp)) == day
