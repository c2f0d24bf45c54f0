"""Reads what a client sends: JSON bodies become orders and changes. Numbers may be texts; an absent number may be an empty text."""

import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from onebroker.brokers.simulator.dialects.dhan.answers import ORDER_TYPES, PRODUCTS
from onebroker.brokers.simulator.dialects.dhan.envelopes import bad_input
from onebroker.brokers.simulator.dialects.dhan.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Side, Validity

_AFTER_MARKET_TIMES = ("PRE_OPEN", "OPEN", "OPEN_30", "OPEN_60")
_LEGS = ("", "ENTRY_LEG", "TARGET_LEG", "STOP_LOSS_LEG")
_CORRELATION = re.compile(r"[A-Za-z0-9 _-]{0,30}")
_SIDES = {side.value: side for side in Side}
_VALIDITIES = {each.value: each for each in (Validity.DAY, Validity.IOC)}
_PRODUCTS = {word: product for product, word in PRODUCTS.items()}
_ORDER_TYPES = {word: kind for kind, word in ORDER_TYPES.items()}
_LEAST_DISCLOSED = Decimal("0.3")
_MOST = Decimal(10) ** 12
_Word = TypeVar("_Word")


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `Refused`."""
    order_type = _word(body, "orderType", _ORDER_TYPES)
    after_market = body.get("afterMarketOrder") is True
    if after_market and body.get("amoTime") not in _AFTER_MARKET_TIMES:
        raise bad_input("amoTime is invalid")
    quantity, disclosed = _quantities(body)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(body, "transactionType", _SIDES),
        product=_word(body, "productType", _PRODUCTS),
        order_type=order_type,
        validity=_word(body, "validity", _VALIDITIES),
        quantity=quantity * name.units,
        disclosed_quantity=disclosed * name.units,
        price=_number(body, "price") if order_type.takes_price else None,
        trigger_price=_number(body, "triggerPrice") if order_type.takes_trigger else None,
        after_market=after_market,
        tag=_correlation(body),
    )


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a margin body asks about, in units. The body has no order type, and its price may be off the tick grid. Raise
    `Refused`."""
    quantity, _ = _quantities(body)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(body, "transactionType", _SIDES),
        product=_word(body, "productType", _PRODUCTS),
        order_type=OrderType.MARKET,
        validity=Validity.DAY,
        quantity=quantity * name.units,
        price=abs(_number(body, "price")) or None,
        trigger_price=abs(_number(body, "triggerPrice")) or None,
    )


def changes(body: Mapping[str, object], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify body wants them, quantities in units. Raise `Refused`."""
    if (body.get("legName") or "") not in _LEGS:
        raise bad_input("legName is invalid")
    order_type: OrderType = _word(body, "orderType", _ORDER_TYPES)
    quantity, disclosed = _quantities(body)
    wanted: dict[str, object] = {
        "order_type": order_type,
        "validity": _word(body, "validity", _VALIDITIES),
        "quantity": quantity * name.units,
        "disclosed_quantity": disclosed * name.units,
    }
    if order_type.takes_price:
        wanted["price"] = _number(body, "price")
    if order_type.takes_trigger:
        wanted["trigger_price"] = _number(body, "triggerPrice")
    return wanted


def _quantities(body: Mapping[str, object]) -> tuple[int, int]:
    quantity, disclosed = _whole(body, "quantity"), _whole(body, "disclosedQuantity")
    if quantity <= 0:
        raise bad_input("quantity is required and must be greater than zero")
    if disclosed and disclosed < quantity * _LEAST_DISCLOSED:
        raise bad_input("disclosedQuantity must be at least 30% of quantity")
    return quantity, disclosed


def _word(body: Mapping[str, object], field: str, words: Mapping[str, _Word]) -> _Word:
    value = body.get(field)
    word = words.get(value) if isinstance(value, str) else None
    if word is None:
        raise bad_input(f"{field} is invalid")
    return word


def _number(body: Mapping[str, object], field: str) -> Decimal:
    value = body.get(field)
    if value in (None, ""):
        return Decimal(0)
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise bad_input(f"{field} is invalid")
    try:
        number = Decimal(str(value))
    except InvalidOperation as error:
        raise bad_input(f"{field} is invalid") from error
    if not number.is_finite() or abs(number) > _MOST:
        raise bad_input(f"{field} is invalid")
    return number


def _whole(body: Mapping[str, object], field: str) -> int:
    number = _number(body, field)
    if number != int(number) or number < 0:
        raise bad_input(f"{field} is invalid")
    return int(number)


def _correlation(body: Mapping[str, object]) -> str | None:
    value = body.get("correlationId")
    if value in (None, ""):
        return None
    if not isinstance(value, str) or not _CORRELATION.fullmatch(value):
        raise bad_input("correlationId is invalid")
    return value
