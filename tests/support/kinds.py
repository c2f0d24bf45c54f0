"""What kind of test each is: one of the five marks a person selects by, and one of the eight kinds whose durations are added up.

A mark follows from where a test stands and which fixtures it takes; a module may name its own (`pytestmark = pytest.mark.day`). A kind
says how a test runs.
"""

import sys
from pathlib import Path

import pytest

MARKS = {
    "unit": "functions, and actors beside fakes",
    "day": "the simulated exchange in this process: trading days, its brokers' servers, its instrument files",
    "demo": "the service or its commands as processes of their own, in real time",
    "sdk": "an official SDK or the Python client in its own environment, against a server on loopback",
    "frame": "the repository itself: packaging, imports, README, pages",
}
LONG = "long"
"""The mark of what needs real seconds or chance: run by the further command, not by the first."""

SEARCHED = "searched"
"""The mark of property tests that both commands play, the further one with more examples."""

PLAIN, ASYNC, DAY, CLOCK = "plain", "async", "day in process", "mocked clock"
PROPERTY, DEMO, SDK, PROCESS = "property", "demo over HTTP", "SDK", "subprocess"
KINDS = (PLAIN, ASYNC, CLOCK, PROPERTY, DAY, PROCESS, SDK, DEMO)

_FOLDERS = {
    ("frame",): "frame",
    ("demo",): "demo",
    ("http", "commands"): "demo",
    ("sdk",): "sdk",
    ("brokers", "simulator"): "day",
}
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
    for own in item.iter_markers():
        if own.name in MARKS:
            return own.name
    folders = _folders(item, tests)
    placed = next((mark for place, mark in _FOLDERS.items() if folders[: len(place)] == place), None)
    return placed or ("day" if _passes_a_day(item) else "unit")


def kind_of(item: pytest.Item, tests: Path, *, started: int) -> str:
    """Return the kind of `KINDS`; `started` processes were started by the test so far."""
    folder = _folders(item, tests)[:1]
    if folder in (("demo",), ("sdk",)):
        return DEMO if folder == ("demo",) else SDK
    if _passes_a_day(item):
        return DAY
    if started:
        return PROCESS
    if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
        return PROPERTY
    if _CLOCKS & set(getattr(item, "fixturenames", ())):
        return CLOCK
    return ASYNC if item.get_closest_marker("trio") is not None else PLAIN


def _folders(item: pytest.Item, tests: Path) -> tuple[str, ...]:
    return item.path.relative_to(tests).parts[:-1] if item.path.is_relative_to(tests) else ()


def _passes_a_day(item: pytest.Item) -> bool:
    return bool(_DAYS & set(getattr(item, "fixturenames", ())))
