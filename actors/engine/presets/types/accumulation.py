"""accumulation: builds a position in pieces at a regular interval (order-engine 3.2)."""

from datetime import time
from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.executions import TopUp
from onebroker.actors.engine.plan.parts import Lifetime, Part
from onebroker.actors.engine.plan.prices import Cap
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import at_least, flag, number_from, price, time_to_come
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import body_price, order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset, Refs


@attrs.frozen(kw_only=True)
class Settings:
    piece_quantity: int
    """Units; whole lots, at most the quantity: checked with the tree."""
    every_seconds: Decimal
    randomise_percent: Decimal
    wait_for_fill: bool
    catch_up: bool
    worst_price: Decimal | None
    until_time: time | None


def read(fields: Fields, body: Body) -> Settings:
    return Settings(
        piece_quantity=fields.required("piece_quantity", at_least(1)),
        every_seconds=fields.optional("every_seconds", number_from(1, 3600), Decimal(60)),
        randomise_percent=fields.optional("randomise_percent", number_from(0, 50), Decimal(0)),
        wait_for_fill=fields.optional("wait_for_fill", flag, True),
        catch_up=fields.optional("catch_up", flag, False),
        worst_price=fields.optional("worst_price", price(body.tick), None),
        until_time=fields.optional("until_time", time_to_come(body.now.time()), None),
    )


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
    read=read,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    references=Refs.EACH,
    sees_market=True,
)
