"""The time of a book in the store: written with every change, and every few seconds while the book stays the same."""

import trio

from onebroker.actors.sessions.session_books import TIMES_SECONDS
from onebroker.actors.sessions.stored_rows import RECEIVED_AT
from onebroker.actors.store import keys

CODE = "zerodha"
READ_SECONDS = 1.0
"""The cadence of its order book."""


async def stored_at(day):
    return float((await day.store.hash_all(keys.broker_rows(CODE, "orders")))[RECEIVED_AT])


async def test_the_time_of_an_unchanged_book_is_written_every_few_seconds_and_is_never_older_than_that(
    day, world, autojump_clock
):
    async with day.market(), day.service():
        await trio.sleep(2 * TIMES_SECONDS)
        seen, ages = set(), []
        for _ in range(100):
            await trio.sleep(0.2)
            seen.add(at := await stored_at(day))
            ages.append(day.clock.epoch() - at)
    assert 3 <= len(seen) <= 20 / TIMES_SECONDS + 1
    assert max(ages) <= TIMES_SECONDS + 2 * READ_SECONDS


async def test_a_book_that_changes_is_written_at_once(day, world, autojump_clock):
    async with day.market(), day.service():
        await trio.sleep(2 * TIMES_SECONDS)
        before = await stored_at(day)
        placed = await world.place(CODE)
        with trio.fail_after(3 * READ_SECONDS):
            while placed.answer.order_id not in await day.store.hash_all(keys.broker_rows(CODE, "orders")):
                await trio.sleep(0.1)
        assert await stored_at(day) > before
