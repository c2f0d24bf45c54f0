"""ICICI Direct's server over the real exchange, judged by the broker's page and read by our codecs; the official SDK judges it
in tests/sdk."""

import pytest

from tests.brokers.simulator.dialects.icicidirect.client import Icici


@pytest.fixture
def icici():
    return Icici()


@pytest.fixture(scope="module")
def lasting():
    return Icici()
