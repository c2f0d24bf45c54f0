"""Reads what a client sends: JSON bodies of texts become orders and changes. Refusals are in SmartAPI's words."""

from decimal import Decimal

from onebroker.brokers.simulator.dialects.angelone.envelope import refused, word
from onebroker.brokers.simulator.dialects.angelone.naming import Name
from onebroker.brokers.simulator.dialects.angelone.rows import ORDER_TYPES, PRODUCTS
from onebroker.brokers.simulator.dialects.form import SIDES, VALIDITIES, Form
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Validity

VARIETIES = ("NORMAL", "STOPLOSS", "AMO")
"""ROBO orders are not offered here."""
MOST_POSITIONS = 50
_PRODUCTS = {wire: product for product, wire in PRODUCTS.items()}
_ORDER_TYPES = {wire: kind for kind, wire in ORDER_TYPES.items()}
_CODES = {"producttype": "AB1012", "productType": "AB1012"}
"""Field -> the code of its refusal. The other fields have a blank code."""
_MOST_TAG = 19
_MOST = Decimal(10**12 - 1)
_PRICE_LIMIT = Decimal(10**9)
"""A price is below this number of rupees."""


def new_order(body: dict[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `Refused`."""
    variety, form = variety_of(body), _form(body)
    order_type = form.one_of("ordertype", _ORDER_TYPES)
    if (order_type.takes_trigger and variety == "NORMAL") or (not order_type.takes_trigger and variety == "STOPLOSS"):
        raise refused("AB1008", "Order variety and type do not go together")
    tag = word(body, "ordertag") or None
    if tag is not None and len(tag) > _MOST_TAG:
        raise refused("AB4008", "ordertag length should be less than 20 characters")
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("transactiontype", SIDES),
        product=form.one_of("producttype", _PRODUCTS),
        order_type=order_type,
        validity=form.one_of("duration", VALIDITIES),
        quantity=form.digits_or_zero("quantity") * name.units,
        disclosed_quantity=form.digits_or_zero("disclosedquantity") * name.units,
        price=_price(form, "price") if order_type.takes_price else None,
        trigger_price=_price(form, "triggerprice") if order_type.takes_trigger else None,
        after_market=variety == "AMO",
        tag=tag,
    )


def changes(body: dict[str, object], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify body wants them, quantities in units. Raise `Refused`."""
    form = _form(body)
    order_type = form.one_of("ordertype", _ORDER_TYPES)
    wanted: dict[str, object] = {
        "order_type": order_type,
        "validity": form.one_of("duration", VALIDITIES),
        "quantity": form.digits_or_zero("quantity") * name.units,
    }
    if order_type.takes_price:
        wanted["price"] = _price(form, "price")
    if order_type.takes_trigger:
        wanted["trigger_price"] = _price(form, "triggerprice")
    return wanted


def positions(body: dict[str, object]) -> list[dict[str, object]]:
    """Return the positions of a margin body. Raise `Refused`."""
    listed = body.get("positions")
    if (
        not isinstance(listed, list)
        or not 0 < len(listed) <= MOST_POSITIONS
        or not all(isinstance(position, dict) for position in listed)
    ):
        raise refused("", "Invalid positions")
    return listed


def margin_order(position: dict[str, object], name: Name) -> NewOrder:
    """Return one position of a margin body as an order, in units. The body has no trigger, so a stop becomes a limit or market order. Raise
    `Refused`."""
    form = _form(position)
    takes_price = form.one_of("orderType", _ORDER_TYPES).takes_price
    price = _price(form, "price") if takes_price else None
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("tradeType", SIDES),
        product=form.one_of("productType", _PRODUCTS),
        order_type=OrderType.LIMIT if price else OrderType.MARKET,
        validity=Validity.DAY,
        quantity=form.digits_or_zero("qty") * name.units,
        price=price or None,
    )


def variety_of(body: dict[str, object]) -> str:
    """Return the variety that a body names. Raise `Refused`."""
    variety = word(body, "variety")
    if variety == "ROBO":
        raise refused("AB2002", "ROBO order is blocked")
    if variety not in VARIETIES:
        raise refused("AB1008", "Invalid Order Variety")
    return variety


def _form(body: dict[str, object]) -> Form:
    """Return the reader of a body. Every field may be sent as a text or a number."""
    return Form(lambda field: word(body, field), _refuse, most=_MOST)


def _price(form: Form, field: str) -> Decimal:
    price = form.decimal_or_zero(field)
    if price >= _PRICE_LIMIT:
        raise _refuse(field, price)
    return price


def _refuse(field: str, sent: object) -> Refused:
    return refused(_CODES.get(field, ""), f"Invalid {field}")
