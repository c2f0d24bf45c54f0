"""Which books an engine that starts takes as fresh (order-engine 2.5): what another engine may have sent must be in them."""

import trio

from onebroker.actors.engine.context.engine_lock import LIFE_SECONDS
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Delete, Set
from onebroker.brokers.simulator.exchange.faults import FaultKind

OTHER = Set(keys.ENGINE_LOCK, b"an epoch:somebody else", 30)


def reads_began(day):
    return [handle.view.value.orders_read_started for handle in day.sessions.values()]


async def test_the_first_engine_of_a_process_takes_the_books_that_its_sessions_read_while_it_waited_for_the_lock(
    day, autojump_clock
):
    async with day.market(), day.service():
        pass
    await day.store.write(OTHER)
    async with day.market(), day.service(log_in=False):  # the logins of the first service are stored
        began = day.clock.monotonic()
        await trio.sleep(LIFE_SECONDS - 2)
        day.simulator.fault(
            "all", FaultKind.LATENCY, seconds=60, delay_seconds=3
        )  # a further read of a book takes three seconds
        await day.until(lambda: day.status.value.running)
        assert (
            LIFE_SECONDS - 1 <= day.clock.monotonic() - began <= LIFE_SECONDS + 1.1
        )  # the lock is asked for once a second


async def test_an_engine_that_follows_another_in_the_same_process_waits_for_books_begun_after_it_got_the_lock(
    day, autojump_clock
):
    async with day.market(), day.service():
        await day.store.write(OTHER)
        await day.until(lambda: not day.status.value.running, seconds=10.5)
        await day.store.write(Delete(keys.ENGINE_LOCK))
        freed = day.clock.monotonic()
        await day.until(lambda: day.status.value.running)
        assert min(reads_began(day)) >= freed
