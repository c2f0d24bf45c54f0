"""The whole tree under one mocked clock: what is started works together, and what a restart finds is what was left."""

import json
from contextlib import asynccontextmanager
from datetime import datetime
from decimal import Decimal

import pytest
import trio

from onebroker.actors.catalogue.in_process_builder import InProcessBuilder
from onebroker.actors.engine.context.messages import Place
from onebroker.actors.sessions.brokers_in_service import brokers_in_service
from onebroker.actors.sessions.messages import ExchangeRedirect
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.token.messages import Connect
from onebroker.actors.tree import TreeInputs, open_tree
from onebroker.brokers.broker import LoginKind
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import CallKind, WireRequest
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.host.inprocess import InProcessTransport
from onebroker.config.clock import IST
from onebroker.config.events import CatalogueBuilt
from tests.support.further import each_once


class Service:
    """A tree over the day's market and stores; `start` it as often as you like."""

    def __init__(self, day, folder):
        self.day = day
        self.folder = folder
        self.durable = MemoryDurable()

    @asynccontextmanager
    async def start(self, *, log_in=True, settled=True):
        day, settings = self.day, self.day.settings()
        async with InProcessTransport(day.simulator) as transport:
            brokers = brokers_in_service(
                build_registry(), settings.brokers, exit_share=settings.engine.exit_share, day_limits=False
            )
            inputs = TreeInputs(
                settings=settings,
                brokers=brokers,
                clock=day.clock,
                calendar=day.calendar,
                transports=dict.fromkeys(brokers, transport),
                store=day.store,
                durable=self.durable,
                data_dir=self.folder,
                owner="owner",
                catalogue_builder=InProcessBuilder(build_registry()),
                seed=1,
                events=day.events,
            )
            async with open_tree(inputs) as tree:
                for code in brokers if log_in else ():
                    await log_in_as_a_person_would(tree, code, transport)
                if settled:
                    await day.until(lambda: tree.engine_status.value.running and tree.catalogue.value.published_today)
                yield tree

    async def first_documents(self):
        """Start, and return what is published the moment the tree stands."""
        async with self.start(log_in=False, settled=False) as tree:
            named = {name: document(tree, name)[name] for name in ("orders", "trades", "holdings")}
            return {"token": tree.token.value.row.token, **named}


async def log_in_as_a_person_would(tree, code, transport):
    if tree.sessions[code].broker.login_kind is LoginKind.UNATTENDED:
        return
    page = tree.sessions[code].broker.login.login_page(tree.brokers[code].access)
    answer = await transport.send(WireRequest(kind=CallKind.LOGIN, method="GET", url=page), 10)
    redirect = answer.headers["location"]
    await tree.sessions[code].address.ask(lambda reply: ExchangeRedirect(redirect=redirect, reply=reply), 10)


def document(tree, resource):
    return json.loads(tree.documents[resource].value.body)


def statuses(tree, resource):
    state = tree.documents[resource].value
    return {one["broker"]: one["status"] for one in json.loads(state.body)["brokers"]} if state is not None else {}


ALL_OK = {"zerodha": "ok", "upstox": "ok"}


@pytest.fixture
def service(day, tmp_path):
    return Service(day, tmp_path)


async def test_every_document_soon_lists_every_broker_as_ok(day, service, autojump_clock):
    async with day.market(), service.start() as tree:
        for resource in ("funds", "positions", "orders", "trades"):
            await day.until(lambda resource=resource: statuses(tree, resource) == ALL_OK, 10)
        await day.until(lambda: statuses(tree, "holdings") == ALL_OK, 90)
        assert all(tree.supervisor.states().values())
        assert tree.crashes.records() == ()
    assert [event.day for event in day.heard if isinstance(event, CatalogueBuilt)] == [day.clock.today().isoformat()]


async def test_an_order_goes_from_the_intake_to_the_documents(day, service, autojump_clock):
    async with day.market(), service.start() as tree:
        snapshot = tree.catalogue.value.latest
        contract = next(
            one for one in day.exchange.contracts() if one.bare == "equities" and one.identity.exchange == "nse"
        )
        instrument = snapshot.instrument(contract.instrument_id)
        last = day.exchange.market(contract.instrument_id).last_price
        price = (last * Decimal("0.97") / contract.tick_size).quantize(Decimal(1)) * contract.tick_size
        now = day.clock.monotonic()
        order = day.body(instrument, price=price, tag="tree1")
        answer = await tree.engine.ask(
            lambda reply: Place(intent_id="i", order=order, dry_run=False, routed=now, deadline=now + 5, reply=reply), 5
        )
        assert answer.status == 200
        order_id = answer.body["order_id"]

        def row():
            return next((one for one in document(tree, "orders")["orders"] if one["order_id"] == order_id), None)

        await day.until(lambda: row() is not None, 2)
        assert (row()["status"], row()["tag"], row()["leg_role"]) == ("OPEN", "tree1", "entry")
        day.simulator.set_price(contract.instrument_id, price - Decimal("1.00"))
        await day.until(lambda: row()["status"] == "COMPLETE", 10)

        def traded():
            return [one for one in document(tree, "trades")["trades"] if one["order_id"] == order_id]

        await day.until(lambda: sum(one["quantity"] for one in traded()) == 10, 10)
        assert {one["engine_parent_id"] for one in traded()} == {answer.body["parent_id"]}
        await day.until(
            lambda: any(one["instrument_id"] == instrument.instrument_id for one in document(tree, "positions")["net"]),
            10,
        )


async def test_a_restart_serves_what_was_stored_before_any_broker_was_asked(day, service, autojump_clock):
    """The very first documents are whole: ids, engine columns, the caller's tag; nothing of ours looks like another's."""
    async with day.market():
        async with service.start() as tree:
            row = await tree.token_actor.ask(lambda reply: Connect(reply=reply), 5)
            placed = [await place(day, tree, number) for number in range(3)]
            await day.until(lambda: statuses(tree, "orders") == ALL_OK and statuses(tree, "holdings") == ALL_OK, 90)
            day.simulator.set_price(placed[0][0], placed[0][1] - Decimal("1.00"), hold_seconds=3600)
            await day.until(lambda: len(document(tree, "trades")["trades"]) == 3, 30)
            await trio.sleep(70)
            ours = {one["order_id"]: one for one in document(tree, "orders")["orders"] if one["engine_parent_id"]}
            assert len(ours) == 3
            before = {name: document(tree, name)[name] for name in ("orders", "trades", "holdings")}
        day.simulator.fault("all", FaultKind.REFUSE_CONNECTIONS)
        first = await service.first_documents()
        assert first["token"] == row.token
        assert first["orders"] == before["orders"]
        assert first["trades"] == before["trades"]
        ids = [(one["instrument_id"], one["segment"]) for one in first["holdings"]]
        assert ids == [(one["instrument_id"], one["segment"]) for one in before["holdings"]]
        assert None not in {one for one, _ in ids}
        async with service.start(log_in=False) as tree:
            await day.until(lambda: statuses(tree, "orders") == {"zerodha": "stale", "upstox": "stale"}, 120)


async def place(day, tree, number):
    """Place a resting order for one of the exchange's shares; return its instrument and price."""
    contracts = [one for one in day.exchange.contracts() if one.bare == "equities" and one.identity.exchange == "nse"]
    contract = contracts[number]
    last = day.exchange.market(contract.instrument_id).last_price
    price = (last * Decimal("0.97") / contract.tick_size).quantize(Decimal(1)) * contract.tick_size
    now = day.clock.monotonic()
    order = day.body(tree.catalogue.value.latest.instrument(contract.instrument_id), price=price, tag=f"tree{number}")
    answer = await tree.engine.ask(
        lambda reply: Place(
            intent_id=f"i{number}", order=order, dry_run=False, routed=now, deadline=now + 5, reply=reply
        ),
        5,
    )
    assert answer.status == 200
    return contract.instrument_id, price


async def test_leaving_the_tree_stops_every_actor_and_what_is_asked_then_fails_at_once(day, service, autojump_clock):
    async with day.market():
        async with service.start() as tree:
            engine, desk = tree.engine, tree.desk
            assert engine.running
        assert not engine.running
        assert not desk.running
        assert not tree.engine_status.value.running
        with trio.fail_after(1), pytest.raises(Exception, match="not running"):
            await tree.token_actor.ask(lambda reply: Connect(reply=reply), 5)


# --- one broker's trouble is its own ------------------------------------------------------------------------------------

NEIGHBOURS = ("zerodha", "upstox", "dhan", "shoonya")
"""Two that need a person and two sorts of sockets; all ten together run in tests/demo."""
DOCUMENTS = ("funds", "positions", "orders", "trades")
LATE_SECONDS = 2
"""How much later than at its own cadence a broker may be read."""


def ages(tree, resource, now):
    """Return broker -> (status, seconds since its rows were received)."""
    rows = document(tree, resource)["brokers"]
    return {one["broker"]: (one["status"], now - epoch_of(one)) for one in rows}


def epoch_of(row):
    return datetime.fromisoformat(row["as_of"]).replace(tzinfo=IST).timestamp() if row["as_of"] else 0.0


@pytest.mark.parametrize(("kind", "faulty"), each_once(FaultKind, ["dhan", "shoonya"]))
async def test_a_broker_in_any_trouble_never_delays_or_changes_the_documents_of_the_others(
    day, service, kind, faulty, autojump_clock
):
    day.__init__(brokers=NEIGHBOURS, number=120)
    others = [code for code in NEIGHBOURS if code != faulty]
    async with day.market(), service.start() as tree:
        for resource in DOCUMENTS:
            await day.until(lambda resource=resource: set(statuses(tree, resource).values()) == {"ok"}, 120)
        day.simulator.fault(faulty, kind, delay_seconds=9)
        snapshot = tree.catalogue.value.latest
        shares = [
            one
            for one in map(snapshot.at, range(snapshot.count))
            if one.identity.segment == "nse_equities" and set(others) <= set(one.listings)
        ]
        assert shares, (tree.catalogue.value.lost, {code: len(snapshot.listings(code)) for code in NEIGHBOURS})
        for number in range(20):
            await trio.sleep(1)
            for resource in DOCUMENTS:
                seen = ages(tree, resource, day.clock.epoch())
                wrong = {
                    code: seen[code] for code in others if is_wrong(*seen[code], day.registry[code].cadence, resource)
                }
                assert wrong == {}, (resource, wrong)
            if number in (5, 15):
                await place_elsewhere(day, tree, shares[number // 10], others[number % len(others)], f"i-{number}")
        placed = [one for one in day.messages("place") if one["broker"] in others]
        assert len(placed) == 2
        assert [one["broker"] for one in day.messages("place") if one["broker"] == faulty] == []
        assert tree.crashes.records() == ()


def is_wrong(status, age, cadence, resource):
    return status != "ok" or age > getattr(cadence, resource) + LATE_SECONDS


async def place_elsewhere(day, tree, share, code, intent_id):
    """Place an order at another broker and see it taken within its five seconds."""
    tick = Decimal(str(share.tick_size))
    price = (day.exchange.market(share.instrument_id).last_price * Decimal("0.97") / tick).quantize(Decimal(1)) * tick
    now = day.clock.monotonic()
    order = day.body(share, price=price, broker=code)
    answer = await tree.engine.ask(
        lambda reply: Place(intent_id=intent_id, order=order, dry_run=False, routed=now, deadline=now + 5, reply=reply),
        5,
    )
    assert answer.status == 200, answer
