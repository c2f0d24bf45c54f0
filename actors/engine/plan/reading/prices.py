"""`price` of an order part, and body pricing for a part without a price (order-engine 1.4). Pure; raises Refusal.

A part's own prices are whole ticks of the traded instrument (N11). Offsets and trails need not be; the prices computed from them
are snapped.
"""

from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.kinds import PRICES
from onebroker.actors.engine.plan.price_kinds import (
    Anchor,
    Cap,
    Chase,
    Discretion,
    ExitOrder,
    FillBasis,
    Fixed,
    FollowInstrument,
    FromFillPrice,
    FromParentFill,
    Marketable,
    NativeStop,
    OptionModel,
    Peg,
    Price,
    Touch,
    WatchField,
)
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.reading_context import Traded, named_instrument
from onebroker.actors.engine.plan.reading.stops import read_native_stop, read_stages, read_step_ticks, read_trail
from onebroker.actors.engine.plan.reading.value_rules import (
    above_zero,
    above_zero_to,
    at_least,
    choice,
    flag,
    not_below_zero,
    number,
    price,
    whole,
    word_of,
)
from onebroker.config.instruments import Shape
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.vocabulary import OrderType, Side

_STOPS = ("native_stop", "trail", "stages")
MOST_VOLATILITY = 500
_OPTIONS_END = time(15, 30)


def price_kind(fields: Fields) -> str | None:
    """Return the kind that the `price` of a part names; None without a `price` (body pricing). Refusal for an unknown kind."""
    given = fields.inner("price")
    return None if given is None else _kind(given, tuple(PRICES))


def _kind(given: Fields, allowed: tuple[str, ...]) -> str:
    return given.judge(choice(allowed), given.given.get("kind"), "price kind")


def read_price(fields: Fields, traded: Traded) -> Price:
    """Read the `price` object of a part; the caller knows that there is one (`price_kind`)."""
    given = fields.inner("price")
    assert given is not None
    return _READERS[_kind(given, tuple(PRICES))](given, traded)


def body_price(fields: Fields, traded: Traded) -> Price:
    """Return the price of a part that has no `price`: it follows from the body's order_type and prices."""
    order_type = traded.defaults.order_type
    if order_type is None:
        raise fields.refusal(order_texts.must_be_one_of("order_type", OrderType))
    kind = OrderType(order_type)
    if kind is OrderType.MARKET:
        return Marketable()
    limit = traded.body_price(fields) if kind.takes_price else None
    if kind.takes_price and limit is None:
        raise fields.refusal(order_texts.needs_price(order_type))
    if not kind.takes_trigger:
        assert limit is not None
        return Fixed(limit)
    trigger = traded.body_price(fields, "trigger_price")
    if trigger is None:
        raise fields.refusal(order_texts.needs_trigger(order_type))
    return NativeStop(trigger_price=trigger, limit_price=limit)


# --- one reader a kind -----------------------------------------------------------------------------------------------------


def _fixed(given: Fields, traded: Traded) -> Fixed:
    given.only("kind", "price")
    own = given.optional("price", price(traded.tick), None)
    found = own if own is not None else traded.body_price(given)
    if found is None:
        raise given.refusal(texts.is_required(given.name("price")))
    return Fixed(found)


def _marketable(given: Fields, _: Traded) -> Marketable:
    given.only("kind", "buffer_ticks", "reaches_size", "maximum_cost_bps", "fill_within_seconds", "follow")
    return Marketable(
        buffer_ticks=given.optional("buffer_ticks", at_least(0), 2),
        reaches_size=given.optional("reaches_size", flag, False),
        maximum_cost_bps=given.optional("maximum_cost_bps", above_zero, None),
        fill_within_seconds=given.optional("fill_within_seconds", above_zero, None),
        follow=given.optional("follow", flag, False),
    )


def _peg(given: Fields, traded: Traded) -> Peg:
    given.only("kind", "reference", "offset_ticks", "cap_price")
    return Peg(
        reference=given.optional("reference", word_of(Touch), Touch.OWN_TOUCH),
        offset_ticks=given.optional("offset_ticks", whole, 0),
        cap_price=given.optional("cap_price", price(traded.tick), None),
    )


def _chase(given: Fields, traded: Traded) -> Chase:
    given.only("kind", "step_ticks", "step_seconds", "cap_price", "cross_after_seconds")
    start = traded.body_price(given) if traded.around.defaults.order_type == OrderType.LIMIT else None
    chase = Chase(
        start_price=start,
        step_ticks=read_step_ticks(given),
        step_seconds=given.optional("step_seconds", above_zero, Decimal(5)),
        cap_price=given.optional("cap_price", price(traded.tick), None),
        cross_after_seconds=given.optional("cross_after_seconds", above_zero, None),
    )
    side = traded.side
    if start is not None and chase.cap_price is not None and (chase.cap_price - start) * side.sign <= 0:
        sentence = texts.above_for_buy if side is Side.BUY else texts.below_for_sell
        raise given.refusal(sentence(given.name("cap_price"), "price"))
    return chase


def _follow_instrument(given: Fields, traded: Traded) -> FollowInstrument:
    given.only(
        "kind", "watch_instrument_id", "delta", "base_price", "anchor", "watch_field",
        "lowest_price", "highest_price", "step_ticks",
    )  # fmt: skip
    anchor = given.optional("anchor", word_of(Anchor), Anchor.START)
    # With anchor zero the base is not itself a price: the net of a spread may be negative (3.25).
    rule = price(traded.tick) if anchor is Anchor.START else number
    base = given.optional("base_price", rule, None)
    if base is None:
        base = traded.body_price(given)
    if base is None:
        raise given.refusal(texts.is_required(given.name("base_price")))
    lowest, highest = _bounds(given, traded)
    return FollowInstrument(
        watch_instrument_id=_watched(given, traded),
        delta=given.required("delta", number),
        base_price=base,
        anchor=anchor,
        watch_field=given.optional("watch_field", word_of(WatchField), WatchField.LAST_PRICE),
        lowest_price=lowest,
        highest_price=highest,
        step_ticks=read_step_ticks(given),
    )


def _option_model(given: Fields, traded: Traded) -> OptionModel:
    given.only(
        "kind", "watch_instrument_id", "volatility", "interest_rate", "lowest_price", "highest_price", "step_ticks"
    )
    _check_option(given, traded)
    lowest, highest = _bounds(given, traded)
    return OptionModel(
        watch_instrument_id=_watched(given, traded),
        volatility=given.required("volatility", above_zero_to(MOST_VOLATILITY)),
        interest_rate=given.optional("interest_rate", number, Decimal(0)),
        lowest_price=lowest,
        highest_price=highest,
        step_ticks=read_step_ticks(given),
        worst_price=traded.body_price(given),
    )


def _check_option(given: Fields, traded: Traded) -> None:
    """Refuse an instrument that is no option, or an expired option. An option expires at 15:30 India time on its expiry date (rules 2.7)."""
    identity = traded.instrument.identity
    if identity.shape is not Shape.OPTION or identity.expiry_date is None:
        raise given.refusal(texts.OPTIONS_ONLY)
    now, expiry = traded.around.world.now, date.fromisoformat(identity.expiry_date)
    if (now.date(), now.time()) >= (expiry, _OPTIONS_END):
        raise given.refusal(texts.option_expired(identity.expiry_date))


def _from_parent_fill(given: Fields, _: Traded) -> FromParentFill:
    order = given.required("order", word_of(ExitOrder))
    given.only("kind", "distance", "percent", "order", *_STOP_FIELDS[order])
    distance, percent = _distance(given)
    return FromParentFill(
        distance=distance,
        percent=percent,
        order=order,
        limit_offset=given.optional("limit_offset", above_zero, None),
        marketable_after_seconds=given.optional("marketable_after_seconds", above_zero, None),
    )


def _from_fill(given: Fields, _: Traded) -> FromFillPrice:
    order = given.required("order", word_of(ExitOrder))
    given.only("kind", "distance", "percent", "order", "basis", *_STOP_FIELDS[order])
    distance, percent = _distance(given)
    return FromFillPrice(
        distance=distance,
        percent=percent,
        order=order,
        limit_offset=given.optional("limit_offset", above_zero, None),
        basis=given.optional("basis", word_of(FillBasis), FillBasis.FILL),
        marketable_after_seconds=given.optional("marketable_after_seconds", above_zero, None),
    )


_STOP_FIELDS = {ExitOrder.LIMIT: (), ExitOrder.STOP: ("limit_offset", "marketable_after_seconds")}


def _distance(given: Fields) -> tuple[Decimal | None, Decimal | None]:
    """Read `distance` or `percent`; zero means break even."""
    if given.has("distance") == given.has("percent"):
        raise given.refusal(texts.either(given.name("distance"), given.name("percent")))
    return given.optional("distance", not_below_zero, None), given.optional("percent", not_below_zero, None)


def _discretion(given: Fields, traded: Traded) -> Discretion:
    given.only("kind", "price", "points", "quantity")
    # The prefix keeps it apart from the part's own quantity in sentences.
    own = attrs.evolve(given, prefix="price.")
    return Discretion(
        price=given.required("price", price(traded.tick)),
        points=given.required("points", price(traded.tick)),
        quantity=own.optional("quantity", at_least(1), None),
    )


def _cap(given: Fields, traded: Traded) -> Cap:
    given.only("kind", "worst_price", "of")
    inner = given.inner("of", prefix="of.")
    if inner is None:
        raise given.refusal(texts.is_required(given.name("of")))
    kind = _kind(inner, tuple(name for name in PRICES if name not in _STOPS))
    worst = given.required("worst_price", price(traded.tick))
    if kind in ("from_parent_fill", "from_fill"):
        inner.required("order", choice((ExitOrder.LIMIT.value,)))
    return Cap(worst_price=worst, of=_READERS[kind](inner, traded))


def _watched(given: Fields, traded: Traded) -> str:
    watched = named_instrument(given, "watch_instrument_id", traded.around.world).instrument_id
    if watched == traded.instrument.instrument_id:
        raise given.refusal(texts.WATCHED_IS_TRADED)
    return watched


def _bounds(given: Fields, traded: Traded) -> tuple[Decimal | None, Decimal | None]:
    lowest = given.optional("lowest_price", price(traded.tick), None)
    highest = given.optional("highest_price", price(traded.tick), None)
    if lowest is not None and highest is not None and highest < lowest:
        raise given.refusal(texts.highest_below_lowest(given.name("highest_price"), given.name("lowest_price")))
    return lowest, highest


_READERS: Mapping[str, Callable[[Fields, Traded], Price]] = {
    "fixed": _fixed,
    "marketable": _marketable,
    "native_stop": read_native_stop,
    "trail": read_trail,
    "stages": read_stages,
    "peg": _peg,
    "chase": _chase,
    "follow_instrument": _follow_instrument,
    "option_model": _option_model,
    "from_parent_fill": _from_parent_fill,
    "from_fill": _from_fill,
    "discretion": _discretion,
    "cap": _cap,
}
