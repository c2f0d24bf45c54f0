"""Tables and moving blocks: aligned text where nobody looks, rich's drawing on a terminal; no cell moves the cursor in either."""

import io

import pytest

from onebroker.http.commands.screen import Bar, MovingBlock, Table, is_terminal, plain, write

pytestmark = pytest.mark.unit

TABLE = Table(head=("broker", "room"), rows=[["zerodha", "9"], ["dh\x1b[2Jan", "[red]120"]], right=frozenset({"room"}))
PLAIN = ["broker           room", "zerodha             9", "dh\\x1b[2Jan  [red]120"]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")


def test_without_a_terminal_a_table_is_aligned_text():
    out = io.StringIO()
    write(out, ["first", TABLE])
    assert out.getvalue().splitlines() == ["first", *PLAIN]


def test_a_bar_is_text_too_and_knows_a_total_of_none():
    assert plain([Bar(done=1, total=4, text="of it"), Bar(done=0, total=0, text="nothing")]) == [
        f"[{'#' * 7:<30}]  25% of it",
        f"[{'':<30}]   0% nothing",
    ]


def test_on_a_terminal_a_cell_is_neither_markup_nor_an_escape():
    out = Terminal()
    write(out, [TABLE])
    drawn = out.getvalue()
    assert "\x1b[2J" not in drawn
    assert "dh\\x1b[2Jan" in drawn
    assert "[red]120" in drawn


def test_a_moving_block_is_drawn_in_place_and_its_last_state_stays():
    out = Terminal()
    block = MovingBlock(out)
    for done in (1, 2):
        block.show([Bar(done=done, total=2, text=f"{done} of 2"), "zerodha  read"])
    block.close()
    drawn = out.getvalue()
    assert "\x1b[1A\x1b[2K" in drawn
    assert "2 of 2" in drawn.rpartition("\x1b[2K")[2]


def test_a_terminal_whose_cursor_stays_counts_as_none(monkeypatch):
    assert is_terminal(Terminal())
    monkeypatch.setenv("TERM", "dumb")
    assert not is_terminal(Terminal())
