"""Options of the whole suite: what a run plays, its marks, its dice, what it tells of its durations.

`pytest` plays all but what is marked `long`, `pytest --further` only that, `pytest --all` both. Each test has one of the marks of
`tests/support/kinds.py` by where it stands: `pytest -m unit`.

A test is the same in every run: hypothesis' examples, the order in which trio runs tasks that could run at once, what is drawn by
chance. `TEST_DICE=word pytest …` throws other dice, the same ones for the same word: a test that fails with some words and not with
others has found a race, of ours or its own, and the word brings it back. (Of hypothesis' examples, then other ones each time, its own
report does.)
"""

import gc
import inspect
import os
import random
import signal
import sys
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest
import trio
from hypothesis import given, settings
from hypothesis.strategies import none
from trio.testing import MockClock

from tests.support.durations import Durations
from tests.support.further import FURTHER
from tests.support.kinds import LONG, MARKS, SEARCHED, mark_of
from tests.support.steady_clock import steady_run

if TYPE_CHECKING:
    from tests.support.object_server import ObjectServer
    from tests.support.postgres_server import PostgresTestServer

DICE = os.environ.get("TEST_DICE", "")

# No timing is asserted in tests, so hypothesis may not either.
settings.register_profile("suite", deadline=None, derandomize=not DICE)
settings.load_profile("suite")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give each test its mark. Let async tests without a clock of their own run on a clock that does not count the time in which the
    process was stopped."""
    item.add_marker(mark_of(item, item.config.rootpath / "tests"))
    if inspect.iscoroutinefunction(getattr(item, "obj", None)):
        item.add_marker(pytest.mark.trio(run=steady_run))  # before pytest-trio's own mark: the first one counts


@pytest.fixture(scope="session")
def postgres_server() -> Iterator["PostgresTestServer"]:
    """A PostgreSQL server of this worker. A test empties it before it begins."""
    from tests.support.postgres_server import ABSENT, find_programs, running_postgres

    programs = find_programs()
    if programs is None:
        pytest.skip(ABSENT)
    with running_postgres(programs) as server:
        yield server


@pytest.fixture(scope="session")
def object_server() -> Iterator["ObjectServer"]:
    """An object store of this worker, with one bucket. Each test uses a folder of its own in it."""
    from tests.support.object_server import ABSENT, find_program, running_object_server

    program = find_program()
    if program is None:
        pytest.skip(ABSENT)
    with running_object_server(program) as server:
        yield server


@pytest.fixture
def quiet_clock() -> MockClock:
    """A mocked clock for tests with sockets: it goes on to the next deadline when nothing has happened for a moment. What is on its way
    over loopback takes no time of it."""
    return MockClock(autojump_threshold=0.05)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Throw the dice of this test: of trio's scheduler, which has no public way to it, and of whoever asks `random`."""
    random.seed(f"{DICE} {item.nodeid}")
    trio._core._run._r.seed(f"{DICE} {item.nodeid}")


def pytest_configure(config: pytest.Config) -> None:
    """Give workers and all processes that tests start the same order of sets; and let all of them share what they compile, also where
    Python is told to write none beside its sources: each of hundreds of starts compiled the whole service."""
    os.environ.setdefault("PYTHONHASHSEED", "0")
    os.environ.setdefault("POLARS_MAX_THREADS", "1")  # frames of tests are small, and workers share the cores
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell that starts the suite in the background ignores it, and so would every process that a test ends with it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = str(config.rootpath / ".pytest_cache" / "bytecode")
    if sys.dont_write_bytecode:
        sys.dont_write_bytecode, sys.pycache_prefix = False, os.environ.get("PYTHONPYCACHEPREFIX")
    if config.getoption("--further") or config.getoption("--all"):
        os.environ[FURTHER] = "1"
    own = {
        LONG: "needs real seconds or chance: run by `pytest --further`",
        SEARCHED: "run by both commands, by `pytest --further` with more examples",
    }
    for name, meaning in (MARKS | own).items():
        config.addinivalue_line("markers", f"{name}: {meaning}")
    config.pluginmanager.register(Durations(config), "durations")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the command does not play; begin with the files that wait most, so that none of them keeps one worker busy when the
    other has nothing left."""
    chosen, others = [], []
    for item in items:
        (chosen if _is_played(item, config) else others).append(item)
    items[:] = sorted(
        chosen, key=lambda item: next(FIRST.index(mark) for mark in FIRST if item.get_closest_marker(mark))
    )
    if others:
        config.hook.pytest_deselected(items=others)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected lives to the end: the garbage collector need not go through it, now or again and again afterwards."""
    gc.disable()
    try:
        return (yield)
    finally:
        _first_property()
        gc.freeze()
        gc.enable()


@settings(max_examples=1, database=None)
@given(none())
def _first_property(_: None) -> None:
    """The first property of a process makes hypothesis' dice and looks for who holds them. From Python 3.14 on it would not find the holder
    among what is frozen, and would warn."""


FIRST = ("demo", "sdk", "frame", "day", "unit")


def _is_played(item: pytest.Item, config: pytest.Config) -> bool:
    if config.getoption("--all") or item.get_closest_marker(SEARCHED) is not None:
        return True
    return (item.get_closest_marker(LONG) is not None) == config.getoption("--further")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two workers for folders and for everything (`-n auto` in pyproject.toml), none where files or single tests are named."""
    named = [argument for argument in config.args if ".py" in argument]
    return 0 if named else 2


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--without-sdk`: a person's choice to leave the brokers' official SDKs out; a missing SDK otherwise fails.
    And `--whole-table`, `--write-scenarios`: see tests/demo/lives/table.py."""
    parser.addoption(
        "--without-sdk",
        action="store_true",
        default=False,
        help="skip the tests that drive the brokers' official SDKs (never used in CI)",
    )
    parser.addoption(
        "--further",
        action="store_true",
        default=False,
        help="play what is marked `long`, which needs real seconds or chance, instead of everything else",
    )
    parser.addoption("--all", action="store_true", default=False, help="play everything, `long` or not")
    parser.addoption(
        "--whole-table",
        action="store_true",
        default=False,
        help="play every order type in every scenario at each of its states, not some of them by chance",
    )
    parser.addoption(
        "--write-scenarios",
        action="store_true",
        default=False,
        help="write what order types came to into docs/order-type-scenarios.md",
    )
