"""Killing the process around the answer to an order of which something waits: nothing at a broker tells of that, so only the store knows
that its caller was promised something (order-engine 2.4 e, 2.5 K2, K4, K8, K14). Judged on the exchange's ledger."""

import pytest
import trio
from mortal import mortal
from plan_judge import judge

from onebroker.actors.engine.reading import kept_answer, open_parents
from onebroker.actors.store.interface import StoreError
from tests.support.trading import Trading

STEPS = ["answer", *(f"commit {number} {when}" for number in (1, 2, 3, 4) for when in ("before", "after"))]


def stop(trading):
    """A stop that the engine keeps: nothing is sent."""
    return {"transaction_type": "SELL", "synthetic": {"type": "hidden_stop", "trigger_price": trading.at(-2)}}


def half(trading):
    """One entry that is sent at once, another that is held."""
    children = [{"quantity": 5, "price": {"kind": "fixed", "price": trading.at(percent)}} for percent in (1, -2)]
    plan = {"type": "plan", "hold_limits": True, "root": {"part": "together", "children": children}}
    return {"order_type": "LIMIT", "price": trading.at(0), "synthetic": plan}


async def send_and_die(day, death, body):
    """Send an order and die at `death` (`answer`: when the caller has heard); return what the caller heard."""
    heard = []
    with mortal(day, None) as life:
        async with trio.open_nursery() as nursery:

            async def serve():
                async with day.service(quotes=True):
                    trading = Trading(day)
                    await trading.move(0)
                    life.count()
                    life.death = death
                    nursery.start_soon(ask, trading)
                    await trio.sleep(20)
                nursery.cancel_scope.cancel()

            async def ask(trading):
                heard.append(await trading.send(**body(trading)))
                if death == "answer":
                    life.dead.set()

            nursery.start_soon(serve)
            await life.dead.wait()
            nursery.cancel_scope.cancel()
    return heard


async def afterwards(day, *, fallen):
    """The next service, which begins when the caller no longer waits, in a market that falls then; return the parents that it found open,
    what is kept for the caller, and the trading."""
    await trio.sleep(10)
    async with day.service(log_in=False, quotes=True):
        await day.until(lambda: day.status.value.running)
        await trio.sleep(8)
        left = (await open_parents(day.store))["parents"]
        trading = Trading(day)
        await trading.move(fallen)
        await trio.sleep(10)
        told = await kept_answer(day.store, "sent-1", now=day.clock.epoch(), keep_seconds=300)
    return left, told, trading


@pytest.mark.parametrize("death", STEPS)
async def test_a_stop_whose_caller_was_told_that_it_is_armed_fires_whenever_the_process_died(
    death, day_kind, autojump_clock
):
    day = day_kind(brokers=("zerodha",))
    with trio.fail_after(3600):
        async with day.market():
            heard = await send_and_die(day, death, stop)
            left, told, trading = await afterwards(day, fallen=-3)
    assert [answer.status for answer in heard] in ([], [202])
    assert len(left) == 1 if heard else len(left) <= 1
    assert trading.messages() == [("place", "SELL", 10, "LIMIT")] * len(left)
    assert not left or (told is not None and told.status == 202)
    judge(day)


@pytest.mark.parametrize("death", STEPS)
async def test_an_entry_that_was_answered_as_held_is_still_sent_whenever_the_process_died(
    death, day_kind, autojump_clock
):
    day = day_kind(brokers=("zerodha",))
    with trio.fail_after(3600):
        async with day.market():
            heard = await send_and_die(day, death, half)
            _, _, trading = await afterwards(day, fallen=-3)
    assert [answer.status for answer in heard] in ([], [200])
    placed = [message for message in trading.messages() if message[0] == "place"]
    assert len(placed) == 2 if heard else len(placed) <= 2
    judge(day)


class FailingStore:
    """Takes so many commits more, and then none."""

    def __init__(self, store):
        self._store = store
        self.left = float("inf")

    async def commit(self, *ops, **more):
        self.left -= 1
        if self.left < 0:
            raise StoreError("connection refused")
        await self._store.commit(*ops, **more)

    def __getattr__(self, name):
        return getattr(self._store, name)


async def test_a_stop_that_cannot_be_stored_as_armed_is_refused_and_never_fires(day_kind, autojump_clock):
    day = day_kind(brokers=("zerodha",))
    day.store = FailingStore(day.store)
    with trio.fail_after(3600):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            await trading.move(0)
            day.store.left = 1
            answer = await trading.send(**stop(trading))
            assert answer.status == 503, answer
            assert "connection refused" in answer.body["error"]
            day.store.left = float("inf")
            await trading.until(answer, "rejected")
            await trading.move(-3)
            await trio.sleep(10)
            assert trading.messages() == []
