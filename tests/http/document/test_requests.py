"""What the document says of bodies is what their readers take: plans of all kinds, orders of all types, and no other keys."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from onebroker.actors.engine.plan import kinds
from onebroker.actors.engine.plan.reading.json_fields import Fields
from onebroker.actors.engine.plan.reading.tree import read_plan
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.http.document.plan_prices import EXECUTIONS, PRICES
from tests.actors.engine.plan.strategies import World, body, plans
from tests.support.described import document, misfits
from tests.support.type_examples import examples

SCHEMAS = document()["components"]["schemas"]
OTHER = "9f3c53e6-6b2a-5a3e-9d53-0f2d4a8c8d11"
ORDER = {"instrument_id": OTHER, "transaction_type": "BUY", "product": "MIS", "order_type": "MARKET", "quantity": 10}
TYPES = examples(lambda percent: round(100 + percent, 2), OTHER, lambda minutes: f"10:{minutes:02}:00")


@pytest.mark.parametrize("name", list(TYPES))
def test_an_order_of_every_type_fits(name):
    example = TYPES[name]
    order = {**ORDER, **example.body, "synthetic": {"type": name, **example.settings}}
    assert list(misfits("/components/schemas/PlaceOrderBody", order)) == []


@pytest.mark.parametrize("name", list(TYPES))
def test_a_setting_that_the_type_does_not_have_does_not_fit(name):
    order = {"type": name, **TYPES[name].settings, "nosuch": 1}
    assert list(misfits("/components/schemas/SyntheticOrder", order))


def test_every_preset_has_an_example():
    assert set(TYPES) == set(PRESETS)


def words(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from (word for word in schema.get("enum", ()) if isinstance(word, str))
        yield from (inner for inner in [schema.get("const")] if isinstance(inner, str))
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from words(inner)


WORDS = frozenset(words(SCHEMAS))


def spelled(value: Any) -> Any:
    """The value with its words as the document spells them: readers take them in any case."""
    if isinstance(value, dict):
        return {name: spelled(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [spelled(inner) for inner in value]
    if isinstance(value, str):
        return next((word for word in (value, value.strip().lower(), value.strip().upper()) if word in WORDS), value)
    return value


@settings(max_examples=40, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(plans)
def test_a_plan_that_is_read_fits(plan):
    assert list(misfits("/components/schemas/PlanOrder", spelled({**plan, "type": "plan"}))) == []


class Known(Exception):
    """The keys that a reader takes."""


def keys_of(monkeypatch: pytest.MonkeyPatch, part: dict[str, Any]) -> set[str]:
    """The keys that the reader of the first object with a kind in a part takes."""
    only = Fields.only

    def told(fields: Fields, *known: str) -> None:
        if "kind" in known:
            raise Known(*known)
        only(fields, *known)

    monkeypatch.setattr(Fields, "only", told)
    with pytest.raises(Known) as found:
        read_plan({"root": part}, body(), World(), {})
    return set(found.value.args)


@pytest.mark.parametrize("kind", [*PRICES, *EXECUTIONS], ids=lambda kind: kind.__name__)
def test_prices_and_executions_have_the_keys_that_their_readers_take(monkeypatch, kind):
    field = "price" if kind in PRICES else "execution"
    sent = {"kind": kind.__struct_config__.tag, **({"order": "stop"} if "order" in kind.__struct_fields__ else {})}
    assert keys_of(monkeypatch, {field: sent, "quantity": 10}) == set(SCHEMAS[kind.__name__]["properties"])


def test_every_kind_of_price_and_execution_has_a_type():
    assert {kind.__struct_config__.tag for kind in PRICES} == set(kinds.PRICES)
    assert {kind.__struct_config__.tag for kind in EXECUTIONS} == set(kinds.EXECUTIONS)
    assert set(SCHEMAS["PlanCondition"]["properties"]) == set(kinds.CONDITIONS)
    assert set(SCHEMAS["PlanQuantity"]["properties"]) == set(kinds.QUANTITIES) - {"units"} | {"most"}


def test_parts_have_the_keys_that_their_readers_take(monkeypatch):
    found: dict[str, set[str]] = {}
    only = Fields.only

    def noted(fields: Fields, *known: str) -> None:
        if "part" in known and fields.owner.endswith(" part"):
            found.setdefault(fields.owner.removesuffix(" part"), set()).update(known)
        only(fields, *known)

    monkeypatch.setattr(Fields, "only", noted)
    order = {"price": {"kind": "marketable"}, "quantity": 10}
    group = {"part": "one_cancels_others", "children": [{"part": "together", "children": [order]}, order]}
    read_plan({"root": {"part": "sequence", "first": order, "then": group}}, body(), World(), {})
    assert found == {
        word: set(SCHEMAS[name]["properties"])
        for word, name in (
            ("order", "OrderPart"),
            ("sequence", "SequencePart"),
            ("together", "TogetherPart"),
            ("one_cancels_others", "OneCancelsOthersPart"),
        )
    }
