"""The body of a place request into a typed order, in the order of spec 2 §8. Pure: raises `Refusal`, asks nobody."""

import math
import re
import uuid
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import attrs

from onebroker.actors.catalogue.interface import Instrument, Snapshot
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
from onebroker.config.money import is_multiple, plain
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import (
    SENDABLE_PRODUCTS,
    SENDABLE_VALIDITIES,
    OrderType,
    Side,
    Validity,
)

_TAG = re.compile(r"[A-Za-z0-9]{1,20}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
RUN_TYPES = ("simple",)
"""Synthetic types that the engine runs."""
_UNSERVED = ("price_reference", "quantity_reference")


@attrs.frozen(kw_only=True)
class Naming:
    """How the body names its instrument: by id, or by its identity."""

    instrument_id: str | None
    identity: Identity | None

    @property
    def shown(self) -> str:
        """The id or the fields, as a 404 names them."""
        if self.instrument_id is not None:
            return self.instrument_id
        assert self.identity is not None
        return self.identity.natural_key.replace("|", " ")


@attrs.frozen(kw_only=True)
class CheckedBody:
    """Everything that can be checked without the catalogue."""

    naming: Naming
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
    closes_position: bool


def check_body(body: Mapping[str, Any], *, brokers: tuple[str, ...]) -> CheckedBody:
    """Check a place body; `brokers` are the codes a caller may pin. Raises Refusal 400 with the spec's text."""
    transaction_type = _word(body, "transaction_type", tuple(Side))
    product = _word(body, "product", SENDABLE_PRODUCTS)
    order_type = OrderType(_word(body, "order_type", tuple(OrderType)))
    validity = _word(body, "validity", SENDABLE_VALIDITIES, default=Validity.DAY)
    quantity = _quantity(body)
    disclosed = _disclosed(body, quantity)
    price, trigger_price = _prices(body, order_type)
    after_market = _flag(body, "after_market")
    dry_run = _flag(body, "dry_run")
    tag = _tag(body)
    naming = _naming(body)
    broker = _pinned(body, brokers)
    closes_position = _synthetic(body)
    for name in _UNSERVED:
        if body.get(name) is not None:
            raise Refusal(400, texts.not_served(name))
    return CheckedBody(
        naming=naming,
        transaction_type=transaction_type,
        product=product,
        order_type=order_type,
        validity=validity,
        quantity=quantity,
        disclosed_quantity=disclosed,
        price=price,
        trigger_price=trigger_price,
        after_market=after_market,
        dry_run=dry_run,
        tag=tag,
        broker=broker,
        closes_position=closes_position,
    )


def with_instrument(checked: CheckedBody, body: Mapping[str, Any], instrument: Instrument) -> PlaceBody:
    """Finish the checks that need the instrument: orderable segment, whole ticks. Raises Refusal 400."""
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
        closes_position=checked.closes_position,
        sent=body,
    )


def find_instrument(naming: Naming, snapshot: Snapshot) -> Instrument | None:
    if naming.instrument_id is not None:
        return snapshot.instrument(naming.instrument_id)
    assert naming.identity is not None
    return snapshot.find(naming.identity)


def _word(body: Mapping[str, Any], name: str, choices: tuple[str, ...], *, default: str | None = None) -> str:
    value = body.get(name, default)
    word = value.strip().upper() if isinstance(value, str) else None
    if word is None or word not in choices:
        raise Refusal(400, texts.must_be_one_of(name, choices))
    return word


def _quantity(body: Mapping[str, Any]) -> int:
    value = body.get("quantity")
    if value is None:
        raise Refusal(400, texts.QUANTITY_REQUIRED)
    if not _is_whole(value) or value < 1:
        raise Refusal(400, texts.QUANTITY_WHOLE)
    return int(value)


def _disclosed(body: Mapping[str, Any], quantity: int) -> int:
    value = body.get("disclosed_quantity")
    if value is None:
        return 0
    if not _is_whole(value) or value < 0:
        raise Refusal(400, texts.DISCLOSED_WHOLE)
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
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise Refusal(400, texts.price_number(name))
    return Decimal(repr(value))


def _flag(body: Mapping[str, Any], name: str) -> bool:
    value = body.get(name)
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Refusal(400, texts.true_or_false(name))
    return value


def _tag(body: Mapping[str, Any]) -> str | None:
    value = body.get("tag")
    if value is None:
        return None
    if not isinstance(value, str) or _TAG.fullmatch(value) is None:
        raise Refusal(400, texts.TAG)
    return value


def _naming(body: Mapping[str, Any]) -> Naming:
    given = body.get("instrument_id")
    if given is not None:
        try:
            return Naming(instrument_id=str(uuid.UUID(given if isinstance(given, str) else "")), identity=None)
        except ValueError:
            raise Refusal(400, texts.UUID) from None
    return Naming(instrument_id=None, identity=_identity(body))


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
    strike = body.get("strike_price")
    if isinstance(strike, bool) or not isinstance(strike, int | float) or not math.isfinite(strike):
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


def _pinned(body: Mapping[str, Any], brokers: tuple[str, ...]) -> str | None:
    value = body.get("broker")
    if value is None:
        return None
    code = value.strip().lower() if isinstance(value, str) else ""
    if code not in brokers:
        raise Refusal(400, texts.must_be_one_of("broker", brokers))
    return code


def _synthetic(body: Mapping[str, Any]) -> bool:
    """Return `closes_position`; only a literal true counts (spec 2 §7)."""
    value = body.get("synthetic")
    if value is None:
        return False
    if not isinstance(value, Mapping):
        raise Refusal(400, texts.SYNTHETIC_OBJECT)
    name = value.get("type", "simple")
    if not isinstance(name, str) or name.strip().lower() not in RUN_TYPES:
        raise Refusal(400, texts.synthetic_not_run(str(name), RUN_TYPES))
    hold = value.get("hold_limits", False)
    if not isinstance(hold, bool):
        raise Refusal(400, texts.HOLD_LIMITS)
    if hold:
        raise Refusal(400, texts.HOLD_LIMITS_SIMPLE)
    return value.get("closes_position") is True


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
