"""stop_and_reverse: closes the position at a level and opens the opposite one (order-engine 3.44)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.net_positions import Positions
from onebroker.actors.engine.plan.parts import Direction, Part, PriceAt
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan.reading.value_rules import at_least, flag
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.positions_to_close import against, found, of_the_body
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.trigger_settings import DIRECTION
from onebroker.config.messages import plan_life as life_texts
from onebroker.config.messages import presets_exits as texts
from onebroker.config.vocabulary import Product


@attrs.frozen(kw_only=True)
class Settings:
    trigger_price: Decimal = setting(PRICE)
    trigger_direction: Direction | None = setting(DIRECTION, default=None)
    """None until the position is known: then below for a long position, above for a short one."""
    buffer_ticks: int = setting(at_least(0), default=2)
    cancel_resting_first: bool = setting(flag, default=True)


def settle(settings: Settings, body: Body, positions: Positions) -> Settings:
    form = of_the_body(body, cancel_resting_first=settings.cancel_resting_first)
    rows = found(body, positions, form, texts.NOTHING_TO_REVERSE)
    if body.defaults.product == Product.CNC and any(net > 0 for _, net in rows):
        raise body.refusal(life_texts.DELIVERY_NOT_REVERSED, 409)
    if settings.trigger_direction is not None:
        return settings
    return attrs.evolve(settings, trigger_direction=against(body, rows))


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = PriceAt(
        instrument_id=body.instrument.instrument_id,
        level=settings.trigger_price,
        direction=settings.trigger_direction,
    )
    form = of_the_body(body, ratio=2, cancel_resting_first=settings.cancel_resting_first)
    price = Marketable(buffer_ticks=settings.buffer_ticks, follow=True)
    return order(body, path, price, quantity=form, when=when, closes=True)


PRESET = Preset(
    name="stop_and_reverse",
    title="closes the position at a level and opens the opposite",
    settings=Settings,
    tree=tree,
    engine_priced=True,
    sized=False,
    takes_price_reference=False,
    takes_quantity_reference=False,
    sees_market=True,
    settle=settle,
)
