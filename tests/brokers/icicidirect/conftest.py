"""The broker's recorded answers, an access with and without a login, and listings."""

import base64
from pathlib import Path

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.icicidirect.wire import ENDPOINTS
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import WireResponse

DATA = Path(__file__).resolve().parents[2] / "data" / "icicidirect" / "readme.json"
TOKEN = base64.b64encode(b"AB123456:98765432").decode()


@pytest.fixture(scope="session")
def recorded():
    """name -> the body as it was answered."""
    return msgspec.json.decode(DATA.read_bytes())


@pytest.fixture
def answer():
    """Return an HTTP answer with a JSON body."""

    def made(body, status=200):
        return WireResponse(status=status, body=body if isinstance(body, bytes) else msgspec.json.encode(body))

    return made


@pytest.fixture
def success(answer):
    return lambda content: answer({"Success": content, "Status": 200, "Error": None})


@pytest.fixture
def refusal(answer):
    return lambda error, status=500, http=200: answer({"Success": None, "Status": status, "Error": error}, http)


@pytest.fixture(scope="session")
def bare():
    return Access(endpoints=ENDPOINTS, credentials={"app_key": "k&y^", "secret_key": "s#cret"}, login=None)


@pytest.fixture(scope="session")
def access(bare):
    tokens = {"session_token": TOKEN, "api_session": "98765", "user": "AB123456", "session_key": "98765432"}
    login = Login(tokens=tokens, user_id="AB123456", logged_in_at=0.0, expires_at=0.0)
    return Access(endpoints=bare.endpoints, credentials=bare.credentials, login=login)


def _listing(token, symbol, room):
    return Listing(
        broker_token=token, tradingsymbol=symbol, exchange=token.partition(":")[0], lot_size=75, other_names=room
    )


@pytest.fixture(scope="session")
def share():
    return _listing("NSE:RELIND", "RELIND", "4!2885")


@pytest.fixture(scope="session")
def index():
    return _listing("NSE:NIFTY", "NIFTY", "4!NIFTY 50")


@pytest.fixture(scope="session")
def future():
    return _listing("NFO:NIFTY:2025-02-27", "FUT-NIFTY-27-Feb-2025", "4!35001")


@pytest.fixture(scope="session")
def option():
    return _listing("NFO:NIFTY:2025-02-13:23550:CE", "OPT-NIFTY-13-Feb-2025-23550-CE", "4!51219")


@pytest.fixture(scope="session")
def bse_option():
    return _listing("BFO:BSESEN:2025-02-18:78200:CE", "OPT-BSESEN-18-Feb-2025-78200-CE", "8!844663")
