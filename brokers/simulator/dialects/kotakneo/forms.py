"""Reads the place and modify bodies: texts become orders and changes. Refusals are in Kotak Neo's words.

A market order stays a market order here. The broker lately turns market orders into limit orders near the last price, and its book shows those.
"""

from collections.abc import Mapping
from decimal import Decimal

from onebroker.brokers.simulator.dialects.form import VALIDITIES, Form, by_value
from onebroker.brokers.simulator.dialects.kotakneo.envelope import BODY_INVALID, INVALID_QUANTITY, refused
from onebroker.brokers.simulator.dialects.kotakneo.naming import Name
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

_SIDES = {"B": Side.BUY, "S": Side.SELL}
_PRODUCTS = by_value(Product.CNC, Product.MIS, Product.NRML)
_ORDER_TYPES = {"L": OrderType.LIMIT, "MKT": OrderType.MARKET, "SL": OrderType.SL}
_MARGIN_TYPES = {**_ORDER_TYPES, "SL-M": OrderType.SL_M}
_PRICES = frozenset({"pr", "tp", "prc", "trgPrc"})
"""The fields of prices, in place, modify and margin bodies."""
_MOST_DIGITS = 12
_TOO_HIGH = Decimal(10) ** 9
"""₹. Prices lie below it."""


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `Refused`."""
    form = _form(body)
    order_type = _order_type(body, form)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("tt", _SIDES),
        product=form.one_of("pc", _PRODUCTS),
        order_type=order_type,
        validity=_validity(form, "rt", name),
        quantity=_quantity(body, "qt") * name.units,
        disclosed_quantity=_quantity(body, "dq") * name.units,
        price=_price(form, "pr") if order_type.takes_price else None,
        trigger_price=_price(form, "tp") if order_type.takes_trigger else None,
        after_market=body.get("am") == "YES",
        tag=str(body["ig"]) if body.get("ig") else None,
    )


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a margin call asks about. Its fields have other names than a place body's, and it takes every order type. Raise
    `Refused`."""
    form = _form(body)
    order_type = form.one_of("prcTp", _MARGIN_TYPES)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("trnsTp", _SIDES),
        product=form.one_of("prod", _PRODUCTS),
        order_type=order_type,
        validity=Validity.DAY,
        quantity=_quantity(body, "qty") * name.units,
        price=_price(form, "prc") if order_type.takes_price else None,
        trigger_price=_price(form, "trgPrc") if order_type.takes_trigger else None,
    )


def changes(body: Mapping[str, object], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify body wants them, quantities in units. Raise `Refused`."""
    form = _form(body)
    order_type = _order_type(body, form)
    wanted: dict[str, object] = {
        "order_type": order_type,
        "validity": _validity(form, "vd", name),
        "quantity": _quantity(body, "qt") * name.units,
        "disclosed_quantity": _quantity(body, "dq") * name.units,
    }
    if order_type.takes_price:
        wanted["price"] = _price(form, "pr")
    if order_type.takes_trigger:
        wanted["trigger_price"] = _price(form, "tp")
    return wanted


def _form(body: Mapping[str, object]) -> Form:
    """Return the reader of a body. Its values count as texts, whatever their JSON type."""
    return Form(lambda field: str(body.get(field)), _refuse)


def _refuse(field: str, sent: object) -> Refused:
    return _bad_number(field) if field in _PRICES else refused(BODY_INVALID, f"invalid {field}")


def _bad_number(field: str) -> Refused:
    return refused(INVALID_QUANTITY, f"invalid {field}")


def _order_type(body: Mapping[str, object], form: Form) -> OrderType:
    if body.get("pt") == "SL-M":
        raise refused(INVALID_QUANTITY, "Market order with Algo Id not allowed")
    return form.one_of("pt", _ORDER_TYPES)


def _validity(form: Form, field: str, name: Name) -> Validity:
    validity = form.one_of(field, VALIDITIES)
    if name.segment == "mcx_fo" and validity is not Validity.DAY:
        raise refused(BODY_INVALID, "Invalid order duration")
    return validity


def _quantity(body: Mapping[str, object], field: str) -> int:
    """Return a quantity; zero for an absent field. An empty text is refused."""
    sent = body.get(field)
    text = "0" if sent is None else str(sent)
    if len(text) > _MOST_DIGITS or not (text.isascii() and text.isdecimal()):
        raise _bad_number(field)
    return int(text)


def _price(form: Form, field: str) -> Decimal:
    """Return a price. An empty text is refused, as the broker does."""
    price = form.decimal(field)
    if price >= _TOO_HIGH:
        raise _bad_number(field)
    return price
