"""Today's fills of one position in the order in which they happened.

The order book alone does not tell it: its rows have the time of an order's last news, and at some brokers that of its placement. An order that
rested for an hour then seems to have filled before whatever came in between. The trade book has the time of each fill.
"""

from collections import Counter
from collections.abc import Sequence

import attrs

from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import POSITION_PRODUCTS, Side


@attrs.frozen
class Fill:
    at: str
    """The broker's time; all times of one book have the same form."""
    units: int
    """Signed: above zero for a BUY."""
    order: OrderRow


def orders_in(view: SessionView, token: str, product: str) -> list[OrderRow]:
    """Return today's orders in a position; `product` is an order's word or a position's."""
    word = POSITION_PRODUCTS.get(product, product)
    return [
        row
        for row in view.orders.values()
        if (row.instrument_token, POSITION_PRODUCTS.get(row.product, row.product)) == (token, word)
    ]


def filled_orders(view: SessionView, token: str, product: str) -> list[OrderRow]:
    """Return today's orders that have filled in a position; `product` is an order's word or a position's."""
    return [row for row in orders_in(view, token, product) if row.filled_quantity]


def trades_of(view: SessionView, orders: Sequence[OrderRow]) -> list[Fill] | None:
    """Return the trades of these orders by their times; of one second the sales come first. None while a trade, or its time, is missing."""
    known, traded = {row.order_id: row for row in orders}, Counter[str]()
    fills: list[Fill] = []
    for trade in view.trades:
        row, at = known.get(trade.order_id), trade.trade_timestamp or trade.exchange_timestamp
        if row is not None and at is not None:
            traded[row.order_id] += trade.quantity
            fills.append(Fill(at, Side(row.transaction_type).sign * trade.quantity, row))
    if any(traded[row.order_id] != row.filled_quantity for row in orders):
        return None
    return sorted(fills, key=_moment)


def fills_by_last_news(orders: Sequence[OrderRow]) -> list[Fill]:
    """Return these orders' fills, one for each order, by the time of its last news: the best that is known while trades are missing."""
    fills = (
        Fill(
            row.exchange_timestamp or row.order_timestamp or "",
            Side(row.transaction_type).sign * row.filled_quantity,
            row,
        )
        for row in orders
    )
    return sorted(fills, key=_moment)


def _moment(fill: Fill) -> tuple[str, int]:
    return fill.at, fill.units
