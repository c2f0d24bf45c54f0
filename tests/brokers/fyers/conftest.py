"""A login, and documented answers as responses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.fyers.wire import ENDPOINTS
from onebroker.brokers.requests import WireResponse

DATA = Path(__file__).resolve().parents[2] / "data" / "fyers"


@pytest.fixture
def access() -> Access:
    return Access(
        endpoints=ENDPOINTS,
        credentials={"app_id": "ABCDEFGHIJ-100", "secret": "SECRET", "redirect_url": "https://127.0.0.1/cb?a=b"},
        login=Login(
            tokens={"access_token": "token", "refresh_token": "refresh"},
            user_id="XA1",
            logged_in_at=0.0,
            expires_at=0.0,
        ),
    )


@pytest.fixture
def recorded() -> Callable[[str], WireResponse]:
    """Return a documented body as an answer with HTTP 200."""
    return lambda name: WireResponse(status=200, body=(DATA / f"{name}.json").read_bytes())
