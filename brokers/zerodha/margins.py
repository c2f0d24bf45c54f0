"""The money that one order needs at Kite: POST /margins/orders, a list of orders in JSON.

Sources: kiteconnect 5.2.2 (path, fields, JSON body) and its recorded answer (order_margins.json). The figure is for the
order by itself, without the account's positions; the charges are separate.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse
from onebroker.brokers.zerodha import wire
from onebroker.brokers.zerodha.orders import AFTER_MARKET, REGULAR
from onebroker.brokers.zerodha.values import ORDER_TYPES, PRODUCTS, SIDES


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    order = {
        "exchange": ticket.listing.exchange,
        "tradingsymbol": ticket.listing.tradingsymbol,
        "transaction_type": SIDES.say(ticket.transaction_type),
        "variety": AFTER_MARKET if ticket.after_market else REGULAR,
        "product": PRODUCTS.say(ticket.product),
        "order_type": ORDER_TYPES.say(ticket.order_type),
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
