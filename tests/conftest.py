"""Options of the whole suite."""

import os

import pytest
from hypothesis import settings

# No timing is asserted in tests, so hypothesis may not either; in CI its examples are the same in every run.
settings.register_profile("suite", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("suite")


def pytest_configure(config: pytest.Config) -> None:
    """Let all processes that tests start share what they compile, also where Python is told to write none beside its sources: each of
    hundreds of starts compiled the whole service."""
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
