"""vwap: a twap whose slices follow the market's volume (order-engine 3.55; rules 2.7)."""

from collections.abc import Sequence
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import Vwap
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.executions import MOST_SLICES
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import above_zero, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs
from onebroker.actors.engine.presets.session_hours import check_ends_before_close
from onebroker.actors.engine.presets.settings import setting
from onebroker.actors.engine.presets.volume_profile import Volume, profile, profile_of_caller, u_shape


@attrs.frozen(kw_only=True)
class Settings:
    slices: int = setting(whole_from(2, MOST_SLICES))
    over_minutes: Decimal = setting(above_zero)
    volume_profile: tuple[Decimal, ...] | None = setting(profile_of_caller)
    """None = the usual profile of the market's volume, which is known at intake."""


def check(settings: Settings, fields: Fields, body: Body) -> None:
    check_ends_before_close(fields, body, "over_minutes", settings.over_minutes)


def shape(settings: Settings, body: Body, candles: Sequence[Volume]) -> Settings:
    """Complete the profile from past volumes."""
    return attrs.evolve(settings, volume_profile=profile(candles, body, settings.slices, settings.over_minutes))


def tree(settings: Settings, body: Body, path: str) -> Part:
    slices, minutes, weights = settings.slices, settings.over_minutes, settings.volume_profile
    if weights is None:
        weights = u_shape(body, slices, minutes)
    execution = Vwap(slices=slices, over_minutes=minutes, volume_profile=weights)
    return order(body, path, body_price(body), execution=execution)


PRESET = Preset(
    name="vwap",
    title="twap with volume-shaped slices",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    split=True,
    references=Refs.EACH,
    sees_market=True,
    is_shaped=lambda settings: settings.volume_profile is not None,
    shape=shape,
)
