"""Shoonya's server over the real exchange, judged by the broker's page and read by our codecs; the official client judges it in
tests/sdk. The exchange's own account is the truth."""

import pytest

from tests.brokers.simulator.dialects.shoonya.client import Shoonya


@pytest.fixture
def shoonya():
    return Shoonya()


@pytest.fixture(scope="module")
def wide():
    """Enough contracts that every commodity is listed."""
    return Shoonya(2000)
