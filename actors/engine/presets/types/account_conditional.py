"""account_conditional: sends the order when an account figure reaches a level (order-engine 3.1)."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.parts import AccountAt, AccountField, Direction, Part
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import number, word_of
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import body_price, order
from onebroker.actors.engine.presets.preset import Holding, Preset, Refs
from onebroker.actors.engine.presets.triggers import read_direction


@attrs.frozen(kw_only=True)
class Settings:
    watch_field: AccountField
    trigger_level: Decimal
    """Rupees; percent for the cushion."""
    trigger_direction: Direction | None


def read(fields: Fields, _: Body) -> Settings:
    return Settings(
        watch_field=fields.required("watch_field", word_of(AccountField)),
        trigger_level=fields.required("trigger_level", number),
        trigger_direction=read_direction(fields),
    )


def tree(settings: Settings, body: Body, path: str) -> Part:
    when = AccountAt(field=settings.watch_field, level=settings.trigger_level, direction=settings.trigger_direction)
    return order(body, path, body_price(body), when=when)


PRESET = Preset(
    name="account_conditional",
    title="sends the order when an account figure reaches a level",
    settings=Settings,
    read=read,
    tree=tree,
    hold=Holding.BY_SWITCH,
    references=Refs.SCHEDULED,
    immediate=True,
    sees_market=True,
)
