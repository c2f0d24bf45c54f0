"""Reads what a client sends: JSON bodies of texts become orders and changes. Refusals are in SmartAPI's words."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from onebroker.brokers.simulator.dialects.angelone.answers import ORDER_TYPES, PRODUCTS
from onebroker.brokers.simulator.dialects.angelone.envelopes import Refused, word
from onebroker.brokers.simulator.dialects.angelone.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Side, Validity

VARIETIES = ("NORMAL", "STOPLOSS", "AMO")
"""ROBO orders are not offered here."""
_VALIDITIES = {each.value: each for each in (Validity.DAY, Validity.IOC)}
_SIDES = {each.value: each for each in Side}
MOST_POSITIONS = 50
_MOST_TAG = 19
_Word = TypeVar("_Word")


def new_order(body: dict[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `Refused`."""
    variety = variety_of(body)
    order_type = _order_type(body)
    if (order_type.takes_trigger and variety == "NORMAL") or (not order_type.takes_trigger and variety == "STOPLOSS"):
        raise Refused("AB1008", "Order variety and type do not go together")
    tag = word(body, "ordertag") or None
    if tag is not None and len(tag) > _MOST_TAG:
        raise Refused("AB4008", "ordertag length should be less than 20 characters")
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_known(body, "transactiontype", _SIDES, ""),
        product=_known(body, "producttype", {wire: ours for ours, wire in PRODUCTS.items()}, "AB1012"),
        order_type=order_type,
        validity=_known(body, "duration", _VALIDITIES, ""),
        quantity=_quantity(body, "quantity") * name.units,
        disclosed_quantity=_quantity(body, "disclosedquantity") * name.units,
        price=_price(body, "price") if order_type.takes_price else None,
        trigger_price=_price(body, "triggerprice") if order_type.takes_trigger else None,
        after_market=variety == "AMO",
        tag=tag,
    )


def changes(body: dict[str, object], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify body wants them, quantities in units. Raise `Refused`."""
    order_type = _order_type(body)
    wanted: dict[str, object] = {
        "order_type": order_type,
        "validity": _known(body, "duration", _VALIDITIES, ""),
        "quantity": _quantity(body, "quantity") * name.units,
    }
    if order_type.takes_price:
        wanted["price"] = _price(body, "price")
    if order_type.takes_trigger:
        wanted["trigger_price"] = _price(body, "triggerprice")
    return wanted


def positions(body: dict[str, object]) -> list[dict[str, object]]:
    """Return the positions of a margin body. Raise `Refused`."""
    rows = body.get("positions")
    if (
        not isinstance(rows, list)
        or not 0 < len(rows) <= MOST_POSITIONS
        or not all(isinstance(row, dict) for row in rows)
    ):
        raise Refused("", "Invalid positions")
    return rows


def margin_order(position: dict[str, object], name: Name) -> NewOrder:
    """Return one position of a margin body as an order, in units. The body has no trigger, so a stop becomes a limit or market order. Raise
    `Refused`."""
    words = {wire: ours for ours, wire in ORDER_TYPES.items()}
    takes_price = _known(position, "orderType", words, "").takes_price
    price = _price(position, "price") if takes_price else None
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_known(position, "tradeType", _SIDES, ""),
        product=_known(position, "productType", {wire: ours for ours, wire in PRODUCTS.items()}, "AB1012"),
        order_type=OrderType.LIMIT if price else OrderType.MARKET,
        validity=Validity.DAY,
        quantity=_quantity(position, "qty") * name.units,
        price=price or None,
    )


def variety_of(body: dict[str, object]) -> str:
    """Return the variety that a body names. Raise `Refused`."""
    variety = word(body, "variety")
    if variety == "ROBO":
        raise Refused("AB2002", "ROBO order is blocked")
    if variety not in VARIETIES:
        raise Refused("AB1008", "Invalid Order Variety")
    return variety


def _order_type(body: dict[str, object]) -> OrderType:
    return _known(body, "ordertype", {wire: ours for ours, wire in ORDER_TYPES.items()}, "")


def _known(body: dict[str, object], field: str, words: Mapping[str, _Word], code: str) -> _Word:
    found = words.get(word(body, field))
    if found is None:
        raise Refused(code, f"Invalid {field}")
    return found


def _quantity(body: dict[str, object], field: str) -> int:
    text = word(body, field) or "0"
    if not text.isdecimal() or len(text) > 12:
        raise Refused("", f"Invalid {field}")
    return int(text)


def _price(body: dict[str, object], field: str) -> Decimal:
    try:
        value = Decimal(word(body, field) or "0")
    except InvalidOperation as error:
        raise Refused("", f"Invalid {field}") from error
    if not value.is_finite() or not 0 <= value < 10**9:
        raise Refused("", f"Invalid {field}")
    return value
