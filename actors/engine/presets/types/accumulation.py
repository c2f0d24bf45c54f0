"""accumulation: builds a position in pieces at a regular interval (order-engine 3.2)."""

from datetime import time
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import TopUp
from onebroker.actors.engine.plan.parts import Lifetime, Part
from onebroker.actors.engine.plan.price_kinds import Cap
from onebroker.actors.engine.plan.reading.value_rules import at_least, flag, number_from
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs
from onebroker.actors.engine.presets.settings import PRICE, TIME_TO_COME, setting


@attrs.frozen(kw_only=True)
class Settings:
    piece_quantity: int = setting(at_least(1))
    """Units; whole lots, at most the quantity: checked with the tree."""
    every_seconds: Decimal = setting(number_from(1, 3600), default=Decimal(60))
    randomise_percent: Decimal = setting(number_from(0, 50), default=Decimal(0))
    wait_for_fill: bool = setting(flag, default=True)
    catch_up: bool = setting(flag, default=False)
    worst_price: Decimal | None = setting(PRICE, default=None)
    until_time: time | None = setting(TIME_TO_COME, default=None)


def tree(settings: Settings, body: Body, path: str) -> Part:
    own = body_price(body)
    execution = TopUp(
        piece_quantity=settings.piece_quantity,
        every_seconds=settings.every_seconds,
        randomise_percent=settings.randomise_percent,
        wait_for_fill=settings.wait_for_fill,
        catch_up=settings.catch_up,
    )
    return order(
        body,
        path,
        own if settings.worst_price is None else Cap(worst_price=settings.worst_price, of=own),
        execution=execution,
        lifetime=None if settings.until_time is None else Lifetime(at_time=settings.until_time),
    )


PRESET = Preset(
    name="accumulation",
    title="builds a position in pieces at a steady beat",
    settings=Settings,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    references=Refs.EACH,
    sees_market=True,
)
