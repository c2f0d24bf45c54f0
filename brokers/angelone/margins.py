"""The money that one order needs at SmartAPI: POST margin/v1/batch, a list of positions in JSON, of which we send one.

Sources: smartapi-python 1.5.5 (path; it sends whatever body it is given); SmartAPI documentation, margin calculator, as
public projects copied it (fields, words, the answer's sample), not re-read by us; a project's log says that the call is
refused without `orderType`, though the documents call it optional. The figure is for the positions sent, without the
account's own positions. Not sure: whether quantities are counted as in orders (the documents say only that NFO's are
units).
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.angelone import wire
from onebroker.brokers.angelone.orders import check_settled
from onebroker.brokers.angelone.values import ORDER_TYPES, PRODUCTS, SIDES, symbol_token
from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    check_settled(ticket.listing)
    position = {
        "exchange": ticket.listing.exchange,
        "qty": broker_quantity(ticket.quantity, ticket.listing),
        "price": float(ticket.price or 0),
        "productType": PRODUCTS.say(ticket.product),
        "token": symbol_token(ticket.listing.broker_token),
        "tradeType": SIDES.say(ticket.transaction_type),
        "orderType": ORDER_TYPES.say(ticket.order_type),
    }
    return wire.request(access, CallKind.READ, "POST", wire.ORDER_MARGINS, {"positions": [position]})


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(fields.row_of(wire.data(response)), "totalMarginRequired")
