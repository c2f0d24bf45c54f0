"""Placing, modifying and cancelling at Kotak Neo, and what its answers mean.

Source: docs/brokers/kotakneo.md, section 4. All values are texts. Keys differ between messages: the order number is `no`
to modify and `on` to cancel, the validity `rt` to place and `vd` to modify. Kotak accepts a MARKET order and shows it as
a protected limit.
"""

from datetime import datetime
from decimal import Decimal

from onebroker.brokers.broker import Access, OrderAnswer, OrderChange, OrderTicket
from onebroker.brokers.codec.order_messages import about_new, about_standing, broker_quantity, not_refused, refused
from onebroker.brokers.codec.order_terms import as_changed, checked_type, disclosed_as_changed, quantity_as_changed
from onebroker.brokers.kotakneo import values, wire
from onebroker.brokers.kotakneo.values import ORDER_TYPES, PRODUCTS, SIDES, VALIDITIES
from onebroker.brokers.records import Listing, OrderRow
from onebroker.brokers.requests import BadAnswer, CallKind, NotSendable, WireRequest, WireResponse
from onebroker.config.money import plain
from onebroker.config.vocabulary import Validity

NO_PROTECTION = "0"
"""The value of `mp`, always this."""
NO_PRICE = "0"
"""An empty price and `0.0` have both been refused."""


def place_request(access: Access, ticket: OrderTicket, now: datetime) -> WireRequest:
    """Build the place call. Raises `NotSendable`."""
    listing = ticket.listing
    if listing.exchange not in values.ORDER_SEGMENTS:
        raise NotSendable(f"kotakneo takes no orders in {listing.exchange}")
    order_type = checked_type("kotakneo", ticket)
    if len(ticket.token) > wire.TAG_LENGTH:
        raise NotSendable(f"a tag has at most {wire.TAG_LENGTH} characters")
    fields = {
        "am": _flag(after_market=ticket.after_market),
        "dq": _quantity(ticket.disclosed_quantity, listing),
        "es": listing.exchange,
        "mp": NO_PROTECTION,
        "pc": PRODUCTS.say(ticket.product),
        "pf": "N",
        "pr": _price(ticket.price, needed=order_type.takes_price),
        "pt": ORDER_TYPES.say(order_type),
        "qt": _quantity(ticket.quantity, listing),
        "rt": _validity(ticket.validity, listing),
        "tp": _price(ticket.trigger_price, needed=order_type.takes_trigger),
        "ts": listing.tradingsymbol,
        "tt": SIDES.say(ticket.transaction_type),
        "os": wire.SOURCE,
    }
    if ticket.token:
        fields["ig"] = ticket.token  # returned as GuiOrdId
    return about_new(ticket, wire.session_request(access, CallKind.ORDER, wire.PLACE, fields))


def modify_request(access: Access, change: OrderChange, now: datetime) -> WireRequest:
    """Build the modify call: the whole order after the change; unchanged values come from the row. Raises `NotSendable`."""
    row, listing = change.row, change.listing
    stands = as_changed("kotakneo", change)
    fields = {
        "am": _flag(after_market=row.variety == values.AFTER_MARKET),
        "dq": str(disclosed_as_changed(change)),
        "es": listing.exchange,
        "mp": NO_PROTECTION,
        "no": row.order_id,
        "os": wire.SOURCE,
        "pc": PRODUCTS.say(row.product),
        "pr": _price(stands.price, needed=stands.order_type.takes_price),
        "pt": ORDER_TYPES.say(stands.order_type),
        "qt": str(quantity_as_changed(change.quantity, row.quantity, change)),
        "tp": _price(stands.trigger_price, needed=stands.order_type.takes_trigger),
        "ts": listing.tradingsymbol,
        "tt": SIDES.say(row.transaction_type),
        "vd": _validity(change.validity or row.validity, listing),
    }
    return about_standing(row, wire.session_request(access, CallKind.ORDER, wire.MODIFY, fields))


def cancel_request(access: Access, row: OrderRow, now: datetime) -> WireRequest:
    """Build the cancel call; an after-market order also needs its trading symbol."""
    after_market = row.variety == values.AFTER_MARKET
    fields = {"on": row.order_id, "am": _flag(after_market=after_market)}
    if after_market:
        fields["ts"] = row.tradingsymbol
    return about_standing(row, wire.session_request(access, CallKind.ORDER, wire.CANCEL, fields))


def parse_order_answer(response: WireResponse) -> OrderAnswer:
    """Read the answer to a place, modify or cancel.

    An order number in a positive answer is an acceptance. A refusal below HTTP 500 without an order number is a
    rejection, unless it reports the broker's own trouble (`UNCLEAR_CODES`). Everything else leaves the outcome unknown.
    """
    refusal = wire.refusal_of(response)
    order_id = _order_id(response)
    if refusal is not None:
        surely = (
            response.status < 500
            and response.status != 408
            and order_id is None
            and refusal.code not in wire.UNCLEAR_CODES
            and not (response.status == 403 and response.body.lstrip().startswith(b"<"))  # a gateway's page
        )
        return refused(refusal, response, surely=surely, clear=wire.is_clear(refusal, response.status))
    return not_refused(order_id if 200 <= response.status < 300 else None, response)


def _order_id(response: WireResponse) -> str | None:
    """Return the order number of an answer; older documents call the number of a cancel `result`."""
    try:
        answer = response.json()
    except BadAnswer:
        return None
    if not isinstance(answer, dict) or answer.get("stCode") is None:
        return None
    return values.said(answer.get("nOrdNo")) or values.said(answer.get("result"))


def _flag(*, after_market: bool) -> str:
    return "YES" if after_market else "NO"


def _validity(word: str, listing: Listing) -> str:
    """Return the broker's validity; raise `NotSendable` for a validity that is not offered (for commodities all but DAY)."""
    spelled = VALIDITIES.say(word)
    if word != Validity.DAY and listing.exchange in values.DAY_ONLY_SEGMENTS:
        raise NotSendable(f"kotakneo takes no {word} orders in {listing.exchange}")
    return spelled


def _price(price: Decimal | None, *, needed: bool) -> str:
    """Return a price as its shortest plain decimal; raise `NotSendable` where the order type needs a price and it is
    missing.

    A limit of zero has been replaced by the exchange without notice, and filled.
    """
    if not needed:
        return NO_PRICE
    if price is None or price <= 0:
        raise NotSendable("a price of zero is not sent")
    return plain(price)


def _quantity(units: int, listing: Listing) -> str:
    return str(broker_quantity(units, listing))
