"""Options of the whole suite."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--without-sdk`: a person's choice to leave the brokers' official SDKs out; a missing SDK otherwise fails."""
    parser.addoption(
        "--without-sdk",
        action="store_true",
        default=False,
        help="skip the tests that drive the brokers' official SDKs (never used in CI)",
    )
