"""A login, and the official client's templates as bodies of the wire."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.dhan.wire import ENDPOINTS


@pytest.fixture
def access() -> Access:
    return Access(
        endpoints=ENDPOINTS,
        credentials={"client_id": "1100003626", "pin": "1234", "totp_secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"},
        login=Login(tokens={"access_token": "token"}, user_id="1100003626", logged_in_at=0.0, expires_at=0.0),
    )


@pytest.fixture
def template(data: Path) -> Callable[..., object]:
    """Return `template(name, **values)`: the body (or its one row) with placeholders replaced; only fields that the
    template has may be given."""

    def filled(name: str, **values: object) -> dict[str, object]:
        body = msgspec.json.decode((data / f"{name}.json").read_bytes())["data"]
        row = body[0] if isinstance(body, list) else body
        assert set(values) <= set(row), set(values) - set(row)
        return {**row, **values}

    return filled
