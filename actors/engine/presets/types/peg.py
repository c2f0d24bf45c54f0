"""peg: a limit that follows the book (order-engine 3.35; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.prices import Peg, Touch
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import price, whole, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset
from onebroker.actors.engine.presets.triggers import check_tick


@attrs.frozen(kw_only=True)
class Settings:
    reference: Touch
    offset_ticks: int
    """Away from the market; a negative value moves towards it."""
    cap_price: Decimal | None


def read(fields: Fields, body: Body) -> Settings:
    settings = Settings(
        reference=fields.optional("reference", word_of(Touch), Touch.OWN_TOUCH),
        offset_ticks=fields.optional("offset_ticks", whole, 0),
        cap_price=fields.optional("cap_price", price(body.tick), None),
    )
    check_tick(body, "peg")
    return settings


def tree(settings: Settings, body: Body, path: str) -> Part:
    limit = Peg(reference=settings.reference, offset_ticks=settings.offset_ticks, cap_price=settings.cap_price)
    return order(body, path, limit)


PRESET = Preset(
    name="peg",
    title="limit re-priced to the book",
    settings=Settings,
    read=read,
    tree=tree,
    order_types=MARKET_OR_LIMIT,
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
)
