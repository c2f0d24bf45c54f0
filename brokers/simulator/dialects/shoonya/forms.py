"""Reads what a client sends: the texts of PlaceOrder and ModifyOrder become orders and changes. Refusals are in Shoonya's words."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from onebroker.brokers.simulator.dialects.shoonya.envelopes import Refused
from onebroker.brokers.simulator.dialects.shoonya.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

SIDES = {"B": Side.BUY, "S": Side.SELL}
PRODUCTS = {"C": Product.CNC, "I": Product.MIS, "M": Product.NRML}
"""Cover, bracket and margin-trading orders are not offered here."""
ORDER_TYPES = {"LMT": OrderType.LIMIT, "SL-LMT": OrderType.SL}
_MARKET = ("MKT", "SL-MKT")
VALIDITIES = {"DAY": Validity.DAY, "IOC": Validity.IOC}
_MOST = 10**12


def new_order(fields: Mapping[str, str], name: Name) -> NewOrder:
    """Return the order that a place call asks for, in units. Raise `Refused`."""
    order_type = _order_type(fields)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=SIDES[_word(fields, "trantype", SIDES)],
        product=PRODUCTS[_word(fields, "prd", PRODUCTS)],
        order_type=order_type,
        validity=VALIDITIES[_word(fields, "ret", VALIDITIES)],
        quantity=_quantity(fields, "qty", name),
        disclosed_quantity=_quantity(fields, "dscqty", name),
        price=_price(fields),
        trigger_price=_trigger(fields) if order_type.takes_trigger else None,
        after_market=fields.get("amo", "").upper() == "YES",
        tag=fields.get("remarks") or None,
    )


def margin_order(fields: Mapping[str, str], name: Name) -> NewOrder:
    """Return the order that a margin call asks about. It has a place call's fields without validity and disclosed quantity. Raise `Refused`."""
    return new_order({**fields, "ret": "DAY", "dscqty": "0"}, name)


def changes(fields: Mapping[str, str], name: Name) -> dict[str, object]:
    """Return the order's fields as a modify call wants them, quantities in units. Raise `Refused`.

    The official client sends neither `ret` nor `dscqty`. Both then keep their values.
    """
    order_type = _order_type(fields)
    wanted: dict[str, object] = {"order_type": order_type, "price": _price(fields)}
    if order_type.takes_trigger:
        wanted["trigger_price"] = _trigger(fields)
    elif fields.get("trgprc"):
        raise Refused(f"Trigger price invalid - {fields['trgprc']}")
    if fields.get("qty"):
        wanted["quantity"] = _quantity(fields, "qty", name)
    if fields.get("dscqty"):
        wanted["disclosed_quantity"] = _quantity(fields, "dscqty", name)
    if fields.get("ret"):
        wanted["validity"] = VALIDITIES[_word(fields, "ret", VALIDITIES)]
    return wanted


def _order_type(fields: Mapping[str, str]) -> OrderType:
    if fields.get("prctyp") in _MARKET:
        raise Refused("Invalid Input : Market orders are not allowed from API")
    return ORDER_TYPES[_word(fields, "prctyp", ORDER_TYPES)]


def _word(fields: Mapping[str, str], field: str, words: Mapping[str, object]) -> str:
    sent = fields.get(field, "")
    if sent not in words:
        raise Refused(f"Invalid Input : {field}")
    return sent


def _quantity(fields: Mapping[str, str], field: str, name: Name) -> int:
    sent = fields.get(field) or "0"
    if not (sent.isascii() and sent.isdecimal()) or int(sent) > _MOST:
        raise Refused(f"Invalid Input : {field}")
    units = int(sent) * name.factor
    if units != int(units):
        raise Refused(f"Invalid Input : {field} is not a multiple of the lot size {name.lot}")
    return int(units)


def _price(fields: Mapping[str, str]) -> Decimal:
    price = _number(fields, "prc")
    if price == 0:
        raise Refused("Order price cannot be zero")
    return price


def _trigger(fields: Mapping[str, str]) -> Decimal:
    try:
        price = _number(fields, "trgprc")
    except Refused:
        price = Decimal(0)
    if price == 0:
        raise Refused("Trigger price invalid - 0.00")
    return price


def _number(fields: Mapping[str, str], field: str) -> Decimal:
    try:
        value = Decimal(fields.get(field) or "0")
    except InvalidOperation:
        raise Refused(f"Invalid Input : {field}") from None
    if not value.is_finite() or not 0 <= value <= _MOST:
        raise Refused(f"Invalid Input : {field}")
    return value
