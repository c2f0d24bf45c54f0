"""A login, and documented answers as responses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.upstox.wire import ENDPOINTS

DATA = Path(__file__).resolve().parents[2] / "data" / "upstox"


@pytest.fixture
def access() -> Access:
    return Access(
        endpoints=ENDPOINTS,
        credentials={"api_key": "key", "api_secret": "secret", "redirect_url": "https://127.0.0.1/cb?a=b"},
        login=Login(tokens={"access_token": "token"}, user_id="AB1234", logged_in_at=0.0, expires_at=0.0),
    )


@pytest.fixture
def recorded() -> Callable[[str], WireResponse]:
    """Return a documented body as an answer with HTTP 200."""
    return lambda name: WireResponse(status=200, body=(DATA / f"{name}.json").read_bytes())
