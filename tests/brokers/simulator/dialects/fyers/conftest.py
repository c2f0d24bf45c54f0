"""Fyers' server over the real exchange, judged by its documentation and read by our codecs; the official client judges it in
tests/sdk."""

import pytest

from tests.brokers.simulator.dialects.fyers.client import Fyers


@pytest.fixture
def fyers():
    return Fyers()
