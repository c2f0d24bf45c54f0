"""The money that one order needs at Upstox: POST /v2/charges/margin, a list of up to 20 orders in JSON.

Sources: upstox-python-sdk 2.30.0 (path, fields), documentation page "Margin Details", not re-read by us; answers of
third-party clients agree with both. The call takes no order type: it takes a price instead. Each order has its row, in
the order asked, and we use its `total_margin`. `final_margin` is the sum less what orders save each other. It was seen
below `total_margin` for a single order, so it may include more of the account than that order. Quantities go out as in
orders, commodities in lots. The page only says "a multiple of lot size"; where Upstox means units it refuses (UDAPI1104).
"""

from datetime import datetime
from decimal import Decimal

import msgspec

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.upstox import wire
from onebroker.brokers.upstox.values import PRODUCTS, SIDES

_JSON = msgspec.json.Encoder(decimal_format="number")


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    """Build the call for one order. Raises `NotSendable`."""
    product = PRODUCTS.say(ticket.product)
    order = {
        "instrument_key": ticket.listing.broker_token,
        "quantity": broker_quantity(ticket.quantity, ticket.listing),
        "transaction_type": SIDES.say(ticket.transaction_type),
        "product": product,
        "price": ticket.price or price,
    }
    body = _JSON.encode({"instruments": [order]})
    return wire.request(access, CallKind.READ, "POST", wire.ORDER_MARGINS, body=body)


def parse_margin(response: WireResponse) -> Decimal:
    rows = fields.rows_of(fields.row_of(wire.data(response)).get("margins"))
    if len(rows) != 1:
        raise BadAnswer(f"{len(rows)} margins for one order")
    return fields.margin(rows[0], "total_margin")
