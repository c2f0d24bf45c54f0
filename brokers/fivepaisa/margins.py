"""The money that one order needs at 5paisa: POST MultiOrderMargin, a list of orders, of which we send one.

Sources: py5paisa 0.7.21.2 (path; it sends whatever body it is given); the official pages as public projects converted
them (fields, words, both samples), not re-read by us. `CoverPositions` N leaves out the account's positions. Not sure:
whether quantities are counted as in orders (the sample's are units of an NSE contract), and what a price of zero means
for a contract. So an order without a price is asked at its expected price. There is no field for a trigger.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.fivepaisa.orders import script_code
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse

_NEW = "P"


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    intraday = values.PRODUCTS.say(ticket.product)
    exchange, kind, code = values.parts(ticket.listing.broker_token)
    order = {
        "Exch": exchange,
        "ExchType": kind,
        "ScripCode": script_code(code),
        "ScripData": "",
        "PlaceModifyCancel": _NEW,
        "OrderType": values.SIDES.say(ticket.transaction_type),  # 5paisa's name for the side
        "Price": ticket.price or price,
        "Qty": broker_quantity(ticket.quantity, ticket.listing),
        "IsIntraday": intraday,
    }
    return wire.request(access, CallKind.READ, wire.ORDER_MARGIN, {"CoverPositions": "N", "Orders": [order]})


def parse_margin(response: WireResponse) -> Decimal:
    return fields.margin(wire.answer(response), "TotalMarginRequired")
