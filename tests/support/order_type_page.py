"""Writes the table of docs/order-types.md from the registry of types: `python tests/support/order_type_page.py` prints it."""

import attrs

from onebroker.actors.engine.presets.preset import Holding, Refs
from onebroker.actors.engine.presets.registry import PRESETS
from onebroker.config.vocabulary import OrderType

BEGIN, END = "<!-- types: begin -->", "<!-- types: end -->"
_REFERENCES = {
    Refs.NEVER: "never", Refs.INTAKE: "at intake", Refs.EACH: "for each order", Refs.SCHEDULED: "when it is due",
}  # fmt: skip
_HELD = {Holding.BY_SWITCH: "yes", Holding.OFF: "no", Holding.ALWAYS: "always"}


def table():
    lines = ["| Type | Does | Settings | Body `order_type` | `hold_limits` | References |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(_row(preset) for preset in PRESETS.values())])


def _row(preset):
    settings = ", ".join(f"`{field.name}`" for field in attrs.fields(preset.settings)) or "none"
    types = "of each order" if preset.per_part else "any" if set(preset.order_types) == set(OrderType) else ", ".join(preset.order_types)
    unused = " (price unused)" if preset.engine_priced else ""
    cells = (f"`{preset.name}`", preset.title, settings, types + unused, _HELD[preset.hold], _REFERENCES[preset.references])
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    print(table())
