"""The table of docs/alerts.md, made of `config/alert_kinds.py`: `PYTHONPATH=. python tests/support/alert_page.py` writes it."""

from pathlib import Path

from onebroker.config.alert_kinds import KINDS, KindRow

PAGE = Path(__file__).resolve().parents[2] / "docs" / "alerts.md"
BEGIN, END = "<!-- kinds: tests/support/alert_page.py -->", "<!-- end of kinds -->"


def table() -> str:
    """Return the table of the kinds."""
    head = [
        "| Kind | A message tells | Begins with | Ends with | Usual | In quiet hours |",
        "|---|---|---|---|---|---|",
    ]
    return "\n".join([*head, *(_row(row) for row in KINDS if row.choosable)])


def _row(row: KindRow) -> str:
    begins = [*row.begins, *(f"problem kind={name}" for name in row.problems)]
    ends = [*row.ends, *(f"problem.over kind={name}" for name in row.problems)]
    cells = [f"`{row.kind.value}`", row.meaning, _names(begins), _names(ends), "yes" if row.is_usual else "no"]
    return f"| {' | '.join([*cells, 'at once' if row.is_urgent else 'waits'])} |"


def _names(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def page() -> str:
    """Return the text of the page, with the table as the code has it."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page())
