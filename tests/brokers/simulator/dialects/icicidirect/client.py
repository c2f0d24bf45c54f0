"""A client of ICICI Direct's server, with and without our codecs."""

import attrs

from onebroker.brokers.broker import OrderTicket
from onebroker.brokers.events import Ready
from onebroker.brokers.icicidirect import books, login
from onebroker.brokers.icicidirect.broker import ICICIDIRECT
from onebroker.brokers.simulator.dialects.icicidirect import build
from onebroker.config.instruments import Identity, Shape
from onebroker.config.vocabulary import Outcome
from tests.support.dialect_client import DialectClient, Wire


class Icici(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self):
        super().__init__(ICICIDIRECT, build, None)
        self.access = attrs.evolve(self.bare, login=self.log_in())
        self.rows = {row["broker_token"]: row for row in self.frame().iter_rows(named=True)}
        self.by_contract = {identity_of(row).instrument_id: token for token, row in self.rows.items()}

    def log_in(self):
        answer = self.dialect.handle(self.request("GET", login.login_page(self.bare)))
        return self.drive(login.log_in(self.bare, answer.headers["location"], self.now))[1]

    def tradable(self, bare, exchange="nse"):
        """The first contract of a segment whose price is far above the lowest that may be bid."""
        for each in self.account.contracts():
            if each.bare == bare and each.identity.exchange == exchange:
                market = self.account.market(each.instrument_id)
                if market.last_price > market.lower_circuit + 40 * each.tick_size:
                    return each
        raise AssertionError(bare)

    def listing(self, contract):
        return self.listings()[self.by_contract[contract.instrument_id]]

    def ticket(self, contract, **changes):
        market = self.account.market(contract.instrument_id)
        values = {
            "listing": self.listing(contract), "segment": contract.identity.segment, "transaction_type": "BUY",
            "product": "CNC" if contract.identity.shape is Shape.SECURITY else "NRML", "order_type": "LIMIT",
            "validity": "DAY", "quantity": contract.lot_size, "price": market.lower_circuit + contract.tick_size,
            "token": "ob0123456789ab", **changes,
        }  # fmt: skip
        return OrderTicket(**values)

    def bought(self, contract, quantity):
        """Buy at the best offer; return the order id."""
        offer = self.account.market(contract.instrument_id).sell[0]
        answer = self.place(contract, quantity=quantity, price=offer.price)
        assert answer.outcome is Outcome.ACCEPTED, answer
        return answer.order_id

    def book(self):
        answers = self.answers(books.order_requests(self.access, self.now))
        return {row.order_id: row for row in books.parse_orders(answers, self.listings())}

    def open(self, module):
        """Open one of the streams and go through its handshake; return socket, session and decoder."""
        _, address = self.drive(module.address(self.access, self.now))
        socket = Wire()
        session = self.dialect.open_socket(self.request("GET", address.url.replace("ws://", "http://")), socket)
        decoder = module.decoder(self.access, address, self.listings())
        (reply,) = decoder.receive(socket.frames[0])
        session.received(reply.message)
        assert decoder.receive(socket.frames[1]) == [Ready()]
        del socket.frames[:]
        return socket, session, decoder


def identity_of(row):
    shape = Shape.SECURITY if row["symbol"] else Shape.OPTION if row["option_type"] else Shape.FUTURE
    return Identity(
        row["exchange"], f"{row['exchange']}_{row['segment']}", shape, row["symbol"], row["underlying_symbol"],
        row["expiry_date"], row["strike_price"], row["option_type"],
    )  # fmt: skip
