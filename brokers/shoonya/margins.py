"""The money that one order needs at Shoonya: GetOrderMargin, the fields of a place call without those that say how long
the order lasts.

Sources: Shoonya's documentation, not re-read by us; third-party clients, one of them with an answer that it recorded live
in September 2026. The official client has no such call. We use `ordermargin`. `marginused` is the margin of the whole
account, or, where the money does not suffice, the missing amount (`remarks` then says so). Where the account holds the
same underlying, `ordermargin` may be less than the order by itself needs. The API takes no market orders: an order
without a price is asked as a limit order at its expected price.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_terms import type_of
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.shoonya import values, wire
from onebroker.brokers.shoonya.orders import wire_quantity
from onebroker.config.money import plain
from onebroker.config.vocabulary import OrderType


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    """Build the call for one order. Raises `NotSendable`."""
    stop = type_of("shoonya", ticket.order_type).takes_trigger
    product = values.PRODUCTS.say(ticket.product)
    order = {
        "actid": wire.account_id(access),
        "exch": ticket.listing.exchange,
        "tsym": wire.symbol(ticket.listing.tradingsymbol),
        "qty": str(wire_quantity(ticket.quantity, ticket.listing)),
        "prc": plain(ticket.price or price),
        "prd": product,
        "trantype": values.SIDES.say(ticket.transaction_type),
        "prctyp": values.ORDER_TYPES.say(OrderType.SL if stop else OrderType.LIMIT),
    }
    if stop and ticket.trigger_price:
        order["trgprc"] = plain(ticket.trigger_price)
    return wire.request(access, CallKind.READ, wire.ORDER_MARGIN, order)


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(wire.answer(response), "ordermargin")
