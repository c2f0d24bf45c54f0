"""Turns the body of a place request into a typed order, in the order of rules 2.8. Pure: it raises `Refusal` and asks nobody.

First come the checks of the body alone, then those that need the instrument. Last come the settings of `synthetic`, which the engine judges
(`actors/engine/intake/synthetic.py`). A JSON null counts as absent, in every field of an order but `dry_run`. Keys that no order has are refused
earlier (`http/bodies/body_keys.py`). Booleans are not numbers, and numeric text is not a number (order-engine 3.0).
"""

import math
import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.context.messages import PlaceBody
from onebroker.actors.engine.intake import request_fields
from onebroker.actors.engine.intake.synthetic import Needs, named_type, needs_of, with_synthetic
from onebroker.actors.engine.orders.reference_values import References
from onebroker.actors.engine.plan.reading.reading_context import World
from onebroker.actors.engine.references.parsing import is_finite_number, parse_references
from onebroker.config.instruments import (
    ORDERABLE_SEGMENTS,
    SEGMENT_SHAPES,
    TRADING_EXCHANGES,
    Identity,
    InstrumentName,
    Shape,
    bare_segment,
    fields_text,
    future,
    option,
    security,
)
from onebroker.config.messages import orders as texts
from onebroker.config.messages import shared
from onebroker.config.money import as_meant, on_tick, plain
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import (
    SENDABLE_PRODUCTS,
    SENDABLE_VALIDITIES,
    OrderType,
    Side,
    Validity,
)

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
MOST_DEPTH = 64
"""Levels of objects and lists within a body; no order needs half of them."""
MOST_UNITS = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact; no order comes close to it."""


@attrs.frozen(kw_only=True)
class CheckedBody:
    """Everything that can be checked without the catalogue."""

    name: InstrumentName
    transaction_type: str | None
    """This field, product and order_type are None when the type takes them from its parts and the body leaves them out."""
    product: str | None
    order_type: OrderType | None
    validity: str
    quantity: int | None
    """None = left to the quantity reference, the position or the parts."""
    disclosed_quantity: int
    price: Decimal | None
    """Also None when a price reference replaces it, or when the type computes its price."""
    trigger_price: Decimal | None
    references: References | None
    after_market: bool
    dry_run: bool
    tag: str | None
    broker: str | None


def check_body(
    body: Mapping[str, Any],
    *,
    brokers: tuple[str, ...],
    dry_run: Callable[[Mapping[str, Any]], bool] = request_fields.dry_run,
) -> CheckedBody:
    """Check a place body. `brokers` are the codes a caller may pin; `dry_run` reads that flag from the body or from the request's query.

    Raises Refusal 400 with the text of the rule book.
    """
    _check_depth(body)
    needs = needs_of(body.get("synthetic"))
    transaction_type = _order_field(body, "transaction_type", tuple(Side), needs)
    product = _order_field(body, "product", SENDABLE_PRODUCTS, needs)
    order_word = _order_field(body, "order_type", tuple(OrderType), needs)
    order_type = None if order_word is None else OrderType(order_word)
    validity = _word(body, "validity", SENDABLE_VALIDITIES, default=Validity.DAY)
    quantity = _quantity(body, needs)
    disclosed = _disclosed(body, quantity)
    price, trigger_price = _prices(body, order_type, needs)
    checked = CheckedBody(
        transaction_type=transaction_type,
        product=product,
        order_type=order_type,
        validity=validity,
        quantity=quantity,
        disclosed_quantity=disclosed,
        price=price,
        trigger_price=trigger_price,
        references=parse_references(body, quantity),
        after_market=request_fields.flag(body, "after_market"),
        dry_run=dry_run(body),
        tag=_tag(body),
        name=_name(body),
        broker=request_fields.broker(body.get("broker"), brokers),
    )
    named_type(body.get("synthetic"))
    return checked


def with_instrument(checked: CheckedBody, body: Mapping[str, Any], instrument: Instrument, world: World) -> PlaceBody:
    """Finish the checks: orderable segment, whole ticks, then the settings of `synthetic` against today's `world`. Raises Refusal 400, and 404 for
    an unknown instrument in a part of a plan."""
    segment = bare_segment(instrument.identity.segment)
    if segment not in ORDERABLE_SEGMENTS:
        raise Refusal(400, texts.instruments_not_sent(segment))
    tick = Decimal(repr(instrument.tick_size)) if instrument.tick_size else None
    meant = recorded(body)
    order = PlaceBody(
        instrument=instrument,
        transaction_type=checked.transaction_type,
        product=checked.product,
        order_type=None if checked.order_type is None else checked.order_type.value,
        validity=checked.validity,
        quantity=checked.quantity or 0,
        disclosed_quantity=checked.disclosed_quantity,
        price=_in_ticks("price", checked.price, tick),
        trigger_price=_in_ticks("trigger_price", checked.trigger_price, tick),
        after_market=checked.after_market,
        tag=checked.tag,
        broker=checked.broker,
        closes_position=False,
        sent=meant,
        references=checked.references,
    )
    return with_synthetic(meant.get("synthetic"), order, world)


def _in_ticks(name: str, value: Decimal | None, tick: Decimal | None) -> Decimal | None:
    """Return the price as whole ticks; None for no tick = no rule."""
    if value is None or tick is None:
        return value
    found = on_tick(value, tick)
    if found is None:
        raise Refusal(400, texts.whole_ticks(name, plain(tick)))
    return found


def recorded(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body as the parent keeps it: every number as it is meant (`as_meant`), so that the record says what was sent."""
    return {name: _as_recorded(value) for name, value in body.items()}


def _as_recorded(value: Any) -> Any:
    match value:
        case float() if math.isfinite(value):
            return float(as_meant(value))
        case Mapping():
            return recorded(value)
        case list():
            return [_as_recorded(inner) for inner in value]
    return value


def _check_depth(body: Mapping[str, Any]) -> None:
    """Refuse a body that can be read but is nested too deeply: copying it into the parent's record would overflow the stack."""
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


def _order_field(body: Mapping[str, Any], name: str, choices: tuple[str, ...], needs: Needs) -> str | None:
    if body.get(name) is None and not needs.order_fields:
        return None
    return _word(body, name, choices)


def _quantity(body: Mapping[str, Any], needs: Needs) -> int | None:
    """Return the typed quantity. With a quantity reference, whose kind decides whether one is needed, it may be left out."""
    value, referenced = body.get("quantity"), body.get("quantity_reference") is not None
    if value is None and (referenced or not needs.quantity or not needs.order_fields):
        return None
    if value is None:
        raise Refusal(400, texts.QUANTITY_REQUIRED)
    if not _is_whole(value) or (value < 1 and not referenced):
        raise Refusal(400, texts.QUANTITY_WHOLE)
    if value > MOST_UNITS:
        raise Refusal(400, shared.must_be_between("quantity", 1, MOST_UNITS))
    return int(value)


def _disclosed(body: Mapping[str, Any], quantity: int | None) -> int:
    value = body.get("disclosed_quantity")
    if value is None:
        return 0
    if not _is_whole(value) or value < 0:
        raise Refusal(400, texts.DISCLOSED_WHOLE)
    if value > MOST_UNITS:
        raise Refusal(400, shared.must_be_between("disclosed_quantity", 0, MOST_UNITS))
    if quantity is not None and value > quantity:
        raise Refusal(400, texts.DISCLOSED_ABOVE)
    return int(value)


def _prices(
    body: Mapping[str, Any], order_type: OrderType | None, needs: Needs
) -> tuple[Decimal | None, Decimal | None]:
    price, trigger = _number(body, "price"), _number(body, "trigger_price")
    if order_type is None:
        return price, trigger
    referenced = body.get("price_reference") is not None
    if not needs.prices:
        return _unused(body, order_type, price, trigger)
    if order_type.takes_price and price is None and not referenced:
        raise Refusal(400, texts.needs_price(order_type))
    if not order_type.takes_price and (price is not None or referenced):
        raise Refusal(400, texts.takes_no_price(order_type))
    if order_type.takes_trigger and trigger is None:
        raise Refusal(400, texts.needs_trigger(order_type))
    if not order_type.takes_trigger and trigger is not None:
        raise Refusal(400, texts.takes_no_trigger(order_type))
    return (None if referenced else price), trigger


def _unused(
    body: Mapping[str, Any], order_type: OrderType, price: Decimal | None, trigger: Decimal | None
) -> tuple[Decimal | None, Decimal | None]:
    """For a type that computes its prices: prices that the order_type takes may be given or left out; any other is refused as usual."""
    if not order_type.takes_price and (price is not None or body.get("price_reference") is not None):
        raise Refusal(400, texts.takes_no_price(order_type))
    if not order_type.takes_trigger and trigger is not None:
        raise Refusal(400, texts.takes_no_trigger(order_type))
    return price, trigger


def _number(body: Mapping[str, Any], name: str) -> Decimal | None:
    value = body.get(name)
    if value is None:
        return None
    if not is_finite_number(value) or value < 0:
        raise Refusal(400, texts.price_number(name))
    return as_meant(value).copy_abs()  # JSON has a -0.0


def _tag(body: Mapping[str, Any]) -> str | None:
    value = body.get("tag")
    return None if value is None else request_fields.tag(value)


def _name(body: Mapping[str, Any]) -> InstrumentName:
    given = body.get("instrument_id")
    if given is not None:
        instrument_id = request_fields.uuid_text(given, texts.UUID)
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
    if not is_finite_number(strike):
        raise Refusal(400, texts.STRIKE_PRICE)
    option_type = _text(body, "option_type").upper()
    if option_type not in ("CE", "PE"):
        raise Refusal(400, texts.OPTION_TYPE)
    return option(exchange, bare, underlying, expiry, float(as_meant(strike)), option_type)


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


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
