"""The table of problems in docs/health.md, made of `actors/health/problem.py`: `PYTHONPATH=. python tests/support/problem_page.py` writes it.

The text below a kind says when it is a problem; its second paragraph says what the subject is, and what to do.
"""

import ast
import re
from pathlib import Path

from onebroker.actors.health import problem
from onebroker.actors.health.problem import ProblemKind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "health.md"
BEGIN, END = "<!-- kinds: written by tests/support/problem_page.py -->", "<!-- end of kinds -->"


def page(text: str) -> str:
    """Return the page with the present table in the place of its own."""
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def table() -> str:
    """Return one row for each kind, in the order of the code."""
    rows = ["| Kind | It is a problem when | Subject | What to do |", "|---|---|---|---|"]
    texts = _texts()
    for kind in ProblemKind:
        meaning, advice = texts[kind.name].split("\n\n")
        found = re.fullmatch(r"(?:Subject: (?P<subject>.*?)\. )?Do: (?P<do>.*)\.", _one_line(advice))
        if found is None:
            raise LookupError(f"say `Subject: ... . Do: ...` below {kind.name}")
        do = found["do"][0].upper() + found["do"][1:]
        rows.append(f"| `{kind.value}` | {_one_line(meaning)} | {found['subject'] or ''} | {do} |")
    return "\n".join(rows)


def _texts() -> dict[str, str]:
    """Return the name of each kind and the text below it."""
    tree = ast.parse(Path(problem.__file__).read_text())
    body = next(node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == ProblemKind.__name__)
    texts: dict[str, str] = {}
    name = ""
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and name:
            texts[name] = str(node.value.value)
    return texts


def _one_line(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
