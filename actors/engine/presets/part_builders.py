"""Builds parts of a plan from a body's own order fields; the types' trees are made of these parts. Pure; raises Refusal."""

from collections.abc import Iterable
from typing import Any

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.plan.execution_kinds import AllAtOnce, Execution
from onebroker.actors.engine.plan.parts import (
    FromFill,
    FromPosition,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    Quantity,
    Rule,
    TogetherPart,
)
from onebroker.actors.engine.plan.price_kinds import Cap, Fixed, Marketable, NativeStop, Price, Referenced
from onebroker.actors.engine.presets.body import Body
from onebroker.config.messages import orders as order_texts
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, OrderType, Side, Validity


def body_price(body: Body, *, marketable: Marketable = Marketable()) -> Price:  # noqa: B008  # a frozen value
    """Return the price by body pricing (order-engine 1.4): LIMIT fixed, MARKET marketable, SL and SL-M a native stop."""
    defaults, kind = body.defaults, body.order_type
    if kind is OrderType.MARKET:
        return marketable
    price, reference = defaults.price, defaults.price_reference
    if kind is OrderType.LIMIT and reference is not None:
        return Referenced(reference)
    if kind.takes_price and price is None and reference is None:
        raise body.refusal(order_texts.needs_price(kind))
    if kind is OrderType.LIMIT:
        assert price is not None
        return Fixed(price)
    if defaults.trigger_price is None:
        raise body.refusal(order_texts.needs_trigger(kind))
    return NativeStop(trigger_price=defaults.trigger_price, limit_price=price, limit_reference=reference)


def capped_at_limit(body: Body, price: Price) -> Price:
    """Return the price, but never past the price of a LIMIT body."""
    return price if body.limit is None else Cap(worst_price=body.limit, of=price)


def units(body: Body) -> Quantity:
    """Return the body's quantity; below a link, the filled quantity. Raises Refusal 400 when there is none."""
    quantity = body.defaults.sized()
    if quantity is None:
        raise body.refusal(order_texts.QUANTITY_REQUIRED)
    return quantity


def sized(body: Body) -> int:
    """Return the body's quantity in units, for types that need a number. Raises Refusal 400 without one."""
    if body.quantity is None:
        raise body.refusal(order_texts.QUANTITY_REQUIRED)
    return body.quantity


def order(
    body: Body,
    path: str,
    price: Price,
    *,
    side: Side | None = None,
    quantity: Quantity | None = None,
    execution: Execution = AllAtOnce(),  # noqa: B008  # a frozen value
    instrument: Instrument | None = None,
    product: str | None = None,
    validity: str | None = None,
    closes: bool = False,
    **more: Any,
) -> OrderPart:
    """Build an order part from the body. Instrument, side, product, validity and quantity come from the body where they are not given here; tag
    and broker are always the body's. `more` are other fields of `OrderPart`, such as when, lifetime, each_fill, hold.
    """
    defaults = body.defaults
    kind = product or defaults.product
    if kind is None:
        raise body.refusal(order_texts.must_be_one_of("product", SENDABLE_PRODUCTS))
    size = quantity if quantity is not None else units(body)
    return OrderPart(
        path=path,
        instrument_id=(instrument or body.instrument).instrument_id,
        transaction_type=(side or body.side).value,
        product=kind,
        validity=validity or defaults.validity,
        quantity=size,
        price=price,
        execution=execution,
        broker=defaults.broker,
        tag=defaults.tag,
        is_exit=closes or isinstance(size, FromPosition),
        closing=defaults.closing,
        disclosed_quantity=defaults.disclosed_quantity,
        **more,
    )


def exit_order(body: Body, path: str, price: Price, **more: Any) -> OrderPart:
    """Build an order part below the link of an entry: the other side, sized by the filled quantity, at the entry's broker."""
    fields: dict[str, Any] = {"side": body.side.opposite, "quantity": FromFill(), "validity": Validity.DAY, **more}
    return attrs.evolve(order(body, path, price, closes=True, **fields), disclosed_quantity=0)


def shrinking(path: str, children: Iterable[Part], **more: Any) -> OneCancelsOthersPart:
    """Build `one_cancels_others` with rule shrink: exits that guard the same units."""
    return OneCancelsOthersPart(path=path, rule=Rule.SHRINK, children=tuple(children), **more)


def together(path: str, children: Iterable[Part], **more: Any) -> TogetherPart:
    return TogetherPart(path=path, children=tuple(children), **more)


def child(path: str, number: int) -> str:
    """Return the path of a group's child."""
    return f"{path}.children.{number}"


def linked(path: str) -> str:
    """Return the path of the part that an order part's fills start."""
    return f"{path}.each_fill"
