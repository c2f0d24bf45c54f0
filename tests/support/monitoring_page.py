"""The table of metrics in docs/operations/monitoring.md, made of `http/metrics/names.py`: `PYTHONPATH=. python tests/support/monitoring_page.py` writes it.

The rest of the page is written by hand and stays.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from onebroker.http.metrics.names import SECTIONS, Name

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "operations"
PAGE = FOLDER / "monitoring.md"
BEGIN = "<!-- begin of the metrics: written by tests/support/monitoring_page.py from http/metrics/names.py -->"
END = "<!-- end of the metrics -->"
_NAME = re.compile(r"\b(?:onebroker|process)_[a-z_]+")
_SUFFIXES = ("_bucket", "_sum", "_count")


def table() -> str:
    """Return the part of the page between the two marks."""
    lines: list[str] = []
    for section, names in SECTIONS.items():
        lines += [f"### {section}", "", "| Metric | Kind | Labels | Meaning |", "|---|---|---|---|"]
        lines += [*map(_row, names), ""]
    return "\n".join(lines)


def page() -> str:
    """Return the text of the page, with its hand-written parts as they are."""
    text = PAGE.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return f"{before}{BEGIN}\n\n{table()}\n{END}{after}"


def names_in(file: str) -> set[str]:
    """Return the metrics that a file of docs/operations names; a histogram by its own name."""
    return set(_families(_NAME.findall((FOLDER / file).read_text())))


def _families(names: list[str]) -> Iterator[str]:
    for name in names:
        suffix = next((suffix for suffix in _SUFFIXES if name.endswith(suffix)), "")
        yield name.removesuffix(suffix)


def _row(name: Name) -> str:
    labels = ", ".join(f"`{label}`" for label in name.labels)
    return f"| `{name.name}` | {name.kind} | {labels} | {name.doc} |"


if __name__ == "__main__":
    PAGE.write_text(page())
