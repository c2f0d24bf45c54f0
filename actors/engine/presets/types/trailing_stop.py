"""trailing_stop: a real stop whose trigger follows the market (order-engine 3.48; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.prices import Trail
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import above_zero, above_zero_to, at_least, price
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.config.messages import plan as texts
from onebroker.config.messages import references as reference_texts


@attrs.frozen(kw_only=True)
class Settings:
    trail_points: Decimal | None
    trail_percent: Decimal | None
    stop_limit_offset: Decimal
    step_ticks: int
    activate_at: Decimal | None


def read(fields: Fields, body: Body) -> Settings:
    points = fields.optional("trail_points", above_zero, None)
    percent = fields.optional("trail_percent", above_zero_to(100, reached=False), None)
    if (points is None) == (percent is None):
        raise fields.refusal(texts.either("trail_points", "trail_percent"))
    return Settings(
        trail_points=points,
        trail_percent=percent,
        stop_limit_offset=fields.required("stop_limit_offset", above_zero),
        step_ticks=fields.optional("step_ticks", at_least(1), 1),
        activate_at=fields.optional("activate_at", price(body.tick), None),
    )


def trail(settings: Settings) -> Trail:
    return Trail(
        points=settings.trail_points,
        percent=settings.trail_percent,
        limit_offset=settings.stop_limit_offset,
        step_ticks=settings.step_ticks,
        activate_at=settings.activate_at,
    )


def tree(settings: Settings, body: Body, path: str) -> Part:
    return order(body, path, trail(settings))


def check_market(_: Settings, body: Body, market: Market) -> None:
    check_trail_begins(body, market)


def check_trail_begins(body: Body, market: Market) -> None:
    """Refuse (503) a trail without a quote to begin from."""
    if market.seen(body.instrument.instrument_id) is None:
        raise body.refusal(reference_texts.NO_QUOTE, 503)


PRESET = Preset(
    name="trailing_stop",
    title="real stop whose trigger follows the market",
    settings=Settings,
    read=read,
    tree=tree,
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
    check_market=check_market,
)
