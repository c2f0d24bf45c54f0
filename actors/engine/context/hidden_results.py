"""What positions have earned that are flat, and whose rows their broker shows no more.

A joint result is the sum of the rows. A broker may leave a row out once it is flat (5paisa's page says `null or [] when flat`; ICICI Direct shows only
what is open). Then the gain of a leg that somebody closes goes out of the sum, and a stop on the joint result fires by a loss that nobody has made.

The result of such a position is computed from the fills of today, which the broker's order book shows:

    result now = result when its row was shown last - its units x price then + sold - bought since then
    result now = sold - bought today                                            where nothing was carried in and no row was ever shown

Only a position that is flat by its fills counts. A sale of shares out of the holdings may have no row either, and its proceeds are no result.

A position that was carried in and never shown has no known result: its cost is not known. The caller then has no figure, never a zero.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import attrs

from onebroker.actors.engine.context.position_days import RowKey
from onebroker.actors.engine.orders.leg_rows import is_of_day
from onebroker.actors.portfolio.position_view import position_product
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.clock import latest_boundary
from onebroker.config.money import value_paise
from onebroker.config.vocabulary import Side


@attrs.frozen
class _Shown:
    """A position as its row was shown last."""

    day: datetime
    cost_paise: int
    """Its result less its units at the price of that moment: what its units would have to fetch for a result of zero, below zero."""
    cash_paise: int
    """Sold less bought today, until then."""


class HiddenResults:
    """Remembers the rows of all brokers. One for the engine."""

    def __init__(self) -> None:
        self._shown: dict[tuple[str, RowKey], _Shown] = {}

    def of(
        self,
        code: str,
        rows: Sequence[PositionRow],
        orders: Iterable[OrderRow],
        carried: Mapping[RowKey, int],
        *,
        now: datetime,
        result_of: Callable[[PositionRow], int | None],
    ) -> int | None:
        """Return the result, in paise, of the positions that today's orders have traded and that are not among the rows: 0 where there are none, None
        where the result of one is not known. The rows agree with the fills; `rows` and `orders` are those that count, `carried` is what the day began with.
        """
        day, cash, units = latest_boundary(now), dict[RowKey, int | None](), Counter(carried)
        for order in orders:
            if order.filled_quantity and is_of_day(order, day):
                key = RowKey(order.instrument_token, position_product(order.product))
                cash[key] = _added(cash.get(key, 0), order)
                units[key] += order.filled_quantity if order.transaction_type == Side.BUY else -order.filled_quantity
        shown = {_key(row): row for row in rows}
        for key, row in shown.items():
            self._note(code, key, row, day, cash.get(key, 0), result_of)
        total = 0
        for key, moved in cash.items():
            if key not in shown and not units[key]:
                result = self._result(code, key, day, moved, carried.get(key, 0))
                if result is None:
                    return None
                total += result
        return total

    def _note(
        self,
        code: str,
        key: RowKey,
        row: PositionRow,
        day: datetime,
        cash: int | None,
        result_of: Callable[[PositionRow], int | None],
    ) -> None:
        result = result_of(row)
        if result is None or cash is None or row.quantity is None or (row.quantity and not row.last_price):
            self._shown.pop((code, key), None)
            return
        worth = value_paise(row.quantity, row.last_price) if row.quantity and row.last_price else 0
        self._shown[code, key] = _Shown(day, result - worth, cash)

    def _result(self, code: str, key: RowKey, day: datetime, cash: int | None, carried: int) -> int | None:
        if cash is None:
            return None
        before = self._shown.get((code, key))
        if before is not None and before.day == day:
            return before.cost_paise + cash - before.cash_paise
        return None if carried else cash


def _key(row: PositionRow) -> RowKey:
    return RowKey(row.instrument_token, position_product(row.product))


def _added(cash: int | None, order: OrderRow) -> int | None:
    """Return the cash with an order's fills; None where the order does not tell its units, its side or its price."""
    side = order.transaction_type
    if cash is None or order.contract_units is None or order.average_price <= 0 or side not in (Side.BUY, Side.SELL):
        return None
    return cash - Side(side).sign * value_paise(order.filled_quantity, order.average_price)
