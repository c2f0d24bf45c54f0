"""Reads what a client sends: JSON bodies become orders and changes. Refusals are in Upstox' words."""

from collections.abc import Mapping
from decimal import Decimal
from typing import TypeVar

from onebroker.brokers.simulator.dialects.upstox.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

_PRODUCTS = ("I", "D")
"""MTF, cover and bracket orders are not offered here."""
_VALIDITIES = (Validity.DAY, Validity.IOC)
_TAG_LENGTH = 40
MOST_MARGINS = 20
_Word = TypeVar("_Word", bound=str)


class BadField(Exception):
    """A field that Upstox refuses with one of its input codes."""

    def __init__(self, code: str, message: str, field: str | None = None, value: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.field, self.value = code, message, field, value


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `BadField`."""
    order_type = _word(body, "order_type", tuple(OrderType), "UDAPI1004", "UDAPI1056")
    _check_protection(body, order_type)
    product = _word(body, "product", _PRODUCTS, "UDAPI1006", "UDAPI1054")
    overnight = Product.CNC if name.is_cash else Product.NRML
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_word(body, "transaction_type", tuple(Side), "UDAPI1008", "UDAPI1057"),
        product=Product.MIS if product == "I" else overnight,
        order_type=order_type,
        validity=_word(body, "validity", _VALIDITIES, "UDAPI1007", "UDAPI1055"),
        quantity=_quantity(body, "quantity") * name.units,
        disclosed_quantity=_quantity(body, "disclosed_quantity") * name.units,
        price=_price(body, "price") if order_type.takes_price else None,
        trigger_price=_price(body, "trigger_price") if order_type.takes_trigger else None,
        after_market=body.get("is_amo") is True,
        tag=_tag(body),
    )


def margin_orders(body: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the orders that a margin call names, each instrument once. Raise `BadField`."""
    listed = body.get("instruments")
    if not isinstance(listed, list) or not listed or not all(isinstance(each, dict) for each in listed):
        raise BadField("UDAPI100036", "Invalid Input", "instruments")
    if len(listed) > MOST_MARGINS:
        raise BadField("UDAPI1102", "The instrument limit has been exceeded", "instruments")
    keys = [each.get("instrument_key") for each in listed]
    if any(keys.count(key) > 1 for key in keys):
        raise BadField("UDAPI1103", "Instrument key cannot be duplicated", "instruments")
    return listed


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return one order of a margin call. It has no order type: an order without a price is a market order. Raise `BadField`."""
    quantity = _quantity(body, "quantity") * name.units
    if quantity % name.contract.lot_size:
        raise BadField("UDAPI1104", "Quantity should be multiple of lot size", "quantity", body.get("quantity"))
    order_type = "LIMIT" if body.get("price") else "MARKET"
    return new_order({**body, "order_type": order_type, "validity": "DAY"}, name)


def changes(body: Mapping[str, object], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify body wants them, quantities in units. Raise `BadField`."""
    order_type = _word(body, "order_type", tuple(OrderType), "UDAPI1004", "UDAPI1056")
    _check_protection(body, order_type)
    wanted: dict[str, object] = {
        "order_type": order_type,
        "validity": _word(body, "validity", _VALIDITIES, "UDAPI1007", "UDAPI1055"),
    }
    if body.get("quantity"):
        wanted["quantity"] = _quantity(body, "quantity") * name.units
    if body.get("disclosed_quantity"):
        wanted["disclosed_quantity"] = _quantity(body, "disclosed_quantity") * name.units
    if order_type.takes_price:
        wanted["price"] = _price(body, "price")
    if order_type.takes_trigger:
        wanted["trigger_price"] = _price(body, "trigger_price")
    return wanted


def _check_protection(body: Mapping[str, object], order_type: OrderType) -> None:
    if not order_type.takes_price and body.get("market_protection", -1) == 0:
        message = "Market orders are not allowed. Try placing an order with market protection."
        raise BadField("UDAPI1158", message)


def _tag(body: Mapping[str, object]) -> str | None:
    tag = body.get("tag") or None
    if tag is None:
        return None
    if not isinstance(tag, str) or len(tag) > _TAG_LENGTH:
        raise BadField("UDAPI100036", "Invalid Input", "tag", tag)
    return tag


def _word(
    body: Mapping[str, object], field: str, words: tuple[_Word, ...], missing_code: str, wrong_code: str
) -> _Word:
    sent = body.get(field)
    if not sent:
        raise BadField(missing_code, f"{field} is required", field, sent)
    for word in words:
        if word == sent:
            return word
    raise BadField(wrong_code, f"The '{field}' is invalid", field, sent)


def _quantity(body: Mapping[str, object], field: str) -> int:
    value = body.get(field) or 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadField("UDAPI1052", f"The '{field}' is invalid", field, value)
    return value


def _price(body: Mapping[str, object], field: str) -> Decimal:
    value = body.get(field) or 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        raise BadField("UDAPI100036", f"The '{field}' is invalid", field, value)
    return Decimal(repr(value))
