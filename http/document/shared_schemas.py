"""Schemas that are not the type of an answer: those that types name, and those of request bodies."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from onebroker.actors.engine.orders.reference_values import MOST_LEVEL, PriceKind, QuantityKind
from onebroker.actors.portfolio.position_view import BrokerPosition
from onebroker.config.instruments import (
    EXCHANGES,
    ORDERABLE_SEGMENTS,
    SEGMENTS,
    TRADING_EXCHANGES,
    prefixed_segment,
    segments_of,
)
from onebroker.config.schema_marks import COMPONENTS
from onebroker.config.vocabulary import POSITION_PRODUCTS
from onebroker.http.answers.changes import Cancelled, Modified, ParentCancelled, PartCancelled, PartModified, StopDryRun
from onebroker.http.answers.parents import ShownPlan
from onebroker.http.answers.place import Placed, PlaceDryRun, PlanDryRun
from onebroker.http.answers.portfolio import FundsRead
from onebroker.http.answers.shared import BrokerRead, Failure
from onebroker.http.answers.stopping import ParentsHalted
from onebroker.http.document import plan_parts, plan_prices
from onebroker.http.document.field_texts import field_texts
from onebroker.http.document.order_type_schemas import order_type_schemas
from onebroker.http.document.schemas import Schema, typed

NAMED_TYPES = (
    BrokerPosition, BrokerRead, Cancelled, Failure, FundsRead, Modified, ParentCancelled, ParentsHalted, PartCancelled, PartModified, Placed,
    PlaceDryRun, PlanDryRun, ShownPlan, StopDryRun,
)  # fmt: skip
"""Types of answers that other types name (`schema_of`)."""
_FORMS = {"PlanCondition": 1, "PlanConditionInGroup": 1, "PlanLifetime": 1, "PlanQuantity": 1}
"""Objects of which at least so many fields must be there."""


def used(root: object, components: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the components that a document names, directly or through others, by name. Raises KeyError for a name that has no schema."""
    found: dict[str, Schema] = {}
    waiting = list(_names(root))
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = components[name]
            waiting.extend(_names(components[name]))
    return dict(sorted(found.items()))


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        ref = value.get("$ref")
        if isinstance(ref, str) and ref.startswith(COMPONENTS):
            yield ref.removeprefix(COMPONENTS).partition("/")[0]
        for inner in value.values():
            yield from _names(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _names(inner)


def request_schemas() -> dict[str, Schema]:
    """Return the schemas of what requests carry, by name."""
    plan = _plan()
    ends = {name: plan["OrderPart"]["properties"][name] for name in ("when", "lifetime")}
    types = order_type_schemas({**plan["CandidateOrder"]["properties"], **ends})
    return {**_segments(), **_references(), **types, **plan, "InstrumentNamed": _named()}


def given_schemas() -> dict[str, Schema]:
    """Return small schemas that types of answers name."""
    return {
        "BrokerCode": {"type": "string"},
        "Null": {"type": "null"},
    }


def _segments() -> dict[str, Schema]:
    stored = [prefixed_segment(exchange, bare) for exchange in EXCHANGES for bare in segments_of(exchange)]
    ordered = [
        prefixed_segment(exchange, bare)
        for exchange in TRADING_EXCHANGES
        for bare in segments_of(exchange)
        if bare in ORDERABLE_SEGMENTS
    ]
    bare = [name for name in SEGMENTS if name in ORDERABLE_SEGMENTS]
    return {
        "SegmentGiven": _words([*SEGMENTS, *stored], "A segment, with or without the prefix of its exchange."),
        "SegmentOrAll": _words(
            ["all", *SEGMENTS, *stored], "A segment, with or without the prefix of its exchange, or all."
        ),
        "SegmentOrdered": _words(
            [*bare, *ordered], "A segment that takes orders, with or without the prefix of its exchange."
        ),
    }


def _words(words: list[str], text: str) -> Schema:
    return {"type": "string", "enum": list(dict.fromkeys(words)), "description": text}


def _named() -> Schema:
    texts = ("segment", "symbol", "underlying_symbol")
    return {
        "type": "object",
        "description": "One instrument: by instrument_id, or by exchange, segment and the identity fields of the segment's shape. An item that is "
        "wrong is answered in its entry.",
        "properties": {
            "instrument_id": {"type": ["string", "null"], "format": "uuid"},
            "exchange": {"anyOf": [{"type": "string", "enum": [str(name) for name in EXCHANGES]}, {"type": "null"}]},
            **{name: {"type": ["string", "null"]} for name in texts},
            "expiry_date": {"type": ["string", "null"], "format": "date"},
            "strike_price": {"type": ["number", "string", "null"]},
            "option_type": {"anyOf": [{"type": "string", "enum": ["CE", "PE"]}, {"type": "null"}]},
        },
    }


def _references() -> dict[str, Schema]:
    number: Schema = {"type": ["number", "null"]}
    price = {
        "kind": {"type": "string", "enum": [kind.value for kind in PriceKind]},
        "price": {**number, "exclusiveMinimum": 0, "description": "Rupees; required for absolute."},
        "level": {
            "type": ["integer", "null"],
            "minimum": 1,
            "maximum": MOST_LEVEL,
            "default": 1,
            "description": "Of bid_level and offer_level; 1 is the best.",
        },
        "buffer_percent": {**number, "description": "Applied first; negative improves the price."},
        "offset_percent": {**number, "description": "Applied after buffer_percent."},
        "offset_ticks": {"type": ["integer", "null"], "description": "Applied last, in whole ticks."},
    }
    products = [*POSITION_PRODUCTS.values()]
    quantity = {
        "kind": {"type": "string", "enum": [kind.value for kind in QuantityKind]},
        "product": {
            "anyOf": [{"type": "string", "enum": products}, {"type": "null"}],
            "description": "Product of the position; all products when left out.",
        },
    }
    return {
        "PriceReference": _reference(
            price, "A price that is worked out from the live quote just before the order is built."
        ),
        "QuantityReference": _reference(quantity, "What the quantity is measured by."),
    }


def _reference(properties: Schema, text: str) -> Schema:
    return {
        "type": "object",
        "description": text,
        "properties": properties,
        "required": ["kind"],
        "additionalProperties": False,
    }


def _plan() -> dict[str, Schema]:
    """Return the schemas of a plan's body. The word `order` of a part may be left out."""
    types: tuple[type, ...] = (
        *plan_parts.PARTS,
        plan_parts.SecondOrder,
        plan_parts.CandidateOrder,
        *plan_prices.PRICES,
        *plan_prices.EXECUTIONS,
        plan_prices.Milestone,
        plan_parts.WeightedInstrument,
    )
    _, components = msgspec.json.schema_components(types, ref_template=COMPONENTS + "{name}")
    for kind in (*types, *_inner_kinds()):
        _describe(components[kind.__name__], kind)
    order = components["OrderPart"]
    order["required"] = []
    order["properties"]["part"] = {"anyOf": [order["properties"]["part"], {"type": "null"}], "default": "order"}
    for name, least in _FORMS.items():
        components[name]["minProperties"] = least
    schemas = {name: typed(schema) for name, schema in components.items()}
    return {
        **schemas,
        "PlanPart": _any(*(kind.__name__ for kind in plan_parts.PARTS), "PresetPart"),
        "PlanPrice": _kinds(plan_prices.PRICES),
        "PlanExecution": _kinds(plan_prices.EXECUTIONS),
    }


def _inner_kinds() -> tuple[type, ...]:
    return (
        plan_parts.PriceCondition, plan_parts.BarCondition, plan_parts.AccountCondition, plan_parts.PnlCondition,
        plan_parts.PlanLifetime, plan_parts.FilledQuantity, plan_parts.PositionQuantity, plan_parts.ExposureQuantity,
        plan_parts.PlanQuantity,
    )  # fmt: skip


def _describe(schema: Schema, kind: type) -> None:
    for name, text in field_texts(kind).items():
        if name in schema["properties"]:
            schema["properties"][name]["description"] = text
    for property_ in schema["properties"].values():
        if property_.get("default") == "":  # of a value that is JSON already
            del property_["default"]


def _any(*names: str) -> Schema:
    return {"oneOf": [{"$ref": COMPONENTS + name} for name in names]}


def _kinds(kinds: tuple[type, ...]) -> Schema:
    mapping = {kind.__struct_config__.tag: COMPONENTS + kind.__name__ for kind in kinds}  # type: ignore[attr-defined]
    return {**_any(*(kind.__name__ for kind in kinds)), "discriminator": {"propertyName": "kind", "mapping": mapping}}
