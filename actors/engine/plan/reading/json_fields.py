"""Reading one JSON object inside a `synthetic` object, field by field: N1, N13 to N15, N25 and N26 of order-engine 3.0. Pure.

A JSON null counts as absent. The rules for values are in `value_rules.py`.
"""

from collections.abc import Mapping
from typing import TypeVar

import attrs

from onebroker.actors.engine.plan.reading.value_rules import Rule, Unfit
from onebroker.config.converters import nearest
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import plan as texts
from onebroker.config.refusal import Refusal

T = TypeVar("T")
D = TypeVar("D")

WORKING_VALUES = ("tick_size", "triggered_at", "watermark", "placed_quantity", "started_at", "expires_at")
"""Fields that the engine works out itself; they are refused anywhere in the synthetic object (N15)."""


@attrs.frozen(kw_only=True)
class Fields:
    """One JSON object that is being read. A refusal is 400 unless said otherwise, and begins with the path when there is one."""

    given: Mapping[str, object]
    """Without nulls."""
    path: str
    """The path of the part; empty for the settings of a type."""
    owner: str
    """The name, in refusals, of the object that takes no other field: `order part`, `twap order`."""
    inside: str = ""
    """The place of the object in its part, which is shown before an unknown field: `price.`."""
    prefix: str = ""
    """Put before a field's name in its sentence: empty for the objects directly in a part, `rules.0.` deeper down."""

    @classmethod
    def of(cls, given: Mapping[str, object], *, path: str, owner: str) -> "Fields":
        return cls(given=_without_nulls(given), path=path, owner=owner)

    def refusal(self, sentence: str, status: int = 400) -> Refusal:
        return Refusal(status, texts.at(self.path, sentence))

    def name(self, field: str) -> str:
        return f"{self.prefix}{field}"

    def has(self, field: str) -> bool:
        return field in self.given

    def only(self, *known: str) -> None:
        """Refuse an unknown field and name the nearest known one (N14). A field that the engine works out has its own sentence (N15)."""
        for field in self.given:
            if field in WORKING_VALUES and field not in known:
                raise self.refusal(order_texts.worked_out_by_engine(field))
            if field not in known:
                raise self.refusal(texts.takes_no(self.owner, f"{self.inside}{field}") + nearest(field, known))

    def required(self, field: str, rule: Rule[T]) -> T:
        """Read a field; a missing field is refused (N1), a wrong value by its rule."""
        if field not in self.given:
            raise self.refusal(texts.is_required(self.name(field)))
        return self.fit(field, rule)

    def optional(self, field: str, rule: Rule[T], default: D) -> T | D:
        return self.fit(field, rule) if field in self.given else default

    def fit(self, field: str, rule: Rule[T]) -> T:
        """Read a field that is present."""
        return self.judge(rule, self.given[field], self.name(field))

    def judge(self, rule: Rule[T], value: object, name: str) -> T:
        """Read a value; a refusal shows it under `name`."""
        try:
            return rule(value, name)
        except Unfit as error:
            raise self.refusal(str(error)) from None

    def inner(self, field: str, *, prefix: str = "") -> "Fields | None":
        """Return the object in a field (N26); None when the field is absent. `prefix` is put before the names of the object's fields."""
        if field not in self.given:
            return None
        return self._deeper(self.given[field], field, prefix)

    def items(self, field: str, least: int, most: int) -> tuple[object, ...]:
        """Return a list (N25). An absent list is refused like a wrong one."""
        found = self.given.get(field)
        if not isinstance(found, list) or not least <= len(found) <= most:
            raise self.refusal(texts.list_of(self.name(field), least, most))
        return tuple(found)

    def objects(self, field: str, least: int, most: int) -> tuple["Fields", ...]:
        """Return a list of objects. Sentences name their fields like `rules.0.gain`."""
        items = self.items(field, least, most)
        names = [f"{field}.{index}" for index in range(len(items))]
        return tuple(self._deeper(item, name, f"{self.prefix}{name}.") for name, item in zip(names, items, strict=True))

    def _deeper(self, value: object, field: str, prefix: str) -> "Fields":
        if not isinstance(value, Mapping):
            raise self.refusal(texts.json_object(self.name(field)))
        inside = f"{self.inside}{field}."
        return attrs.evolve(self, given=_without_nulls(value), inside=inside, prefix=prefix)


def _without_nulls(given: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in given.items() if value is not None}
