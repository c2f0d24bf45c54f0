"""grid: buys below and sells above the market; each fill places the opposite order (order-engine 3.18, 6.7; rules 2.7).

A price reference gives the centre and is worked out again for each rung that is sent (rules 2.6). The order that a fill places is one step away
from the filled order. A quantity reference is worked out once, at intake: a position is closed on one side, but a grid trades both.
"""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import Ladder
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import OrderPart, Part, Units
from onebroker.actors.engine.plan.price_kinds import (
    ExitOrder,
    FillBasis,
    Fixed,
    FromFillPrice,
    Peg,
    Price,
    Referenced,
    Touch,
)
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import whole_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.middle_price import INVENTORY, centres_of, each_order, middle_of
from onebroker.actors.engine.presets.part_builders import child, exit_order, linked, order, sized, together
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.config.messages import presets_pieces as texts
from onebroker.config.money import plain
from onebroker.config.vocabulary import Side

MOST_LEVELS = 10
"""On each side."""


@attrs.frozen(kw_only=True)
class Settings:
    levels: int = setting(whole_from(1, MOST_LEVELS))
    """On each side."""
    step_points: Decimal = setting(PRICE)
    most_inventory: int = setting(INVENTORY, default_of=lambda reading: reading["levels"] * each_order(reading.body))
    """Units, either way."""


def check(settings: Settings, _: Fields, body: Body) -> None:
    if body.limit is not None and body.defaults.price_reference is None:
        _check_lowest(body, settings, body.limit)


def _check_lowest(body: Body, settings: Settings, centre: Decimal) -> None:
    lowest = centre - settings.levels * settings.step_points
    if lowest <= 0:
        raise body.refusal(texts.lowest_price("step_points and levels bring", plain(lowest)))


def tree(settings: Settings, body: Body, path: str) -> Part:
    sides = enumerate((Side.BUY, Side.SELL))
    children = (_rungs(settings, body, child(path, number), side) for number, side in sides)
    return together(path, children, most_inventory=settings.most_inventory)


def _rungs(settings: Settings, body: Body, path: str, side: Side) -> OrderPart:
    """Return one side, around the LIMIT price, the result of a price reference for each order, or the middle of the market at the start."""
    own = attrs.evolve(body, defaults=attrs.evolve(body.defaults, transaction_type=side.value, closing=None))
    reference = body.defaults.price_reference
    centre = Decimal(0) if reference is not None or body.limit is None else body.limit
    away = -side.sign * settings.step_points
    rungs = Ladder(
        from_price=centre + away,
        to_price=centre + settings.levels * away,
        steps=settings.levels,
        restore=True,
        from_middle=reference is None and body.limit is None,
        around=reference,
    )
    opposite = FromFillPrice(order=ExitOrder.LIMIT, basis=FillBasis.LIMIT, distance=settings.step_points)
    return order(
        own,
        path,
        _price(rungs),
        quantity=Units(settings.levels * sized(body)),
        execution=rungs,
        each_fill=exit_order(own, linked(path), opposite),
    )


def _price(rungs: Ladder) -> Price:
    if rungs.around is not None:
        return Referenced(rungs.around)
    return Peg(reference=Touch.MID) if rungs.from_middle else Fixed(rungs.from_price)


def check_market(settings: Settings, body: Body, market: Market) -> None:
    """Check the lowest price: the middle of a MARKET grid, or the result of a reference, comes from the market."""
    reference = body.defaults.price_reference
    if reference is not None:
        for centre in centres_of(body, reference, market):
            _check_lowest(body, settings, centre)
    elif body.limit is None:
        _check_lowest(body, settings, middle_of(body, market))


PRESET = Preset(
    name="grid",
    title="buys below and sells above market, each fill places its opposite",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    references=Refs.EACH,
    legs=True,
    sees_market=True,
    check_market=check_market,
)
