"""virtual_limit: a limit kept in the engine until the market reaches it (order-engine 3.53)."""

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.plan.reading.rules import at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.building import body_price, order
from onebroker.actors.engine.presets.preset import LIMIT_ONLY, Holding, Preset


@attrs.frozen(kw_only=True)
class Settings:
    release_ticks: int
    """The limit is released this many ticks early."""


def read(fields: Fields, _: Body) -> Settings:
    return Settings(release_ticks=fields.optional("release_ticks", at_least(0), 0))


def tree(settings: Settings, body: Body, path: str) -> Part:
    return order(body, path, body_price(body), hold=True, release_ticks=settings.release_ticks)


PRESET = Preset(
    name="virtual_limit",
    title="a limit kept in the engine until the market reaches it",
    settings=Settings,
    read=read,
    tree=tree,
    order_types=LIMIT_ONLY,
    hold=Holding.ALWAYS,
    discloses=True,
    sees_market=True,
)
