"""The kinds of problems: docs/health.md says what the code has, and each kind is made somewhere in the product."""

from pathlib import Path

from onebroker.actors.health.problem import ProblemKind
from tests.support.problem_page import PAGE, page

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_lists_the_kinds_that_the_code_has():
    assert PAGE.read_text() == page(PAGE.read_text()), "run `PYTHONPATH=. python tests/support/problem_page.py`"


def test_each_kind_of_problem_is_made_somewhere():
    makers = [path for room in ("actors", "http") for path in (ROOT / room).rglob("*problems.py")]
    made = "".join(path.read_text() for path in makers)
    assert [kind.name for kind in ProblemKind if f"ProblemKind.{kind.name}" not in made] == []
