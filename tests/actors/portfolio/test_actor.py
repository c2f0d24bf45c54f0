"""The document actor: its beat, its start from the store, what it publishes when."""

import itertools
import json
from datetime import datetime
from types import SimpleNamespace

import attrs
import pytest
import trio
import trio.testing

from onebroker.actors.kernel.mailbox import Mailbox, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.actor import MAILBOX_CAPACITY, DocumentActor
from onebroker.actors.portfolio.funds import FundsAssembler
from onebroker.actors.portfolio.holdings import HoldingsAssembler
from onebroker.actors.portfolio.order_book import OrderBookAssembler
from onebroker.actors.portfolio.order_owners import LegOwner
from onebroker.actors.sessions.slices import BrokerRemoved
from onebroker.actors.sessions.stored_rows import changes
from onebroker.actors.store.interface import StoreError
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.records import FundsRow
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import security

START = datetime(2026, 11, 18, 10, 0, tzinfo=IST)


@attrs.define
class Desk:
    """A document actor with what it stands on; `start` may be called again after `stop`, as a supervisor does."""

    nursery: trio.Nursery
    assembler: type
    clock: Clock
    store: MemoryStore
    mailbox: Mailbox
    published: Published
    scope: trio.CancelScope | None = None
    catalogue: Published | None = None

    async def start(self, *codes: str) -> None:
        actor = DocumentActor(
            assembler=self.assembler(), codes=codes, mailbox=self.mailbox, published=self.published, store=self.store,
            clock=self.clock, catalogue=self.catalogue,
        )  # fmt: skip
        self.scope = await self.nursery.start(self._run, actor)

    async def _run(self, actor: DocumentActor, *, task_status: trio.TaskStatus[trio.CancelScope]) -> None:
        with trio.CancelScope() as scope:
            async with trio.open_nursery() as nursery:
                await nursery.start(actor.run)
                task_status.started(scope)

    def tell(self, held: object) -> None:
        self.mailbox.address.replace((held.broker, held.resource), held)

    @property
    def document(self) -> dict[str, object]:
        return json.loads(self.published.value.body)

    @property
    def statuses(self) -> dict[str, str]:
        return {one["broker"]: one["status"] for one in self.document["brokers"]}

    async def next_document(self) -> None:
        with trio.fail_after(120):
            await self.published.wait_newer(self.published.version)


@pytest.fixture
def make_desk(nursery: trio.Nursery) -> object:
    def make(assembler: object) -> Desk:
        clock = Clock.following_trio(START)
        return Desk(
            nursery,
            assembler,
            clock,
            MemoryStore(clock),
            open_mailbox("document", capacity=MAILBOX_CAPACITY),
            Published(None),
        )

    return make


def read_now(desk: Desk, world: SimpleNamespace, broker: str, resource: str, *rows: object, age: float = 0.0) -> object:
    held = world.slice_of(broker, resource, *rows)
    return attrs.evolve(held, received_at=desk.clock.epoch() - age)


async def test_a_document_is_there_when_the_actor_has_started(
    make_desk: object, autojump_clock: trio.testing.MockClock
) -> None:
    desk = make_desk(FundsAssembler)
    await desk.start("b", "a")
    assert desk.statuses == {"a": "missing", "b": "missing"}
    assert desk.document["as_of"] == "2026-11-18T10:00:00"
    assert not desk.published.value.usable_brokers
    assert desk.published.value.gap_seconds is None


async def test_funds_are_rewritten_every_half_second(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(FundsAssembler)
    await desk.start("a")
    for _ in range(6):
        before = trio.current_time()
        await desk.next_document()
        assert trio.current_time() - before == pytest.approx(0.5)
        assert desk.published.value.gap_seconds == pytest.approx(0.5)
    assert desk.document["as_of"] == "2026-11-18T10:00:03"


async def test_a_steady_stream_of_slices_does_not_put_the_beat_off(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(FundsAssembler)
    await desk.start("a")
    began, version = trio.current_time(), desk.published.version
    with trio.fail_after(60):
        for amount in range(100):
            desk.tell(read_now(desk, world, "a", "funds", FundsRow(available_balance=float(amount))))
            await trio.sleep(0.1)
    assert trio.current_time() - began == pytest.approx(10)
    assert desk.published.version - version in range(19, 22)
    assert desk.document["summary"]["available_balance"] >= 90


async def test_holdings_are_rewritten_every_minute_and_soon_after_a_broker_appears_or_fails(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(lambda: HoldingsAssembler(world.catalogue(), world.Quotes()))
    await desk.start("a")
    await trio.sleep(20)
    began = trio.current_time()
    desk.tell(read_now(desk, world, "a", "holdings", world.holding("I1")))
    await desk.next_document()
    assert trio.current_time() - began < 0.51
    assert desk.statuses == {"a": "ok"}
    assert len(desk.document["holdings"]) == 1
    desk.tell(read_now(desk, world, "a", "holdings", world.holding("I1", settled_quantity=20)))
    began = trio.current_time()
    await desk.next_document()
    assert trio.current_time() - began == pytest.approx(60, abs=1)
    await trio.sleep(5)
    began = trio.current_time()
    refused = world.slice_of("a", "holdings", error="Invalid token")
    desk.tell(attrs.evolve(refused, received_at=desk.clock.epoch()))
    await desk.next_document()
    assert trio.current_time() - began < 0.51
    assert desk.statuses == {"a": "unreadable"}


async def test_a_broker_that_is_not_read_again_turns_stale_and_stays_in(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(FundsAssembler)
    await desk.start("a")
    desk.tell(read_now(desk, world, "a", "funds", FundsRow(available_balance=5.0)))
    with trio.fail_after(90):
        await trio.sleep(59)
        assert desk.statuses == {"a": "ok"}
        await trio.sleep(2)
    assert desk.statuses == {"a": "stale"}
    assert desk.document["summary"]["available_balance"] == 5.0
    assert desk.document["brokers"][0]["as_of"] == "2026-11-18T10:00:00"
    assert desk.published.value.usable_brokers


async def test_slices_of_other_documents_and_of_strangers_are_left_out(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(FundsAssembler)
    await desk.start("a")
    desk.tell(read_now(desk, world, "zz", "funds", FundsRow()))
    desk.tell(read_now(desk, world, "a", "orders", world.order()))
    await trio.sleep(1)
    assert desk.statuses == {"a": "missing"}


async def test_a_removed_broker_leaves_the_document(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(FundsAssembler)
    await desk.start("a", "b")
    desk.tell(read_now(desk, world, "a", "funds", FundsRow(available_balance=5.0)))
    await desk.mailbox.address.tell(BrokerRemoved(broker="a"))
    await trio.sleep(1)
    desk.tell(read_now(desk, world, "a", "funds", FundsRow(available_balance=5.0)))
    await trio.sleep(1)
    assert desk.statuses == {"b": "missing"}
    assert desk.document["summary"]["available_balance"] == 0.0


async def test_the_first_document_after_a_restart_shows_what_was_stored_with_its_true_times(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(lambda: OrderBookAssembler(world.catalogue(), world.Legs()))
    held = read_now(desk, world, "a", "orders", world.order("1", status="COMPLETE"), world.order("2"), age=90)
    await desk.store.write(*changes(None, held))
    await desk.store.write(*changes(None, attrs.evolve(held, broker="b", rows=None, error="Invalid token")))
    await desk.start("a", "b", "c")
    assert desk.statuses == {"a": "stale", "b": "unreadable", "c": "missing"}
    assert desk.document["brokers"][0]["as_of"] == "2026-11-18T09:58:30"
    assert [row["order_id"] for row in desk.document["orders"]] == ["1", "2"]
    desk.tell(read_now(desk, world, "a", "orders", world.order("1", status="OPEN")))
    await trio.sleep(1)
    # What had finished before the restart stays finished after it.
    assert [(row["order_id"], row["status"]) for row in desk.document["orders"]] == [("1", "COMPLETE")]
    assert desk.statuses["a"] == "ok"


async def test_a_restarted_actor_works_on_over_the_same_mailbox(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(FundsAssembler)
    await desk.start("a")
    desk.scope.cancel()
    await trio.testing.wait_all_tasks_blocked()
    old = desk.published.value
    await trio.sleep(40)
    assert desk.published.value is old
    desk.tell(read_now(desk, world, "a", "funds", FundsRow(available_balance=7.0)))
    await desk.start("a")
    await trio.sleep(0.6)
    assert desk.document["summary"]["available_balance"] == 7.0


async def test_without_the_store_it_starts_with_what_it_hears(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    desk = make_desk(FundsAssembler)
    desk.store.fail_with(StoreError("not sent: connection refused"))
    await desk.start("a")
    assert desk.statuses == {"a": "missing"}
    desk.tell(read_now(desk, world, "a", "funds", FundsRow(available_balance=7.0)))
    await trio.sleep(0.6)
    assert desk.statuses == {"a": "ok"}


async def test_slices_are_heard_even_when_every_build_takes_longer_than_a_beat(
    make_desk: object, world: SimpleNamespace, autojump_clock: trio.testing.MockClock
) -> None:
    class Slow(FundsAssembler):
        def assemble(self, slices: object) -> object:
            autojump_clock.jump(0.7)
            return super().assemble(slices)

    desk = make_desk(Slow)
    await desk.start("a")
    desk.tell(read_now(desk, world, "a", "funds", FundsRow(available_balance=7.0)))
    with trio.fail_after(10):
        while desk.statuses["a"] != "ok":
            await desk.next_document()
    assert desk.published.value.build_seconds == pytest.approx(0.7)


async def test_an_order_that_may_be_ours_is_not_shown_until_the_store_has_said_whose_it_is(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    legs = world.Legs()
    legs.unknown_tags.add("ob0123456789ab")
    desk = make_desk(lambda: OrderBookAssembler(world.catalogue(), legs))
    await desk.start("a")
    built = desk.published.value
    desk.tell(read_now(desk, world, "a", "orders", world.order("1", tag="ob0123456789ab")))
    await trio.sleep(5)
    assert desk.published.value is built  # it ages, and is refused as out of date before it could mislead
    legs.learning = LegOwner(
        parent_id="p", leg_id="p.0", synthetic_type="simple", intent_id="i", leg_role="entry", tag="mine"
    )
    await desk.next_document()
    [shown] = desk.document["orders"]
    assert (shown["engine_parent_id"], shown["intent_id"], shown["tag"]) == ("p", "i", "mine")


async def test_holdings_are_rewritten_soon_after_the_catalogue_changed(
    make_desk: object, autojump_clock: trio.testing.MockClock, world: SimpleNamespace
) -> None:
    catalogue = world.catalogue()
    desk = make_desk(lambda: HoldingsAssembler(catalogue, world.Quotes()))
    desk.catalogue = catalogue
    await desk.start("a")
    desk.tell(read_now(desk, world, "a", "holdings", world.holding("INE1", instrument_token="T1")))
    await desk.next_document()
    assert desk.document["holdings"][0]["instrument_id"] is None
    began = trio.current_time()
    snapshot = world.Snapshot()
    instrument_id = snapshot.add(security("nse", "equities", "INFY"), tokens={"a": "T1"})
    catalogue.set(attrs.evolve(catalogue.value, latest=snapshot))
    await desk.next_document()
    assert trio.current_time() - began <= 1.0
    assert desk.document["holdings"][0]["instrument_id"] == instrument_id


async def test_a_build_that_is_slow_now_and_then_does_not_break_the_beat(make_desk, autojump_clock):
    builds = itertools.count()

    class SlowNowAndThen(FundsAssembler):
        def assemble(self, slices: object) -> object:
            if next(builds) % 3 == 2:
                autojump_clock.jump(0.24)
            return super().assemble(slices)

    desk = make_desk(SlowNowAndThen)
    await desk.start("a")
    for _ in range(6):
        await desk.next_document()
    gaps = []
    for _ in range(30):
        await desk.next_document()
        gaps.append(desk.published.value.gap_seconds)
    assert max(gaps) <= 0.55
    assert min(gaps) >= 0.2
