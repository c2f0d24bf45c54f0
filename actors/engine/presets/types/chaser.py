"""chaser: steps towards the other side until filled (order-engine 3.8; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Chase
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import above_zero, at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.trigger_settings import check_quote, check_tick
from onebroker.config.messages import plan as texts
from onebroker.config.vocabulary import Side


@attrs.frozen(kw_only=True)
class Settings:
    step_ticks: int = setting(at_least(1), default=1)
    step_seconds: Decimal = setting(above_zero, default=Decimal(5))
    cap_price: Decimal | None = setting(PRICE, default=None)
    cross_after_seconds: Decimal | None = setting(above_zero, default=None)


def check(settings: Settings, _: Fields, body: Body) -> None:
    check_tick(body, "chaser")
    _check_cap(settings, body, body.limit)


def _check_cap(settings: Settings, body: Body, start: Decimal | None) -> None:
    if start is None or settings.cap_price is None or (settings.cap_price - start) * body.side.sign > 0:
        return
    raise body.refusal((texts.above_for_buy if body.side is Side.BUY else texts.below_for_sell)("cap_price", "price"))


def tree(settings: Settings, body: Body, path: str) -> Part:
    chase = Chase(
        start_price=body.limit,
        step_ticks=settings.step_ticks,
        step_seconds=settings.step_seconds,
        cap_price=settings.cap_price,
        cross_after_seconds=settings.cross_after_seconds,
    )
    return order(body, path, chase)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """Without a price it begins at the touch of its own side."""
    check_quote(body, market)
    quote = market.seen(body.instrument.instrument_id)
    if body.limit is None and quote is not None:
        _check_cap(settings, body, quote.own(body.side))


PRESET = Preset(
    name="chaser",
    title="steps towards the other side until filled",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    sees_market=True,
    check_market=check_market,
)
