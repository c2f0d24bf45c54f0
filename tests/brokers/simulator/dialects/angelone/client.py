"""A client of SmartAPI's server, with and without our codecs."""

import msgspec
import pytest

from onebroker.brokers.angelone import books, feed, login, portfolio
from onebroker.brokers.angelone.broker import ANGELONE
from onebroker.brokers.broker import Access, Login
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.simulator.dialects.angelone import build
from onebroker.brokers.simulator.dialects.angelone.naming import name_of
from tests.support.dialect_client import BASE, START, DialectClient, Wire

ADDRESS = StreamAddress(url="ws://feed")


class AngelOne(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(ANGELONE, build, name_of)
        self.session = self.dialect.session()

    @property
    def access(self):
        made = Login(tokens=self.session, user_id=self.account.client_id, logged_in_at=0.0, expires_at=0.0)
        return Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def open(self, codec=feed, **headers):
        """Open a socket with the codec's own headers, some of them replaced."""
        flow = codec.address(self.access, self.now)
        with pytest.raises(StopIteration) as done:
            next(flow)
        address = done.value.value
        wire = Wire()
        url = address.url.replace("ws://", "http://")
        return wire, self.dialect.open_socket(self.request("GET", url, {**address.headers, **headers}), wire)

    def call(self, method, path, body=None, **headers):
        given = {
            "Authorization": f"Bearer {self.session['jwtToken']}", "X-PrivateKey": self.dialect.credentials["api_key"],
            "X-UserType": "USER", **headers,
        }  # fmt: skip
        content = b"" if body is None else msgspec.json.encode(body)
        return self.dialect.handle(self.request(method, f"{BASE}/rest/secure/angelbroking{path}", given, content))

    def asked(self, method, path, body=None, **headers):
        return msgspec.json.decode(self.call(method, path, body, **headers).body)

    def listing(self, name):
        return Listing(
            broker_token=f"{name.exchange}|{name.token}", tradingsymbol=name.tradingsymbol, exchange=name.exchange,
            lot_size=name.contract.lot_size, contract_units=name.units,
        )  # fmt: skip

    def book(self, order_id):
        rows = books.parse_orders(self.answers(books.order_requests(self.access, START)), self.listings())
        return next(row for row in rows if row.order_id == order_id)

    def trades(self, order_id):
        rows = books.parse_trades(self.answers(books.trade_requests(self.access, START)), self.listings())
        return [row for row in rows if row.order_id == order_id]

    def positions(self):
        return portfolio.parse_positions(self.answers(portfolio.position_requests(self.access, START)), self.listings())

    def profile(self):
        return login.parse_profile(self.send(login.profile_request(self.access)), self.access.login)


def gold(angel):
    """A contract of MCX in which one of SmartAPI's quantities is known (`values.UNSETTLED`)."""
    return angel.listed("commodity_futures", "mcx", "GOLD")


# market data ----------------------------------------------------------------------------------------------------------
def four(angel):
    return [
        angel.listed("equities"), gold(angel), angel.listed("equity_indices"),
        angel.listed("currency_futures"), angel.listed("commodity_futures", "ncdex"), angel.listed("equity_index_options"),
    ]  # fmt: skip
