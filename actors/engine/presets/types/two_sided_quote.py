"""two_sided_quote: keeps a bid and an offer around the middle, or around the result of a price reference (order-engine 3.51).

Neither quote stays alone: when a broker refuses one, the other is cancelled. A quantity reference is worked out once, at intake. A position is
closed on one side only, so a quote bounded by it would leave out the other quote.
"""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import TopUp
from onebroker.actors.engine.plan.market import Market
from onebroker.actors.engine.plan.parts import Part, Units
from onebroker.actors.engine.plan.price_kinds import Peg, Touch
from onebroker.actors.engine.plan.reading.value_rules import at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.middle_price import INVENTORY, centres_of, each_order, middle_of
from onebroker.actors.engine.presets.part_builders import child, order, sized, together
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs
from onebroker.actors.engine.presets.settings import setting
from onebroker.config.vocabulary import Side

EVERY_SECONDS = Decimal(1)


@attrs.frozen(kw_only=True)
class Settings:
    half_spread_ticks: int = setting(at_least(1), default=1)
    requote_ticks: int = setting(at_least(1), default=1)
    """A quote moves only after the middle has moved this far."""
    skew_ticks: int = setting(at_least(0), default=0)
    """Both quotes move this many ticks lower for each order quantity held, and higher for each order quantity sold short."""
    most_inventory: int = setting(INVENTORY, default_of=lambda reading: 5 * each_order(reading.body))
    """Units, either way."""


def tree(settings: Settings, body: Body, path: str) -> Part:
    sides = enumerate((Side.BUY, Side.SELL))
    children = (_quote(settings, body, child(path, number), side) for number, side in sides)
    return together(path, children, most_inventory=settings.most_inventory, inseparable=True)


def _quote(settings: Settings, body: Body, path: str, side: Side) -> Part:
    each = sized(body)
    price = Peg(
        reference=Touch.MID,
        offset_ticks=settings.half_spread_ticks,
        requote_ticks=settings.requote_ticks,
        skew_ticks=settings.skew_ticks,
        skew_quantity=each,
        passive=True,
        centre=body.defaults.price_reference,
    )
    execution = TopUp(piece_quantity=each, every_seconds=EVERY_SECONDS, standing=True)
    part = order(body, path, price, side=side, quantity=Units(each), execution=execution)
    return attrs.evolve(part, closing=None)


def check_market(_: Settings, body: Body, market: Market) -> None:
    reference = body.defaults.price_reference
    if reference is None:
        middle_of(body, market)
        return
    centres_of(body, reference, market)


PRESET = Preset(
    name="two_sided_quote",
    title="keeps a bid and an offer around the middle",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    engine_priced=True,
    references=Refs.EACH,
    legs=True,
    sees_market=True,
    check_market=check_market,
)
