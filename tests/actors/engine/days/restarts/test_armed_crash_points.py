"""Killing the process around the answer to an order of which something waits: nothing at a broker tells of that, so only the store knows
that its caller was promised something (order-engine 2.4 e, 2.5 K2, K4, K8, K14). Judged on the exchange's ledger."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.engine.shown.stored_parents import kept_answer, open_parents
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from tests.support.mortal import mortal
from tests.support.order_routes import Caller
from tests.support.plan_judge import judge
from tests.support.trading import Trading
from tests.support.worked_days import Worked, bare

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
    day = bare(day_kind(brokers=("zerodha",)))
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
    day = bare(day_kind(brokers=("zerodha",)))
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
    day = bare(day_kind(brokers=("zerodha",)))
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


# --- between the answer's commit and its caller ------------------------------------------------------------------------

REFERRING = {
    "a held bracket": (
        {
            "order_type": "LIMIT", "quantity": 10, "price_reference": {"kind": "bid_level", "offset_ticks": -20},
            "synthetic": {"type": "bracket", "stop_price": 95.00, "stop_limit_price": 94.50, "target_price": 110.00},
        },
        202, [], ["PLACE zerodha BUY 10 LIMIT 98.95 -> A1"],
    ),
    "a stop of a position": (
        {
            "transaction_type": "SELL", "order_type": "MARKET", "quantity": 25, "quantity_reference": {"kind": "reduce_position"},
            "synthetic": {"type": "hidden_stop", "trigger_price": 98.95},
        },
        202, [], ["PLACE zerodha SELL 10 LIMIT 98.75 -> A1"],
    ),
    "one entry at once and one held": (
        {
            "order_type": "LIMIT", "quantity": 10, "price_reference": {"kind": "bid_level", "offset_ticks": -20},
            "synthetic": {
                "type": "plan", "hold_limits": True,
                "root": {
                    "part": "together",
                    "children": [{"quantity": 4, "price": {"kind": "fixed", "price": 101.00}}, {"quantity": 6}],
                },
            },
        },
        200, ["PLACE zerodha BUY 4 LIMIT 101.00 -> A1"], ["PLACE zerodha BUY 6 LIMIT 98.95 -> A2"],
    ),
}  # fmt: skip
"""An order with a reference at a bid of 99.95 and with 10 units held: its body; the status that is written for its caller; what is sent
before, and what when the last price comes to 98.95."""


class AnsweredStore:
    """Dies when an answer was committed; the commit is slow, so that who was told of it before has heard it."""

    def __init__(self, store, life):
        self._store = store
        self._life = life

    async def commit(self, *ops, **more):
        await self._store.commit(*ops, **more)
        if any(isinstance(op, Set) and op.key.startswith(keys.answer("")) for op in ops):
            await wait_all_tasks_blocked()
            await self._life.at("answered")

    def __getattr__(self, name):
        return getattr(self._store, name)


async def ask_and_die(day, body):
    """Send an order by the route, and die with its answer written; return what the caller heard."""
    heard = []
    with mortal(day, "answered") as life:
        day.store = AnsweredStore(day.store, life)
        async with trio.open_nursery() as nursery:

            async def serve():
                async with day.service(quotes=True):
                    share = Worked(day, 12)
                    await share.quote("100.00", "99.95", "100.05")
                    await share.hold(10)
                    fields = {"transaction_type": "BUY", "product": "MIS", **body}
                    asked = {"instrument_id": share.share.instrument_id, **fields}
                    heard.append(await Caller(day).ask("POST", "place", asked))

            nursery.start_soon(serve)
            with trio.fail_after(120):
                await life.dead.wait()
            nursery.cancel_scope.cancel()
    return heard


@pytest.mark.parametrize("kind", REFERRING)
async def test_an_order_with_a_reference_whose_answer_nobody_heard_goes_on_once_at_the_numbers_of_that_answer(
    kind, day_kind, autojump_clock
):
    body, status, before, then = REFERRING[kind]
    day = bare(day_kind(brokers=("zerodha",)))
    with trio.fail_after(3600):
        async with day.market():
            assert await ask_and_die(day, body) == []
            await trio.sleep(10)  # the caller has stopped waiting
            async with day.service(log_in=False, quotes=True):
                await day.until(lambda: day.status.value.running)
                share, caller = Worked(day, 12), Caller(day)
                await share.quote("103.00")
                await trio.sleep(5)
                assert share.said() == before
                (parent,) = (await caller.ask("GET", "parents")).body["parents"]
                told = await caller.told(parent["intent_id"])
                assert (told.status, told.body["status"]) == (200, status), told
                assert told.body["response"]["parent_id"] == parent["parent_order_id"]
                again = await share.send(**body, intent_id=parent["intent_id"])
                assert again.status == 409, again
                assert (await caller.told(parent["intent_id"])).body == told.body
                await share.quote("98.95", "98.85", "98.95")
                await share.says(*before, *then)
                assert (await caller.told(parent["intent_id"])).body == told.body
                await trio.sleep(10)
                assert share.said() == [*before, *then]
                assert [one["parent_order_id"] for one in (await caller.ask("GET", "parents")).body["parents"]] == [
                    parent["parent_order_id"]
                ]
    judge(day)
