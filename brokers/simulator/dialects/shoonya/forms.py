"""Reads what a client sends: the texts of PlaceOrder and ModifyOrder become orders and changes. Refusals are in Shoonya's words."""

from collections.abc import Mapping
from decimal import Decimal

from onebroker.brokers.simulator.dialects.form import VALIDITIES, Form
from onebroker.brokers.simulator.dialects.shoonya.envelope import NotOk
from onebroker.brokers.simulator.dialects.shoonya.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side

SIDES = {"B": Side.BUY, "S": Side.SELL}
PRODUCTS = {"C": Product.CNC, "I": Product.MIS, "M": Product.NRML}
"""Cover, bracket and margin-trading orders are not offered here."""
ORDER_TYPES = {"LMT": OrderType.LIMIT, "SL-LMT": OrderType.SL}
_MARKET = ("MKT", "SL-MKT")
_MOST = Decimal(10**12)


def new_order(fields: Mapping[str, str], name: Name) -> NewOrder:
    """Return the order that a place call asks for, in units. Raise `NotOk`."""
    form = _form(fields)
    order_type = form.one_of("prctyp", ORDER_TYPES)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("trantype", SIDES),
        product=form.one_of("prd", PRODUCTS),
        order_type=order_type,
        validity=form.one_of("ret", VALIDITIES),
        quantity=_units(fields, "qty", name),
        disclosed_quantity=_units(fields, "dscqty", name),
        price=_price(form),
        trigger_price=_trigger(form) if order_type.takes_trigger else None,
        after_market=fields.get("amo", "").upper() == "YES",
        tag=fields.get("remarks") or None,
    )


def margin_order(fields: Mapping[str, str], name: Name) -> NewOrder:
    """Return the order that a margin call asks about. It has a place call's fields without validity and disclosed quantity. Raise `NotOk`."""
    return new_order({**fields, "ret": "DAY", "dscqty": "0"}, name)


def changes(fields: Mapping[str, str], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify call wants them, quantities in units. Raise `NotOk`.

    The official client sends neither `ret` nor `dscqty`. Both then keep their values.
    """
    form = _form(fields)
    order_type = form.one_of("prctyp", ORDER_TYPES)
    wanted: dict[str, object] = {"order_type": order_type, "price": _price(form)}
    if order_type.takes_trigger:
        wanted["trigger_price"] = _trigger(form)
    elif fields.get("trgprc"):
        raise NotOk(f"Trigger price invalid - {fields['trgprc']}")
    if fields.get("qty"):
        wanted["quantity"] = _units(fields, "qty", name)
    if fields.get("dscqty"):
        wanted["disclosed_quantity"] = _units(fields, "dscqty", name)
    if fields.get("ret"):
        wanted["validity"] = form.one_of("ret", VALIDITIES)
    return wanted


def _form(fields: Mapping[str, str]) -> Form:
    return Form(fields.get, _refuse, most=_MOST)


def _refuse(field: str, sent: object) -> NotOk:
    if field == "prctyp" and sent in _MARKET:
        return NotOk("Invalid Input : Market orders are not allowed from API")
    return NotOk("Trigger price invalid - 0.00" if field == "trgprc" else f"Invalid Input : {field}")


def _units(fields: Mapping[str, str], field: str, name: Name) -> int:
    """Return the units of a quantity, which is written in ASCII digits; zero if it is absent."""
    if not fields.get(field, "").isascii():
        raise _refuse(field, fields[field])
    units = _form(fields).digits_or_zero(field) * name.factor
    if units != int(units):
        raise NotOk(f"Invalid Input : {field} is not a multiple of the lot size {name.lot}")
    return int(units)


def _price(form: Form) -> Decimal:
    price = form.decimal_or_zero("prc")
    if price == 0:
        raise NotOk("Order price cannot be zero")
    return price


def _trigger(form: Form) -> Decimal:
    price = form.decimal_or_zero("trgprc")
    if price == 0:
        raise _refuse("trgprc", price)
    return price
