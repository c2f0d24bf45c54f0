"""oca: candidate entries; on the first fill the rest are cancelled (order-engine 3.30; rules 2.7)."""

from collections.abc import Mapping

import attrs

from onebroker.actors.engine.plan.parts import OneCancelsOthersPart, Part, Rule
from onebroker.actors.engine.plan.prices import Marketable
from onebroker.actors.engine.plan.reading.fields import Fields
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.candidates import name_of_part, order_parts, read_candidates, refuse_candidate
from onebroker.actors.engine.presets.preset import Holding, Preset, Refs
from onebroker.config.messages import presets_pieces as texts

MOST = 20


@attrs.frozen(kw_only=True)
class Settings:
    candidates: tuple[Mapping[str, object], ...]
    """As the caller sent them, without nulls."""


def read(fields: Fields, body: Body) -> Settings:
    candidates = read_candidates(fields, body, "oca", least=2, most=MOST)
    for number, part in enumerate(order_parts(candidates, body, "oca", "root")):
        if isinstance(part.price, Marketable):
            raise refuse_candidate(body, number, texts.NOTHING_TO_CHOOSE)
    return Settings(candidates=candidates)


def tree(settings: Settings, body: Body, path: str) -> Part:
    children = order_parts(settings.candidates, body, "oca", path)
    return OneCancelsOthersPart(path=path, rule=Rule.CANCEL, children=children)


PRESET = Preset(
    name="oca",
    title="candidate entries, rest cancelled on first fill",
    settings=Settings,
    read=read,
    tree=tree,
    per_part=True,
    hold=Holding.BY_SWITCH,
    references=Refs.NEVER,
    legs=True,
    name_of_part=name_of_part,
)
