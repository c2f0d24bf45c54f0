"""`synthetic` of a place body: which type runs the order, and the order in the engine's form. Pure.

`simple` is one order to one broker, `plan` is the grammar itself; every other type is a preset (`presets/`). An order with references has its
settings checked here too; the engine builds the plan once the references are worked out.
"""

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from onebroker.actors.engine.context.messages import PlaceBody
from onebroker.actors.engine.orders.reference_values import QuantityKind
from onebroker.actors.engine.plan.parts import FromPosition, Part, TogetherPart
from onebroker.actors.engine.plan.reading.exit_marks import marked
from onebroker.actors.engine.plan.reading.json_fields import WORKING_VALUES, Fields
from onebroker.actors.engine.plan.reading.presets import held
from onebroker.actors.engine.plan.reading.reading_context import Defaults, World
from onebroker.actors.engine.plan.reading.tree import read_plan
from onebroker.actors.engine.plan.reading.tree_checks import check_tree
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.part_builders import body_price
from onebroker.actors.engine.presets.part_builders import order as one_order
from onebroker.actors.engine.presets.preset import Holding, Preset, Refs, shown_settings
from onebroker.actors.engine.presets.registry import EXPANSIONS, PRESETS
from onebroker.config.converters import nearest
from onebroker.config.messages import orders as texts
from onebroker.config.messages import plan as plan_texts
from onebroker.config.messages import presets as preset_texts
from onebroker.config.refusal import Refusal
from onebroker.config.sections import EngineSettings
from onebroker.config.vocabulary import OrderType, Side, Validity

SIMPLE, PLAN = "simple", "plan"
TYPES = tuple(sorted({SIMPLE, PLAN, *PRESETS}))
"""The names that a caller may give; the refusal of any other name lists them."""
_FOLLOWS = "exits_follow_position"
_COMMON = frozenset({"type", "closes_position", "hold_limits", _FOLLOWS})
"""Settings that every type takes (rules 2.7)."""


@attrs.frozen(kw_only=True)
class Needs:
    """Which fields of a place body a type needs (order-engine 3.0, body)."""

    prices: bool = True
    quantity: bool = True
    order_fields: bool = True


def named_type(synthetic: object) -> str:
    """Return the type that a `synthetic` value asks for; `simple` when it asks for none. Raises Refusal 400."""
    if synthetic is not None and not isinstance(synthetic, Mapping):
        raise Refusal(400, texts.SYNTHETIC_OBJECT)
    kind = None if synthetic is None else synthetic.get("type")
    name = SIMPLE if kind is None else kind.strip().lower() if isinstance(kind, str) else ""
    if name not in TYPES:
        shown = kind if isinstance(kind, str) else msgspec.json.encode(kind).decode()
        raise Refusal(400, texts.synthetic_not_run(shown, TYPES))
    return name


def needs_of(synthetic: object) -> Needs:
    """Return what else the body must have; everything for an unknown type."""
    try:
        name = named_type(synthetic)
    except Refusal:
        return Needs()
    if name == PLAN:
        return Needs(quantity=False, order_fields=False)
    preset = PRESETS.get(name)
    if preset is None:
        return Needs()
    return Needs(prices=not preset.engine_priced, quantity=preset.sized, order_fields=not preset.per_part)


def with_synthetic(synthetic: object, order: PlaceBody, world: World) -> PlaceBody:
    """Return the order with the settings of its `synthetic` object, judged against today's `world`.

    Raises Refusal 400, and 404 for an instrument that the object names.
    """
    if synthetic is None:
        return with_type(_plain_type(order, world.settings), {}, order, world)
    name = named_type(synthetic)
    assert isinstance(synthetic, Mapping)
    return with_type(name, {key: value for key, value in synthetic.items() if value is not None}, order, world)


def with_type(name: str, settings: Mapping[str, Any], order: PlaceBody, world: World) -> PlaceBody:
    """Return the order that a type builds from its settings (without nulls)."""
    if name == SIMPLE:
        return _simple(settings, order)
    if name == PLAN:
        return _plan(settings, order, world)
    return _preset(PRESETS[name], settings, order, world)


def completed(order: PlaceBody, world: World) -> PlaceBody:
    """Build the plan of an order whose references have been worked out since its settings were checked."""
    if order.plan is not None:
        return order
    if order.holders:
        return _at_each_holder(order, world)
    name = order.routed_from or _own_class(order)
    return order if name == SIMPLE else with_type(name, order.settings, order, world)


def _own_class(order: PlaceBody) -> str:
    """Return `plan` or `simple` for an order without a preset; `simple` keeps no settings."""
    return PLAN if order.settings else SIMPLE


def _at_each_holder(order: PlaceBody, world: World) -> PlaceBody:
    """Close a position where it is held: together, one order at each broker that holds some of it (order-engine 4.1)."""
    preset = None if order.routed_from is None else PRESETS[order.routed_from]
    children: list[Part] = []
    for number, (broker, quantity) in enumerate(order.holders):
        share = attrs.evolve(order, broker=broker, quantity=quantity, holders=())
        body = Body(defaults=defaults_of(share), world=world)
        path = f"root.children.{number}"
        if preset is not None:
            children.append(preset.tree(order.preset, body, path))
        elif _own_class(order) == PLAN:
            children.append(read_plan(order.settings, body.defaults, world, EXPANSIONS, path))
        else:
            children.append(one_order(body, path, body_price(body)))
    root = TogetherPart(path="root", children=tuple(children))
    whole = Body(defaults=defaults_of(order), world=world)
    holds = order.parameters.get("hold_limits") is True
    return attrs.evolve(order, plan=_finished(preset, root, whole, holds=holds, closing=_closing(order)))


def _plain_type(order: PlaceBody, settings: EngineSettings) -> str:
    """Return the type of an order without a `synthetic` object (rules 2.4.2; order-engine 4.8)."""
    if not order.after_market:
        if order.order_type == OrderType.MARKET and settings.marketable_limit_mode:
            return "marketable_limit"
        if order.order_type == OrderType.LIMIT and order.validity == Validity.DAY and settings.hold_plain_limits:
            return "virtual_limit"
    return SIMPLE


# --- what every type takes -------------------------------------------------------------------------------------------------


def _check_common(settings: Mapping[str, Any]) -> None:
    """Refuse settings that no type takes: an invalid `hold_limits`, values that the engine works out (order-engine 3.0, N15, N23)."""
    if not isinstance(settings.get("hold_limits", False), bool):
        raise Refusal(400, texts.HOLD_LIMITS)
    if not isinstance(settings.get(_FOLLOWS, False), bool):
        raise Refusal(400, texts.EXITS_FOLLOW)
    for name in WORKING_VALUES:
        if name in settings:
            raise Refusal(400, texts.worked_out_by_engine(name))


def _closes_position(settings: Mapping[str, Any]) -> bool:
    """Only a literal true counts (rules 2.7)."""
    return settings.get("closes_position") is True


def _follows(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the setting `exits_follow_position` (ours) where the caller gives it; without it exits follow (order-engine 1.13)."""
    return {_FOLLOWS: settings[_FOLLOWS]} if _FOLLOWS in settings else {}


def _only_for_simple(order: PlaceBody, *, discloses: bool) -> None:
    """N20, N21."""
    if order.after_market:
        raise Refusal(400, plan_texts.only_simple("after_market"))
    if order.disclosed_quantity and not discloses:
        raise Refusal(400, plan_texts.only_simple("disclosed_quantity"))


def defaults_of(order: PlaceBody, *, closes: bool = False) -> Defaults:
    """Return the body's order fields in the form that parts and types take."""
    return Defaults(
        instrument=order.instrument,
        transaction_type=order.transaction_type,
        product=order.product,
        order_type=order.order_type,
        validity=order.validity,
        quantity=order.quantity or None,
        price=order.price,
        trigger_price=order.trigger_price,
        tag=order.tag,
        broker=order.broker,
        disclosed_quantity=order.disclosed_quantity,
        price_reference=order.price_reference,
        position=order.position,
        closing=order.closing,
        closes_position=closes or order.closes_position,
    )


# --- simple and plan -------------------------------------------------------------------------------------------------------


def _simple(settings: Mapping[str, Any], order: PlaceBody) -> PlaceBody:
    """One order to one broker; it takes only the common settings and is never held."""
    if settings.get("hold_limits") is True:
        raise Refusal(400, texts.HOLD_LIMITS_SIMPLE)
    _check_common(settings)
    for name in settings:
        if name not in _COMMON:
            raise Refusal(400, texts.takes_no_setting(SIMPLE, name) + nearest(name, _COMMON))
    return attrs.evolve(order, closes_position=_closes_position(settings))


def _plan(settings: Mapping[str, Any], order: PlaceBody, world: World) -> PlaceBody:
    """The grammar itself (order-engine 3.36)."""
    _check_common(settings)
    _only_for_simple(order, discloses=False)
    closes = _closes_position(settings)
    shown = {"closes_position": closes, "hold_limits": settings.get("hold_limits") is True, **_follows(settings)}
    order = attrs.evolve(order, settings=settings, closes_position=closes, parameters=shown)
    if order.references is not None:
        return order  # its parts are read once the references have become numbers
    root = read_plan(settings, defaults_of(order), world, presets=EXPANSIONS)
    return attrs.evolve(order, plan=marked(root, closes_position=closes, closing=_closing(order)))


# --- presets ---------------------------------------------------------------------------------------------------------------


def _preset(preset: Preset[Any], given: Mapping[str, Any], order: PlaceBody, world: World) -> PlaceBody:
    """Check the settings of a preset's order, and build its plan unless a reference must be worked out first."""
    _check_common(given)
    holds = _holds(preset, given, world.settings)
    closes = _closes_position(given)
    _only_for_simple(order, discloses=preset.discloses)
    _check_references(preset, order)
    order = _deferred(preset, order)
    priced_later = order.references is not None and order.references.price is not None
    sized = None if order.references is None else order.references.quantity
    body = Body(
        defaults=defaults_of(order, closes=closes),
        world=world,
        priced_later=priced_later,
        sided_later=sized is not None and sized.kind.closes,
    )
    preset.check_body(body)
    own = {name: value for name, value in given.items() if name not in _COMMON}
    settings = preset.settings_of(Fields.of(own, path="", owner=f"{preset.name} order"), body)
    shown = {**shown_settings(settings), "closes_position": closes, "hold_limits": holds, **_follows(given)}
    order = attrs.evolve(
        order, routed_from=preset.name, settings=given, closes_position=closes, parameters=shown, preset=settings
    )
    if order.references is not None:
        return order
    root = preset.tree(settings, body, "root")
    return attrs.evolve(order, plan=_finished(preset, root, body, holds=holds, closing=_closing(order)))


def settled(order: PlaceBody, settings: Any, world: World) -> PlaceBody:
    """Return the order of a type with the settings that the positions have completed, and with the plan built from them."""
    assert order.routed_from is not None
    preset = PRESETS[order.routed_from]
    body = Body(defaults=defaults_of(order), world=world)
    holds = order.parameters.get("hold_limits") is True
    plan = _finished(preset, preset.tree(settings, body, "root"), body, holds=holds, closing=_closing(order))
    return attrs.evolve(order, plan=plan, preset=settings, parameters={**order.parameters, **shown_settings(settings)})


def _deferred(preset: Preset[Any], order: PlaceBody) -> PlaceBody:
    """Leave to the plan the references that the type works out later than at intake (rules 2.6)."""
    if order.references is None or preset.references not in (Refs.EACH, Refs.SCHEDULED):
        return order
    quantity, position, closing = order.references.quantity, None, None
    if preset.references is Refs.SCHEDULED and quantity is not None and quantity.kind.closes:
        most = order.references.typed_quantity if quantity.kind is QuantityKind.REDUCE else None
        position = FromPosition(
            product=quantity.product,
            instrument_ids=(order.instrument.instrument_id,),
            cancel_resting_first=False,
            most=most,
        )
        quantity = None
    elif quantity is not None and quantity.kind.closes:
        closing = quantity
    else:
        quantity = None
    left = None if quantity is None else attrs.evolve(order.references, price=None)
    price = order.references.price
    return attrs.evolve(order, references=left, price_reference=price, position=position, closing=closing)


def _holds(preset: Preset[Any], given: Mapping[str, Any], settings: EngineSettings) -> bool:
    asked = given.get("hold_limits")
    if preset.hold is Holding.ALWAYS:
        if asked is False:
            raise Refusal(400, preset_texts.always_held(preset.name))
        return True
    if asked is not None:
        return bool(asked)
    return preset.hold is Holding.BY_SWITCH and settings.hold_limits


def _check_references(preset: Preset[Any], order: PlaceBody) -> None:
    """N19, and N14 where the type takes no price or quantity from the body."""
    if order.references is None:
        return
    takes = {"price": preset.takes_price_reference, "quantity": preset.takes_quantity_reference}
    for field, taken in takes.items():
        if getattr(order.references, field) is not None:
            name = f"{field}_reference"
            if preset.references is Refs.NEVER:
                raise Refusal(400, plan_texts.takes_no_reference(preset.name, name))
            if not taken:
                raise Refusal(400, texts.takes_no_setting(preset.name, name))


def _closing(order: PlaceBody) -> tuple[str, Side] | None:
    """Return the instrument and side when the engine itself knows that this order closes a position."""
    if not order.position_close or order.transaction_type is None:
        return None
    return order.instrument.instrument_id, Side(order.transaction_type)


def _finished(
    preset: Preset[Any] | None, root: Part, body: Body, *, holds: bool, closing: tuple[str, Side] | None
) -> Part:
    """Return the tree, checked as a whole, with its exits marked, and held where `holds` asks for it."""
    if holds:
        root = held(root)
    try:
        check_tree(root, body.defaults, body.world)
    except Refusal as refusal:
        # The caller gave settings, not parts. So the sentence starts with the place of an order among them, not with a path.
        path, _, sentence = refusal.sentence.partition(": ")
        name = "" if preset is None else preset.name_of_part(path.removeprefix("root."))
        raise Refusal(refusal.status, plan_texts.at(name, sentence), refusal.extra) from None
    return marked(root, closes_position=body.defaults.closes_position, closing=closing)
