"""A client of Upstox' server, with and without our codecs."""

from datetime import datetime
from urllib.parse import urlencode

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.simulator.dialects.upstox import build
from onebroker.brokers.simulator.dialects.upstox.naming import name_of
from onebroker.brokers.upstox import books
from onebroker.brokers.upstox.broker import UPSTOX
from onebroker.brokers.upstox.wire import ENDPOINTS
from onebroker.config.clock import IST
from tests.support.dialect_client import BASE, DialectClient

ACCESS = Access(endpoints=ENDPOINTS, credentials={}, login=None)
ADDRESS = StreamAddress(url="ws://feed")
NOW = datetime(2026, 11, 20, 10, tzinfo=IST)


class Upstox(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(UPSTOX, build, name_of)
        self.session = self.dialect.session()

    @property
    def access(self):
        made = Login(
            tokens={"access_token": self.session["access_token"]}, user_id="", logged_in_at=0.0, expires_at=0.0
        )
        return Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def get(self, path, **query):
        headers = {"Authorization": f"Bearer {self.session['access_token']}"}
        answer = self.dialect.handle(self.request("GET", f"{BASE}{path}?{urlencode(query)}", headers))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self, flow):
        """Follow an authorize flow and open the socket it leads to."""
        request = next(flow)
        with pytest.raises(StopIteration) as done:
            flow.send(self.send(request))
        return self.open_at(done.value.value.url)

    def listing(self, name):
        return Listing(
            broker_token=name.key, tradingsymbol=name.tradingsymbol, exchange=name.segment, contract_units=name.units
        )


def order_row(order_id):
    return books.order_row(
        {
            "order_id": order_id, "status": "open", "instrument_token": "NSE_EQ|X", "quantity": 1, "filled_quantity": 0, "trading_symbol": "X",
            "exchange": "NSE",
        },
        {},
    )  # fmt: skip
