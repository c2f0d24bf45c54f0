"""scale_with_profit_taker: scales in rung by rung; each fill gets an order that takes its profit (order-engine 3.39)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import Ladder
from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import ExitOrder, Fixed, FromFillPrice
from onebroker.actors.engine.plan.reading.executions import MOST_STEPS
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import flag, price, whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import exit_order, linked, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Holding, Preset, Refs
from onebroker.actors.engine.presets.settings import PRICE, Reading, own_reading, setting
from onebroker.config.messages import plan as plan_texts
from onebroker.config.messages import presets_pieces as texts
from onebroker.config.money import plain
from onebroker.config.vocabulary import Side


@own_reading(PRICE.accepts, required=False)
def _start(reading: Reading, name: str) -> Decimal:
    """Read the price of the first rung, by default a LIMIT body's price."""
    start = reading.fields.optional(name, price(reading.body.tick), reading.body.limit)
    if start is None:
        raise reading.fields.refusal(plan_texts.is_required(name))
    return start


@attrs.frozen(kw_only=True)
class Settings:
    levels: int = setting(whole_from(2, MOST_STEPS))
    step_points: Decimal = setting(PRICE)
    profit_points: Decimal = setting(PRICE)
    from_price: Decimal = setting(_start)
    restore: bool = setting(flag, default=False)


def check(settings: Settings, fields: Fields, body: Body) -> None:
    """The last rung of a BUY, or the first profit of a SELL, is the lowest price of the plan."""
    if body.side is Side.BUY:
        lowest, setting = last_rung(settings, body), "step_points and levels bring"
    else:
        lowest, setting = settings.from_price - settings.profit_points, "profit_points brings"
    if lowest <= 0:
        raise fields.refusal(texts.lowest_price(setting, plain(lowest)))


def last_rung(settings: Settings, body: Body) -> Decimal:
    return settings.from_price - body.side.sign * (settings.levels - 1) * settings.step_points


def tree(settings: Settings, body: Body, path: str) -> Part:
    rungs = Ladder(
        from_price=settings.from_price,
        to_price=last_rung(settings, body),
        steps=settings.levels,
        one_at_a_time=True,
        restore=settings.restore,
    )
    profit = FromFillPrice(order=ExitOrder.LIMIT, distance=settings.profit_points)
    return order(
        body, path, Fixed(settings.from_price), execution=rungs, each_fill=exit_order(body, linked(path), profit)
    )


PRESET = Preset(
    name="scale_with_profit_taker",
    title="scale in down a ladder, each fill with a profit order",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    hold=Holding.BY_SWITCH,
    references=Refs.NEVER,
)
