"""oca: candidate entries; on the first fill the rest are cancelled (order-engine 3.30; rules 2.7)."""

from collections.abc import Mapping

import attrs

from onebroker.actors.engine.plan.parts import OneCancelsOthersPart, Part, Rule
from onebroker.actors.engine.plan.price_kinds import Marketable
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.candidates import candidates_of, name_of_part, order_parts, refuse_candidate
from onebroker.actors.engine.presets.preset import Holding, Preset, Refs
from onebroker.actors.engine.presets.settings import setting
from onebroker.config.messages import presets_pieces as texts

MOST = 20


@attrs.frozen(kw_only=True)
class Settings:
    candidates: tuple[Mapping[str, object], ...] = setting(candidates_of("oca", least=2, most=MOST))
    """As the caller sent them, without nulls."""


def check(settings: Settings, _: Fields, body: Body) -> None:
    for number, part in enumerate(order_parts(settings.candidates, body, "oca", "root")):
        if isinstance(part.price, Marketable):
            raise refuse_candidate(body, number, texts.NOTHING_TO_CHOOSE)


def tree(settings: Settings, body: Body, path: str) -> Part:
    children = order_parts(settings.candidates, body, "oca", path)
    return OneCancelsOthersPart(path=path, rule=Rule.CANCEL, children=children)


PRESET = Preset(
    name="oca",
    title="candidate entries, rest cancelled on first fill",
    settings=Settings,
    tree=tree,
    check=check,
    per_part=True,
    hold=Holding.BY_SWITCH,
    references=Refs.NEVER,
    legs=True,
    name_of_part=name_of_part,
)
