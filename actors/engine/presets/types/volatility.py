"""volatility: an option's limit priced from a volatility (order-engine 3.54; rules 2.7)."""

from datetime import date, datetime, time
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import OptionModel
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import above_zero_to, at_least, number
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.named import watched_instrument
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import LIMIT_ONLY, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.trigger_settings import check_bounds, check_tick, fixed
from onebroker.config.clock import IST
from onebroker.config.instruments import Shape
from onebroker.config.messages import plan as plan_texts
from onebroker.config.messages import presets_entries as texts

MOST_VOLATILITY = 500
"""Percent a year."""
_EXPIRES = time(15, 30)
"""India time, on the expiry date."""


@attrs.frozen(kw_only=True)
class Settings:
    watch_instrument_id: str = setting(watched_instrument)
    volatility: Decimal = setting(above_zero_to(MOST_VOLATILITY))
    """Percent a year."""
    interest_rate: Decimal = setting(number, default=Decimal(0))
    """Percent a year."""
    lowest_price: Decimal | None = setting(PRICE, default=None)
    highest_price: Decimal | None = setting(PRICE, default=None, check=check_bounds)
    step_ticks: int = setting(at_least(1), default=1)


def check(_: Settings, fields: Fields, body: Body) -> None:
    _check_option(fields, body)
    check_tick(body, "volatility")


def _check_option(fields: Fields, body: Body) -> None:
    identity = body.instrument.identity
    if identity.shape is not Shape.OPTION or identity.expiry_date is None:
        raise fields.refusal(texts.ONLY_OPTIONS)
    if body.now >= datetime.combine(date.fromisoformat(identity.expiry_date), _EXPIRES, IST):
        raise fields.refusal(plan_texts.option_expired(identity.expiry_date))


def tree(settings: Settings, body: Body, path: str) -> Part:
    limit = OptionModel(
        watch_instrument_id=settings.watch_instrument_id,
        volatility=settings.volatility,
        interest_rate=settings.interest_rate,
        lowest_price=settings.lowest_price,
        highest_price=settings.highest_price,
        step_ticks=settings.step_ticks,
        worst_price=fixed(body.limit).price,
    )
    return order(body, path, limit)


PRESET = Preset(
    name="volatility",
    title="option limit priced from a volatility",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=LIMIT_ONLY,
    sees_market=True,
)
