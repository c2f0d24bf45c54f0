"""The money that one order needs at ICICI Direct: POST margincalculator, a list of positions on one derivatives exchange.
Not for shares.

Sources: breeze-connect 1.0.69 (path, envelope) and the README of the official clients (fields, two sample answers). The
calculator uses only the list, without the account's positions. We add `span_margin_required` and
`non_span_margin_required`. Which of the two holds the exposure margin is not documented; in both samples the second is
zero. `order_margin` is zero there too; `order_value` is the sum without what the listed positions save each other. On a
day without trading the first has been seen null: that gives no figure. All values are texts. The call does not take what
an order has beyond a position (its type, a stop's trigger).
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderTicket
from onebroker.brokers.codec import fields
from onebroker.brokers.codec.order_messages import broker_quantity
from onebroker.brokers.icicidirect import wire
from onebroker.brokers.icicidirect.orders import name_of
from onebroker.brokers.icicidirect.values import SIDES, day_text
from onebroker.brokers.requests import BadAnswer, CallKind, NotSendable, WireRequest, WireResponse
from onebroker.config.money import exact, plain

_NO_COVER = {
    "cover_order_flow": "N", "fresh_order_type": "N", "cover_limit_rate": "0", "cover_sltp_price": "0", "fresh_limit_rate": "0",
    "open_quantity": "0",
}  # fmt: skip
"""Fields of cover orders, with the samples' values for no cover."""


def margin_request(access: Access, ticket: OrderTicket, price: Decimal, now: datetime) -> WireRequest:
    """Build the calculation for one order. Raises `NotSendable`."""
    name = name_of(ticket)
    if name.expiry is None:
        raise NotSendable(f"icicidirect tells no margin for {name.symbol}")
    position = {
        **name.fields(),
        "expiry_date": day_text(name.expiry),
        "quantity": str(broker_quantity(ticket.quantity, ticket.listing)),
        "product": name.product,
        "action": SIDES.say(ticket.transaction_type),
        "price": plain(ticket.price or price),
        "stock_code": name.stock_code,
        **_NO_COVER,
    }
    body = {"list_of_positions": [position], "exchange_code": name.exchange}
    return wire.request(access, CallKind.READ, "POST", wire.MARGIN_CALCULATOR, body)


def parse_margin(response: WireResponse) -> Decimal:
    said = fields.row_of(wire.data(response))
    others = fields.number(said.get("non_span_margin_required"))
    if others is None or others < 0:
        raise BadAnswer("no margin in non_span_margin_required")
    return fields.margin(said, "span_margin_required") + exact(others)
