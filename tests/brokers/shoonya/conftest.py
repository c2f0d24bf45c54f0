"""A login, recorded answers as responses, and refusals."""

from collections.abc import Callable

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.shoonya.wire import ENDPOINTS


@pytest.fixture
def access() -> Access:
    return Access(
        endpoints=ENDPOINTS,
        credentials={"client_id": "FA12345_U", "secret_code": "secret", "user_id": "FA12345"},
        login=Login(
            tokens={"access_token": "token", "actid": "FA12345"}, user_id="FA12345", logged_in_at=0.0, expires_at=0.0
        ),
    )


@pytest.fixture
def refused() -> Callable[..., WireResponse]:
    """Return a refusal as the broker sends it."""
    return lambda emsg, status=200: WireResponse(
        status=status, body=msgspec.json.encode({"stat": "Not_Ok", "request_time": "10:00:00 23-11-2026", "emsg": emsg})
    )


@pytest.fixture
def listings() -> dict[str, Listing]:
    rows = [
        Listing(broker_token="NSE|11536", tradingsymbol="TCS-EQ", exchange="NSE"),
        Listing(broker_token="NSE|2031", tradingsymbol="M&M-EQ", exchange="NSE"),
        Listing(broker_token="CDS|17274", tradingsymbol="USDJPY29DEC26P141", exchange="CDS", contract_units=1000),
        Listing(
            broker_token="MCX|477176",
            tradingsymbol="GOLDTEN31MAR26",
            exchange="MCX",
            contract_units=1,
            other_names="0.1",
        ),
    ]
    return {row.broker_token: row for row in rows}
