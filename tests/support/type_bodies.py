"""An order type without a day: its body through the checks of the API, its plan in the machine over quotes and books set by hand.

The instrument is `I` of the worked examples: a share in ticks of 0.05, or a future in lots.
"""

from collections.abc import Mapping
from typing import Any

import attrs
import pytest

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.context.messages import PlaceBody
from onebroker.actors.engine.intake.place_body import check_body, with_instrument
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.reading.reading_context import Defaults
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.config.refusal import Refusal
from tests.actors.engine.plan.strategies import FUTURE, SHARE, World
from tests.actors.engine.plan.world import Runner

I = attrs.evolve(SHARE, instrument_id="I")  # noqa: E741  # its name in the worked examples
LOTS = attrs.evolve(FUTURE, instrument_id="I")
GOOD = {
    "instrument_id": SHARE.instrument_id,
    "transaction_type": "SELL",
    "product": "MIS",
    "order_type": "MARKET",
    "quantity": 10,
}


def order_of(settings: object, *, instrument: Instrument = I, world: World | None = None, **body: Any) -> PlaceBody:
    """The order that a body with this `synthetic` object comes to; a field given as None is left out."""
    world = world or World(known=(instrument,))
    sent = {name: value for name, value in {**GOOD, **body, "synthetic": settings}.items() if value is not None}
    return with_instrument(check_body(sent, brokers=world.brokers), sent, instrument, world)


def refused(settings: object, **more: Any) -> str:
    """The sentence that it is refused with, 400."""
    with pytest.raises(Refusal) as refusal:
        order_of(settings, **more)
    assert refusal.value.status == 400
    return refusal.value.sentence


def run(settings: object, **more: Any) -> Runner:
    """Its plan in the machine."""
    plan = order_of(settings, **more).plan
    assert plan is not None, settings
    return Runner(plan)


def market_refuses(settings: object, market: Market, **more: Any) -> tuple[int, str] | None:
    """(status, sentence) of what only the market tells at intake; None when it has nothing against the order."""
    order = order_of(settings, **more)
    assert order.routed_from is not None, settings
    preset = PRESETS[order.routed_from]
    defaults = Defaults(
        instrument=order.instrument, transaction_type=order.transaction_type, product=order.product,
        order_type=order.order_type, quantity=order.quantity, price=order.price, trigger_price=order.trigger_price,
    )  # fmt: skip
    try:
        if preset.check_market is not None:
            preset.check_market(order.preset, Body(defaults=defaults, world=more.get("world") or World()), market)
    except Refusal as refusal:
        return refusal.status, refusal.sentence
    return None


def with_setting(settings: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """The settings with some of them changed; None leaves one out."""
    return {name: value for name, value in {**settings, **changes}.items() if value is not None}
