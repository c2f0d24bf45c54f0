"""The terms of an order, checked before a codec writes them in its broker's words: types, words, prices, final
quantities.

A term that the broker cannot express raises `NotSendable`: with a missing word or price, another order would go out.
"""

from collections.abc import Callable
from decimal import Decimal

import attrs

from onebroker.brokers.broker import OrderChange, OrderTicket
from onebroker.brokers.codec.order_messages import broker_quantity, check_prices
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import NotSendable
from onebroker.config.money import exact
from onebroker.config.vocabulary import OrderType

_ZERO = Decimal(0)


def type_of(broker: str, word: str) -> OrderType:
    """Return our order type of a word."""
    try:
        return OrderType(word)
    except ValueError:
        raise NotSendable(f"{broker} has no word for {word}") from None


def checked_type(broker: str, ticket: OrderTicket) -> OrderType:
    """Return the type of a new order, after a check that the order has the prices that this type takes."""
    order_type = type_of(broker, ticket.order_type)
    check_prices(order_type, ticket.price, ticket.trigger_price)
    return order_type


@attrs.frozen(kw_only=True)
class Standing:
    """The type and the prices, in rupees, that an order has after a change."""

    order_type: OrderType
    price: Decimal
    """Zero where the type takes no price; the same holds for the trigger price."""
    trigger_price: Decimal


def as_changed(broker: str, change: OrderChange) -> Standing:
    """Return the order's type and prices after the change: what the change does not name stays as in the row."""
    row, order_type = change.row, type_of(broker, change.order_type or change.row.order_type)
    price = exact(row.price) if change.price is None else change.price
    trigger_price = exact(row.trigger_price) if change.trigger_price is None else change.trigger_price
    check_prices(order_type, price, trigger_price)
    return Standing(
        order_type=order_type,
        price=price if order_type.takes_price else _ZERO,
        trigger_price=trigger_price if order_type.takes_trigger else _ZERO,
    )


def quantity_as_changed(
    new: int | None, standing: int, change: OrderChange, count: Callable[[int, Listing], int] = broker_quantity
) -> int:
    """Return the order's quantity after the change, converted from units by `count`. A row of unknown contract size holds
    the broker's own count; without a new quantity it stays unconverted."""
    if new is None and change.row.contract_units is None:
        return standing
    return count(standing if new is None else new, change.listing)


def disclosed_as_changed(change: OrderChange, count: Callable[[int, Listing], int] = broker_quantity) -> int:
    """Return the order's disclosed quantity after the change as `quantity_as_changed` returns its quantity: never more than what remains
    (`OrderChange.disclosed_after`). Every codec asks here. A remainder that is no whole number of lots is rounded down to whole lots; zero shows all."""
    given, disclosed = change.disclosed_quantity, change.disclosed_after
    named = change.row.disclosed_quantity if given is None else given
    if disclosed < named and change.row.contract_units is not None:
        disclosed -= disclosed % (change.listing.contract_units or 1)
    return quantity_as_changed(None if given is None else disclosed, disclosed, change, count)
