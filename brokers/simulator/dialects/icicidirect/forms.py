"""Reads what a client sends: JSON bodies become instruments, orders and changes. Refusals use the broker's kind of words."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import TypeVar

import attrs

from onebroker.brokers.simulator.dialects.icicidirect.envelopes import Refused, day_of, word
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames, Name
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

ORDER_EXCHANGES = ("NSE", "BSE", "NFO", "BFO")
EXCHANGES = (*ORDER_EXCHANGES, "NDX", "MCX")
MARGIN_EXCHANGES = ("NFO", "BFO")
_SIDES = {"buy": Side.BUY, "sell": Side.SELL}
_ORDER_TYPES = {"limit": OrderType.LIMIT, "stoploss": OrderType.SL}
_VALIDITIES = {"day": Validity.DAY, "ioc": Validity.IOC}
_PROHIBITED = ("margin", "optionplus", "futureplus", "mtf", "btst")
"""Products prohibited over the API; the last two are not offered to this account."""
_MOST_UNITS = 10**12
_FINEST = Decimal("0.0001")
_Word = TypeVar("_Word", bound=str)


def exchange_of(body: Mapping[str, object], field: str = "exchange_code") -> str:
    """Return the exchange code that a body names, in capitals. Raise `Refused`."""
    code = word(body, field).upper()
    if not code:
        raise Refused("Exchange-Code cannot be empty")
    if code not in EXCHANGES:
        raise Refused(f"Invalid exchange code {code}")
    return code


def instrument(names: IciciNames, exchange: str, body: Mapping[str, object]) -> Name | None:
    """Return the instrument that a body names on an exchange, or None if there is none."""
    stock = word(body, "stock_code").upper()
    if exchange in ("NSE", "BSE"):
        return names.by_key.get((exchange, stock, None, 0.0, "others"))
    try:
        expiry = day_of(word(body, "expiry_date"))
        strike = float(word(body, "strike_price") or 0)
    except (ValueError, IndexError):
        return None
    right = word(body, "right").lower()
    right = right if right in ("call", "put") else "others"
    return names.by_key.get((exchange, stock, expiry, strike if right != "others" else 0.0, right))


def new_order(names: IciciNames, body: Mapping[str, object]) -> NewOrder:
    """Return the order that a place body asks for. Raise `Refused`."""
    exchange = exchange_of(body)
    if exchange not in ORDER_EXCHANGES:
        raise Refused(f"{exchange} as Exchange-Code not allowed")
    name = instrument(names, exchange, body)
    if name is None or name.contract.is_index:
        raise Refused("Stock code is invalid")
    product = word(body, "product").lower()
    if product in _PROHIBITED:
        raise Refused(f"Product {product} is prohibited")
    if product != name.kind:
        raise Refused("Product should be either 'futures', 'options' or 'cash'")
    order_type = _one_of(_ORDER_TYPES, body, "order_type")
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=_one_of(_SIDES, body, "action"),
        product=Product.CNC if product == "cash" else Product.NRML,
        order_type=order_type,
        validity=_one_of(_VALIDITIES, body, "validity"),
        quantity=_units(body, "quantity"),
        disclosed_quantity=_units(body, "disclosed_quantity"),
        price=_rupees(body, "price"),
        trigger_price=_rupees(body, "stoploss") if order_type.takes_trigger else None,
        tag=word(body, "user_remark") or None,
    )


def margin_orders(names: IciciNames, body: Mapping[str, object]) -> list[NewOrder]:
    """Return the orders that a margin calculation lists, all of one derivatives exchange. An order without a price is a market order. Raise
    `Refused`."""
    exchange = exchange_of(body)
    if exchange not in MARGIN_EXCHANGES:
        raise Refused(f"{exchange} as Exchange-Code not allowed")
    listed = body.get("list_of_positions")
    if not isinstance(listed, list) or not listed or not all(isinstance(each, dict) for each in listed):
        raise Refused("Invalid list_of_positions")
    standing = {"exchange_code": exchange, "order_type": "limit", "validity": "day"}
    orders = [new_order(names, {**each, **standing}) for each in listed]
    return [each if each.price else attrs.evolve(each, order_type=OrderType.MARKET, price=None) for each in orders]


def changes(body: Mapping[str, object], order_type: OrderType) -> dict[str, object]:
    """Return what a modify body changes in an order of this type. Raise `Refused`."""
    wanted: dict[str, object] = {}
    if word(body, "order_type"):
        order_type = _one_of(_ORDER_TYPES, body, "order_type")
        wanted["order_type"] = order_type
    if word(body, "validity"):
        wanted["validity"] = _one_of(_VALIDITIES, body, "validity")
    if word(body, "quantity"):
        wanted["quantity"] = _units(body, "quantity")
    if word(body, "disclosed_quantity"):
        wanted["disclosed_quantity"] = _units(body, "disclosed_quantity")
    if word(body, "price"):
        wanted["price"] = _rupees(body, "price")
    if word(body, "stoploss") and order_type.takes_trigger:
        wanted["trigger_price"] = _rupees(body, "stoploss")
    return wanted


def _one_of(table: Mapping[str, _Word], body: Mapping[str, object], field: str) -> _Word:
    sent = word(body, field).lower()
    if sent not in table:
        raise Refused(f"{field} should be either {', '.join(table)}" if sent else f"{field} cannot be empty")
    return table[sent]


def _units(body: Mapping[str, object], field: str) -> int:
    sent = word(body, field) or "0"
    if not sent.isascii() or not sent.isdecimal() or int(sent) > _MOST_UNITS:
        raise Refused(f"Invalid {field}")
    return int(sent)


def _rupees(body: Mapping[str, object], field: str) -> Decimal:
    try:
        amount = Decimal(word(body, field) or "0")
    except InvalidOperation as failure:
        raise Refused(f"Invalid {field}") from failure
    if not amount.is_finite() or amount < 0 or amount > _MOST_UNITS:
        raise Refused(f"Invalid {field}")
    # The SDK sends the remainders of its float arithmetic: 338.45000000000005.
    return amount.quantize(_FINEST)
