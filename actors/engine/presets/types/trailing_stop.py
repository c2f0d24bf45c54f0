"""trailing_stop: a real stop whose trigger follows the market (order-engine 3.48; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Trail
from onebroker.actors.engine.plan.reading.value_rules import above_zero, above_zero_to, at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import PRICE, Reading, setting
from onebroker.config.messages import plan as texts
from onebroker.config.messages import references as reference_texts


def _check_one_distance(reading: Reading) -> None:
    if (reading["trail_points"] is None) == (reading["trail_percent"] is None):
        raise reading.fields.refusal(texts.either("trail_points", "trail_percent"))


@attrs.frozen(kw_only=True)
class Settings:
    trail_points: Decimal | None = setting(above_zero, default=None)
    trail_percent: Decimal | None = setting(above_zero_to(100, reached=False), default=None, check=_check_one_distance)
    stop_limit_offset: Decimal = setting(above_zero)
    step_ticks: int = setting(at_least(1), default=1)
    activate_at: Decimal | None = setting(PRICE, default=None)


def trail(settings: Settings) -> Trail:
    return Trail(
        points=settings.trail_points,
        percent=settings.trail_percent,
        limit_offset=settings.stop_limit_offset,
        step_ticks=settings.step_ticks,
        activate_at=settings.activate_at,
    )


def tree(settings: Settings, body: Body, path: str) -> Part:
    return order(body, path, trail(settings), closes=True, exit_by_type=True)


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
    tree=tree,
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
    check_market=check_market,
)
