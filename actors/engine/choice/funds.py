"""Whether a broker has the money an order needs, as far as that can be told beforehand (order-engine 4.1, `check_funds`). Pure.

A BUY for delivery and of an option is paid in full; intraday shares need a fifth of their value at least (SEBI's least margin
since September 2021). What a future, or an option sold, needs is worked out by the exchange's risk system and not known here,
and a sale of shares that are held needs none: these are not checked, and the broker answers for itself.
"""

from decimal import Decimal

from onebroker.actors.engine.choice.costs import Cost, group_of
from onebroker.actors.engine.choice.order import LegOrder
from onebroker.actors.portfolio.assembling import DocumentState
from onebroker.brokers.records import FundsRow
from onebroker.config.charges.rows import Group
from onebroker.config.money import exact
from onebroker.config.vocabulary import Side

INTRADAY_SHARE = Decimal("0.2")

_POOLS = {"equity": ("equity",), "derivatives": ("derivatives", "equity"), "currency": ("currency", "derivatives", "equity"),
          "commodity": ("commodity",)}  # fmt: skip
"""What is traded -> the pools of money that may be for it, nearest first."""


def needed(order: LegOrder, price: Decimal | None, cost: Cost | None) -> Decimal | None:
    """Return about how many rupees the order needs; None when that cannot be told."""
    if price is None:
        return None
    group, buys = group_of(order.segment, order.product), Side(order.transaction_type) is Side.BUY
    value, charges = order.quantity * price, Decimal(cost.total if cost is not None else 0) / 100
    if group is Group.EQUITY_INTRADAY:
        return value * INTRADAY_SHARE + charges
    paid = group in (Group.EQUITY_DELIVERY, Group.EQUITY_OPTIONS, Group.CURRENCY_OPTIONS, Group.COMMODITY_OPTIONS)
    return value + charges if paid and buys else None


def available(order: LegOrder, broker: str, document: DocumentState | None) -> Decimal | None:
    """Return the free money the funds document shows for what is traded, in rupees; None when it shows none for this broker."""
    reads = () if document is None else document.reads
    read = next((one for one in reads if one.broker == broker and one.usable), None)
    row = read.slice.rows if read is not None and read.slice is not None else None
    if not isinstance(row, FundsRow):
        return None
    kind = (
        "derivatives"
        if order.calendar == "equity" and order.segment.endswith(("_futures", "_options"))
        else order.calendar
    )
    pool = next((row.pools[name] for name in _POOLS[kind] if name in row.pools), row.available_balance)
    return None if pool is None else exact(pool)
