"""A client of Dhan's server, with and without our codecs."""

import msgspec

from onebroker.brokers.broker import Access
from onebroker.brokers.dhan import broker as dhan_broker
from onebroker.brokers.dhan import login
from onebroker.brokers.records import Listing
from onebroker.brokers.simulator.dialects.dhan import build
from onebroker.brokers.simulator.dialects.dhan.naming import name_of
from tests.support.dialect_client import BASE, DialectClient, Wire


class Dhan(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(dhan_broker.DHAN, build, name_of)
        self.access = self.bare
        self.log_in()

    def log_in(self):
        made = self.result(login.log_in(self.bare, "", self.now))
        self.access = Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)

    def call(self, method, path, body=None):
        headers = {"access-token": self.access.token("access_token"), "client-id": self.account.client_id}
        content = b"" if body is None else msgspec.json.encode(body)
        answer = self.dialect.handle(self.request(method, f"{BASE}/v2{path}", headers, content))
        return answer.status, msgspec.json.decode(answer.body)

    def open(self, codec, **changes):
        """Open a codec's socket, say its opening messages, and return (wire, session, address)."""
        address = self.result(codec.address(self.access, self.now))
        wire = Wire()
        session = self.dialect.open_socket(self.request("GET", address.url.replace("ws://", "http://")), wire)
        for message in codec.opening_messages(self.access):
            session.received(message)
        return wire, session, address

    def listing(self, name):
        """The listing as the catalogue would hold it: the units of a lot filled from other brokers."""
        return Listing(
            broker_token=f"{name.segment}:{name.security_id}", tradingsymbol=name.tradingsymbol, exchange=name.segment,
            other_names=None if name.part in "EI" else name.instrument,
            contract_units=name.units, tick_size=float(name.contract.tick_size),
        )  # fmt: skip

    def listings(self):
        names = [name_of(contract) for contract in self.account.contracts()]
        return {(listing := self.listing(name)).broker_token: listing for name in names}
