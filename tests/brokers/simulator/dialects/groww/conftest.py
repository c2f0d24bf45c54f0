"""Groww's server over the real exchange, judged by the broker's page and read by our codecs; the official SDK judges it in tests/sdk."""

import pytest

from tests.brokers.simulator.dialects.groww.client import Groww


@pytest.fixture
def groww():
    return Groww()
