"""Tables and moving blocks for people: by rich on a terminal, plain aligned text elsewhere. This is the only module that imports rich, and only on a
terminal.

A cell is text of a broker or a caller too, so control characters are spelled out, and no cell is read as markup.
"""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

import attrs
import msgspec

from onebroker.http.commands.printable import escaped, printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

BAR_WIDTH = 30


@attrs.frozen(kw_only=True)
class Table:
    """A heading and rows of texts; every row has as many cells as the head."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    """Printed above the table; "" for none."""
    right: frozenset[str] = frozenset()
    """Columns, by their head, whose cells stand at the right: numbers."""


@attrs.frozen(kw_only=True)
class Bar:
    """A share of work that is done."""

    done: int
    total: int
    text: str
    """What stands behind the bar."""

    @property
    def share(self) -> float:
        """From 0 to 1; 0 while there is nothing to do."""
        return min(self.done / self.total, 1.0) if self.total else 0.0


Block = Sequence[str | Table | Bar]
"""What is shown together, from top to bottom."""


def is_terminal(out: TextIO) -> bool:
    """Tell whether `out` is a terminal whose cursor can be moved."""
    return out.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def write(out: TextIO, block: Block) -> None:
    """Write a block once."""
    if is_terminal(out):
        console = _console(out)
        for part in block:
            console.print(_renderable(part), soft_wrap=isinstance(part, str))
    else:
        out.write("".join(f"{line}\n" for line in plain(block)))
    out.flush()


def write_json(out: TextIO, value: object) -> None:
    """Write a value as one line of JSON."""
    out.write(f"{escaped(msgspec.json.encode(value).decode())}\n")
    out.flush()


def plain(block: Block) -> list[str]:
    """Return a block as lines without colour."""
    lines: list[str] = []
    for part in block:
        if isinstance(part, str):
            lines.append(printable(part))
        elif isinstance(part, Bar):
            lines.append(f"[{'#' * int(part.share * BAR_WIDTH):<{BAR_WIDTH}}] {part.share:4.0%} {printable(part.text)}")
        else:
            lines += [*([printable(part.title)] if part.title else []), *_aligned(part)]
    return lines


def _aligned(table: Table) -> list[str]:
    rows = [[printable(cell) for cell in row] for row in (table.head, *table.rows)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.head))]
    right = [name in table.right for name in table.head]
    return [
        "  ".join(
            cell.rjust(width) if at_right else cell.ljust(width)
            for cell, width, at_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


class MovingBlock:
    """A block on a terminal that is drawn again in place."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live: Live | None = None

    def show(self, block: Block) -> None:
        """Draw the block in place of the block before."""
        from rich.console import Group

        if self._live is None:
            from rich.live import Live

            self._live = Live(
                console=_console(self._out), auto_refresh=False, redirect_stdout=False, redirect_stderr=False
            )
            self._live.start()
        self._live.update(Group(*map(_renderable, block)), refresh=True)

    def close(self) -> None:
        """Leave the last block on the screen."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def _console(out: TextIO) -> "Console":
    from rich.console import Console

    return Console(file=out, markup=False, highlight=False, emoji=False)


def _renderable(part: str | Table | Bar) -> "RenderableType":
    from rich.text import Text

    if isinstance(part, str):
        return Text(printable(part))
    return _rich_bar(part) if isinstance(part, Bar) else _rich_table(part)


def _rich_bar(bar: Bar) -> "RenderableType":
    from rich.columns import Columns
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    shown = ProgressBar(total=max(bar.total, 1), completed=bar.done, width=BAR_WIDTH)
    return Columns([shown, Text(f"{bar.share:4.0%} {printable(bar.text)}")])


def _rich_table(table: Table) -> "RenderableType":
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    shown = RichTable(box=box.SIMPLE_HEAD, title=table.title or None, title_justify="left", title_style="bold")
    for name in table.head:
        shown.add_column(Text(name), justify="right" if name in table.right else "left", overflow="fold")
    for row in table.rows:
        shown.add_row(*(Text(printable(cell), style=_STYLES.get(cell, "")) for cell in row))
    return shown


_STYLES = {
    "ok": "green",
    "yes": "green",
    "live": "green",
    "FAILED": "bold red",
    "degraded": "bold red",
    "down": "bold red",
}
"""Words of cells that stand out."""
