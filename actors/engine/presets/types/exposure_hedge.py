"""exposure_hedge: keeps a portfolio's net exposure within a band (order-engine 3.15). The body's instrument is the hedge."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.execution_kinds import TopUp
from onebroker.actors.engine.plan.net_positions import Positions
from onebroker.actors.engine.plan.parts import FromExposure, Measure, Part, Weighted
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan.reading.conditions import MOST_INSTRUMENTS
from onebroker.actors.engine.plan.reading.quantities import read_weights
from onebroker.actors.engine.plan.reading.value_rules import (
    Accepts,
    Kind,
    above_zero,
    at_least,
    number,
    number_from,
    other_than_zero,
    word_of,
)
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.positions_to_close import POSITION_PRODUCT
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.actors.engine.presets.settings import Reading, own_reading, setting
from onebroker.config.messages import presets_exits as texts


@own_reading(Accepts(kind=Kind.LIST, least=1, most=MOST_INSTRUMENTS, item=Accepts(kind=Kind.OBJECT)), required=True)
def _weighted(reading: Reading, name: str) -> tuple[Weighted, ...]:
    return read_weights(reading.fields, name, reading.body.world)


@attrs.frozen(kw_only=True)
class Settings:
    exposure_instruments: tuple[Weighted, ...] = setting(_weighted)
    measure: Measure = setting(word_of(Measure), default=Measure.VALUE)
    product: str | None = setting(POSITION_PRODUCT, default=None)
    """None = all position products."""
    target_exposure: Decimal = setting(number, default=Decimal(0))
    """Rupees, or units by `measure`."""
    band: Decimal = setting(above_zero)
    """How far the exposure may be from the target, either way."""
    hedge_weight: Decimal = setting(other_than_zero, default=Decimal(1))
    check_seconds: Decimal = setting(number_from(1, 3600), default=Decimal(5))
    buffer_ticks: int = setting(at_least(0), default=2)


def settle(settings: Settings, body: Body, positions: Positions) -> Settings:
    """The present exposure must be known before it is watched."""
    if positions.unread:
        raise body.refusal(texts.positions_unread(positions.unread[0]), 503)
    return settings


def tree(settings: Settings, body: Body, path: str) -> Part:
    exposure = FromExposure(
        instruments=settings.exposure_instruments,
        measure=settings.measure,
        target=settings.target_exposure,
        band=settings.band,
        hedge_weight=settings.hedge_weight,
        most=body.quantity,
        product=settings.product,
    )
    # The exposure sizes each piece; the execution gives the interval.
    beat = TopUp(piece_quantity=body.lot, every_seconds=settings.check_seconds, wait_for_fill=True, catch_up=True)
    return order(
        body, path, Marketable(buffer_ticks=settings.buffer_ticks), quantity=exposure, execution=beat, validity="DAY"
    )


PRESET = Preset(
    name="exposure_hedge",
    title="keeps a portfolio's net exposure within a band",
    settings=Settings,
    tree=tree,
    engine_priced=True,
    sized=False,
    references=Refs.NEVER,
    takes_price_reference=False,
    sees_market=True,
    settle=settle,
)
