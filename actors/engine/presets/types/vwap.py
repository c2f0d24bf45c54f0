"""vwap: a twap whose slices follow the market's volume (order-engine 3.55; rules 2.7)."""

from collections.abc import Sequence
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.executions import Vwap
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.executions import MOST_SLICES, read_volume_profile
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import above_zero, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import body_price, order
from onebroker.actors.engine.presets.hours import check_ends_before_close
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs
from onebroker.actors.engine.presets.volumes import Volume, profile, u_shape


@attrs.frozen(kw_only=True)
class Settings:
    slices: int
    over_minutes: Decimal
    volume_profile: tuple[Decimal, ...] | None
    """None = the usual profile of the market's volume, which is known at intake."""


def read(fields: Fields, body: Body) -> Settings:
    slices = fields.required("slices", whole_from(2, MOST_SLICES))
    minutes = fields.required("over_minutes", above_zero)
    own = read_volume_profile(fields, slices) if fields.has("volume_profile") else None
    check_ends_before_close(fields, body, "over_minutes", minutes)
    return Settings(slices=slices, over_minutes=minutes, volume_profile=own)


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
    read=read,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    split=True,
    references=Refs.EACH,
    sees_market=True,
    is_shaped=lambda settings: settings.volume_profile is not None,
    shape=shape,
)
