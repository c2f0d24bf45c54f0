"""A login."""

import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.upstox.wire import ENDPOINTS


@pytest.fixture
def access() -> Access:
    return Access(
        endpoints=ENDPOINTS,
        credentials={"api_key": "key", "api_secret": "secret", "redirect_url": "https://127.0.0.1/cb?a=b"},
        login=Login(tokens={"access_token": "token"}, user_id="AB1234", logged_in_at=0.0, expires_at=0.0),
    )
