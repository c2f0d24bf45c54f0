"""The history actor keeps writes waiting while another process copies the store's files; it lets go in time, and says whether it held until then."""

from types import SimpleNamespace

import pytest
import trio

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.history.actor import HistoryActor
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.history.messages import HoldStore, ReleaseStore, TakeFile
from onebroker.actors.kernel.mailbox import AskTimedOut, open_mailbox
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.merge_result import Merged
from onebroker.config.calendars import always_open
from onebroker.config.clock import Clock
from tests.actors.history.stored_ticks import DAY

SECONDS = 100.0


@pytest.fixture
async def history(nursery, staged, rows):
    """The actor over a store in memory."""
    store = MemoryHistory()
    mailbox = open_mailbox("history", capacity=8)
    mailbox.running = True
    actor = HistoryActor(
        mailbox=mailbox,
        store=store,
        durable=MemoryDurable(),
        catalogue=Published(CatalogueState(latest=None, published_today=False, reason="")),
        clock=Clock(),
        calendar=always_open(),
    )
    await nursery.start(actor.run)
    ask = mailbox.address.ask
    file = staged.candles(rows.candle(DAY))
    yield SimpleNamespace(
        store=store,
        hold=lambda name, seconds=SECONDS: ask(lambda reply: HoldStore(name, seconds, reply), 10),
        release=lambda name: ask(lambda reply: ReleaseStore(name, reply), 10),
        put=lambda: ask(lambda reply: TakeFile("candles", file, reply), 1000),
    )
    nursery.cancel_scope.cancel()


async def test_a_put_waits_until_the_hold_is_released(autojump_clock, history):
    await history.hold("a")
    began = trio.current_time()
    async with trio.open_nursery() as waiting:

        async def put():
            assert await history.put() == Merged(added=1)
            assert trio.current_time() - began >= 30

        waiting.start_soon(put)
        await trio.sleep(30)
        assert await history.release("a") is True


async def test_a_hold_ends_by_itself_and_says_so(autojump_clock, history):
    await history.hold("a", seconds=20)
    assert await history.put() == Merged(added=1)
    assert trio.current_time() >= 20
    assert await history.release("a") is False


async def test_a_hold_that_is_released_before_it_begins_holds_nothing(autojump_clock, history):
    await history.hold("first", seconds=60)
    with pytest.raises(AskTimedOut):
        await history.hold("second")
    assert await history.release("second") is False
    assert await history.release("first") is True
    await history.hold("third", seconds=5)  # the second one holds nothing any more
    assert await history.release("third") is True


async def test_two_holds_follow_each_other(autojump_clock, history):
    await history.hold("a", seconds=5)
    await history.hold("b", seconds=5)
    assert trio.current_time() >= 5
    assert (await history.release("a"), await history.release("b")) == (False, True)


async def test_a_store_that_cannot_be_used_refuses(autojump_clock, history):
    history.store.fail_with(HistoryError("away"))
    with pytest.raises(HistoryError, match="away"):
        await history.hold("a")
