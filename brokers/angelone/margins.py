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
from onebroker.brokers.angelone.values import ORDER_TYPE_TO_WIRE, PRODUCT_TO_WIRE, SIDE_TO_WIRE, symbol_token
from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.codec.order_terms import wire_word
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.config.vocabulary import OrderType, Product, Side


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    check_settled(ticket.listing)
    order_type = wire_word("angelone", ORDER_TYPE_TO_WIRE, OrderType, ticket.order_type)
    product = wire_word("angelone", PRODUCT_TO_WIRE, Product, ticket.product)
    position = {
        "exchange": ticket.listing.exchange,
        "qty": broker_quantity(ticket.quantity, ticket.listing),
        "price": float(ticket.price or 0),
        "productType": product,
        "token": symbol_token(ticket.listing.broker_token),
        "tradeType": wire_word("angelone", SIDE_TO_WIRE, Side, ticket.transaction_type),
        "orderType": order_type,
    }
    return wire.request(access, CallKind.READ, "POST", wire.ORDER_MARGINS, {"positions": [position]})


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(fields.row_of(wire.data(response)), "totalMarginRequired")
