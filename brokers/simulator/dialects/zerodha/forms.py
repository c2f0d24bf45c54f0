"""Reads what a client sends: form fields become orders and changes. Refusals are in Kite's words."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.form import ORDER_TYPES, SIDES, VALIDITIES, Form, by_value
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.dialects.zerodha.envelope import bad_input
from onebroker.brokers.simulator.dialects.zerodha.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import Product

VARIETIES = ("regular", "amo")
"""Cover, iceberg and auction orders are not offered here."""
_PRODUCTS = by_value(Product.CNC, Product.MIS, Product.NRML)
_PRICES = ("price", "trigger_price")
_DEFAULTS = {"validity": "DAY", "disclosed_quantity": "0"}
_TAG_LENGTH = 20


def order_list(body: bytes) -> list[dict[str, str]]:
    """Return the orders of a JSON body, with values as a form writes them. Raise `Refused`."""
    try:
        rows = msgspec.json.decode(body, type=list[dict[str, str | int | float]])
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise bad_input("Invalid JSON in request body") from error
    return [{name: str(value) for name, value in row.items()} for row in rows]


def new_order(fields: Mapping[str, str], name: Name, variety: str) -> NewOrder:
    """Return the order that a place form asks for, in units. Raise `Refused`."""
    form = Form({**_DEFAULTS, **fields}.get, _refuse)
    order_type = form.one_of("order_type", ORDER_TYPES)
    tag = fields.get("tag") or None
    if tag is not None and (len(tag) > _TAG_LENGTH or not tag.isalnum()):
        raise bad_input("Invalid `tag`. It should be alphanumeric and at most 20 characters.")
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("transaction_type", SIDES),
        product=form.one_of("product", _PRODUCTS),
        order_type=order_type,
        validity=form.one_of("validity", VALIDITIES),
        quantity=form.digits("quantity") * name.units,
        disclosed_quantity=form.digits("disclosed_quantity") * name.units,
        price=form.decimal("price") if order_type.takes_price else None,
        trigger_price=form.decimal("trigger_price") if order_type.takes_trigger else None,
        after_market=variety == "amo",
        tag=tag,
    )


def changes(fields: Mapping[str, str], name: Name) -> dict[str, object]:
    """Return the new values of a modify form, quantities in units. Raise `Refused`."""
    form = Form(fields.get, _refuse)
    wanted: dict[str, object] = {}
    if fields.get("order_type"):
        wanted["order_type"] = form.one_of("order_type", ORDER_TYPES)
    if fields.get("validity"):
        wanted["validity"] = form.one_of("validity", VALIDITIES)
    for field in ("quantity", "disclosed_quantity"):
        if fields.get(field):
            wanted[field] = form.digits(field) * name.units
    for field in _PRICES:
        # Clients send zero for a price that the order type does not have.
        if fields.get(field) and form.decimal(field):
            wanted[field] = form.decimal(field)
    return wanted


def moment(request: DialectRequest, field: str) -> datetime:
    """Return a moment of a candle call, or the start of a day. Raise `Refused`."""
    form = Form(request.first, lambda field, _: bad_input(f"invalid {field} date"))
    return form.moment(field, "%Y-%m-%d %H:%M:%S", "%Y-%m-%d")


def _refuse(field: str, sent: object) -> Refused:
    missing = not sent and field not in _PRICES
    return bad_input(f"Missing or empty field `{field}`" if missing else f"Invalid `{field}`.")
