"""docs/order-type-scenarios.md: what every order type comes to in every scenario, written by the tests that play them, which hold
later runs against it.

    pytest --timeout 0 tests/demo/test_type_*.py --whole-table --write-scenarios
"""

from pathlib import Path

from tests.demo.lives.lives import LIVES, MORNING
from tests.demo.lives.scenarios import START, states_of

PAGE = Path(__file__).parents[3] / "docs" / "order-type-scenarios.md"
NOT_PLAYED = "·"
ONCE = ("whole life", "killed at each state")
CLOSING = "market closes"
COLUMNS = (
    "whole life", "killed at each state", "partial fill", "cancel", "cancel of a part", "modify", "rejection", "unknown outcome",
    CLOSING,
)  # fmt: skip
HEAD = """# Every order type in every scenario

Made by the tests that play them over HTTP on the demo (`tests/demo/lives/table.py` says how), judged on the exchange's ledger: nothing
is sent twice, no order is without a parent, the parent's quantities are the ledger's, and nothing rests under a parent that is
completed, cancelled or rejected. Later runs are held against this page.

A row is a state that a type's example order passes through; a cell says what the order came to when that befell it there: the
parent's state, the net units that its orders have traded, and how many still rest at brokers.

- **whole life**: nothing befalls it; brokers were told exactly the messages that its life in `tests/demo/lives` lists.
- **killed at each state**: one life, with a kill -9 of the service at every state; the messages are the same.
- **partial fill**: the market fills half of each resting limit order, and the rest as before.
- **cancel**: the caller cancels the parent. **cancel of a part**: the last part that still works or waits.
- **modify**: the caller moves the price of the first order by a tick away from the market.
- **rejection**: brokers refuse the next order that is sent of it, in each of its instruments; of a stop and limits that leave together, the stop. **unknown outcome**: the answer to the next
  message is lost after the broker took it.
- **market closes**: at 15:30, real hours.

`(sent)` is before the first state, and where a column says something once for a type. — stands where there is nothing to strike, · where
nothing was played yet; what is empty is not played there (the market closes at the first and the last state only).

"""


def applies(name, state, column):
    """Whether a column is played at a state of a type."""
    if column in ONCE:
        return state == START
    if column == CLOSING:
        return LIVES[name].now == MORNING and state in (LIVES[name].states[0], LIVES[name].states[-1])
    return state in states_of(column, name)


def key(column):
    return COLUMNS.index(column)


class Table:
    """(type, state) -> cells."""

    def known(self, name, state, column):
        return self.cell(name, state, column) not in (None, "", NOT_PLAYED)

    def __init__(self, rows):
        self.rows = rows

    @classmethod
    def read(cls):
        rows = {}
        for line in PAGE.read_text().splitlines() if PAGE.exists() else ():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if line.startswith("| ") and len(cells) == len(COLUMNS) + 2 and cells[0] != "type":
                rows[cells[0].strip("`"), cells[1]] = cells[2:]
        return cls(rows)

    def cell(self, name, state, column):
        cells = self.rows.get((name, state))
        return None if cells is None else cells[key(column)]

    def put(self, name, state, column, words):
        self.rows.setdefault((name, state), [NOT_PLAYED] * len(COLUMNS))[key(column)] = words

    def write(self):
        named = [(name, state) for name in sorted(LIVES) for state in (START, *LIVES[name].states)]
        lines = ["| type | state | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 2) + "|"]
        for name, state in named:
            cells = [self._written(name, state, column) for column in COLUMNS]
            lines.append(f"| `{name}` | {state} | " + " | ".join(cells) + " |")
        PAGE.write_text(HEAD + "\n".join(lines) + "\n")

    def _written(self, name, state, column):
        return (self.cell(name, state, column) or NOT_PLAYED) if applies(name, state, column) else ""


def hold(name, state, column, words, *, writes):
    """Hold what was seen against the page; or write it there."""
    if isinstance(words, BaseException):
        raise words
    table = Table.read()
    if writes:
        table.put(name, state, column, words)
        table.write()
        return
    assert words == table.cell(name, state, column), f"{name}, {state}, {column}"
