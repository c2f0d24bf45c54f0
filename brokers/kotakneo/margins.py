"""The money that one order needs at Kotak Neo: POST check-margin, one order in `jData`, all values texts.

Sources: the official client (kotakneoapi 3.0.9: path, fields, words, segments) and the documented sample answer;
third-party clients have sent and read the same on a live account. We use `ordMrgn`. `totMrgnUsd` is `ordMrgn` plus
`mrgnUsd`, which the account has already blocked. Where the account holds the same underlying, `ordMrgn` may be less than
the order by itself needs. `reqdMrgn` is what is still lacking, zero where the money suffices. A market order is asked as
a limit order at its expected price: a live account is known to have answered this, and the broker makes the same of a
market order.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.codec.order_terms import type_of
from onebroker.brokers.kotakneo import values, wire
from onebroker.brokers.kotakneo.values import ORDER_TYPES, PRODUCTS, SIDES
from onebroker.brokers.requests import CallKind, NotSendable, WireRequest, WireResponse
from onebroker.config.money import plain
from onebroker.config.vocabulary import OrderType

_BROKER, _BRANCH = "KOTAK", "ONLINE"
"""`brkName` and `brnchId`, always these values."""


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    """Build the call for one order. Raises `NotSendable`."""
    listing = ticket.listing
    if listing.exchange not in values.ORDER_SEGMENTS:
        raise NotSendable(f"kotakneo tells no margin in {listing.exchange}")
    stop = type_of("kotakneo", ticket.order_type).takes_trigger
    product = PRODUCTS.say(ticket.product)
    body = {
        "exSeg": listing.exchange,
        "prc": plain(ticket.price or price),
        "prcTp": ORDER_TYPES.say(OrderType.SL if stop else OrderType.LIMIT),
        "prod": product,
        "qty": str(broker_quantity(ticket.quantity, listing)),
        "tok": listing.broker_token.partition("|")[2],
        "trnsTp": SIDES.say(ticket.transaction_type),
        "trgPrc": plain(ticket.trigger_price) if stop and ticket.trigger_price else "0",
        "brkName": _BROKER,
        "brnchId": _BRANCH,
    }
    return wire.session_request(access, CallKind.READ, wire.CHECK_MARGIN, body)


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(wire.answer(response), "ordMrgn")
