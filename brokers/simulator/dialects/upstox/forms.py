"""Reads what a client sends: JSON bodies become orders and changes. Refusals are in Upstox' words."""

from collections.abc import Mapping

from onebroker.brokers.simulator.dialects.form import ORDER_TYPES, SIDES, VALIDITIES, Form
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.dialects.upstox.envelope import INVALID_INPUT, refused
from onebroker.brokers.simulator.dialects.upstox.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product

_CODES = {
    "order_type": ("UDAPI1004", "UDAPI1056"),
    "product": ("UDAPI1006", "UDAPI1054"),
    "transaction_type": ("UDAPI1008", "UDAPI1057"),
    "validity": ("UDAPI1007", "UDAPI1055"),
    "quantity": ("UDAPI1052", "UDAPI1052"),
    "disclosed_quantity": ("UDAPI1052", "UDAPI1052"),
}
"""Field -> the codes for an absent and for a wrong value."""
_TAG_LENGTH = 40
MOST_MARGINS = 20


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `Refused`."""
    form = Form(body.get, _refuse)
    order_type = form.one_of("order_type", ORDER_TYPES)
    _check_protection(body, order_type)
    # MTF, cover and bracket orders are not offered here.
    products = {"I": Product.MIS, "D": Product.CNC if name.is_cash else Product.NRML}
    product = form.one_of("product", products)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("transaction_type", SIDES),
        product=product,
        order_type=order_type,
        validity=form.one_of("validity", VALIDITIES),
        quantity=form.count_or_zero("quantity") * name.units,
        disclosed_quantity=form.count_or_zero("disclosed_quantity") * name.units,
        price=form.number_or_zero("price") if order_type.takes_price else None,
        trigger_price=form.number_or_zero("trigger_price") if order_type.takes_trigger else None,
        after_market=body.get("is_amo") is True,
        tag=_tag(body),
    )


def margin_orders(body: Mapping[str, object]) -> list[dict[str, object]]:
    """Return the orders that a margin call names, each instrument once. Raise `Refused`."""
    listed = body.get("instruments")
    if not isinstance(listed, list) or not listed or not all(isinstance(order, dict) for order in listed):
        raise refused(400, INVALID_INPUT, "Invalid Input", "instruments")
    if len(listed) > MOST_MARGINS:
        raise refused(400, "UDAPI1102", "The instrument limit has been exceeded", "instruments")
    keys = [order.get("instrument_key") for order in listed]
    if any(keys.count(key) > 1 for key in keys):
        raise refused(400, "UDAPI1103", "Instrument key cannot be duplicated", "instruments")
    return listed


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return one order of a margin call. It has no order type: an order without a price is a market order. Raise `Refused`."""
    quantity = Form(body.get, _refuse).count_or_zero("quantity") * name.units
    if quantity % name.contract.lot_size:
        message = "Quantity should be multiple of lot size"
        raise refused(400, "UDAPI1104", message, "quantity", body.get("quantity"))
    order_type = "LIMIT" if body.get("price") else "MARKET"
    return new_order({**body, "order_type": order_type, "validity": "DAY"}, name)


def changes(body: Mapping[str, object], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify body wants them, quantities in units. Raise `Refused`."""
    form = Form(body.get, _refuse)
    order_type = form.one_of("order_type", ORDER_TYPES)
    _check_protection(body, order_type)
    wanted: dict[str, object] = {"order_type": order_type, "validity": form.one_of("validity", VALIDITIES)}
    for field in ("quantity", "disclosed_quantity"):
        if body.get(field):
            wanted[field] = form.count_or_zero(field) * name.units
    if order_type.takes_price:
        wanted["price"] = form.number_or_zero("price")
    if order_type.takes_trigger:
        wanted["trigger_price"] = form.number_or_zero("trigger_price")
    return wanted


def _check_protection(body: Mapping[str, object], order_type: OrderType) -> None:
    if not order_type.takes_price and body.get("market_protection", -1) == 0:
        message = "Market orders are not allowed. Try placing an order with market protection."
        raise refused(400, "UDAPI1158", message)


def _tag(body: Mapping[str, object]) -> str | None:
    tag = body.get("tag") or None
    if tag is None:
        return None
    if not isinstance(tag, str) or len(tag) > _TAG_LENGTH:
        raise refused(400, INVALID_INPUT, "Invalid Input", "tag", tag)
    return tag


def _refuse(field: str, sent: object) -> Refused:
    missing, wrong = _CODES.get(field, (INVALID_INPUT, INVALID_INPUT))
    if not sent:
        return refused(400, missing, f"{field} is required", field, sent)
    return refused(400, wrong, f"The '{field}' is invalid", field, sent)
