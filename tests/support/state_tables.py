"""The tables of `actors/engine/orders/states.py` as docs/design/order-engine.md shows them. `python -m tests.support.state_tables` writes
them there."""

from pathlib import Path

from onebroker.actors.engine.orders.parent_records import LegState, ParentState
from onebroker.actors.engine.orders.states import LEG_ROWS, PARENT_ROWS, LegEvent, ParentEvent

PAGE = Path(__file__).resolve().parents[2] / "docs" / "design" / "order-engine.md"
BEGINS, ENDS = "<!-- the state tables: written by tests/support/state_tables.py -->", "<!-- end of the state tables -->"


def shown() -> str:
    """Return both tables: what each event makes of each state, and the rows that say so; an empty cell changes nothing."""
    parts = [BEGINS, ""]
    for name, rows, states, events in (
        ("leg", LEG_ROWS, LegState, LegEvent),
        ("parent", PARENT_ROWS, ParentState, ParentEvent),
    ):
        used = [state for state in states if any(state in row.states for row in rows)]
        parts += [
            f"| Event of a {name} | Rows | {' | '.join(f'`{state}`' for state in used)} |",
            "|---|---|" + "---|" * len(used),
        ]
        for event in events:
            of_it = [row for row in rows if row.event is event]
            cells = [next((f"`{row.becomes}`" for row in of_it if state in row.states), "") for state in used]
            numbers = ", ".join(row.numbers for row in of_it)
            parts.append(f"| {event} | {numbers} | {' | '.join(cells)} |")
        parts.append("")
    return "\n".join([*parts, ENDS])


def with_tables(page: str) -> str:
    before, _, rest = page.partition(BEGINS)
    return before + shown() + rest.partition(ENDS)[2]


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text()))
