"""A client of Kotak Neo's server, with and without our codecs."""

from onebroker.brokers.broker import Access
from onebroker.brokers.kotakneo import login
from onebroker.brokers.kotakneo.broker import KOTAKNEO
from onebroker.brokers.simulator.dialects.kotakneo import build
from onebroker.brokers.simulator.dialects.kotakneo.naming import name_of
from tests.support.dialect_client import DialectClient, Wire


class KotakNeo(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(KOTAKNEO, build, name_of)
        self.access = self.bare

    def log_in(self):
        made = self.result(login.log_in(self.bare, "", self.now))
        self.access = Access(endpoints=self.endpoints, credentials=self.dialect.credentials, login=made)
        return made

    def open(self, codec):
        """Open the socket of a feed and send it the codec's first messages."""
        address = self.result(codec.address(self.access, self.now))
        wire = Wire()
        session = self.dialect.open_socket(self.request("GET", address.url.replace("ws://", "http://")), wire)
        for message in codec.opening_messages(self.access):
            session.received(message)
        return wire, session, codec.decoder(self.access, address, self.listings())

    def listing(self, name):
        return self.listings()[name.key]


def chosen(neo):
    kinds = (
        ("equities", "nse"), ("equity_indices", "nse"), ("equity_index_options", "nse"), ("currency_futures", "nse"),
        ("commodity_futures", "mcx"), ("equity_indices", "bse"),
    )  # fmt: skip
    return [neo.listed(*kind) for kind in kinds]
