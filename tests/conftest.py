"""Options of the whole suite.

A test is the same in every run: hypothesis' examples, the order in which trio runs tasks that could run at once, what is drawn by
chance. `TEST_DICE=word pytest …` throws other dice, the same ones for the same word: a test that fails with some words and not with
others has found a race, of ours or its own, and the word brings it back. (Of hypothesis' examples, then other ones each time, its own
report does.)
"""

import os
import random

import pytest
import trio
from hypothesis import settings

DICE = os.environ.get("TEST_DICE", "")

# No timing is asserted in tests, so hypothesis may not either.
settings.register_profile("suite", deadline=None, derandomize=not DICE)
settings.load_profile("suite")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Throw the dice of this test: of trio's scheduler, which has no public way to it, and of whoever asks `random`."""
    random.seed(f"{DICE} {item.nodeid}")
    trio._core._run._r.seed(f"{DICE} {item.nodeid}")


def pytest_configure(config: pytest.Config) -> None:
    """Give workers and all processes that tests start the same order of sets; and let them share what they compile, also where Python is
    told to write none beside its sources: each of hundreds of starts compiled the whole service."""
    os.environ.setdefault("PYTHONHASHSEED", "0")
    if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
        os.environ["PYTHONPYCACHEPREFIX"] = str(config.rootpath / ".pytest_cache" / "bytecode")


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
