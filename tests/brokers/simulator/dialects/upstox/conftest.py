"""Upstox' server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

import pytest

from tests.brokers.simulator.dialects.upstox.client import Upstox


@pytest.fixture
def upstox():
    return Upstox()
