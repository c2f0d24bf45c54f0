"""Listeners with and without a lane."""

import pytest

from tests.support import served


@pytest.fixture(params=["without a lane", "with a lane"])
def both_connections(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Play a test twice: a connection with a lane reads, writes and keeps its time in another way, also where the lane knows no request."""
    if request.param == "with a lane":
        monkeypatch.setattr(served, "usual_lane", served.KnowsNothing())
