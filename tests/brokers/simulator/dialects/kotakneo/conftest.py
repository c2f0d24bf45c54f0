"""Kotak Neo's server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

import pytest

from tests.brokers.simulator.dialects.kotakneo.client import KotakNeo


@pytest.fixture
def neo():
    client = KotakNeo()
    client.log_in()
    return client
