"""exposure_hedge: keeps a portfolio's net exposure within a band (order-engine 3.15). The body's instrument is the hedge."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.executions import TopUp
from onebroker.actors.engine.plan.held import Positions
from onebroker.actors.engine.plan.parts import FromExposure, Measure, Part, Weighted
from onebroker.actors.engine.plan.prices import Marketable
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.quantities import read_weights
from onebroker.actors.engine.plan.reading.rules import (
    above_zero,
    at_least,
    number,
    number_from,
    other_than_zero,
    word_of,
)
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.positions import read_product
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.config.messages import presets_exits as texts


@attrs.frozen(kw_only=True)
class Settings:
    exposure_instruments: tuple[Weighted, ...]
    measure: Measure
    product: str | None
    """None = all position products."""
    target_exposure: Decimal
    """Rupees, or units by `measure`."""
    band: Decimal
    """How far the exposure may be from the target, either way."""
    hedge_weight: Decimal
    check_seconds: Decimal
    buffer_ticks: int


def read(fields: Fields, body: Body) -> Settings:
    return Settings(
        exposure_instruments=read_weights(fields, "exposure_instruments", body.world),
        measure=fields.optional("measure", word_of(Measure), Measure.VALUE),
        product=read_product(fields, "product"),
        target_exposure=fields.optional("target_exposure", number, Decimal(0)),
        band=fields.required("band", above_zero),
        hedge_weight=fields.optional("hedge_weight", other_than_zero, Decimal(1)),
        check_seconds=fields.optional("check_seconds", number_from(1, 3600), Decimal(5)),
        buffer_ticks=fields.optional("buffer_ticks", at_least(0), 2),
    )


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
    read=read,
    tree=tree,
    engine_priced=True,
    sized=False,
    references=Refs.NEVER,
    takes_price_reference=False,
    sees_market=True,
    settle=settle,
)
