"""Recorded and documented answers of the broker whose folder a test stands in."""

from collections.abc import Callable
from pathlib import Path

import pytest

from onebroker.brokers.requests import WireResponse


@pytest.fixture
def data(request: pytest.FixtureRequest) -> Path:
    """Return the folder of the broker's payloads."""
    return Path(__file__).resolve().parents[1] / "data" / request.path.parent.name


@pytest.fixture
def recorded(data: Path) -> Callable[[str], WireResponse]:
    """Return `recorded(name)`: a body of that folder as an answer with HTTP 200."""
    return lambda name: WireResponse(status=200, body=(data / f"{name}.json").read_bytes())
