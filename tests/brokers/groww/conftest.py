"""A login, and documented answers as responses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.groww.wire import ENDPOINTS
from onebroker.brokers.requests import WireResponse

DATA = Path(__file__).resolve().parents[2] / "data" / "groww"


@pytest.fixture
def access() -> Access:
    return Access(
        endpoints=ENDPOINTS,
        credentials={"totp_key": "tkey", "totp_secret": "JBSWY3DPEHPK3PXP"},
        login=Login(tokens={"token": "jwt"}, user_id="AB1234", logged_in_at=0.0, expires_at=0.0),
    )


@pytest.fixture
def recorded() -> Callable[[str], WireResponse]:
    """Return a documented body as an answer with HTTP 200."""
    return lambda name: WireResponse(status=200, body=(DATA / f"{name}.json").read_bytes())


@pytest.fixture
def data() -> Path:
    return DATA
