"""A login, and documented answers as responses."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.kotakneo.wire import ENDPOINTS
from onebroker.brokers.requests import WireResponse

CREDENTIALS = {
    "access_token": "app-token", "mobile_number": "+919800000001", "ucc": "YAB12", "mpin": "123456",
    "totp_secret": "JBSWY3DPEHPK3PXP",
}  # fmt: skip
TOKENS = {"token": "trade", "sid": "sid-1", "baseUrl": "https://e43.kotaksecurities.com", "dataCenter": "E43"}


@pytest.fixture
def bare() -> Access:
    return Access(endpoints=ENDPOINTS, credentials=CREDENTIALS, login=None)


@pytest.fixture
def access() -> Access:
    login = Login(
        tokens=TOKENS, user_id="YAB12", logged_in_at=1_795_000_000.0, expires_at=0.0, profile={"ucc": "YAB12"}
    )
    return Access(endpoints=ENDPOINTS, credentials=CREDENTIALS, login=login)


@pytest.fixture
def said() -> Callable[..., WireResponse]:
    """Return an answer of a JSON value."""
    return lambda value, status=200: WireResponse(status=status, body=msgspec.json.encode(value))


@pytest.fixture
def file(data: Path) -> Callable[[str], bytes]:
    return lambda name: (data / f"{name}.csv").read_bytes()
