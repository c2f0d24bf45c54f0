"""square_off: closes positions at a time of day (order-engine 3.42)."""

from datetime import datetime, time, timedelta

import attrs

from onebroker.actors.engine.plan.parts import FromPosition, Part, TimeOfDay
from onebroker.actors.engine.plan.prices import Marketable
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import at_least, flag, time_to_come
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import child, order, together
from onebroker.actors.engine.presets.hours import check_within_hours, close_of_today
from onebroker.actors.engine.presets.positions import read_of_which, read_products
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.config.instruments import calendar_of
from onebroker.config.messages import plan as texts
from onebroker.config.vocabulary import POSITION_PRODUCTS, Product


@attrs.frozen(kw_only=True)
class Settings:
    at_time: time | None
    """None: now."""
    now: bool
    products: tuple[str, ...]
    every_instrument: bool
    instrument_ids: tuple[str, ...]
    """Empty with `every_instrument`."""
    cancel_resting_first: bool
    buffer_ticks: int


def read(fields: Fields, body: Body) -> Settings:
    at_once = fields.optional("now", flag, False)
    if at_once and fields.has("at_time"):
        raise fields.refusal(texts.not_both("at_time", "now"))
    products = read_products(fields, "products", (POSITION_PRODUCTS[Product.MIS],))
    ids, every = read_of_which(fields, body)
    return Settings(
        at_time=None if at_once else _at_time(fields, body),
        now=at_once,
        products=products,
        every_instrument=every,
        instrument_ids=ids,
        cancel_resting_first=fields.optional("cancel_resting_first", flag, True),
        buffer_ticks=fields.optional("buffer_ticks", at_least(0), 2),
    )


def _at_time(fields: Fields, body: Body) -> time:
    """Return the caller's time, or the default of the instrument's calendar; neither may have passed."""
    rule = time_to_come(body.now.time())
    if not fields.has("at_time"):
        default = default_time(body)
        return default if close_is_over(body) else fields.judge(rule, default.isoformat(), "at_time")
    at = fields.fit("at_time", rule)
    check_within_hours(fields, body, "at_time", at)
    return at


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
    read=read,
    tree=tree,
    engine_priced=True,
    sized=False,
    references=Refs.NEVER,
    takes_price_reference=False,
    sees_market=True,
)
