"""closing_price: works towards the closing price, the average of the last half hour (order-engine 3.10)."""

from datetime import datetime, time, timedelta
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import Twap, Vwap
from onebroker.actors.engine.plan.parts import Lifetime, OnEnd, Part, TimeOfDay
from onebroker.actors.engine.plan.reading.executions import MOST_SLICES
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import time_of_day, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs
from onebroker.actors.engine.presets.session_hours import close_of_today
from onebroker.actors.engine.presets.settings import TIME_TO_COME, Reading, setting
from onebroker.actors.engine.presets.volume_profile import profile_of_caller
from onebroker.config.clock import IST
from onebroker.config.messages import presets as preset_texts
from onebroker.config.messages import presets_pieces as texts

BEFORE_CLOSE = timedelta(minutes=1)
"""How long before the close it ends."""


def _close(body: Body) -> datetime:
    """Return the close of the day's session. Raises Refusal 409 once it is over: then there is nothing left to work towards."""
    close = close_of_today(body)
    if close is None or body.now >= close:
        raise body.refusal(preset_texts.MARKET_CLOSED, 409)
    return close


def _check_open(reading: Reading) -> None:
    _close(reading.body)


def _window_begins(reading: Reading) -> time:
    window = timedelta(minutes=reading.body.world.settings.closing_window_minutes)
    return _of_day(_close(reading.body) - window)


def _window_ends(reading: Reading) -> time:
    return _of_day(_close(reading.body) - BEFORE_CLOSE)


def _of_day(moment: datetime) -> time:
    return moment.time().replace(microsecond=0)


@attrs.frozen(kw_only=True)
class Settings:
    slices: int = setting(whole_from(2, MOST_SLICES), default=30, check=_check_open)
    from_time: time = setting(time_of_day, default_of=_window_begins)
    until_time: time = setting(TIME_TO_COME, default_of=_window_ends)
    volume_profile: tuple[Decimal, ...] | None = setting(profile_of_caller)
    """None = equal slices."""


def check(settings: Settings, fields: Fields, _: Body) -> None:
    if settings.from_time >= settings.until_time:
        raise fields.refusal(texts.FROM_BEFORE_UNTIL)


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
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    references=Refs.EACH,
    sees_market=True,
)
