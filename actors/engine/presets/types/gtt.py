"""gtt: good till triggered, kept for up to a year. It is a single order, or a pair in which the first trigger ends the other (order-engine 3.19)."""

from datetime import date
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import (
    AppliesTo,
    Direction,
    Lifetime,
    OneCancelsOthersPart,
    OrderPart,
    Part,
    PriceAt,
    Rule,
)
from onebroker.actors.engine.plan.reading.conditions import MOST_DAYS
from onebroker.actors.engine.plan.reading.exit_marks import as_lone_exit
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import child, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.trigger_settings import DIRECTION, fixed, limit_to_send
from onebroker.config.messages import presets_entries as texts


@attrs.frozen(kw_only=True)
class Settings:
    trigger_price: Decimal = setting(PRICE)
    limit_price: Decimal | None = setting(limit_to_send)
    """None while a price reference has not been worked out."""
    trigger_direction: Direction | None = setting(DIRECTION, default=None)
    """Always known for a pair: the price reaches the lower trigger from above."""
    second_trigger_price: Decimal | None = setting(PRICE, default=None)
    second_limit_price: Decimal | None = setting(PRICE, default=None)
    valid_days: int = setting(whole_from(1, MOST_DAYS), default=MOST_DAYS)
    """Calendar days; an order in a derivative ends with its contract in any case."""


def check(settings: Settings, fields: Fields, _: Body) -> None:
    second, directed = settings.second_trigger_price, settings.trigger_direction
    if (second is None) != (settings.second_limit_price is None):
        raise fields.refusal(texts.PAIR_TOGETHER)
    if second is not None and (settings.trigger_price == second or directed not in (None, _of_pair(settings, second))):
        raise fields.refusal(texts.SAME_SIDE)


def complete(settings: Settings) -> Settings:
    if settings.second_trigger_price is None:
        return settings
    return attrs.evolve(settings, trigger_direction=_of_pair(settings, settings.second_trigger_price))


def _of_pair(settings: Settings, second: Decimal) -> Direction:
    """Return the direction of the first trigger. The market must be between the two triggers, so the triggers give the directions."""
    return Direction.BELOW if settings.trigger_price < second else Direction.ABOVE


def tree(settings: Settings, body: Body, path: str) -> Part:
    first = (settings.trigger_price, settings.trigger_direction, settings.limit_price)
    if settings.second_trigger_price is None:
        return as_lone_exit(_one(body, path, settings, *first))
    direction = _opposite(settings.trigger_direction)
    second = (settings.second_trigger_price, direction, settings.second_limit_price)
    children = tuple(_one(body, child(path, n), settings, *one, closes=True) for n, one in enumerate((first, second)))
    return OneCancelsOthersPart(path=path, rule=Rule.TRIGGER, children=children)


def _one(
    body: Body,
    path: str,
    settings: Settings,
    level: Decimal,
    direction: Direction | None,
    limit: Decimal | None,
    *,
    closes: bool = False,
) -> OrderPart:
    """`closes`: a pair is the stop and the target of what is held when it is armed; over nothing it is its caller's entry (order-engine 1.13)."""
    when = PriceAt(instrument_id=body.instrument.instrument_id, level=level, direction=direction)
    lifetime = Lifetime(after_days=_days(settings, body), applies_to=AppliesTo.WAITING)
    return order(body, path, fixed(limit), when=when, lifetime=lifetime, closes=closes, exit_by_type=closes)


def _days(settings: Settings, body: Body) -> int:
    """Return the calendar days that it waits; for a contract the last day is its expiry date."""
    expiry = body.instrument.identity.expiry_date
    if expiry is None:
        return settings.valid_days
    return max(0, min(settings.valid_days, (date.fromisoformat(expiry) - body.now.date()).days))


def _opposite(direction: Direction | None) -> Direction:
    return Direction.ABOVE if direction is Direction.BELOW else Direction.BELOW


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """The market must be between the triggers of a pair."""
    quote = market.seen(body.instrument.instrument_id)
    if quote is None or quote.last_price is None or settings.second_trigger_price is None:
        return
    lower, upper = sorted((settings.trigger_price, settings.second_trigger_price))
    if not lower <= quote.last_price <= upper:
        raise body.refusal(texts.SAME_SIDE)


PRESET = Preset(
    name="gtt",
    title="good till triggered, kept for up to a year",
    settings=Settings,
    tree=tree,
    check=check,
    complete=complete,
    order_types=MARKET_OR_LIMIT,
    hold=Holding.BY_SWITCH,
    immediate=True,
    any_day=True,
    check_market=check_market,
)
