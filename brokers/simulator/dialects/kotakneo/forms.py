"""Reads the place and modify bodies: texts become orders and changes. Refusals are in Kotak Neo's words.

A market order stays a market order here. The broker lately turns market orders into limit orders near the last price, and its book shows those.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from onebroker.brokers.simulator.dialects.kotakneo.envelopes import BODY_INVALID, INVALID_QUANTITY, Refused, not_ok
from onebroker.brokers.simulator.dialects.kotakneo.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

_Word = TypeVar("_Word")

_SIDES = {"B": Side.BUY, "S": Side.SELL}
_PRODUCTS = {"CNC": Product.CNC, "MIS": Product.MIS, "NRML": Product.NRML}
_TYPES = {"L": OrderType.LIMIT, "MKT": OrderType.MARKET, "SL": OrderType.SL}
_MARGIN_TYPES = {**_TYPES, "SL-M": OrderType.SL_M}
_VALIDITIES = {"DAY": Validity.DAY, "IOC": Validity.IOC}


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `Refused`."""
    order_type = _type(body)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(body, "tt", _SIDES),
        product=_word(body, "pc", _PRODUCTS),
        order_type=order_type,
        validity=_validity(body, "rt", name),
        quantity=_quantity(body, "qt") * name.units,
        disclosed_quantity=_quantity(body, "dq") * name.units,
        price=_price(body, "pr") if order_type.takes_price else None,
        trigger_price=_price(body, "tp") if order_type.takes_trigger else None,
        after_market=body.get("am") == "YES",
        tag=str(body["ig"]) if body.get("ig") else None,
    )


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a margin call asks about. Its fields have other names than a place body's, and it takes every order type. Raise
    `Refused`."""
    order_type = _word(body, "prcTp", _MARGIN_TYPES)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(body, "trnsTp", _SIDES),
        product=_word(body, "prod", _PRODUCTS),
        order_type=order_type,
        validity=Validity.DAY,
        quantity=_quantity(body, "qty") * name.units,
        price=_price(body, "prc") if order_type.takes_price else None,
        trigger_price=_price(body, "trgPrc") if order_type.takes_trigger else None,
    )


def changes(body: Mapping[str, object], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify body wants them, quantities in units. Raise `Refused`."""
    order_type = _type(body)
    wanted: dict[str, object] = {
        "order_type": order_type,
        "validity": _validity(body, "vd", name),
        "quantity": _quantity(body, "qt") * name.units,
        "disclosed_quantity": _quantity(body, "dq") * name.units,
    }
    if order_type.takes_price:
        wanted["price"] = _price(body, "pr")
    if order_type.takes_trigger:
        wanted["trigger_price"] = _price(body, "tp")
    return wanted


def _type(body: Mapping[str, object]) -> OrderType:
    if body.get("pt") == "SL-M":
        raise Refused(not_ok(INVALID_QUANTITY, "Market order with Algo Id not allowed"))
    return _word(body, "pt", _TYPES)


def _validity(body: Mapping[str, object], field: str, name: Name) -> Validity:
    validity = _word(body, field, _VALIDITIES)
    if name.segment == "mcx_fo" and validity is not Validity.DAY:
        raise Refused(not_ok(BODY_INVALID, "Invalid order duration"))
    return validity


def _word(body: Mapping[str, object], field: str, words: Mapping[str, _Word]) -> _Word:
    word = words.get(str(body.get(field)))
    if word is None:
        raise Refused(not_ok(BODY_INVALID, f"invalid {field}"))
    return word


def _quantity(body: Mapping[str, object], field: str) -> int:
    text = str(body.get(field) if body.get(field) is not None else "0")
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise Refused(not_ok(INVALID_QUANTITY, f"invalid {field}"))
    return int(text)


def _price(body: Mapping[str, object], field: str) -> Decimal:
    """Return a price. An empty text is refused, as the broker does."""
    try:
        price = Decimal(str(body.get(field)))
    except InvalidOperation:
        price = None
    if price is None or not price.is_finite() or not 0 <= price < 10**9:
        raise Refused(not_ok(INVALID_QUANTITY, f"invalid {field}"))
    return price
