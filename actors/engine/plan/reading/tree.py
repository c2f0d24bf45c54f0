"""A whole plan: parts below parts, presets in place of parts, limits of the tree (order-engine 1.1, 1.2, 1.10). Pure.

The answer is the first failure found. Parts are read in tree order; a part's own fields, with its place messages, come before the
parts below it. The checks that need the whole tree come last (`tree_checks.py`).
"""

from collections.abc import Callable, Mapping

import attrs

from onebroker.actors.engine.plan.kinds import PARTS
from onebroker.actors.engine.plan.parts import (
    OneCancelsOthersPart,
    Part,
    Rule,
    SequencePart,
    StartThen,
    TogetherPart,
)
from onebroker.actors.engine.plan.reading.conditions import read_lifetime, read_when
from onebroker.actors.engine.plan.reading.exit_marks import marked, with_lone_exits
from onebroker.actors.engine.plan.reading.json_fields import WORKING_VALUES, Fields
from onebroker.actors.engine.plan.reading.orders import read_order
from onebroker.actors.engine.plan.reading.presets import read_preset
from onebroker.actors.engine.plan.reading.reading_context import Defaults, Preset, Surroundings, World
from onebroker.actors.engine.plan.reading.tree_checks import check_tree
from onebroker.actors.engine.plan.reading.value_rules import choice, flag, word_of
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.refusal import Refusal

_SETTINGS = ("type", "root", "closes_position", "hold_limits", "exits_follow_position")
_KINDS = (*PARTS, "preset")
MOST_CHILDREN = 20
_FEWEST = {"together": 1, "one_cancels_others": 2}


def read_plan(
    synthetic: Mapping[str, object],
    defaults: Defaults,
    world: World,
    presets: Mapping[str, Preset],
    path: str = "root",
) -> Part:
    """Read the `synthetic` object of a plan into its checked tree.

    `presets` are the types that a `preset` part may name; `path` is the path of the tree's root. Raises Refusal: 400 with the
    sentences of order-engine 1.10, and 404 for an instrument that is not mapped today.
    """
    settings = Fields.of(synthetic, path="", owner="plan order")
    for name in WORKING_VALUES:
        if settings.has(name):
            raise settings.refusal(order_texts.worked_out_by_engine(name))
    hold_limits = settings.optional("hold_limits", flag, False)
    settings.only(*_SETTINGS)
    if not settings.has("root"):
        raise settings.refusal(texts.ROOT_REQUIRED)
    closes = defaults.closes_position or settings.given.get("closes_position") is True
    around = Surroundings(defaults=defaults, world=world, presets=presets, hold_limits=hold_limits)
    root = read_part(settings.given["root"], path, around)
    check_tree(root, defaults, world)
    return marked(with_lone_exits(root), closes_position=closes)


def read_part(value: object, path: str, around: Surroundings) -> Part:
    """Read the part at `path`, and all parts below it."""
    if not isinstance(value, Mapping):
        raise Refusal(400, texts.at(path, texts.json_object("part")))
    named = Fields.of(value, path=path, owner="")
    kind = named.judge(choice(_KINDS), named.given.get("part", "order"), "part")
    fields = attrs.evolve(named, owner=f"{kind} part")
    if kind == "order":
        return read_order(fields, around, read_part)
    if kind == "preset":
        return read_preset(fields, around)
    return _GROUPS[kind](fields, around)


def _sequence(fields: Fields, around: Surroundings) -> SequencePart:
    fields.only("part", "first", "then", "start_then", "when", "lifetime")
    for name in ("first", "then"):
        if not fields.has(name):
            raise fields.refusal(texts.is_required(name))
    start_then = fields.optional("start_then", word_of(StartThen), StartThen.FILLED)
    when = read_when(fields, around.defaults.instrument, around.world)
    lifetime = read_lifetime(fields, around.defaults.instrument, around.world)
    return SequencePart(
        path=fields.path,
        when=when,
        lifetime=lifetime,
        first=read_part(fields.given["first"], f"{fields.path}.first", around),
        then=read_part(fields.given["then"], f"{fields.path}.then", around.following()),
        start_then=start_then,
    )


def _together(fields: Fields, around: Surroundings) -> TogetherPart:
    fields.only("part", "children", "when", "lifetime")
    children = _listed(fields)
    when = read_when(fields, around.defaults.instrument, around.world)
    lifetime = read_lifetime(fields, around.defaults.instrument, around.world)
    return TogetherPart(path=fields.path, when=when, lifetime=lifetime, children=_children(fields, children, around))


def _one_cancels_others(fields: Fields, around: Surroundings) -> OneCancelsOthersPart:
    fields.only("part", "children", "rule", "when", "lifetime")
    children = _listed(fields)
    rule = fields.optional("rule", word_of(Rule), Rule.CANCEL)
    when = read_when(fields, around.defaults.instrument, around.world)
    lifetime = read_lifetime(fields, around.defaults.instrument, around.world)
    return OneCancelsOthersPart(
        path=fields.path, when=when, lifetime=lifetime, rule=rule, children=_children(fields, children, around)
    )


def _listed(fields: Fields) -> tuple[object, ...]:
    kind = fields.owner.removesuffix(" part")
    return fields.items("children", _FEWEST[kind], MOST_CHILDREN)


def _children(fields: Fields, children: tuple[object, ...], around: Surroundings) -> tuple[Part, ...]:
    return tuple(read_part(child, f"{fields.path}.children.{index}", around) for index, child in enumerate(children))


_GROUPS: Mapping[str, Callable[[Fields, Surroundings], Part]] = {
    "sequence": _sequence,
    "together": _together,
    "one_cancels_others": _one_cancels_others,
}
