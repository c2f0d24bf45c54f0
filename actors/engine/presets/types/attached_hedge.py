"""attached_hedge: hedges every fill in another instrument (order-engine 3.4)."""

from decimal import Decimal
from enum import StrEnum

import attrs

from onebroker.actors.engine.plan.parts import FromFill, Part
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan.reading.value_rules import above_zero, at_least, choice, described, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.named import instrument_named, second_instrument
from onebroker.actors.engine.presets.part_builders import body_price, linked, order
from onebroker.actors.engine.presets.preset import Preset
from onebroker.actors.engine.presets.settings import setting
from onebroker.config.messages import presets_entries as texts
from onebroker.config.money import Rounding
from onebroker.config.vocabulary import SENDABLE_PRODUCTS, Validity


class HedgeSide(StrEnum):
    OPPOSITE = "opposite"
    SAME = "same"


_ROUNDINGS: dict[str, Rounding] = {"nearest": "nearest", "down": "down", "up": "up"}
_ROUNDING = choice(tuple(_ROUNDINGS))


@described(_ROUNDING.accepts)
def _rounding(value: object, name: str) -> Rounding:
    return _ROUNDINGS[_ROUNDING(value, name)]


@attrs.frozen(kw_only=True)
class Settings:
    hedge_instrument_id: str = setting(second_instrument)
    hedge_ratio: Decimal = setting(above_zero)
    """Units of the hedge for each unit filled."""
    hedge_side: HedgeSide = setting(word_of(HedgeSide), default=HedgeSide.OPPOSITE)
    hedge_product: str | None = setting(choice(SENDABLE_PRODUCTS), default=None)
    """None = the body's."""
    rounding: Rounding = setting(_rounding, default="nearest")
    buffer_ticks: int = setting(at_least(0), default=2)


def tree(settings: Settings, body: Body, path: str) -> Part:
    hedge = order(
        body,
        linked(path),
        Marketable(buffer_ticks=settings.buffer_ticks, follow=True),
        side=body.side.opposite if settings.hedge_side is HedgeSide.OPPOSITE else body.side,
        quantity=FromFill(ratio=settings.hedge_ratio, rounding=settings.rounding),
        instrument=instrument_named(body, settings.hedge_instrument_id),
        product=settings.hedge_product,
        validity=Validity.DAY,
        uncovered=texts.UNHEDGED,
    )
    return order(body, path, body_price(body), each_fill=hedge)


PRESET = Preset(
    name="attached_hedge",
    title="hedges every fill in another instrument",
    settings=Settings,
    tree=tree,
)
