"""Reads what a client sends: order bodies become orders and changes. Unknown fields are ignored, because the official client's bodies carry leftovers
of its earlier calls."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from onebroker.brokers.simulator.dialects.fivepaisa.naming import Name
from onebroker.brokers.simulator.world.model import NewOrder, SimOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

_SIDES = {"B": Side.BUY, "BUY": Side.BUY, "S": Side.SELL, "SELL": Side.SELL}
_VALIDITIES = {"0": Validity.DAY, "3": Validity.IOC}
"""Other validities are not offered here."""
_MOST = Decimal(10) ** 12


class BadField(Exception):
    """A field that the service cannot read: status 2."""


class NoMarketOrders(Exception):
    """An order at price 0. The risk check refuses it for every API key."""


def new_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return the order that a place body asks for, in units. Raise `BadField` or `NoMarketOrders`."""
    side = _side(body)
    validity = _VALIDITIES.get(str(body.get("iOrderValidity", "0") or "0").strip())
    if validity is None:
        raise BadField("Invalid iOrderValidity")
    price, trigger = _amount(body, "Price"), _amount(body, "StopLossPrice")
    if not price:
        raise NoMarketOrders
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=side,
        product=_product(body, name),
        order_type=OrderType.SL if trigger else OrderType.LIMIT,
        validity=validity,
        quantity=_count(body, "Qty") * name.units,
        disclosed_quantity=_count(body, "DisQty") * name.units,
        price=price,
        trigger_price=trigger or None,
        after_market=_flag(body.get("AHPlaced")),
        tag=str(body.get("RemoteOrderID") or "") or None,
    )


def margin_order(body: Mapping[str, object], name: Name) -> NewOrder:
    """Return one order of a margin body, in units. Its price may be off the tick grid. Raise `BadField`."""
    if body.get("PlaceModifyCancel") != "P":
        raise BadField("Invalid PlaceModifyCancel")
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_side(body),
        product=_product(body, name),
        order_type=OrderType.MARKET,
        validity=Validity.DAY,
        quantity=_count(body, "Qty") * name.units,
        price=_amount(body, "Price") or None,
    )


def changes(body: Mapping[str, object], order: SimOrder, name: Name) -> dict[str, object]:
    """Return what a modify body changes, quantities in units. Raise `BadField` or `NoMarketOrders`."""
    wanted: dict[str, object] = {}
    if body.get("Price") is not None:
        wanted["price"] = _amount(body, "Price")
        if not wanted["price"]:
            raise NoMarketOrders
    if body.get("Qty"):
        wanted["quantity"] = _count(body, "Qty") * name.units
    if body.get("StopLossPrice") and order.order_type.takes_trigger:
        wanted["trigger_price"] = _amount(body, "StopLossPrice")
    if body.get("DisQty"):
        wanted["disclosed_quantity"] = _count(body, "DisQty") * name.units
    return wanted


def _side(body: Mapping[str, object]) -> Side:
    side = _SIDES.get(str(body.get("OrderType")).strip().upper())
    if side is None:
        raise BadField("Invalid OrderType")
    return side


def _product(body: Mapping[str, object], name: Name) -> Product:
    overnight = Product.CNC if name.is_cash else Product.NRML
    return Product.MIS if _flag(body.get("IsIntraday")) else overnight


def _flag(value: object) -> bool:
    return value is True or str(value).strip().upper() in ("Y", "TRUE")


def _count(body: Mapping[str, object], field: str) -> int:
    value = _amount(body, field)
    if value != int(value):
        raise BadField(f"Invalid {field}")
    return int(value)


def _amount(body: Mapping[str, object], field: str) -> Decimal:
    """Return an amount. Numbers come as numbers or as texts."""
    sent = body.get(field)
    if sent is None or sent == "":
        return Decimal(0)
    try:
        value = Decimal(str(sent))
    except InvalidOperation:
        raise BadField(f"Invalid {field}") from None
    if isinstance(sent, bool) or not value.is_finite() or not 0 <= value <= _MOST:
        raise BadField(f"Invalid {field}")
    return value
