"""A day of random orders at ten brokers, some through the engine and some as from a broker's own app; then the market stands
still and the documents, read over HTTP, must agree with the exchange's ledger to the unit and the paisa."""

import contextlib
import json
import random
from collections import Counter
from pathlib import Path

import attrs
import msgspec
import trio

from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.actor import DocumentActor
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.positions import PositionsAssembler
from onebroker.actors.portfolio.trade_book import TradeBookAssembler
from onebroker.actors.store.durable import AccessToken
from onebroker.actors.token.state import connected, hold
from onebroker.brokers.records import Tick
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.world.model import NewOrder, SimRefusal
from onebroker.config.sections import ServiceSettings
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from onebroker.http.app import build_app
from onebroker.http.health_parts import broker_health, part_health
from onebroker.http.services import Services
from tests.support.ledger_judge import (
    NO_RESULT,
    TEN,
    judge_funds,
    judge_holdings,
    judge_orders,
    judge_positions,
    judge_trades,
)

ORDERS = 300
SETTLED_SECONDS = 62
"""By then every broker has been read again since the market stood still, but for holdings."""


class NoQuotes:
    def usable_price(self, instrument_id: str) -> float | None:
        return None

    def usable_tick(self, instrument_id: str) -> Tick | None:
        return None


class Documents:
    """The five document actors over a day's sessions, and the application that answers them."""

    def __init__(self, day):
        self.day = day
        self.published = {resource: Published(None) for resource in day.documents}
        self.assemblers = {
            "funds": FundsAssembler(),
            "holdings": HoldingsAssembler(day.catalogue, NoQuotes()),
            "positions": PositionsAssembler(day.catalogue),
            "orders": OrderBookAssembler(day.catalogue, day.legs),
            "trades": TradeBookAssembler(day.catalogue, day.legs),
        }
        row = connected(
            AccessToken(token=None, last_login=None, expires_at=None), day.clock.now(), 86_400, lambda: "day-token"
        )
        services = Services(
            clock=day.clock,
            settings=ServiceSettings(data_dir=Path("unused")),
            token=Published(hold(row)),
            token_actor=open_mailbox("token", capacity=1).address,
            actors=dict,
            crashes=tuple,
            store_reachable=lambda: True,
            health_sources={
                "brokers": lambda: {
                    code: {**broker_health(handle), "parts": part_health(code, self.published)}
                    for code, handle in day.sessions.items()
                }
            },
            documents=self.published,
        )
        self.client = build_app(services).test_client()

    async def keep(self, nursery):
        for resource, box in self.day.documents.items():
            actor = DocumentActor(
                assembler=self.assemblers[resource], codes=self.day.codes, mailbox=box, clock=self.day.clock,
                published=self.published[resource], store=self.day.store,
            )  # fmt: skip
            await nursery.start(actor.run)

    async def get(self, path):
        answer = await self.client.get(path, headers={"access-token": "day-token"})
        body = json.loads(await answer.get_data())
        assert answer.status_code == 200, body
        return body


@contextlib.asynccontextmanager
async def kept(day):
    documents = Documents(day)
    async with trio.open_nursery() as nursery:
        await documents.keep(nursery)
        yield documents
        nursery.cancel_scope.cancel()


class Traders:
    """Everybody who trades on the ten accounts."""

    def __init__(self, day, seed):
        self.day, self.random = day, random.Random(seed)
        self.placed = Counter()

    def instrument(self):
        segment = self.random.choice(("nse_equities", "nse_equities", "nse_equity_index_futures"))
        return self.random.choice(self.day.listed(segment)[:6])

    def price(self, contract, last):
        steps = self.random.choice((-60, -8, 0, 8, 40))
        return max(contract.tick_size, last + steps * contract.tick_size)

    async def through_the_engine(self, number):
        code, instrument = self.random.choice(TEN), self.instrument()
        contract = self.day.exchange.contract(instrument.instrument_id)
        share = instrument.identity.segment.endswith("equities")
        body = self.day.body(
            instrument, broker=code, price=self.price(contract, self.day.exchange.last_price(contract)),
            transaction_type=self.random.choice(("BUY", "BUY", "SELL")),
            product="MIS" if self.random.random() < 0.5 else "CNC" if share else "NRML",
            quantity=self.random.randint(1, 4) * contract.lot_size,
        )  # fmt: skip
        with contextlib.suppress(ActorNotRunning, AskTimedOut):
            answer = await self.day.place(body, intent_id=f"i-{number}")
            self.placed["engine"] += answer.body.get("order_id") is not None

    async def elsewhere(self, number):
        await trio.lowlevel.checkpoint()
        account = self.day.exchange.account(self.random.choice(TEN))
        working = [order for order in account.orders() if not order.status.finished]
        with contextlib.suppress(SimRefusal):
            if working and self.random.random() < 0.25:
                account.cancel(self.random.choice(working).order_id)
                return
            instrument = self.instrument()
            contract = self.day.exchange.contract(instrument.instrument_id)
            share = instrument.identity.segment.endswith("equities")
            market = self.random.random() < 0.4
            account.place(
                NewOrder(
                    instrument_id=instrument.instrument_id, side=self.random.choice((Side.BUY, Side.SELL)),
                    product=self.random.choice((Product.MIS, Product.CNC if share else Product.NRML)),
                    order_type=OrderType.MARKET if market else OrderType.LIMIT, validity=Validity.DAY,
                    quantity=self.random.randint(1, 4) * contract.lot_size,
                    price=None if market else self.price(contract, self.day.exchange.last_price(contract)),
                )
            )  # fmt: skip
            self.placed["elsewhere"] += 1

    async def trade(self):
        async with trio.open_nursery() as nursery:
            for number in range(ORDERS):
                nursery.start_soon(self.random.choice((self.through_the_engine, self.elsewhere)), number)
                await trio.sleep(self.random.choice((0.05, 0.2, 0.5)))


async def test_after_a_day_of_random_orders_the_documents_say_what_the_ledger_says(day, autojump_clock):
    day.__init__(brokers=TEN, holdings=8)
    traders = Traders(day, seed=1)
    async with trio.open_nursery() as nursery:
        market = await nursery.start(run_market, day)
        async with day.service(), kept(day) as documents:
            await traders.trade()
            market.cancel()
            hold_prices(day)
            await trio.sleep(SETTLED_SECONDS)
            await judge(day, documents, traders)


async def run_market(day, *, task_status):
    """Run the market until the scope it starts with is cancelled; then prices stand still."""
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            await nursery.start(day.simulator.run_market)
            task_status.started(scope)


def hold_prices(day):
    """Keep the price of whatever is held, for longer than the day lasts."""
    held = {position.instrument_id for code in TEN for position in day.exchange.account(code).positions()}
    held |= {holding.instrument_id for code in TEN for holding in day.exchange.account(code).holdings()}
    for instrument_id in held:
        last = day.exchange.last_price(day.exchange.contract(instrument_id))
        day.simulator.set_price(instrument_id, last, hold_seconds=3600)


async def judge(day, documents, traders):
    book = await documents.get("/api/orders/details")
    trades = await documents.get("/api/orders/trades")
    positions = await documents.get("/api/portfolio/positions")
    funds = await documents.get("/api/portfolio/funds")
    holdings = await documents.get("/api/portfolio/holdings")
    for document in (book, trades, positions, funds):
        assert {one["status"] for one in document["brokers"]} == {"ok"}
    assert min(traders.placed[way] for way in ("engine", "elsewhere")) > ORDERS / 6
    # Only the engine puts a token of its own into a broker's tag field.
    ours = {(order.broker, order.order_id) for order in day.exchange.all_orders() if order.new.tag is not None}
    judge_orders(day.exchange, book, ours)
    judge_trades(day.exchange, trades, ours)
    assert set(judge_positions(day.exchange, positions)) == set(TEN) - NO_RESULT
    judge_funds(day.exchange, funds)
    assert judge_holdings(day.exchange, holdings) > 10


class TurnsBack:
    """A transport under which Zerodha's order book says OPEN of one order that is complete."""

    def __init__(self, inner):
        self._inner = inner
        self.order_id = None

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def __aenter__(self):
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised):
        return await self._inner.__aexit__(*raised)

    async def send(self, request, timeout_seconds):
        answer = await self._inner.send(request, timeout_seconds)
        if self.order_id is None or not request.url.endswith("/orders") or request.method != "GET":
            return answer
        book = msgspec.json.decode(answer.body)
        for row in book["data"]:
            if row["order_id"] == self.order_id:
                row |= {"status": "OPEN", "filled_quantity": 0, "pending_quantity": row["quantity"], "average_price": 0}
        return attrs.evolve(answer, body=msgspec.json.encode(book))


async def test_a_broker_that_reopens_a_finished_order_is_not_believed_and_health_counts_it(day, autojump_clock):
    transport = None
    plain = day.open_transport

    def turning():
        nonlocal transport
        transport = TurnsBack(plain())
        return transport

    day.open_transport = turning
    async with day.market(), day.service(), kept(day) as documents:
        placed = await day.place(day.body(day.equity(), broker="zerodha", product="CNC"))
        order_id = placed.body["order_id"]
        await trio.sleep(5)
        health = await documents.get("/api/health")
        assert health["brokers"]["zerodha"]["contradictions"] == 0
        transport.order_id = order_id
        await trio.sleep(5)
        book = await documents.get(f"/api/orders/details?order_id={order_id}")
        (row,) = book["orders"]
        assert (row["status"], row["filled_quantity"], row["pending_quantity"]) == ("COMPLETE", 10, 0)
        health = await documents.get("/api/health")
        assert health["brokers"]["zerodha"]["contradictions"] > 0
        assert health["brokers"]["upstox"]["contradictions"] == 0


PATHS = {
    "funds": "/api/portfolio/funds", "holdings": "/api/portfolio/holdings", "positions": "/api/portfolio/positions",
    "orders": "/api/orders/details", "trades": "/api/orders/trades",
}  # fmt: skip


async def test_when_every_broker_refuses_inside_a_200_each_document_is_a_502_with_its_brokers(day, autojump_clock):
    day.__init__(brokers=TEN)
    async with day.service(), kept(day) as documents:
        await day.until(lambda: all(usable(documents, resource) == set(TEN) for resource in PATHS), 600)
        for path in PATHS.values():
            await documents.get(path)  # asserts a 200
        day.simulator.fault("all", FaultKind.REFUSAL_IN_200)
        await day.until(lambda: not any(usable(documents, resource) for resource in PATHS), 600)
        for resource, path in PATHS.items():
            answer = await documents.client.get(path, headers={"access-token": "day-token"})
            body = json.loads(await answer.get_data())
            assert (answer.status_code, body["error"]) == (502, f"Unable to retrieve {resource} information")
            assert {one["broker"]: one["status"] for one in body["brokers"]} == dict.fromkeys(TEN, "unreadable")
            assert all(one.get("error") for one in body["brokers"] if resource == "funds")


def usable(documents, resource):
    """The brokers that are in a document now."""
    state = documents.published[resource].value
    return set() if state is None else {read.broker for read in state.reads if read.usable}
