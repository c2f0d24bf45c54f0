"""basket: several instruments in one request (order-engine 3.5; rules 2.7)."""

from collections.abc import Mapping

import attrs

from onebroker.actors.engine.plan.parts import Part
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.candidates import candidates_of, name_of_part, order_parts
from onebroker.actors.engine.presets.part_builders import together
from onebroker.actors.engine.presets.preset import Preset, Refs
from onebroker.actors.engine.presets.settings import setting

MOST = 20


@attrs.frozen(kw_only=True)
class Settings:
    candidates: tuple[Mapping[str, object], ...] = setting(candidates_of("basket", least=1, most=MOST, immediate=True))
    """As the caller sent them, without nulls."""


def tree(settings: Settings, body: Body, path: str) -> Part:
    return together(path, order_parts(settings.candidates, body, "basket", path))


PRESET = Preset(
    name="basket",
    title="several instruments in one request",
    settings=Settings,
    tree=tree,
    per_part=True,
    references=Refs.NEVER,
    immediate=True,
    legs=True,
    name_of_part=name_of_part,
)
