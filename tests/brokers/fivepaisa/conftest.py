"""A login, documented answers as responses, listings."""

from collections.abc import Callable

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.fivepaisa.wire import ENDPOINTS
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import WireResponse

CREDENTIALS = {
    "app_name": "app", "app_source": "1", "user_id": "user", "password": "word", "user_key": "key",
    "encryption_key": "encryption", "client_code": "CLIENT_CODE", "pin": "1234", "totp_secret": "GEZDGNBVGY3TQOJQ",
}  # fmt: skip


@pytest.fixture
def access() -> Access:
    return Access(
        endpoints=ENDPOINTS,
        credentials=CREDENTIALS,
        login=Login(
            tokens={"AccessToken": "token"}, user_id="CLIENT_CODE", logged_in_at=0.0, expires_at=0.0,
            profile={"ClientCode": "CLIENT_CODE", "ClientName": "A CLIENT"},
        ),
    )  # fmt: skip


@pytest.fixture
def enveloped() -> Callable[..., WireResponse]:
    """Return an answer with this body, under a head that says that all went well."""

    def make(body: object, status: int = 200, **head: object) -> WireResponse:
        message = {"body": body, "head": {"responseCode": "5P", "status": "0", "statusDescription": "Success", **head}}
        return WireResponse(status=status, body=msgspec.json.encode(message))

    return make


@pytest.fixture
def listings() -> dict[str, Listing]:
    """A share, a currency contract, an MCX contract of unknown size."""

    def listing(token: str, units: int | None) -> Listing:
        return Listing(broker_token=token, tradingsymbol=token, exchange=token.rpartition(":")[0], contract_units=units)

    rows = [listing("N:C:1660", 1), listing("N:U:7001", 1000), listing("M:D:8001", None), listing("M:D:8002", 100)]
    return {row.broker_token: row for row in rows}


@pytest.fixture
def message_of() -> Callable[..., dict[str, object]]:
    """Return the `body` a request carries."""
    return lambda request: msgspec.json.decode(request.body)["body"]
