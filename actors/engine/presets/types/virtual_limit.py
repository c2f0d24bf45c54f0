"""virtual_limit: a limit kept in the engine until the market reaches it (order-engine 3.53)."""

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.plan.reading.value_rules import at_least
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price, order
from onebroker.actors.engine.presets.preset import LIMIT_ONLY, Holding, Preset
from onebroker.actors.engine.presets.settings import setting


@attrs.frozen(kw_only=True)
class Settings:
    release_ticks: int = setting(at_least(0), default=0)
    """The limit is released this many ticks early."""


def tree(settings: Settings, body: Body, path: str) -> Part:
    return order(body, path, body_price(body), hold=True, release_ticks=settings.release_ticks)


PRESET = Preset(
    name="virtual_limit",
    title="a limit kept in the engine until the market reaches it",
    settings=Settings,
    tree=tree,
    order_types=LIMIT_ONLY,
    hold=Holding.ALWAYS,
    discloses=True,
    sees_market=True,
)
