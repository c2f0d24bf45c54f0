"""The type `plan`: the grammar itself (order-engine 3.36). Pure."""

from collections.abc import Mapping
from typing import Any

import attrs

from onebroker.actors.engine.messages import PlaceBody
from onebroker.actors.engine.plan.parts import FromExposure, FromPosition, Part, orders_of
from onebroker.actors.engine.plan.reading.surroundings import Defaults, World
from onebroker.actors.engine.plan.reading.tree import read_plan
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.refusal import Refusal


def plan_order(settings: Mapping[str, Any], order: PlaceBody, world: World) -> PlaceBody:
    """Return the order with its plan. Raises Refusal 400 with the sentences of order-engine 1.10, 404 for an instrument."""
    if order.references is not None:
        reference = "price_reference" if order.references.price is not None else "quantity_reference"
        raise Refusal(400, texts.takes_no_reference("plan", reference))
    if order.after_market:
        raise Refusal(400, texts.only_simple("after_market"))
    if order.disclosed_quantity:
        raise Refusal(400, texts.only_simple("disclosed_quantity"))
    closes = settings.get("closes_position") is True
    root = read_plan(settings, _defaults(order, closes=closes), world, presets={})
    _served(root)
    return attrs.evolve(order, plan=root, closes_position=closes)


def _defaults(order: PlaceBody, *, closes: bool) -> Defaults:
    return Defaults(
        instrument=order.instrument,
        transaction_type=order.transaction_type,
        product=order.product,
        order_type=order.order_type,
        validity=order.validity,
        quantity=order.quantity or None,
        price=order.price,
        trigger_price=order.trigger_price,
        tag=order.tag,
        broker=order.broker,
        closes_position=closes,
    )


def _served(root: Part) -> None:
    """Refuse what this version cannot work yet: quantities taken from positions as they are when a part becomes due."""
    for part in orders_of(root):
        if isinstance(part.quantity, FromPosition | FromExposure):
            raise Refusal(400, texts.at(part.path, order_texts.not_served("a quantity taken from positions")))
