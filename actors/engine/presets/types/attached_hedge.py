"""attached_hedge: hedges every fill in another instrument (order-engine 3.4)."""

from decimal import Decimal
from enum import StrEnum

import attrs

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.plan.parts import FromFill, Part
from onebroker.actors.engine.plan.prices import Marketable
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import above_zero, at_least, choice, word_of
from onebroker.actors.engine.plan.reading.surroundings import named_instrument
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import body_price, linked, order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.config.messages import presets_entries as texts
from onebroker.config.money import Rounding
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, Validity


class HedgeSide(StrEnum):
    OPPOSITE = "opposite"
    SAME = "same"


_ROUNDINGS: dict[str, Rounding] = {"nearest": "nearest", "down": "down", "up": "up"}


@attrs.frozen(kw_only=True)
class Settings:
    hedge_instrument_id: str
    hedge_ratio: Decimal
    """Units of the hedge for each unit filled."""
    hedge_side: HedgeSide
    hedge_product: str | None
    """None = the body's."""
    rounding: Rounding
    buffer_ticks: int


def read(fields: Fields, body: Body) -> Settings:
    hedge = named_instrument(fields, "hedge_instrument_id", body.world)
    if hedge.instrument_id == body.instrument.instrument_id:
        raise fields.refusal(texts.traded_itself("hedge_instrument_id"))
    return Settings(
        hedge_instrument_id=hedge.instrument_id,
        hedge_ratio=fields.required("hedge_ratio", above_zero),
        hedge_side=fields.optional("hedge_side", word_of(HedgeSide), HedgeSide.OPPOSITE),
        hedge_product=fields.optional("hedge_product", choice(SENDABLE_PRODUCTS), None),
        rounding=_ROUNDINGS[fields.optional("rounding", choice(tuple(_ROUNDINGS)), "nearest")],
        buffer_ticks=fields.optional("buffer_ticks", at_least(0), 2),
    )


def tree(settings: Settings, body: Body, path: str) -> Part:
    hedge = order(
        body,
        linked(path),
        Marketable(buffer_ticks=settings.buffer_ticks, follow=True),
        side=body.side.opposite if settings.hedge_side is HedgeSide.OPPOSITE else body.side,
        quantity=FromFill(ratio=settings.hedge_ratio, rounding=settings.rounding),
        instrument=_hedge(settings, body),
        product=settings.hedge_product,
        validity=Validity.DAY,
        uncovered=texts.UNHEDGED,
    )
    return order(body, path, body_price(body), each_fill=hedge)


def _hedge(settings: Settings, body: Body) -> Instrument:
    found = body.world.instrument(settings.hedge_instrument_id)
    assert found is not None  # it was mapped when the settings were read
    return found


PRESET = Preset(
    name="attached_hedge",
    title="hedges every fill in another instrument",
    settings=Settings,
    read=read,
    tree=tree,
)
