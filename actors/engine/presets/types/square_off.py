"""square_off: closes positions at a time of day (order-engine 3.42)."""

from datetime import datetime, time, timedelta

import attrs

from onebroker.actors.engine.plan.parts import FromPosition, Part, TimeOfDay
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan.reading.value_rules import at_least, flag, time_of_day, time_to_come
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import child, order, together
from onebroker.actors.engine.presets.positions_to_close import check_not_both, named_or_own, products
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.actors.engine.presets.session_hours import check_within_hours, close_of_today
from onebroker.actors.engine.presets.settings import Reading, own_reading, setting
from onebroker.config.instruments import calendar_of
from onebroker.config.messages import plan as texts
from onebroker.config.vocabulary import POSITION_PRODUCTS, Product


def _check_not_now(reading: Reading) -> None:
    if reading["now"] and reading.fields.has("at_time"):
        raise reading.fields.refusal(texts.not_both("at_time", "now"))


@own_reading(time_of_day.accepts, required=False)
def _start(reading: Reading, name: str) -> time | None:
    """Return the caller's time, or the default of the instrument's calendar; neither may have passed. None with `now`."""
    if reading["now"]:
        return None
    fields, body = reading.fields, reading.body
    rule = time_to_come(body.now.time())
    if not fields.has(name):
        default = default_time(body)
        return default if close_is_over(body) else fields.judge(rule, default.isoformat(), name)
    at = fields.fit(name, rule)
    check_within_hours(fields, body, name, at)
    return at


@attrs.frozen(kw_only=True)
class Settings:
    at_time: time | None = setting(_start, after="instrument_ids")
    """None: now."""
    now: bool = setting(flag, default=False, check=_check_not_now)
    products: tuple[str, ...] = setting(products((POSITION_PRODUCTS[Product.MIS],)))
    every_instrument: bool = setting(flag, default=False, check=check_not_both)
    instrument_ids: tuple[str, ...] = setting(named_or_own)
    """Empty with `every_instrument`."""
    cancel_resting_first: bool = setting(flag, default=True)
    buffer_ticks: int = setting(at_least(0), default=2)


def close_is_over(body: Body) -> bool:
    """Whether the market is closed for today; then the market's own check refuses the order."""
    close = close_of_today(body)
    return close is None or body.now >= close


def default_time(body: Body) -> time:
    """Return the default time of the start: before the brokers' own square-off."""
    times, calendar = body.world.settings.square_off, calendar_of(body.instrument.identity.segment)
    close = close_of_today(body)
    if calendar == "commodity" and close is not None:
        at: datetime = close - timedelta(minutes=times.commodity_minutes_before_close)
        return at.time().replace(microsecond=0)
    return times.currency if calendar == "currency" else times.equity


def tree(settings: Settings, body: Body, path: str) -> Part:
    if len(settings.products) == 1:
        return _close(settings, body, path, settings.products[0])
    parts = (_close(settings, body, child(path, n), product) for n, product in enumerate(settings.products))
    return together(path, parts)


def _close(settings: Settings, body: Body, path: str, product: str) -> Part:
    form = FromPosition(
        product=product,
        instrument_ids=settings.instrument_ids,
        every_instrument=settings.every_instrument,
        cancel_resting_first=settings.cancel_resting_first,
        most=body.quantity,
    )
    when = None if settings.at_time is None else TimeOfDay(settings.at_time)
    price = Marketable(buffer_ticks=settings.buffer_ticks, follow=True)
    return order(body, path, price, quantity=form, when=when, closes=True)


PRESET = Preset(
    name="square_off",
    title="closes positions at a time of day",
    settings=Settings,
    tree=tree,
    engine_priced=True,
    sized=False,
    references=Refs.NEVER,
    takes_price_reference=False,
    sees_market=True,
)
