"""What one order needs at Dhan: POST /margincalculator, one order in JSON.

Sources: dhanhq 2.3.0 (path, fields); DhanHQ v2 documentation, "Funds & Margin" (fields, the answer's sample; currency is not among its
segments); two public projects that asked live accounts in 2026: quantities are counted as those of orders (lots at MCX, the figure of
100 is a hundred times that of 1), span and exposure came as zero, the total was that of other brokers to the rupee. That positions
of the account are left out follows from the call of baskets, which alone may count them in; nobody measured it. The charges stand
beside the total. An order at market is asked at the price it is expected to trade at: no source says what a price of zero means here.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.dhan import values, wire
from onebroker.brokers.dhan.values import PRODUCT_TO_WIRE, SIDE_TO_WIRE
from onebroker.brokers.requests import CallKind, NotSendable, WireRequest, WireResponse
from onebroker.config.vocabulary import Product, Side

_ZERO = Decimal(0)


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    try:
        product = PRODUCT_TO_WIRE[Product(ticket.product)]
    except (ValueError, KeyError) as error:
        raise NotSendable(f"dhan has no word for {error}") from error
    token = ticket.listing.broker_token
    segment = values.segment(token)
    if segment in values.CURRENCY_SEGMENTS:
        raise NotSendable("dhan does not work out the margin of currency")
    order = {
        "exchangeSegment": segment,
        "transactionType": SIDE_TO_WIRE[Side(ticket.transaction_type)],
        "quantity": broker_quantity(ticket.quantity, ticket.listing),
        "productType": product,
        "securityId": values.security_id(token),
        "price": ticket.price or price,
        "triggerPrice": ticket.trigger_price or _ZERO,
    }
    return wire.request(access, CallKind.READ, "POST", wire.ORDER_MARGIN, order)


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(fields.row_of(wire.data(response)), "totalMargin")
