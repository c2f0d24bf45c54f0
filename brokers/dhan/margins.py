"""The money that one order needs at Dhan: POST /margincalculator, one order in JSON.

Sources: dhanhq 2.3.0 (path, fields); DhanHQ v2 documentation, "Funds & Margin" (fields, the answer's sample; currency is
not among its segments); two public projects that asked live accounts in 2026. They found that quantities are counted as
in orders (lots at MCX, the figure of 100 is a hundred times that of 1). Span and exposure came as zero; the total matched
other brokers' to the rupee. The account's positions are left out: this follows from the call for baskets, the only one
that may include them; nobody measured it. The charges are not in the total. A market order is priced at the price it is
expected to trade at: no source says what a price of zero means here.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.dhan.values import PRODUCTS, SIDES
from onebroker.brokers.requests import CallKind, NotSendable, WireRequest, WireResponse

_ZERO = Decimal(0)


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    product = PRODUCTS.say(ticket.product)
    token = ticket.listing.broker_token
    segment = values.segment(token)
    if segment in values.CURRENCY_SEGMENTS:
        raise NotSendable("dhan does not work out the margin of currency")
    order = {
        "exchangeSegment": segment,
        "transactionType": SIDES.say(ticket.transaction_type),
        "quantity": broker_quantity(ticket.quantity, ticket.listing),
        "productType": product,
        "securityId": values.security_id(token),
        "price": ticket.price or price,
        "triggerPrice": ticket.trigger_price or _ZERO,
    }
    return wire.request(access, CallKind.READ, "POST", wire.ORDER_MARGIN, order)


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(fields.row_of(wire.data(response)), "totalMargin")
