"""The table of ARCHITECTURE.md, broker by behaviour, is what the contract suite has proved in this very run.

`ONEBROKER_WRITE_CONTRACT=1 pytest tests/actors/sessions/contract` writes it. A run of part of the suite proves nothing about it.
"""

import inspect
import os
from pathlib import Path

import pytest

from onebroker.brokers.registry import build_registry

ARCHITECTURE = Path(__file__).resolve().parents[4] / "ARCHITECTURE.md"
BEGIN, END = "<!-- contract: begin -->\n", "<!-- contract: end -->\n"


def table(cells, codes):
    """Return the Markdown table; behaviours in the order in which they were first proved."""
    behaviours = list(dict.fromkeys(behaviour for behaviour, _ in cells))
    reasons = {why for why in cells.values() if why != "yes"}
    marks = {why: f"–{number}" for number, why in enumerate(sorted(reasons), start=1)} | {"yes": "✓"}
    rows = [["Behaviour", *codes], ["---", *[":-:"] * len(codes)]]
    rows += [[one, *(marks[cells[one, code]] for code in codes)] for one in behaviours]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    notes = "; ".join(f"{mark} {why}" for why, mark in marks.items() if why != "yes")
    return "\n".join([*lines, "", f"✓ proved{'; ' + notes if notes else ''}.", ""])


def whole(request, proofs):
    """Tell whether every test of the suite ran for every broker."""
    suite = [item for item in request.session.items if item.path == Path(__file__).with_name("test_contract.py")]
    named = {(item.originalname, code) for item in suite for code in build_registry()}
    written = {
        name
        for item in suite
        for name, _ in inspect.getmembers(item.module, inspect.isfunction)
        if name.startswith("test_")
    }
    return bool(suite) and written == {name for name, _ in named} and proofs.ran == named


def test_the_table_of_the_architecture_is_what_this_run_has_proved(request, proofs):
    if not whole(request, proofs):
        pytest.skip("only a part of the contract suite has run")
    codes = tuple(build_registry())
    behaviours = {behaviour for behaviour, _ in proofs.cells}
    missing = sorted((one, code) for one in behaviours for code in codes if (one, code) not in proofs.cells)
    assert missing == []
    assert len(behaviours) >= 40
    text = ARCHITECTURE.read_text()
    before, _, rest = text.partition(BEGIN)
    written, _, after = rest.partition(END)
    assert rest, "the table's place is not in ARCHITECTURE.md"
    now = table(proofs.cells, codes)
    if os.environ.get("ONEBROKER_WRITE_CONTRACT"):
        ARCHITECTURE.write_text(f"{before}{BEGIN}{now}{END}{after}")
    else:
        assert written == now
