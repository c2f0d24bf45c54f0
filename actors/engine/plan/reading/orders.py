"""Reading an order part of a plan: its place fields, price, execution and quantity, and whether they fit together. Pure; raises Refusal."""

from collections.abc import Callable

import attrs

from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, BookDepth, Execution, Ladder, TopUp
from onebroker.actors.engine.plan.kinds import WORDS
from onebroker.actors.engine.plan.parts import FromExposure, FromFill, FromPosition, OrderPart, Part, Quantity
from onebroker.actors.engine.plan.price_kinds import (
    RESTING,
    Cap,
    Fixed,
    FromFillPrice,
    FromParentFill,
    Marketable,
    Peg,
    Price,
)
from onebroker.actors.engine.plan.reading.conditions import read_lifetime, read_when
from onebroker.actors.engine.plan.reading.executions import check_pair, execution_kind, read_execution
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.prices import body_price, price_kind, read_price
from onebroker.actors.engine.plan.reading.quantities import read_quantity
from onebroker.actors.engine.plan.reading.reading_context import Defaults, Surroundings, Traded, World, mapped
from onebroker.actors.engine.plan.reading.value_rules import choice, flag, tag, uuid
from onebroker.config.instruments import ORDERABLE_SEGMENTS, bare_segment
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, SENDABLE_VALIDITIES, OrderType, Side, Validity

_KEYS = (
    "part", "instrument_id", "transaction_type", "product", "validity", "tag", "broker", "quantity", "price", "execution",
    "hold", "closes", "each_fill", "when", "lifetime",
)  # fmt: skip

ReadPart = Callable[[object, str, Surroundings], Part]
"""Reads the part at a path."""


@attrs.frozen(kw_only=True)
class _Way:
    """How an order part sends its orders."""

    price: Price
    execution: Execution
    hold: bool


def read_order(fields: Fields, around: Surroundings, read_part: ReadPart) -> OrderPart:
    """Read an order part, and with `read_part` the part that hangs on it."""
    fields.only(*_KEYS)
    price_kind(fields)
    execution_kind(fields)
    defaults = place_fields(fields, around.defaults, around.world)
    traded = traded_by(fields, attrs.evolve(around, defaults=defaults))
    way = _read_way(fields, traded)
    closes = fields.optional("closes", flag, False)
    when = read_when(fields, traded.instrument, around.world)
    lifetime = read_lifetime(fields, traded.instrument, around.world)
    quantity = read_quantity(fields, traded)
    check_hanging(fields, way.price, quantity, around)
    check_pair(fields, way.price, way.execution, given=fields.has("price"))
    _check_form(fields, quantity, way)
    if defaults.validity == Validity.IOC and not isinstance(way.execution, AllAtOnce):
        raise fields.refusal(texts.validity_not_with(Validity.IOC, "plan"))
    if quantity is None:
        raise fields.refusal(order_texts.QUANTITY_REQUIRED)
    return OrderPart(
        path=fields.path,
        when=when,
        lifetime=lifetime,
        instrument_id=traded.instrument.instrument_id,
        transaction_type=traded.side.value,
        product=product_of(fields, defaults),
        validity=defaults.validity,
        quantity=quantity,
        price=way.price,
        execution=way.execution,
        broker=defaults.broker,
        tag=defaults.tag,
        hold=way.hold,
        is_exit=closes or isinstance(quantity, FromPosition),
        each_fill=_linked(fields, around, read_part),
    )


def _linked(fields: Fields, around: Surroundings, read_part: ReadPart) -> Part | None:
    """Read the linked part. It takes the body's fields, not this part's fields; it only knows that it hangs on a part."""
    if not fields.has("each_fill"):
        return None
    return read_part(fields.given["each_fill"], f"{fields.path}.each_fill", around.below_link())


def _read_way(fields: Fields, traded: Traded) -> _Way:
    own = read_price(fields, traded) if fields.has("price") else None
    execution = read_execution(fields, traded)
    price = own if own is not None else _unpriced(fields, execution, traded)
    hold = fields.optional("hold", flag, traded.around.hold_limits and can_hold(price, execution))
    if hold and not can_hold(price, execution):
        raise fields.refusal(texts.HELD_NOT_FIXED)
    return _Way(price=price, execution=execution, hold=hold)


def can_hold(price: Price, execution: Execution) -> bool:
    """Whether the engine can hold such an order (1.9): only a plain limit (`RESTING`).

    A limit with `on_crossing` must rest in the market, which a held order does not do. A book_depth strike is IOC.
    """
    rests = isinstance(price, Fixed) and price.on_crossing is not None
    return isinstance(price, RESTING) and not rests and not isinstance(execution, BookDepth)


def _unpriced(fields: Fields, execution: Execution, traded: Traded) -> Price:
    """Return the price of a part without a `price`: body pricing, but a ladder or book_depth brings its own unless order_type is a stop."""
    stop = traded.defaults.order_type in (OrderType.SL, OrderType.SL_M)
    if isinstance(execution, Ladder) and not stop:
        return Fixed(execution.from_price)
    if isinstance(execution, BookDepth) and not stop:
        return Fixed(execution.limit_price)
    return body_price(fields, traded)


def check_hanging(fields: Fields, price: Price, quantity: Quantity | None, around: Surroundings) -> None:
    inner = price
    while isinstance(inner, Cap):
        inner = inner.of
    hangs = isinstance(quantity, FromFill) or isinstance(inner, FromFillPrice | FromParentFill)
    if hangs and not around.hangs:
        raise fields.refusal(texts.NOTHING_TO_HANG_ON)


def _check_form(fields: Fields, quantity: Quantity | None, way: _Way) -> None:
    """Refuse a quantity that does not fit the execution. A position is closed row by row, not in pieces; an exposure needs top_up."""
    execution = way.execution
    if isinstance(quantity, FromPosition):
        if not isinstance(execution, AllAtOnce):
            raise fields.refusal(texts.position_not_with(WORDS[type(execution)]))
        _check_price_of_rows(fields, quantity, way.price)
    if isinstance(quantity, FromExposure) and not isinstance(execution, TopUp):
        raise fields.refusal(texts.EXPOSURE_NEEDS_TOP_UP)


def _check_price_of_rows(fields: Fields, quantity: FromPosition, price: Price) -> None:
    """Refuse a price that cannot serve every row. Rows can be on either side and of several instruments.

    A limit suits one instrument only. A stop, and a price that moves with its memory, would use the part's own side.
    """
    several = quantity.every_instrument or len(quantity.instrument_ids) > 1
    inner = price.of if isinstance(price, Cap) else price
    if not isinstance(inner, Marketable | Peg | Fixed):
        raise fields.refusal(texts.position_not_priced(WORDS[type(inner)]))
    if several and isinstance(price, Fixed | Cap):
        raise fields.refusal(texts.positions_not_priced(WORDS[type(price)]))


# --- the place fields of a part --------------------------------------------------------------------------------------------


def place_fields(fields: Fields, defaults: Defaults, world: World) -> Defaults:
    """Return the body's fields, replaced by the part's own fields where given: all but quantity, order_type and prices.

    Refusal 400 with the sentences of place itself, 404 for an instrument that is not mapped today.
    """
    instrument = defaults.instrument
    instrument_id = fields.optional("instrument_id", uuid, None)
    if instrument_id is not None and (instrument is None or instrument.instrument_id != instrument_id):
        instrument = mapped(fields, instrument_id, world)
        segment = bare_segment(instrument.identity.segment)
        if segment not in ORDERABLE_SEGMENTS:
            raise fields.refusal(order_texts.instruments_not_sent(segment))
    return attrs.evolve(
        defaults,
        instrument=instrument,
        transaction_type=fields.optional("transaction_type", choice(tuple(Side)), defaults.transaction_type),
        product=fields.optional("product", choice(SENDABLE_PRODUCTS), defaults.product),
        validity=fields.optional("validity", choice(SENDABLE_VALIDITIES), defaults.validity),
        tag=fields.optional("tag", tag, defaults.tag),
        broker=fields.optional("broker", choice(world.brokers), defaults.broker),
    )


def traded_by(fields: Fields, around: Surroundings) -> Traded:
    """Return the instrument and side that a part trades; refused when neither the part nor the body names them."""
    defaults = around.defaults
    if defaults.instrument is None:
        raise fields.refusal(texts.is_required("instrument_id"))
    if defaults.transaction_type is None:
        raise fields.refusal(order_texts.must_be_one_of("transaction_type", tuple(Side)))
    return Traded(instrument=defaults.instrument, side=Side(defaults.transaction_type), around=around)


def product_of(fields: Fields, defaults: Defaults) -> str:
    if defaults.product is None:
        raise fields.refusal(order_texts.must_be_one_of("product", SENDABLE_PRODUCTS))
    return str(defaults.product)
