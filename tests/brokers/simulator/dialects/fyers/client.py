"""A client of Fyers' server, with and without our codecs."""

from urllib.parse import urlencode

import msgspec
import pytest

from onebroker.brokers.broker import Access, Login, OrderChange
from onebroker.brokers.fyers import feed, orders
from onebroker.brokers.fyers.broker import FYERS
from onebroker.brokers.records import Listing
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.simulator.dialects.fyers import build
from onebroker.brokers.simulator.dialects.fyers.naming import name_of
from tests.support.dialect_client import BASE, DialectClient, Wire

ADDRESS = StreamAddress(url="ws://feed")


class Fyers(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(FYERS, build, name_of)
        self.session = self.dialect.session()

    @property
    def access(self):
        tokens = {name: self.session[name] for name in ("access_token", "refresh_token")}
        made = Login(tokens=tokens, user_id="", logged_in_at=0.0, expires_at=0.0)
        return Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def headers(self):
        return {"Authorization": f"{self.dialect.credentials['app_id']}:{self.session['access_token']}"}

    def get(self, path, **query):
        answer = self.dialect.handle(self.request("GET", f"{BASE}{path}?{urlencode(query)}", self.headers()))
        return answer.status, msgspec.json.decode(answer.body)

    def post(self, path, body, **headers):
        headers = {**self.headers(), **headers}
        answer = self.dialect.handle(self.request("POST", f"{BASE}{path}", headers, msgspec.json.encode(body)))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self, flow):
        """Open the socket at the address a flow ends with."""
        with pytest.raises(StopIteration) as done:
            next(flow)
        address = done.value.value
        return self.open_at(address.url, address.headers)

    def open_at(self, url, headers=None):
        wire = Wire()
        return wire, self.dialect.open_socket(self.request("GET", url.replace("ws://", "http://"), headers), wire)

    def open_market(self, *names):
        """Return wire, session and decoder of a market socket that follows `names`, opened as our session opens it."""
        wire, session = self.open(feed.address(self.access, self.now))
        decoder = feed.decoder(self.access, ADDRESS, self.listings())
        for message in feed.opening_messages(self.access):
            session.received(message)
        for message in feed.subscribe_messages(self.access, [self.listing(name) for name in names]):
            session.received(message)
        return wire, session, decoder

    def token(self, name):
        tail = name.contract.name if name.contract.is_index else name.contract.exchange_token
        return f"{name.stream_segment}|{tail}"

    def listing(self, name):
        return Listing(
            broker_token=self.token(name), tradingsymbol=name.ticker, exchange=name.ticker.partition(":")[0],
            contract_units=name.units,
        )  # fmt: skip

    def modify(self, row, name, **changes):
        change = OrderChange(row=row, listing=self.listing(name), segment=name.contract.identity.segment, **changes)
        return orders.parse_order_answer(self.send(orders.modify_request(self.access, change, self.now)))

    def cancel(self, row):
        return orders.parse_order_answer(self.send(orders.cancel_request(self.access, row, self.now)))

    def row(self, order_id):
        return next(row for row in self.book() if row.order_id == order_id)
