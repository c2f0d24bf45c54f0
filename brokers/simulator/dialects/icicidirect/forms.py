"""Reads what a client sends: JSON bodies become instruments, orders and changes. Refusals use the broker's kind of words."""

from collections.abc import Iterable, Mapping
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.dialects.facts import FOUR_PLACES
from onebroker.brokers.simulator.dialects.form import Form
from onebroker.brokers.simulator.dialects.icicidirect.envelope import day_of, refused, word
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames, Name
from onebroker.brokers.simulator.dialects.rest import Refused
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

ORDER_EXCHANGES = ("NSE", "BSE", "NFO", "BFO")
EXCHANGES = (*ORDER_EXCHANGES, "NDX", "MCX")
MARGIN_EXCHANGES = ("NFO", "BFO")
_SIDES = {"buy": Side.BUY, "sell": Side.SELL}
_ORDER_TYPES = {"limit": OrderType.LIMIT, "stoploss": OrderType.SL}
_VALIDITIES = {"day": Validity.DAY, "ioc": Validity.IOC}
_CHOICES: Mapping[str, Iterable[str]] = {"action": _SIDES, "order_type": _ORDER_TYPES, "validity": _VALIDITIES}
"""Field -> the words that it takes."""
_PROHIBITED = ("margin", "optionplus", "futureplus", "mtf", "btst")
"""Products prohibited over the API; the last two are not offered to this account."""
_MOST = Decimal(10**12)


def exchange_of(body: Mapping[str, object], field: str = "exchange_code") -> str:
    """Return the exchange code that a body names, in capitals. Raise `Refused`."""
    code = word(body, field).upper()
    if not code:
        raise refused("Exchange-Code cannot be empty")
    if code not in EXCHANGES:
        raise refused(f"Invalid exchange code {code}")
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
        raise refused(f"{exchange} as Exchange-Code not allowed")
    name = instrument(names, exchange, body)
    if name is None or name.contract.is_index:
        raise refused("Stock code is invalid")
    product = word(body, "product").lower()
    if product in _PROHIBITED:
        raise refused(f"Product {product} is prohibited")
    if product != name.kind:
        raise refused("Product should be either 'futures', 'options' or 'cash'")
    form = _form(body)
    order_type = form.one_of("order_type", _ORDER_TYPES)
    return NewOrder(
        instrument_id=name.contract.instrument_id,
        side=form.one_of("action", _SIDES),
        product=Product.CNC if product == "cash" else Product.NRML,
        order_type=order_type,
        validity=form.one_of("validity", _VALIDITIES),
        quantity=_units(body, "quantity"),
        disclosed_quantity=_units(body, "disclosed_quantity"),
        price=_price(form, "price"),
        trigger_price=_price(form, "stoploss") if order_type.takes_trigger else None,
        tag=word(body, "user_remark") or None,
    )


def margin_orders(names: IciciNames, body: Mapping[str, object]) -> list[NewOrder]:
    """Return the orders that a margin calculation lists, all of one derivatives exchange. An order without a price is a market order. Raise
    `Refused`."""
    exchange = exchange_of(body)
    if exchange not in MARGIN_EXCHANGES:
        raise refused(f"{exchange} as Exchange-Code not allowed")
    listed = body.get("list_of_positions")
    if not isinstance(listed, list) or not listed or not all(isinstance(position, dict) for position in listed):
        raise refused("Invalid list_of_positions")
    standing = {"exchange_code": exchange, "order_type": "limit", "validity": "day"}
    orders = [new_order(names, {**position, **standing}) for position in listed]
    return [order if order.price else attrs.evolve(order, order_type=OrderType.MARKET, price=None) for order in orders]


def changes(body: Mapping[str, object], order_type: OrderType) -> dict[str, object]:
    """Return what a modify body changes in an order of this type. Raise `Refused`."""
    form = _form(body)
    wanted: dict[str, object] = {}
    if word(body, "order_type"):
        order_type = form.one_of("order_type", _ORDER_TYPES)
        wanted["order_type"] = order_type
    if word(body, "validity"):
        wanted["validity"] = form.one_of("validity", _VALIDITIES)
    if word(body, "quantity"):
        wanted["quantity"] = _units(body, "quantity")
    if word(body, "disclosed_quantity"):
        wanted["disclosed_quantity"] = _units(body, "disclosed_quantity")
    if word(body, "price"):
        wanted["price"] = _price(form, "price")
    if word(body, "stoploss") and order_type.takes_trigger:
        wanted["trigger_price"] = _price(form, "stoploss")
    return wanted


def _form(body: Mapping[str, object]) -> Form:
    """Return the reader of a body, whose words may have capitals."""
    return Form(lambda field: word(body, field).lower(), _refuse, most=_MOST)


def _refuse(field: str, sent: object) -> Refused:
    if field not in _CHOICES:
        return refused(f"Invalid {field}")
    return refused(f"{field} should be either {', '.join(_CHOICES[field])}" if sent else f"{field} cannot be empty")


def _units(body: Mapping[str, object], field: str) -> int:
    """Return a quantity, which is written in ASCII digits; zero if it is absent."""
    if not word(body, field).isascii():
        raise _refuse(field, body[field])
    return _form(body).digits_or_zero(field)


def _price(form: Form, field: str) -> Decimal:
    """Return ₹, zero if they are absent. The SDK sends the remainders of its float arithmetic: 338.45000000000005."""
    return form.decimal_or_zero(field).quantize(FOUR_PLACES)
