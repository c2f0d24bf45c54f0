"""Ten accounts at one simulated exchange in this process, their brokers' codecs over the dialects: no sockets, no sessions.

Runs on a MockClock. `snapshot` and `markets` are the same for every `Ten`, and are read before the first in a run of their own.
"""

from collections.abc import Generator
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any, TypeVar

import attrs
import polars as pl
import trio
import trio.testing

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.sessions.brokers_in_service import InService, brokers_in_service
from onebroker.actors.sessions.pollers import codec_calls
from onebroker.actors.sessions.slices import Rows
from onebroker.actors.store.keys import Resource
from onebroker.brokers.broker import Access, LoginKind
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.simulator.exchange.journal import MemoryJournal
from onebroker.brokers.simulator.host.inprocess import InProcessTransport, base_of
from onebroker.brokers.simulator.host.lookup import DIALECTS
from onebroker.brokers.simulator.host.simulation import Recipe, Simulator
from onebroker.brokers.simulator.world.broker_traits import BROKERS
from onebroker.brokers.simulator.world.model import Contract, NewOrder
from onebroker.brokers.transport.interface import Transport
from onebroker.config.calendars import always_open
from onebroker.config.clock import IST, Clock
from onebroker.config.settings import build_settings
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from tests.support.ledger_judge import TEN

MONDAY_TEN = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
INSTRUMENTS = 100

R = TypeVar("R")


async def drive(
    flow: Generator[WireRequest, WireResponse, R], transport: Transport, clock: Clock
) -> tuple[list[WireResponse], R]:
    """Send the requests of a flow, each made from the answers before it; return the answers and what the flow came to."""
    answers: list[WireResponse] = []
    request = next(flow)
    try:
        while True:
            answers.append(await transport.send(request.leaving(clock.now()), 10))
            request = flow.send(answers[-1])
    except StopIteration as end:
        return answers, end.value


class Ten:
    """Ten accounts at one exchange, and everything between their wire formats and the documents."""

    def __init__(self) -> None:
        registry, self.clock = build_registry(), Clock.following_trio(MONDAY_TEN)
        recipe = Recipe(
            dialects={code: DIALECTS[code] for code in TEN}, traits=BROKERS, calendar=always_open(), clock=self.clock,
            journal=MemoryJournal(), instruments=INSTRUMENTS,
        )  # fmt: skip
        self.simulator = Simulator(recipe)
        self.exchange = self.simulator.exchange
        given = {
            code: {
                **gateway.dialect.credentials,
                "login_url": base_of(code),
                **gateway.dialect.addresses(base_of(code)),
            }
            for code, gateway in self.simulator.gateways.items()
        }
        built = build_settings(
            {"brokers": given},
            known_brokers={code: broker.all_credential_keys for code, broker in registry.items()},
            second_hosts={code: frozenset(broker.endpoints.others) for code, broker in registry.items()},
        )
        self.services = brokers_in_service(
            registry, built.brokers, exit_share=built.engine.exit_share, day_limits=False
        )
        self.transport = InProcessTransport(self.simulator)

    async def log_in(self) -> None:
        self.access = {code: await self._access(service) for code, service in self.services.items()}

    async def _access(self, service: InService) -> Access:
        codec, redirect = service.broker.login, ""
        if service.broker.login_kind is not LoginKind.UNATTENDED:
            page = WireRequest(kind=CallKind.LOGIN, method="GET", url=codec.login_page(service.access))
            redirect = (await self.transport.send(page, 10)).headers["location"]
        _, login = await drive(codec.log_in(service.access, redirect, self.clock.now()), self.transport, self.clock)
        return attrs.evolve(service.access, login=login)

    async def catalogue(self) -> TableSnapshot:
        frames: dict[str, pl.DataFrame] = {}
        for code, service in self.services.items():
            access = attrs.evolve(service.access, login=None)
            flow = service.broker.instruments.file_requests(access, self.clock.now())
            answers, _ = await drive(flow, self.transport, self.clock)
            frames[code] = service.broker.instruments.read_files([answer.body for answer in answers])
        return TableSnapshot(merge(frames)[0], self.clock.today())

    async def rows(self, snapshot: TableSnapshot, resource: Resource) -> dict[str, Rows]:
        """Return what each broker's codec reads of its own words."""
        found: dict[str, Rows] = {}
        for code, service in self.services.items():
            requests, parse = codec_calls(service.broker)[resource]
            answers, _ = await drive(requests(self.access[code], self.clock.now()), self.transport, self.clock)
            found[code] = parse(answers, snapshot.listings(code))
        return found


@cache
def snapshot() -> TableSnapshot:
    """The catalogue of the simulated brokers' files: the same for all examples."""

    async def read() -> TableSnapshot:
        return await Ten().catalogue()

    return trio.run(read, clock=trio.testing.MockClock(autojump_threshold=0))


@cache
def markets() -> list[Instrument]:
    """Instruments that every broker lists: shares, and an index future."""
    every = [snapshot().at(row) for row in range(snapshot().count)]
    listed = {segment: [one for one in every if one.identity.segment == segment and set(TEN) <= set(one.listings)]
              for segment in ("nse_equities", "nse_equity_index_futures")}  # fmt: skip
    return [*listed["nse_equities"][:5], *listed["nse_equity_index_futures"][:1]]


class Trading:
    """Does the actions of an example."""

    def __init__(self, ten: Ten) -> None:
        self.ten, self.exchange = ten, ten.exchange

    def act(self, kind: str, *details: Any) -> None:
        getattr(self, kind)(*details)

    def place(self, code: str, number: int, side: Side, steps: int, lots: int) -> None:
        contract = self._contract(number)
        price = max(contract.tick_size, self.exchange.last_price(contract) + steps * contract.tick_size)
        self._send(code, number, side, lots, intraday=number % 2 == 0, price=price)

    def take(self, code: str, number: int, side: Side, intraday: bool, lots: int) -> None:
        self._send(code, number, side, lots, intraday=intraday, price=None)

    def sell(self, code: str, number: int) -> None:
        """Sell part of a holding."""
        held = self.exchange.account(code).holdings()
        holding = held[number % len(held)]
        quantity = max(1, self.exchange.account(code).sellable(holding.instrument_id) // (1 + number % 3))
        self._place(code, holding.instrument_id, Side.SELL, Product.CNC, quantity, None)

    def cancel(self, code: str, number: int) -> None:
        account = self.exchange.account(code)
        working = [order for order in account.orders() if not order.status.finished]
        if working:
            account.cancel(working[number % len(working)].order_id)

    def move(self, number: int, steps: int) -> None:
        contract = self._contract(number)
        price = max(contract.tick_size, self.exchange.last_price(contract) + steps * contract.tick_size)
        self.ten.simulator.set_price(contract.instrument_id, price, hold_seconds=3600)

    def _contract(self, number: int) -> Contract:
        contract = self.exchange.contract(markets()[number % len(markets())].instrument_id)
        assert contract is not None
        return contract

    def _send(self, code: str, number: int, side: Side, lots: int, *, intraday: bool, price: Decimal | None) -> None:
        contract = self._contract(number)
        share = markets()[number % len(markets())].identity.segment == "nse_equities"
        product = Product.MIS if intraday else Product.CNC if share else Product.NRML
        self._place(code, contract.instrument_id, side, product, lots * contract.lot_size, price)

    def _place(
        self, code: str, instrument_id: str, side: Side, product: Product, quantity: int, price: Decimal | None
    ) -> None:
        self.exchange.account(code).place(
            NewOrder(
                instrument_id=instrument_id, side=side, product=product, validity=Validity.DAY, quantity=quantity,
                order_type=OrderType.MARKET if price is None else OrderType.LIMIT, price=price,
            )
        )  # fmt: skip
