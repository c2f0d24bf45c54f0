"""Kite's server over the real exchange, judged by what Kite's documentation says; the official SDK judges it in tests/sdk."""

import hashlib
from urllib.parse import urlencode

import msgspec
import pytest

from onebroker.brokers.simulator.dialects.dialect import DialectRequest
from onebroker.brokers.simulator.dialects.zerodha import build
from onebroker.brokers.simulator.dialects.zerodha.naming import name_of
from onebroker.brokers.simulator.exchange.exchange import Exchange
from onebroker.brokers.simulator.exchange.faults import Faults
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from tests.support.dialect_client import BASE, Wall, Wire


class Kite:
    """A client that knows only the documentation."""

    def __init__(self):
        self.wall = Wall()
        self.clock = Clock(wall=self.wall)
        self.journal = MemoryJournal()
        self.start()

    def start(self):
        self.exchange = Exchange(
            brokers=("zerodha",), number=300, seed=1, calendar=always_open(), clock=self.clock, journal=self.journal,
            faults=Faults(self.clock),
        )  # fmt: skip
        self.account = self.exchange.account("zerodha")
        self.dialect = build(self.account, self.exchange.tokens("zerodha"), self.clock, 1)
        self.key, self.secret = self.dialect.credentials["api_key"], self.dialect.credentials["api_secret"]
        self.token = self.dialect.session()["access_token"]

    def call(self, method, path, form=None, query=(), token=None):
        headers = {"authorization": f"token {self.key}:{token or self.token}"}
        body = urlencode(form or {}).encode()
        answer = self.dialect.handle(
            DialectRequest(method=method, base=BASE, path=path, query=tuple(query), headers=headers, body=body)
        )
        if answer.headers.get("content-type") == "application/json":
            return answer.status, msgspec.json.decode(answer.body)
        return answer.status, answer

    def data(self, method, path, form=None, query=()):
        status, body = self.call(method, path, form, query)
        assert status == 200, body
        assert body["status"] == "success"
        return body["data"]

    def listed(self, pick):
        return next(name for each in self.account.contracts() if pick(each) and (name := name_of(each)))

    @property
    def share(self):
        return self.listed(lambda each: each.bare == "equities" and each.identity.exchange == "nse")

    @property
    def crude(self):
        return self.listed(lambda each: each.identity.underlying_symbol == "CRUDEOIL")

    def order_form(self, name, **changes):
        market = self.account.market(name.contract.instrument_id)
        return {
            "exchange": name.exchange, "tradingsymbol": name.tradingsymbol, "transaction_type": "BUY", "quantity": "1",
            "product": "CNC" if name.exchange == "NSE" else "NRML", "order_type": "LIMIT", "validity": "DAY",
            "price": str(market.lower_circuit + name.contract.tick_size), **changes,
        }  # fmt: skip

    def checksum(self, code):
        return hashlib.sha256(f"{self.key}{code}{self.secret}".encode()).hexdigest()

    def open_socket(self, token=None):
        wire = Wire()
        query = (("api_key", self.key), ("access_token", token or self.token))
        request = DialectRequest(method="GET", base=BASE, path="/", query=query, headers={}, body=b"")
        return wire, self.dialect.open_socket(request, wire)


@pytest.fixture
def kite():
    return Kite()
