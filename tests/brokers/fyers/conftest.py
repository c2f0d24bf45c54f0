"""A login."""

import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.fyers.wire import ENDPOINTS


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
