"""grid: buys below and sells above the market, each fill places its opposite (order-engine 3.18, 6.7; spec 2 §7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.executions import Ladder
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import OrderPart, Part, Units
from onebroker.actors.engine.plan.prices import ExitOrder, FillBasis, Fixed, FromFillPrice, Peg, Touch
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import at_least, price, whole_from
from onebroker.actors.engine.presets.building import child, exit_order, linked, order, sized, together
from onebroker.actors.engine.presets.middle import middle_of
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Body, Preset
from onebroker.config.messages import presets_pieces as texts
from onebroker.config.money import plain
from onebroker.config.vocabulary import Side

MOST_LEVELS = 10
"""On each side."""


@attrs.frozen(kw_only=True)
class Settings:
    levels: int
    """On each side."""
    step_points: Decimal
    most_inventory: int
    """Units, either way."""


def read(fields: Fields, body: Body) -> Settings:
    levels = fields.required("levels", whole_from(1, MOST_LEVELS))
    step = fields.required("step_points", price(body.tick))
    each = body.quantity or 1  # a quantity reference is worked out before the plan is made
    settings = Settings(
        levels=levels,
        step_points=step,
        most_inventory=fields.optional("most_inventory", at_least(each), levels * each),
    )
    if body.limit is not None:
        _check_lowest(body, settings, body.limit)
    return settings


def _check_lowest(body: Body, settings: Settings, centre: Decimal) -> None:
    lowest = centre - settings.levels * settings.step_points
    if lowest <= 0:
        raise body.refusal(texts.lowest_price("step_points and levels bring", plain(lowest)))


def tree(settings: Settings, body: Body, path: str) -> Part:
    sides = enumerate((Side.BUY, Side.SELL))
    children = (_rungs(settings, body, child(path, number), side) for number, side in sides)
    return together(path, children, most_inventory=settings.most_inventory)


def _rungs(settings: Settings, body: Body, path: str, side: Side) -> OrderPart:
    """One side: around the LIMIT price, or the middle of the market at the start."""
    own = attrs.evolve(body, defaults=attrs.evolve(body.defaults, transaction_type=side.value))
    centre = body.limit if body.limit is not None else Decimal(0)
    away = -side.sign * settings.step_points
    rungs = Ladder(
        from_price=centre + away,
        to_price=centre + settings.levels * away,
        steps=settings.levels,
        restore=True,
        from_middle=body.limit is None,
    )
    opposite = FromFillPrice(order=ExitOrder.LIMIT, basis=FillBasis.LIMIT, distance=settings.step_points)
    return order(
        own,
        path,
        Peg(reference=Touch.MID) if rungs.from_middle else Fixed(rungs.from_price),
        quantity=Units(settings.levels * sized(body)),
        execution=rungs,
        each_fill=exit_order(own, linked(path), opposite),
    )


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """The middle of a MARKET grid is the market's."""
    if body.limit is None:
        _check_lowest(body, settings, middle_of(body, market))


PRESET = Preset(
    name="grid",
    title="buys below and sells above market, each fill places its opposite",
    settings=Settings,
    read=read,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    legs=True,
    sees_market=True,
    check_market=check_market,
)
