"""A client of Shoonya's server, with and without our codecs."""

import msgspec

from onebroker.brokers.broker import Access, Login
from onebroker.brokers.events import Heartbeat, Ready, Reply
from onebroker.brokers.requests import StreamAddress
from onebroker.brokers.shoonya import books, feed
from onebroker.brokers.shoonya.broker import SHOONYA
from onebroker.brokers.simulator.dialects.shoonya import build
from onebroker.brokers.simulator.dialects.shoonya.naming import name_of
from tests.support.dialect_client import BASE, DialectClient, Wire

ADDRESS = StreamAddress(url="ws://feed")


class Shoonya(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self, number=300):
        super().__init__(SHOONYA, build, name_of, number=number)
        self.session = self.dialect.session()

    @property
    def access(self):
        made = Login(
            tokens={"access_token": self.session["access_token"], "actid": self.session["actid"]},
            user_id=self.session["USERID"], logged_in_at=0.0, expires_at=0.0,
        )  # fmt: skip
        return Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def call(self, name, *, bearer=None, tail="", **fields):
        """Make a call by hand; return status and JSON."""
        headers = {"Authorization": f"Bearer {bearer or self.session['access_token']}"}
        body = b"jData=" + msgspec.json.encode({"uid": self.account.client_id, **fields}) + tail.encode()
        answer = self.dialect.handle(self.request("POST", f"{self.endpoints.rest_url}/{name}", headers, body))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self):
        """Open the socket and log in on it as our codec does."""
        wire = Wire()
        session = self.dialect.open_socket(self.request("GET", f"{BASE}/NorenWSAPI/"), wire)
        decoder = feed.decoder(self.access, ADDRESS, self.listings())
        for message in feed.opening_messages(self.access):
            session.received(message)
        (frame,) = wire.frames
        reply, ready = decoder.receive(frame)
        assert isinstance(reply, Reply)
        assert isinstance(ready, Ready)
        session.received(reply.message)
        assert decoder.receive(wire.frames[-1]) == [Heartbeat()]
        wire.frames.clear()
        return wire, session, decoder

    def listed(self, bare, exchange="nse", symbol=None):
        return next(
            name_of(each)
            for each in self.account.contracts()
            if each.bare == bare
            and each.identity.exchange == exchange
            and symbol in (None, each.identity.underlying_symbol)
        )

    def listing(self, name):
        return self.listings()[name.scrip]

    def buy_now(self, name, **changes):
        return self.place(name, price=self.account.market(name.contract.instrument_id).upper_circuit, **changes)


def order_row(order_id):
    row = {
        "norenordno": order_id, "status": "OPEN", "exch": "NSE", "token": "1", "qty": "1", "tsym": "X-EQ", "prd": "C",
        "prctyp": "LMT", "ret": "DAY",
    }  # fmt: skip
    return books.order_row(row, "NSE|1", {})
