"""`synthetic` of a place body: the types that the engine runs, and what each of them makes of its settings. Pure.

A type is registered here and nowhere else. Its check is given the settings that are there (a JSON null counts as absent) and the
order as far as it is checked, its instrument included; it returns the order as the engine is to have it, or raises Refusal 400.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import attrs
import msgspec

from onebroker.actors.engine.messages import PlaceBody
from onebroker.actors.engine.plan.reading.surroundings import World
from onebroker.actors.engine.plan_type import plan_order
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal

TypeCheck: TypeAlias = Callable[[Mapping[str, Any], PlaceBody, World], PlaceBody]

COMMON_SETTINGS = frozenset({"type", "closes_position", "hold_limits"})
"""What every type takes (spec 2 §7)."""
_WORKING_VALUES = ("tick_size", "triggered_at", "watermark", "placed_quantity", "started_at", "expires_at")


def named_type(synthetic: object) -> str:
    """Return the type that a `synthetic` value asks for; `simple` when it asks for none. Raises Refusal 400."""
    if synthetic is not None and not isinstance(synthetic, Mapping):
        raise Refusal(400, texts.SYNTHETIC_OBJECT)
    kind = None if synthetic is None else synthetic.get("type")
    name = "simple" if kind is None else kind.strip().lower() if isinstance(kind, str) else ""
    if name not in TYPES:
        shown = kind if isinstance(kind, str) else msgspec.json.encode(kind).decode()
        raise Refusal(400, texts.synthetic_not_run(shown, sorted(TYPES)))
    return name


def with_synthetic(synthetic: object, order: PlaceBody, world: World) -> PlaceBody:
    """Return the order with what its `synthetic` object says, judged against today's `world`. Raises Refusal 400, and 404 for an
    instrument that a part names."""
    name = named_type(synthetic)
    given = synthetic if isinstance(synthetic, Mapping) else {}
    return TYPES[name]({setting: value for setting, value in given.items() if value is not None}, order, world)


def check_common(settings: Mapping[str, Any]) -> None:
    """Refuse what no type takes: an odd `hold_limits`, values that the engine works out (order-engine 3.0, N15, N23)."""
    if not isinstance(settings.get("hold_limits", False), bool):
        raise Refusal(400, texts.HOLD_LIMITS)
    for name in _WORKING_VALUES:
        if name in settings:
            raise Refusal(400, texts.worked_out_by_engine(name))


def closes_position(settings: Mapping[str, Any]) -> bool:
    """Only a literal true counts (spec 2 §7)."""
    return settings.get("closes_position") is True


def _simple(settings: Mapping[str, Any], order: PlaceBody, _: World) -> PlaceBody:
    """One order to one broker; it takes the common settings alone, and is never held."""
    if settings.get("hold_limits") is True:
        raise Refusal(400, texts.HOLD_LIMITS_SIMPLE)
    check_common(settings)
    for name in settings:
        if name not in COMMON_SETTINGS:
            raise Refusal(400, texts.takes_no_setting("simple", name))
    return attrs.evolve(order, closes_position=closes_position(settings))


TYPES: Mapping[str, TypeCheck] = {"plan": plan_order, "simple": _simple}
"""Name -> its check."""
