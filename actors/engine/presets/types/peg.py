"""peg: a limit that follows the book (order-engine 3.35; rules 2.7)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.price_kinds import Peg, Touch
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.value_rules import whole, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import order
from onebroker.actors.engine.presets.preset import MARKET_OR_LIMIT, Preset
from onebroker.actors.engine.presets.settings import PRICE, setting
from onebroker.actors.engine.presets.trigger_settings import check_tick


@attrs.frozen(kw_only=True)
class Settings:
    reference: Touch = setting(word_of(Touch), default=Touch.OWN_TOUCH)
    offset_ticks: int = setting(whole, default=0)
    """Away from the market; a negative value moves towards it."""
    cap_price: Decimal | None = setting(PRICE, default=None)


def check(_: Settings, __: Fields, body: Body) -> None:
    check_tick(body, "peg")


def tree(settings: Settings, body: Body, path: str) -> Part:
    limit = Peg(reference=settings.reference, offset_ticks=settings.offset_ticks, cap_price=settings.cap_price)
    return order(body, path, limit)


PRESET = Preset(
    name="peg",
    title="limit re-priced to the book",
    settings=Settings,
    tree=tree,
    check=check,
    order_types=MARKET_OR_LIMIT,
    engine_priced=True,
    takes_price_reference=False,
    sees_market=True,
)
