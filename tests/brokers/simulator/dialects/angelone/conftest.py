"""SmartAPI's server over the real exchange, judged by its documentation and read by our codecs; the official SDK judges it in
tests/sdk."""

import pytest

from tests.brokers.simulator.dialects.angelone.client import AngelOne


@pytest.fixture
def angel():
    return AngelOne()
