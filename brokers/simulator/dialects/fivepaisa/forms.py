"""Reads what a client sends: order bodies become orders and changes. Unknown fields are ignored, because the official client's bodies carry leftovers
of its earlier calls."""

from collections.abc import Mapping
from decimal import Decimal

from onebroker.brokers.simulator.dialects.fivepaisa.envelope import BAD_INPUT, NotDone
from onebroker.brokers.simulator.dialects.fivepaisa.naming import Name
from onebroker.brokers.simulator.dialects.form import Form
from onebroker.brokers.simulator.world.model import NewOrder, SimOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

_SIDES = {"B": Side.BUY, "BUY": Side.BUY, "S": Side.SELL, "SELL": Side.SELL}
_VALIDITIES = {"0": Validity.DAY, "3": Validity.IOC}
"""Other validities are not offered here."""
_MOST = Decimal(10) ** 12


class NoMarketOrders(Exception):
    """An order at price 0. The risk check refuses it for every API key."""


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `NotDone` or `NoMarketOrders`."""
    words, numbers = _words(body), _numbers(body)
    side = words.one_of("OrderType", _SIDES)
    validity = words.one_of("iOrderValidity", _VALIDITIES)
    price, trigger = numbers.decimal_or_zero("Price"), numbers.decimal_or_zero("StopLossPrice")
    if not price:
        raise NoMarketOrders
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=side,
        product=_product(body, name),
        order_type=OrderType.SL if trigger else OrderType.LIMIT,
        validity=validity,
        quantity=numbers.whole_or_zero("Qty") * name.units,
        disclosed_quantity=numbers.whole_or_zero("DisQty") * name.units,
        price=price,
        trigger_price=trigger or None,
        after_market=_flag(body.get("AHPlaced")),
        tag=str(body.get("RemoteOrderID") or "") or None,
    )


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return one order of a margin body, in units. Its price may be off the tick grid. Raise `NotDone`."""
    if body.get("PlaceModifyCancel") != "P":
        raise _refuse("PlaceModifyCancel", None)
    numbers = _numbers(body)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_words(body).one_of("OrderType", _SIDES),
        product=_product(body, name),
        order_type=OrderType.MARKET,
        validity=Validity.DAY,
        quantity=numbers.whole_or_zero("Qty") * name.units,
        price=numbers.decimal_or_zero("Price") or None,
    )


def changes(body: Mapping[str, object], order: SimOrder, name: Name) -> dict[str, object]:
    """Return what a modify body changes, quantities in units. Raise `NotDone` or `NoMarketOrders`."""
    numbers = _numbers(body)
    wanted: dict[str, object] = {}
    if body.get("Price") is not None:
        wanted["price"] = numbers.decimal_or_zero("Price")
        if not wanted["price"]:
            raise NoMarketOrders
    if body.get("Qty"):
        wanted["quantity"] = numbers.whole_or_zero("Qty") * name.units
    if body.get("StopLossPrice") and order.order_type.takes_trigger:
        wanted["trigger_price"] = numbers.decimal_or_zero("StopLossPrice")
    if body.get("DisQty"):
        wanted["disclosed_quantity"] = numbers.whole_or_zero("DisQty") * name.units
    return wanted


def _words(body: Mapping[str, object]) -> Form:
    """Return the reader of words and codes. An absent field is the code 0."""
    return Form(lambda field: str(body.get(field) or "0").strip().upper(), _refuse)


def _numbers(body: Mapping[str, object]) -> Form:
    """Return the reader of amounts, which come as numbers or as texts."""
    return Form(body.get, _refuse, most=_MOST)


def _refuse(field: str, _: object) -> NotDone:
    return NotDone(BAD_INPUT, f"Invalid {field}")


def _product(body: Mapping[str, object], name: Name) -> Product:
    overnight = Product.CNC if name.is_cash else Product.NRML
    return Product.MIS if _flag(body.get("IsIntraday")) else overnight


def _flag(value: object) -> bool:
    return value is True or str(value).strip().upper() in ("Y", "TRUE")
