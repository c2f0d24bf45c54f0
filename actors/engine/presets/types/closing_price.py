"""closing_price: works towards the closing price, the average of the last half hour (order-engine 3.10)."""

from datetime import datetime, time, timedelta
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.executions import Twap, Vwap
from onebroker.actors.engine.plan.parts import Lifetime, OnEnd, Part, TimeOfDay
from onebroker.actors.engine.plan.reading.executions import MOST_SLICES, read_volume_profile
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import time_of_day, time_to_come, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import body_price, order
from onebroker.actors.engine.presets.hours import close_of_today
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs
from onebroker.config.clock import IST
from onebroker.config.messages import presets as preset_texts
from onebroker.config.messages import presets_pieces as texts

BEFORE_CLOSE = timedelta(minutes=1)
"""How long before the close it ends."""


@attrs.frozen(kw_only=True)
class Settings:
    slices: int
    from_time: time
    until_time: time
    volume_profile: tuple[Decimal, ...] | None
    """None = equal slices."""


def read(fields: Fields, body: Body) -> Settings:
    """Also raises Refusal 409 once the day's session is over: then there is nothing left to work towards."""
    slices = fields.optional("slices", whole_from(2, MOST_SLICES), 30)
    close = close_of_today(body)
    if close is None or body.now >= close:
        raise body.refusal(preset_texts.MARKET_CLOSED, 409)
    window = timedelta(minutes=body.world.settings.closing_window_minutes)
    settings = Settings(
        slices=slices,
        from_time=fields.optional("from_time", time_of_day, _of_day(close - window)),
        until_time=fields.optional("until_time", time_to_come(body.now.time()), _of_day(close - BEFORE_CLOSE)),
        volume_profile=read_volume_profile(fields, slices) if fields.has("volume_profile") else None,
    )
    if settings.from_time >= settings.until_time:
        raise fields.refusal(texts.FROM_BEFORE_UNTIL)
    return settings


def _of_day(moment: datetime) -> time:
    return moment.time().replace(microsecond=0)


def tree(settings: Settings, body: Body, path: str) -> Part:
    day = body.now.date()
    starts = max(body.now, datetime.combine(day, settings.from_time, IST))
    minutes = _minutes(datetime.combine(day, settings.until_time, IST) - starts)
    profile = settings.volume_profile
    execution = (
        Twap(slices=settings.slices, over_minutes=minutes)
        if profile is None
        else Vwap(slices=settings.slices, over_minutes=minutes, volume_profile=profile)
    )
    return order(
        body,
        path,
        body_price(body),
        execution=execution,
        when=None if starts == body.now else TimeOfDay(settings.from_time),
        lifetime=Lifetime(at_time=settings.until_time, on_end=OnEnd.MARKETABLE),
    )


def _minutes(left: timedelta) -> Decimal:
    """Return the rest of the window in minutes; an order sent in the last moment sends all slices at once."""
    return Decimal(max(1, left // timedelta(milliseconds=1))) / 60_000


PRESET = Preset(
    name="closing_price",
    title="works towards the closing price",
    settings=Settings,
    read=read,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    references=Refs.EACH,
    sees_market=True,
)
