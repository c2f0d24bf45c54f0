"""Dhan's server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

import pytest

from tests.brokers.simulator.dialects.dhan.client import Dhan


@pytest.fixture
def dhan():
    return Dhan()
