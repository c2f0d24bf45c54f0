"""The contract every broker keeps: one suite over all of the registry, by what each offers (style 12).

Each broker runs as it does in service: its codecs under the real session actor, over its dialect, judged on the exchange. A
behaviour is proved by a block of `with at.proves("…")`; one that a broker does not offer is said with `at.not_offered`. The
table of docs/contract.md is what the run has proved.
"""

import contextlib
import itertools
from datetime import datetime
from decimal import Decimal

import attrs
import pytest

from onebroker.actors.sessions.messages import AskRoom, SendOrder
from onebroker.brokers.broker import OrderChange, OrderTicket
from onebroker.brokers.registry import build_registry
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.events import OrderSent
from onebroker.config.exchange_documents import exchange_documents

SENT = OrderSent(broker="any", verb="place")
"""The event of an order message whose event does not matter."""

CODES = tuple(build_registry())
FAILED = "failed"


class Proofs:
    """What this run has proved."""

    def __init__(self):
        self.cells = {}
        """(behaviour, code) -> "yes", `FAILED`, or why the broker does not offer it."""
        self.ran = set()
        """Names of the tests that ran, each with its broker and parameters."""

    def unproved(self):
        """Return the (behaviour, code) that failed or were not reached."""
        behaviours = {behaviour for behaviour, _ in self.cells}
        cells = ((behaviour, code) for behaviour in behaviours for code in CODES)
        return sorted(cell for cell in cells if self.cells.get(cell, FAILED) == FAILED)


@pytest.fixture(scope="session")
def proofs():
    return Proofs()


@pytest.fixture(params=CODES)
def code(request):
    return request.param


class At:
    """One broker of the day, with hands to trade there."""

    def __init__(self, day, code, proofs):
        self.day, self.code, self._proofs = day, code, proofs
        self._tokens = (f"obcontract{number:03d}" for number in itertools.count())
        self.real_calendar = calendar_from_documents(exchange_documents())

    # --- what is proved ---------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def proves(self, behaviour):
        self._proofs.cells[behaviour, self.code] = FAILED
        yield
        self._proofs.cells[behaviour, self.code] = "yes"

    def not_offered(self, behaviour, why):
        self._proofs.cells[behaviour, self.code] = why

    # --- the day ----------------------------------------------------------------------------------------------------

    def again(self, *others, **options):
        """Make another day of it, with further brokers or another hour, before its service starts."""
        self.day.__init__(brokers=(self.code, *(other for other in others if other != self.code)), **options)

    def at_hour(self, hour, minute=0):
        self.again(start=datetime(2026, 11, 23, hour, minute, tzinfo=IST), calendar=self.real_calendar)

    @property
    def broker(self):
        return self.day.services[self.code].broker

    @property
    def capabilities(self):
        return self.broker.capabilities

    @property
    def access(self):
        return self.view.access

    @property
    def view(self):
        return self.day.sessions[self.code].view.value

    @property
    def account(self):
        return self.day.exchange.account(self.code)

    @property
    def dialect(self):
        return self.day.simulator.gateways[self.code].dialect

    @property
    def orders(self):
        return self.view.orders

    @property
    def order_stream(self):
        """The view of the socket that carries orders; None where the broker has none."""
        if self.broker.feed_carries_orders:
            return self.view.market_feed
        return self.view.order_feed if self.broker.order_feed is not None else None

    def market(self, share):
        return self.day.exchange.market(share.instrument_id)

    def set_price(self, share, price):
        self.day.simulator.set_price(share.instrument_id, Decimal(price))

    def cheap(self, n=0):
        """Return one of the ten cheapest NSE shares, with room to both circuits."""
        roomy = [share for share in self.day.listed("nse_equities") if self._roomy(self.market(share))]
        return sorted(roomy, key=lambda share: (self.market(share).last_price, share.instrument_id))[n]

    @staticmethod
    def _roomy(market):
        return market.lower_circuit < market.last_price * Decimal("0.94") and market.upper_circuit > market.last_price * Decimal("1.06")  # fmt: skip

    def priced(self, share, percent):
        """Return the last price moved by so many percent, on the tick."""
        tick = self.market(share).tick_size
        return (self.market(share).last_price * (100 + Decimal(percent)) / 100 / tick).quantize(Decimal(1)) * tick

    # --- orders -----------------------------------------------------------------------------------------------------

    def ticket(self, share, **more):
        fields = {
            "listing": share.listings[self.code], "segment": share.identity.segment, "transaction_type": "BUY",
            "product": "CNC", "order_type": "LIMIT", "validity": "DAY", "quantity": 10, "token": next(self._tokens),
            **more,
        }  # fmt: skip
        if fields["order_type"] in ("LIMIT", "SL") and "price" not in fields:
            fields["price"] = self.priced(share, -3)
        return OrderTicket(**fields)

    async def permit(self):
        deadline = self.day.clock.monotonic() + 60
        return await self.day.sessions[self.code].address.ask(
            lambda reply: AskRoom(priority=Priority.ENTRY, deadline=deadline, reply=reply), 61
        )

    async def send(self, build, timeout=8.0, first=None):
        """Ask for room, do what is to happen `first`, build the request, send it; return what became of it."""
        permit = await self.permit()
        if first is not None:
            first()
        request = build(self.access, self.day.clock.now())
        sent = await self.day.sessions[self.code].address.ask(
            lambda reply: SendOrder(
                request=request,
                permit=permit,
                leave_before=float("inf"),
                timeout_seconds=timeout,
                event=SENT,
                reply=reply,
            ),
            timeout + 1,
        )
        return sent.answer

    async def place(self, ticket, first=None):
        return await self.send(lambda access, now: self.broker.orders.place_request(access, ticket, now), first=first)

    async def rest(self, share, **more):
        """Place an order that rests, wait until the broker shows it open, and return its row."""
        answer = await self.place(self.ticket(share, **more))
        assert answer.outcome == "accepted", answer
        await self.until_status(answer.order_id, "OPEN")
        return self.orders[answer.order_id]

    async def until_status(self, order_id, *statuses, seconds=30):
        await self.day.until(lambda: order_id in self.orders and self.orders[order_id].status in statuses, seconds)

    async def modify(self, row, share, **changes):
        change = OrderChange(row=row, listing=share.listings[self.code], segment=share.identity.segment, **changes)
        return await self.send(lambda access, now: self.broker.orders.modify_request(access, change, now))

    async def cancel(self, row):
        return await self.send(lambda access, now: self.broker.orders.cancel_request(access, row, now))

    def sim(self, order_id):
        return self.account.order(order_id)

    async def drive(self, flow):
        """Send a read's requests past the session; return the answers."""
        async with self.day.open_transport() as transport:
            answers, request = [], next(flow)
            try:
                while True:
                    answers.append(await transport.send(request.leaving(self.day.clock.now()), 10))
                    request = flow.send(answers[-1])
            except StopIteration:
                return answers


@pytest.fixture
def day(day, code):
    """A day with this one broker."""
    day.__init__(brokers=(code,), number=200)
    return day


@pytest.fixture
def at(day, code, proofs, request):
    proofs.ran.add(request.node.name)
    return At(day, code, proofs)


@pytest.fixture
def without_login(day, code):
    """Return the access of the broker without its login, for what needs none."""
    return lambda: attrs.evolve(day.services[code].access, login=None)
