"""The body of a place request into a typed order, in the order of spec 2 §8. Pure: raises `Refusal`, asks nobody.

What this version does not serve is refused before anything else is looked at. A JSON null counts as absent, in every field
of an order. Booleans are not numbers, and numeric text is not a number (order-engine 3.0).
"""

import math
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import attrs
import msgspec

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.messages import PlaceBody
from onebroker.config.instruments import (
    ORDERABLE_SEGMENTS,
    SEGMENT_SHAPES,
    TRADING_EXCHANGES,
    Identity,
    Shape,
    bare_segment,
    future,
    option,
    security,
)
from onebroker.config.messages import orders as texts
from onebroker.config.messages import shared
from onebroker.config.money import is_multiple, plain
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import (
    SENDABLE_PRODUCTS,
    SENDABLE_VALIDITIES,
    OrderType,
    Side,
    Validity,
)
from onebroker.http import order_fields
from onebroker.http.instrument_naming import InstrumentName, fields_text

_TAG = re.compile(r"[A-Za-z0-9]{1,20}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
RUN_TYPES = ("simple",)
"""Synthetic types that the engine runs."""
_REFERENCES = {
    "price_reference": texts.PRICE_REFERENCE_OBJECT,
    "quantity_reference": texts.QUANTITY_REFERENCE_OBJECT,
}
_COMMON_SETTINGS = frozenset({"type", "closes_position", "hold_limits"})
"""All that a simple order takes in `synthetic` (spec 2 §7)."""
MOST_DEPTH = 64
"""Levels of objects and lists within a body; no order needs half of them."""
MOST_UNITS = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact; no order comes near it."""
_WORKING_VALUES = ("tick_size", "triggered_at", "watermark", "placed_quantity", "started_at", "expires_at")


@attrs.frozen(kw_only=True)
class CheckedBody:
    """Everything that can be checked without the catalogue."""

    name: InstrumentName
    transaction_type: str
    product: str
    order_type: OrderType
    validity: str
    quantity: int
    disclosed_quantity: int
    price: Decimal | None
    trigger_price: Decimal | None
    after_market: bool
    dry_run: bool
    tag: str | None
    broker: str | None


def check_body(body: Mapping[str, Any], args: Mapping[str, str], *, brokers: tuple[str, ...]) -> CheckedBody:
    """Check a place body; `args` is the query (dry_run alone), `brokers` are the codes a caller may pin.

    Raises Refusal 400 with the spec's text.
    """
    _served(body)
    transaction_type = _word(body, "transaction_type", tuple(Side))
    product = _word(body, "product", SENDABLE_PRODUCTS)
    order_type = OrderType(_word(body, "order_type", tuple(OrderType)))
    validity = _word(body, "validity", SENDABLE_VALIDITIES, default=Validity.DAY)
    quantity = _quantity(body)
    disclosed = _disclosed(body, quantity)
    price, trigger_price = _prices(body, order_type)
    return CheckedBody(
        transaction_type=transaction_type,
        product=product,
        order_type=order_type,
        validity=validity,
        quantity=quantity,
        disclosed_quantity=disclosed,
        price=price,
        trigger_price=trigger_price,
        after_market=order_fields.flag(body, "after_market"),
        dry_run=order_fields.dry_run(body, args),
        tag=_tag(body),
        name=_name(body),
        broker=order_fields.broker(body.get("broker"), brokers),
    )


def with_instrument(checked: CheckedBody, body: Mapping[str, Any], instrument: Instrument) -> PlaceBody:
    """Finish the checks: orderable segment, whole ticks, then the settings of `synthetic`. Raises Refusal 400."""
    segment = bare_segment(instrument.identity.segment)
    if segment not in ORDERABLE_SEGMENTS:
        raise Refusal(400, texts.instruments_not_sent(segment))
    if instrument.tick_size:
        tick = Decimal(repr(instrument.tick_size))
        for name, value in (("price", checked.price), ("trigger_price", checked.trigger_price)):
            if value is not None and not is_multiple(value, tick):
                raise Refusal(400, texts.whole_ticks(name, plain(tick)))
    return PlaceBody(
        instrument=instrument,
        transaction_type=checked.transaction_type,
        product=checked.product,
        order_type=checked.order_type.value,
        validity=checked.validity,
        quantity=checked.quantity,
        disclosed_quantity=checked.disclosed_quantity,
        price=checked.price,
        trigger_price=checked.trigger_price,
        after_market=checked.after_market,
        tag=checked.tag,
        broker=checked.broker,
        closes_position=_closes_position(body),
        sent=body,
    )


def _served(body: Mapping[str, Any]) -> None:
    """Refuse what this version does not serve, so that nothing of it is ever sent."""
    _check_depth(body)
    if "orders" in body:
        raise Refusal(400, texts.not_served("a list of orders"))
    for name, must_be_object in _REFERENCES.items():
        if (reference := body.get(name)) is not None:
            raise Refusal(400, texts.not_served(name) if isinstance(reference, Mapping) else must_be_object)
    kind = _synthetic(body).get("type")
    if kind is not None and (not isinstance(kind, str) or kind.strip().lower() not in RUN_TYPES):
        shown = kind if isinstance(kind, str) else msgspec.json.encode(kind).decode()
        raise Refusal(400, texts.synthetic_not_run(shown, RUN_TYPES))


def _check_depth(body: Mapping[str, Any]) -> None:
    """Refuse what can be read but could not be copied into the parent's record without end of the stack."""
    level: list[object] = [body]
    for _ in range(MOST_DEPTH):
        level = [
            inner
            for value in level
            if isinstance(value, Mapping | list)
            for inner in (value.values() if isinstance(value, Mapping) else value)
        ]
    if level:
        raise Refusal(400, texts.NESTED_TOO_DEEPLY)


def _word(body: Mapping[str, Any], name: str, choices: tuple[str, ...], *, default: str | None = None) -> str:
    value = body.get(name)
    if value is None and default is not None:
        return default
    # Only ASCII: a few foreign letters turn into ours when upper-cased.
    word = value.strip().upper() if isinstance(value, str) and value.isascii() else None
    if word is None or word not in choices:
        raise Refusal(400, texts.must_be_one_of(name, choices))
    return word


def _quantity(body: Mapping[str, Any]) -> int:
    value = body.get("quantity")
    if value is None:
        raise Refusal(400, texts.QUANTITY_REQUIRED)
    if not _is_whole(value) or value < 1:
        raise Refusal(400, texts.QUANTITY_WHOLE)
    if value > MOST_UNITS:
        raise Refusal(400, shared.must_be_between("quantity", 1, MOST_UNITS))
    return int(value)


def _disclosed(body: Mapping[str, Any], quantity: int) -> int:
    value = body.get("disclosed_quantity")
    if value is None:
        return 0
    if not _is_whole(value) or value < 0:
        raise Refusal(400, texts.DISCLOSED_WHOLE)
    if value > MOST_UNITS:
        raise Refusal(400, shared.must_be_between("disclosed_quantity", 0, MOST_UNITS))
    if value > quantity:
        raise Refusal(400, texts.DISCLOSED_ABOVE)
    return int(value)


def _prices(body: Mapping[str, Any], order_type: OrderType) -> tuple[Decimal | None, Decimal | None]:
    price, trigger = _number(body, "price"), _number(body, "trigger_price")
    if order_type.takes_price and price is None:
        raise Refusal(400, texts.needs_price(order_type))
    if not order_type.takes_price and price is not None:
        raise Refusal(400, texts.takes_no_price(order_type))
    if order_type.takes_trigger and trigger is None:
        raise Refusal(400, texts.needs_trigger(order_type))
    if not order_type.takes_trigger and trigger is not None:
        raise Refusal(400, texts.takes_no_trigger(order_type))
    return price, trigger


def _number(body: Mapping[str, Any], name: str) -> Decimal | None:
    value = body.get(name)
    if value is None:
        return None
    if not _is_finite(value) or value < 0:
        raise Refusal(400, texts.price_number(name))
    return Decimal(repr(value)).copy_abs()  # JSON has a -0.0


def _tag(body: Mapping[str, Any]) -> str | None:
    value = body.get("tag")
    if value is None:
        return None
    if not isinstance(value, str) or _TAG.fullmatch(value) is None:
        raise Refusal(400, texts.TAG)
    return value


def _name(body: Mapping[str, Any]) -> InstrumentName:
    given = body.get("instrument_id")
    if given is not None:
        instrument_id = order_fields.uuid_text(given, texts.UUID)
        return InstrumentName(instrument_id, instrument_id)
    identity = _identity(body)
    return InstrumentName(identity.instrument_id, fields_text(identity))


def _identity(body: Mapping[str, Any]) -> Identity:
    exchange, segment = _text(body, "exchange").lower(), _text(body, "segment").lower()
    if exchange not in TRADING_EXCHANGES or not segment:
        raise Refusal(400, texts.NO_NAMING)
    bare = segment.removeprefix(f"{exchange}_")
    if bare not in ORDERABLE_SEGMENTS:
        raise Refusal(400, texts.segment_not_sent(segment))
    shape = SEGMENT_SHAPES[bare]
    if shape is Shape.SECURITY:
        symbol = _text(body, "symbol")
        if not symbol:
            raise Refusal(400, texts.SECURITY_NEEDS)
        return security(exchange, bare, symbol)
    return _derivative(body, exchange, bare, shape)


def _derivative(body: Mapping[str, Any], exchange: str, bare: str, shape: Shape) -> Identity:
    underlying, expiry_text = _text(body, "underlying_symbol"), _text(body, "expiry_date")
    if not underlying or not expiry_text:
        raise Refusal(400, texts.derivative_needs(shape))
    expiry = _expiry(expiry_text)
    if shape is Shape.FUTURE:
        return future(exchange, bare, underlying, expiry)
    strike: Any = body.get("strike_price")
    if not _is_finite(strike):
        raise Refusal(400, texts.STRIKE_PRICE)
    option_type = _text(body, "option_type").upper()
    if option_type not in ("CE", "PE"):
        raise Refusal(400, texts.OPTION_TYPE)
    return option(exchange, bare, underlying, expiry, strike, option_type)


def _expiry(text: str) -> date:
    try:
        if _DATE.fullmatch(text) is None:
            raise ValueError
        return date.fromisoformat(text)
    except ValueError:
        raise Refusal(400, texts.EXPIRY_DATE) from None


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return value.strip() if isinstance(value, str) else ""


def _synthetic(body: Mapping[str, Any]) -> Mapping[str, Any]:
    value = body.get("synthetic")
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise Refusal(400, texts.SYNTHETIC_OBJECT)
    return value


def _closes_position(body: Mapping[str, Any]) -> bool:
    """Check the settings of a simple order and return `closes_position`: only a literal true counts (spec 2 §7)."""
    settings = {name: value for name, value in _synthetic(body).items() if value is not None}
    hold = settings.get("hold_limits", False)
    if not isinstance(hold, bool):
        raise Refusal(400, texts.HOLD_LIMITS)
    if hold:
        raise Refusal(400, texts.HOLD_LIMITS_SIMPLE)
    for name in _WORKING_VALUES:
        if name in settings:
            raise Refusal(400, texts.worked_out_by_engine(name))
    for name in settings:
        if name not in _COMMON_SETTINGS:
            raise Refusal(400, texts.takes_no_setting("simple", name))
    return settings.get("closes_position") is True


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: object) -> bool:
    """Whether this is a number, and one that a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
