"""underlying_peg: a limit that follows another instrument by delta (order-engine 3.52; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import FollowInstrument
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import at_least, number
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.named import watched_instrument
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import LIMIT_ONLY, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.trigger_settings import check_bounds, check_tick, fixed
from onebroker.config.messages import plan_life as texts


@attrs.frozen(kw_only=True)
class Settings:
    watch_instrument_id: str = setting(watched_instrument)
    delta: Decimal = setting(number)
    """Negative for a put."""
    lowest_price: Decimal | None = setting(PRICE, default=None)
    highest_price: Decimal | None = setting(PRICE, default=None, check=check_bounds)
    step_ticks: int = setting(at_least(1), default=1)


def check(_: Settings, __: Fields, body: Body) -> None:
    check_tick(body, "underlying_peg")


def tree(settings: Settings, body: Body, path: str) -> Part:
    limit = FollowInstrument(
        watch_instrument_id=settings.watch_instrument_id,
        delta=settings.delta,
        base_price=fixed(body.limit).price,
        lowest_price=settings.lowest_price,
        highest_price=settings.highest_price,
        step_ticks=settings.step_ticks,
    )
    return order(body, path, limit)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """The price is measured from the present price of the watched instrument."""
    if market.seen(settings.watch_instrument_id) is None:
        raise body.refusal(texts.NO_QUOTE_FOR_CONDITION, 503)


PRESET = Preset(
    name="underlying_peg",
    title="limit that follows another instrument by delta",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=LIMIT_ONLY,
    sees_market=True,
    check_market=check_market,
)
