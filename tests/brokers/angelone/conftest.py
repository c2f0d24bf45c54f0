"""A login, and documented answers as responses."""

from collections.abc import Callable

import msgspec
import pytest

from onebroker.brokers.angelone.wire import ENDPOINTS
from onebroker.brokers.broker import Access, Login
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import WireResponse


@pytest.fixture
def access() -> Access:
    tokens = {"jwtToken": "jwt", "refreshToken": "refresh", "feedToken": "feed"}
    return Access(
        endpoints=ENDPOINTS,
        credentials={"api_key": "key", "client_code": "A123456", "pin": "1234", "totp_secret": "JBSWY3DPEHPK3PXP"},
        login=Login(tokens=tokens, user_id="A123456", logged_in_at=0.0, expires_at=0.0),
    )


@pytest.fixture
def yes() -> Callable[[object], WireResponse]:
    """Return data as a successful answer."""

    def answer(data: object) -> WireResponse:
        return WireResponse(
            status=200,
            body=msgspec.json.encode({"status": True, "message": "SUCCESS", "errorcode": "", "data": data}),
        )

    return answer


@pytest.fixture
def listings() -> dict[str, Listing]:
    """Some instruments of the documented rows, by our names."""
    rows = [
        ("NSE|3045", "SBIN-EQ", 1),
        ("NSE|2885", "RELIANCE-EQ", 1),
        ("NSE|99926000", "Nifty 50", 1),
        ("NFO|58662", "NIFTY30OCT2525000CE", 1),
        ("MCX|426302", "GOLD24JUNFUT", 100),
        ("CDS|5", "USDINR25OCT8325CE", 1000),
        ("NCDEX|7", "GUARSEED24JUNFUT", None),
    ]
    return {
        token: Listing(
            broker_token=token,
            tradingsymbol=symbol,
            exchange=token.partition("|")[0],
            lot_size=units,
            contract_units=units,
        )
        for token, symbol, units in rows
    }
