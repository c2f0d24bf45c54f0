"""account_conditional: sends the order when an account figure reaches a level (order-engine 3.1)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import AccountAt, AccountField, Direction, Part
from onebroker.actors.engine.plan.reading.value_rules import number, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import Holding, Preset, Refs
from onebroker.actors.engine.presets.settings import setting
from onebroker.actors.engine.presets.trigger_settings import DIRECTION


@attrs.frozen(kw_only=True)
class Settings:
    watch_field: AccountField = setting(word_of(AccountField))
    trigger_level: Decimal = setting(number)
    """Rupees; percent for the cushion."""
    trigger_direction: Direction | None = setting(DIRECTION, default=None)


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = AccountAt(field=settings.watch_field, level=settings.trigger_level, direction=settings.trigger_direction)
    return order(body, path, body_price(body), when=when)


PRESET = Preset(
    name="account_conditional",
    title="sends the order when an account figure reaches a level",
    settings=Settings,
    tree=tree,
    hold=Holding.BY_SWITCH,
    references=Refs.SCHEDULED,
    immediate=True,
    sees_market=True,
)
