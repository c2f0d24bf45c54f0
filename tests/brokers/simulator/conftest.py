"""A floor to trade on: an exchange with a clock moved by hand, and shortcuts to contracts and orders."""

import importlib.util
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from onebroker.brokers.simulator.exchange.exchange import Exchange
from onebroker.brokers.simulator.exchange.faults import Faults
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.config.calendars import always_open, calendar_from_documents
from onebroker.config.clock import IST, Clock
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.vocabulary import OrderType, Product, Side, Validity

MONDAY_TEN = datetime(2026, 11, 23, 10, 0, tzinfo=IST)


class Floor:
    """An exchange of 300 contracts whose wall clock stands still until it is told to move."""

    def __init__(
        self, *, brokers=("zerodha", "upstox"), start=MONDAY_TEN, calendar=None, journal=None, seed=1, number=300,
        past_calendar=None,
    ):  # fmt: skip
        self.moment = start.timestamp()
        self.clock = Clock(wall=lambda: self.moment)
        self.faults = Faults(self.clock)
        self.journal = journal or MemoryJournal()
        self._made = {
            "brokers": brokers, "number": number, "seed": seed, "calendar": calendar or always_open(),
            "past_calendar": past_calendar,
        }  # fmt: skip
        self.exchange = self._open()

    def _open(self):
        return Exchange(**self._made, clock=self.clock, journal=self.journal, faults=self.faults)

    def restart(self):
        """Forget everything in memory and open the same journal again."""
        self.exchange = self._open()

    def at(self, moment):
        self.moment = moment.timestamp()
        self.exchange.step()

    def steps(self, count):
        for _ in range(count):
            self.moment += 0.5
            self.exchange.step()

    def account(self, code="zerodha"):
        return self.exchange.account(code)

    def contract(self, bare="equities", exchange="nse", n=0):
        found = [each for each in self.exchange.contracts() if each.bare == bare and each.identity.exchange == exchange]
        return found[n]

    def last(self, contract):
        return self.exchange.last_price(contract)

    def new(self, contract, side="BUY", quantity=None, kind="MARKET", product=None, **more):
        quantity = contract.lot_size if quantity is None else quantity
        product = product or ("CNC" if contract.bare == "equities" else "NRML")
        for name in ("price", "trigger_price"):
            if more.get(name) is not None:
                more[name] = Decimal(str(more[name]))
        more["validity"] = Validity(more.get("validity", "DAY"))
        return NewOrder(
            instrument_id=contract.instrument_id, side=Side(side), product=Product(product), order_type=OrderType(kind),
            quantity=quantity, **more,
        )  # fmt: skip

    def place(self, contract, side="BUY", quantity=None, kind="MARKET", *, broker="zerodha", **more):
        return self.account(broker).place(self.new(contract, side, quantity, kind, **more))


@pytest.fixture
def floor():
    return Floor()


@pytest.fixture(scope="session")
def make_floor():
    """Return the class, for floors with another start, calendar or journal."""
    return Floor


@pytest.fixture
def real_hours():
    return calendar_from_documents(exchange_documents())


@pytest.fixture
def echo():
    """Return the module of the echo dialect."""
    path = Path(__file__).parent / "host" / "echo.py"
    spec = importlib.util.spec_from_file_location("echo_dialect", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
