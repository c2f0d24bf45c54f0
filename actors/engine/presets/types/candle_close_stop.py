"""candle_close_stop: a hidden stop that fires only on a closed bar (order-engine 3.7; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import BarClosed, Part
from onebroker.actors.engine.plan.reading.value_rules import above_zero
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.exit_checks import check_not_past
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import setting
from onebroker.actors.engine.presets.types import hidden_stop


@attrs.frozen(kw_only=True)
class Settings(hidden_stop.Settings):
    bar_minutes: Decimal = setting(above_zero, default=Decimal(5))


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = BarClosed(
        instrument_id=body.instrument.instrument_id,
        level=settings.trigger_price,
        direction=hidden_stop.falls_or_rises(body),
        bar_minutes=settings.bar_minutes,
    )
    return hidden_stop.exit_when(settings, body, path, when)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """A backstop is sent at once; the level itself waits for a bar."""
    if settings.backstop_price is not None:
        check_not_past(body, market, "backstop_price", settings.backstop_price, body.side)


PRESET = Preset(
    name="candle_close_stop",
    title="hidden stop that fires only on a closed bar",
    settings=Settings,
    tree=tree,
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
    check_market=check_market,
)
