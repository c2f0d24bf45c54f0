"""A client of 5paisa's server, with and without our codecs."""

from decimal import Decimal

import attrs
import msgspec

from onebroker.brokers.broker import OrderTicket
from onebroker.brokers.fivepaisa import books, login, orders
from onebroker.brokers.fivepaisa.broker import FIVEPAISA
from onebroker.brokers.simulator.dialects.fivepaisa import build
from onebroker.brokers.simulator.dialects.fivepaisa.naming import name_of
from tests.support.dialect_client import START, DialectClient, Wire


class Fivepaisa(DialectClient):
    """A client of the server, with and without our codecs."""

    def __init__(self, start=START, calendar=None):
        super().__init__(FIVEPAISA, build, name_of, start=start, calendar=calendar)
        self.access = self.logged_in()

    def logged_in(self):
        return attrs.evolve(self.bare, login=self.result(login.log_in(self.bare, "", self.now)))

    def post(self, path, body, key=None, token=None):
        token = self.access.token("AccessToken") if token is None else token
        headers = {"Authorization": f"bearer {token}"} if token else {}
        message = {"head": {"key": key or self.dialect.credentials["user_key"]}, "body": body}
        url = f"{self.bare.endpoints.rest_url}{path}"
        answer = self.dialect.handle(self.request("POST", url, headers, msgspec.json.encode(message)))
        assert answer.status == 200
        return answer

    def open(self, token=None, client="52345678"):
        wire = Wire()
        token = token or self.access.token("AccessToken")
        url = f"{self.bare.endpoints.stream_url.replace('ws://', 'http://')}?Value1={token}%7C{client}"
        return wire, self.dialect.open_socket(self.request("GET", url), wire)

    def market(self, name):
        return self.account.market(name.contract.instrument_id)

    def price(self, name, percent):
        tick = name.contract.tick_size
        return (self.market(name).last_price * (100 + percent) / 100 / tick).quantize(Decimal(1)) * tick

    def ticket(self, name, **changes):
        listing = self.listings()[":".join(name.key)]
        fields = {
            "listing": listing, "segment": name.contract.identity.segment, "transaction_type": "BUY",
            "product": "CNC" if name.is_cash else "NRML", "order_type": "LIMIT", "validity": "DAY",
            "quantity": name.contract.lot_size * 2, "price": self.price(name, -3), "token": "obtoken1", **changes,
        }  # fmt: skip
        return OrderTicket(**fields)

    def place(self, name, **changes):
        return orders.parse_order_answer(
            self.send(orders.place_request(self.access, self.ticket(name, **changes), START))
        )

    def book(self):
        return {row.order_id: row for row in books.parse_orders(self.answers(books.order_requests(self.access, START)), self.listings())}  # fmt: skip

    def newest(self):
        return self.account.orders()[-1]
