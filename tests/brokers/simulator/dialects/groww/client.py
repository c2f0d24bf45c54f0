"""A client of Groww's server, with and without our codecs."""

from urllib.parse import urlencode

import attrs
import msgspec

from onebroker.brokers.events import Reply
from onebroker.brokers.groww import books, feed, login
from onebroker.brokers.groww.broker import GROWW
from onebroker.brokers.records import Listing
from onebroker.brokers.simulator.dialects.groww import build
from onebroker.brokers.simulator.dialects.groww.naming import name_of
from tests.support.dialect_client import BASE, DialectClient, Wire


class Line:
    """An open stream with our decoder at its end: replies go back, as the session sends them."""

    def __init__(self, groww, address):
        self.wire = Wire()
        self.session = groww.dialect.open_socket(groww.request("GET", address.url.replace("ws:", "http:")), self.wire)
        self.decoder = feed.decoder(groww.access, address, {})
        self.read = 0

    def events(self):
        heard = []
        while self.read < len(self.wire.frames):
            frame = self.wire.frames[self.read]
            self.read += 1
            for event in self.decoder.receive(frame):
                heard.append(event)
                if isinstance(event, Reply):
                    self.session.received(event.message)
        return heard

    def send(self, messages):
        for message in messages:
            self.session.received(message)


class Groww(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(GROWW, build, name_of)
        self.access = attrs.evolve(self.bare, login=self.log_in(self.bare))
        self.number = 0

    def requests(self, flow):
        """Send what a flow yields; return the requests."""
        requests = [next(flow)]
        try:
            while True:
                requests.append(flow.send(self.send(requests[-1])))
        except StopIteration:
            return requests

    def log_in(self, access):
        return self.result(login.log_in(access, "", self.now))

    def get(self, path, **query):
        headers = {"Authorization": f"Bearer {self.access.token('token')}"}
        answer = self.dialect.handle(self.request("GET", f"{BASE}/v1{path}?{urlencode(query)}", headers))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self):
        return Line(self, self.result(feed.address(self.access, self.now)))

    def listed(self, bare, exchange="nse", n=0):
        found = [
            name_of(each)
            for each in self.account.contracts()
            if each.bare == bare and each.identity.exchange == exchange
        ]
        return found[n]

    def listing(self, name):
        return Listing(
            broker_token=token(name), tradingsymbol=name.trading_symbol, exchange=name.exchange,
            other_names=f"{name.token}|{name.groww_symbol}",
        )  # fmt: skip

    def trades(self):
        return books.parse_trades(self.answers(books.trade_requests(self.access, self.now)), {})


def token(name):
    segment = "IDX" if name.contract.is_index else name.segment
    return f"{name.exchange}:{segment}:{name.trading_symbol}"


_SHARED = []


def shared():
    """One server for random input: an exchange takes a while to make."""
    if not _SHARED:
        _SHARED.append(Groww())
    return _SHARED[0]
