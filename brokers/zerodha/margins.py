"""The money that one order needs at Kite: POST /margins/orders, a list of orders in JSON.

Sources: kiteconnect 5.2.2 (path, fields, JSON body) and its recorded answer (order_margins.json). The figure is for the
order by itself, without the account's positions; the charges are separate.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.codec.order_terms import wire_word
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.zerodha import wire
from onebroker.brokers.zerodha.orders import AFTER_MARKET, REGULAR
from onebroker.brokers.zerodha.values import ORDER_TYPE_TO_WIRE, PRODUCT_TO_WIRE, SIDE_TO_WIRE
from onebroker.config.vocabulary import OrderType, Product, Side


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    order = {
        "exchange": ticket.listing.exchange,
        "tradingsymbol": ticket.listing.tradingsymbol,
        "transaction_type": wire_word("zerodha", SIDE_TO_WIRE, Side, ticket.transaction_type),
        "variety": AFTER_MARKET if ticket.after_market else REGULAR,
        "product": wire_word("zerodha", PRODUCT_TO_WIRE, Product, ticket.product),
        "order_type": wire_word("zerodha", ORDER_TYPE_TO_WIRE, OrderType, ticket.order_type),
        "quantity": broker_quantity(ticket.quantity, ticket.listing),
        "price": float(ticket.price or 0),
        "trigger_price": float(ticket.trigger_price or 0),
    }
    return wire.request(access, CallKind.READ, "POST", wire.ORDER_MARGINS, json=[order])


def parse_margin(response: WireResponse) -> Decimal:
    rows = fields.rows_of(wire.data(response))
    if len(rows) != 1:
        raise BadAnswer(f"{len(rows)} margins for one order")
    return fields.margin(rows[0], "total")
