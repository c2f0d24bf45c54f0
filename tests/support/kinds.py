"""What kind of test each is: one of the five marks a person selects by, and one of the eight kinds whose durations are added up.

Both follow from where a test stands and which fixtures it takes; a module that builds its own trading days says so with
`pytestmark = pytest.mark.day`.
"""

import sys
from pathlib import Path

import pytest

MARKS = {
    "unit": "plain functions and actors beside fakes; no trading day, no demo, no SDK",
    "day": "a trading day in process: simulated exchange, real sessions and engine, mocked clock",
    "demo": "the demo as a process of its own, over HTTP, in real time",
    "sdk": "an official SDK in its own environment, against the simulator",
    "frame": "the repository itself: packaging, imports, README, pages",
}
LONG = "long"
"""The mark of what needs real seconds or chance: run by the further command, not by the first."""

PLAIN, ASYNC, DAY, CLOCK = "plain", "async", "day in process", "mocked clock"
PROPERTY, DEMO, SDK, PROCESS = "property", "demo over HTTP", "SDK", "subprocess"
KINDS = (PLAIN, ASYNC, CLOCK, PROPERTY, DAY, PROCESS, SDK, DEMO)

_DAYS = frozenset({"day", "day_kind"})
_CLOCKS = frozenset({"autojump_clock", "mock_clock"})
_STARTS = frozenset({"subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec"})


class Starts:
    """Counts the processes that this process has started (an audit hook cannot be taken out again: one for the whole run)."""

    def __init__(self) -> None:
        self.count = 0
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in _STARTS:
            self.count += 1


def mark_of(item: pytest.Item, tests: Path) -> str:
    """Return the one mark of `MARKS` that a test has; `tests` is the folder of all tests."""
    folders = item.path.relative_to(tests).parts[:-1] if item.path.is_relative_to(tests) else ()
    if not folders:
        return "frame"
    if folders[0] in ("demo", "sdk"):
        return folders[0]
    return "day" if _is_day(item) else "unit"


def kind_of(item: pytest.Item, mark: str, *, started: int) -> str:
    """Return the kind of `KINDS`; `started` processes were started by the test so far."""
    function = getattr(item, "obj", None)
    if mark in ("demo", "sdk"):
        return {"demo": DEMO, "sdk": SDK}[mark]
    if mark == "day":
        return DAY
    if started:
        return PROCESS
    if getattr(function, "is_hypothesis_test", False):
        return PROPERTY
    if _CLOCKS & set(getattr(item, "fixturenames", ())):
        return CLOCK
    return ASYNC if item.get_closest_marker("trio") is not None else PLAIN


def _is_day(item: pytest.Item) -> bool:
    return item.get_closest_marker("day") is not None or bool(_DAYS & set(getattr(item, "fixturenames", ())))
