"""A login."""

import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.groww.wire import ENDPOINTS


@pytest.fixture
def access() -> Access:
    return Access(
        endpoints=ENDPOINTS,
        credentials={"totp_key": "tkey", "totp_secret": "JBSWY3DPEHPK3PXP"},
        login=Login(tokens={"token": "jwt"}, user_id="AB1234", logged_in_at=0.0, expires_at=0.0),
    )
