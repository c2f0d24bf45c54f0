"""The money that one order needs at Groww: POST /margins/detail/orders, the segment in the address, a list of orders, of
which we send one.

Sources: growwapi 1.5.0 (path, fields); documentation, margin, as public projects copied it (the answer's names and
sample, price for limit orders only), not re-read by us; a live account's answer for a future sold at a limit. Its total
was the sum of span, exposure and charges, and half a percent above other brokers' figures. So `total_requirement`
includes the charges. Not sure: whether the account's positions are left out (the documents name none), and which price
counts for an order without one. There is no field for a trigger.
"""

from datetime import datetime
from decimal import Decimal

import msgspec

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.groww import wire
from onebroker.brokers.groww.values import ORDER_TYPES, PRODUCTS, SIDES, Name
from onebroker.brokers.requests import BadAnswer, CallKind, NotSendable, WireRequest, WireResponse

_JSON = msgspec.json.Encoder(decimal_format="number")


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    try:
        name = Name.of_token(ticket.listing.broker_token)
    except (ValueError, KeyError, BadAnswer) as error:
        raise NotSendable(f"{ticket.listing.broker_token} names no instrument of groww") from error
    order_type = ORDER_TYPES.say(ticket.order_type)
    product = PRODUCTS.say(ticket.product)
    if name.is_index:
        raise NotSendable(f"{name.symbol} is an index")  # in a call it would mean the share of that name
    order: dict[str, object] = {
        "trading_symbol": name.symbol,
        "transaction_type": SIDES.say(ticket.transaction_type),
        "quantity": broker_quantity(ticket.quantity, ticket.listing),
        "order_type": order_type,
        "product": product,
        "exchange": name.exchange,
    }
    if ticket.price:
        order["price"] = ticket.price
    query = [("segment", name.wire_segment)]
    return wire.request(access, CallKind.READ, "POST", wire.ORDER_MARGINS, query=query, body=_JSON.encode([order]))


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(wire.payload(response), "total_requirement")
