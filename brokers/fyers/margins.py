"""The money that one order needs at Fyers: POST /multiorder/margin, a list of orders, of which we send one.

Sources: documentation "FYERS API v3", margin calculator, as public projects copied it (fields, the answer's sample), not
re-read by us; fyers-apiv3 3.2.0 has no method for it. `margin_total` is for the orders sent, by themselves. Projects that
asked live accounts found it in proportion to the quantity (lots at MCX and units elsewhere, as in orders) and within a
hundred rupees of other brokers' figures. `margin_new_order` in the same answer includes the account's positions, though
some projects read it.
"""

from datetime import datetime
from decimal import Decimal

import msgspec

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.fyers import wire
from onebroker.brokers.fyers.values import ORDER_TYPES, PRODUCTS, SIDES
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse

_ZERO = Decimal(0)
_JSON = msgspec.json.Encoder(decimal_format="number")


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    order = {
        "symbol": ticket.listing.tradingsymbol,
        "qty": broker_quantity(ticket.quantity, ticket.listing),
        "side": SIDES.say(ticket.transaction_type),
        "type": ORDER_TYPES.say(ticket.order_type),
        "productType": PRODUCTS.say(ticket.product),
        "limitPrice": ticket.price or _ZERO,
        "stopPrice": ticket.trigger_price or _ZERO,
        "stopLoss": 0,
        "takeProfit": 0,
    }
    return wire.request(access, CallKind.READ, "POST", wire.ORDER_MARGINS, body=_JSON.encode({"data": [order]}))


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(fields.row_of(wire.answer(response).get("data")), "margin_total")
