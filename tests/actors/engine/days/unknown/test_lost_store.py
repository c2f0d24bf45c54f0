"""A store that came back without its last writes (order-engine 2.5, K19): what was sent meanwhile is found by the tokens it would
have, taken up, and never sent again. Judged on the exchange's ledger."""

import copy
from decimal import Decimal as D

import pytest
import trio

from onebroker.actors.engine.orders.leg_tokens import leg_token
from onebroker.actors.engine.plan.execution_kinds import Iceberg, Ladder, Twap
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable
from onebroker.actors.engine.shown.stored_parents import open_parents, stored_parent
from onebroker.actors.store.interface import StreamAdd
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.http.health_parts import unknown_orders
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.unknown.test_unknown_orders import bracket, ticket_price
from tests.actors.engine.plan.trees import order


class Memory:
    """What the store held at some moment; `put_back` makes it a store that lost what was written since."""

    def __init__(self, day, *, rows=False):
        """`rows`: the brokers' rows are put back too, so that only logins stay."""
        self._store = day.store
        self._held = copy.deepcopy(day.store._entries)
        self._stays = "broker:login:" if rows else "broker:"

    def put_back(self):
        logins = {key: held for key, held in self._store._entries.items() if key.startswith(self._stays)}
        self._store._entries = copy.deepcopy(self._held) | logins


async def only_parent(day):
    names = [key for key in day.store._entries if key.startswith("orders:parent:")]
    (parent_id,) = (name.removeprefix("orders:parent:") for name in names)
    parent = await stored_parent(day.store, parent_id)
    return {**parent, "legs": sorted(parent["legs"], key=lambda leg: (leg["part"], leg["leg_id"]))}


async def memory_with_legs(day, number, ask):
    """Keep what the store held last before it knew more than so many legs."""
    kept, commit = [], day.store.commit

    async def watched(*ops, **more):
        await commit(*ops, **more)
        if any(isinstance(op, StreamAdd) for op in ops) or (kept and len((await only_parent(day))["legs"]) <= number):
            kept.append(Memory(day))

    day.store.commit = watched
    try:
        answer = await ask()
        await trio.sleep(5)
    finally:
        del day.store.commit
    return answer, kept[-1]


async def test_an_order_whose_leg_the_store_has_forgotten_is_taken_up_and_not_sent_again(market, autojump_clock):
    """Journal, `started` and parent are there, the leg is not: without its order's token it would be rejected (K4)."""
    async with market.service():
        share = market.equity()
        body = market.body(share, price=ticket_price(market, share))
        answer, memory = await memory_with_legs(market, 0, lambda: market.place(body))
        assert answer.status == 200
    memory.put_back()
    assert (await only_parent(market))["legs"] == []
    async with market.service(log_in=False):
        await market.until(lambda: market.status.value.running, 120)
        await trio.sleep(10)
        parent = await only_parent(market)
        assert (parent["state"], parent["legs"][0]["state"]) == ("working", "open")
        assert parent["legs"][0]["order_id"] == answer.body["order_id"]
        again = await market.place(body)
        assert again.status == 409
        assert again.body["error"].startswith("the order engine had already started this order")
        assert (await market.cancel(answer.body["order_id"])).status == 200
        await trio.sleep(10)
        assert (await only_parent(market))["state"] == "cancelled"
        assert [message["verb"] for message in market.ledger()["messages"]] == ["place", "cancel"]


async def test_an_intent_that_is_forgotten_as_a_whole_is_known_again_when_its_caller_repeats_it(market, autojump_clock):
    async with market.service():
        memory = Memory(market)
        share = market.equity()
        body = market.body(share, price=ticket_price(market, share))
        answer = await market.place(body)
        await trio.sleep(5)
    memory.put_back()
    async with market.service(log_in=False):
        await market.until(lambda: market.status.value.running, 120)
        shown = unknown_orders(market.legs.strangers)
        assert [(one["broker"], one["order_id"]) for one in shown] == [(answer.body["broker"], answer.body["order_id"])]
        again = await market.place(body)
        assert again.status == 409
        await trio.sleep(10)
        parent = await only_parent(market)
        assert (parent["state"], parent["legs"][0]["order_id"]) == ("working", answer.body["order_id"])
        assert unknown_orders(market.legs.strangers) == []
        assert len(market.messages("place")) == 1


async def test_a_token_of_nobody_is_shown_and_its_order_is_not_touched(market, autojump_clock):
    async with market.service():
        memory = Memory(market)
        share = market.equity()
        answer = await market.place(market.body(share, price=ticket_price(market, share)))
        await trio.sleep(5)
    memory.put_back()
    async with market.service(log_in=False):
        await trio.sleep(200)
        (shown,) = unknown_orders(market.legs.strangers)
        assert shown == {
            "broker": answer.body["broker"],
            "order_id": answer.body["order_id"],
            "token": leg_token("i-1", "entry", 0),
            "status": "OPEN",
        }
        assert (await open_parents(market.store))["parents"] == []
        assert len(market.ledger()["messages"]) == 1


async def test_exits_whose_legs_the_store_has_forgotten_are_taken_up_and_kept_at_what_is_open(market, autojump_clock):
    async with traded(market) as trading:
        answer, memory = await memory_with_legs(market, 1, lambda: trading.place(bracket(trading)))
        await trading.until_messages(3)
    memory.put_back()
    assert len((await only_parent(market))["legs"]) == 1
    async with traded(market) as trading:
        await trio.sleep(30)
        parent = await only_parent(market)
        assert [leg["state"] for leg in parent["legs"]] == ["complete", "pending", "open"]
        rows = market.sessions["zerodha"].view.value.orders | market.sessions["upstox"].view.value.orders
        for leg in parent["legs"]:
            shown = rows[leg["order_id"]]
            assert (float(leg["price"] or 0), float(leg["trigger_price"] or 0)) == (shown.price, shown.trigger_price), (
                leg["part"]
            )
        assert any(leg["trigger_price"] for leg in parent["legs"])
        assert len(trading.messages()) == 3
        await trading.move(4)
        await trading.until(answer, "completed")
        assert [leg["filled_quantity"] for leg in (await only_parent(market))["legs"]] == [100, 0, 100]
        assert [verb for verb, *_ in trading.messages()] == ["place", "place", "place", "cancel"]


async def test_slices_that_the_store_has_forgotten_count(market, autojump_clock):
    async with traded(market) as trading:
        root = order(quantity=30, price=Fixed(trading.at(1)), execution=Iceberg(slice_quantity=10))
        answer, memory = await memory_with_legs(market, 1, lambda: trading.place(root))
        await trading.until(answer, "completed")
    memory.put_back()
    async with traded(market) as trading:
        parent = await trading.until(answer, "completed")
        assert sum(leg["filled_quantity"] for leg in parent["legs"]) == 30
        assert trading.messages() == [("place", "BUY", 10, "LIMIT")] * 3


async def test_a_part_whose_forgotten_order_may_be_any_of_many_sends_nothing_more(market, autojump_clock):
    async with traded(market) as trading:
        ladder = Ladder(from_price=trading.at(-2), to_price=trading.at(-4), steps=2)
        root = order(quantity=20, price=Fixed(trading.at(-2)), execution=ladder)
        answer, memory = await memory_with_legs(market, 0, lambda: trading.place(root))
        await trading.until_messages(2)
        await trio.sleep(5)
    memory.put_back()
    async with traded(market) as trading:
        await trio.sleep(60)
        parent = await trading.parent(answer)
        assert [leg["state"] for leg in parent["legs"]] == ["open", "open"]
        assert len(trading.messages()) == 2


async def test_a_broker_without_a_book_does_not_keep_the_engine_from_starting(market, autojump_clock):
    async with market.service():
        await trio.sleep(1)
    market.simulator.fault("upstox", FaultKind.HTTP_500, seconds=300)
    async with market.service(log_in=False):
        began = market.clock.monotonic()
        await market.until(lambda: market.status.value.running)
        assert market.clock.monotonic() - began <= 15


# --- noticed -------------------------------------------------------------------------------------------------------------


async def lost_slices(market, trading):
    """A twap of four slices at whatever broker, of which the store has forgotten the second. Returns its answer."""
    root = order(quantity=40, price=Marketable(), execution=Twap(slices=4, over_minutes=D(2)))
    answer = await trading.place(root)
    await trading.until_messages(1)
    await trio.sleep(5)
    memory = Memory(market, rows=True)
    await trading.until_messages(2, 90)
    await trio.sleep(5)
    return answer, memory


def bought_once(market):
    """Forty, by orders of which each has a token of its own; what came due while the engine waited may go as one."""
    messages = market.ledger()["messages"]
    assert {message["verb"] for message in messages} == {"place"}
    assert sum(message["quantity"] for message in messages) == 40
    tags = [message["tag"] for message in messages]
    assert len(set(tags)) == len(tags)


@pytest.mark.parametrize("fault", [FaultKind.LATE_BOOK, FaultKind.LATENCY])
async def test_what_was_lost_is_not_sent_again_though_its_book_is_late_or_slow(market, fault, autojump_clock):
    async with traded(market) as trading:
        answer, memory = await lost_slices(market, trading)
    memory.put_back()
    assert len((await only_parent(market))["legs"]) == 1
    late = fault is FaultKind.LATE_BOOK
    market.simulator.fault(
        answer.body["broker"], fault, seconds=40 if late else 15, delay_seconds=100.0 if late else 12.0
    )
    async with traded(market, log_in=False) as trading:
        await trio.sleep(30)
        assert not market.status.value.running
        assert market.status.value.reason.startswith("Redis came back without its last writes")
        await trading.until(answer, "completed", seconds=400)
        bought_once(market)


async def test_while_the_book_of_one_broker_cannot_be_read_open_plans_wait_and_it_is_said(market, autojump_clock):
    async with traded(market) as trading:
        answer, memory = await lost_slices(market, trading)
    memory.put_back()
    broker = answer.body["broker"]
    market.simulator.fault(broker, FaultKind.HTTP_500, seconds=150)
    async with traded(market, log_in=False) as trading:
        await trio.sleep(130)
        assert market.status.value.running, "new orders are taken"
        assert f"until the books of {broker} are read" in market.status.value.trouble
        assert len(trading.messages()) == 2
        await trading.until(answer, "completed", seconds=700)
        assert market.status.value.trouble is None
        bought_once(market)


async def test_a_restart_before_the_books_are_read_goes_on_waiting(market, autojump_clock):
    async with traded(market) as trading:
        answer, memory = await lost_slices(market, trading)
    memory.put_back()
    market.simulator.fault(answer.body["broker"], FaultKind.HTTP_500, seconds=100)
    for _ in range(2):
        async with traded(market, log_in=False) as trading:
            await trio.sleep(40)
            assert not market.status.value.running
    async with traded(market, log_in=False) as trading:
        await trading.until(answer, "completed", seconds=700)
        bought_once(market)


async def test_a_store_that_loses_writes_while_the_engine_runs_has_it_start_anew(market, autojump_clock):
    async with traded(market) as trading:
        answer, memory = await lost_slices(market, trading)
        lock = market.store._entries["orders:engine:lock"]
        memory.put_back()
        market.store._entries["orders:engine:lock"] = lock
        await market.until(lambda: not market.status.value.running, 10)
        await trading.until(answer, "completed", seconds=400)
        bought_once(market)
        assert any("StoreLostWrites" in crash.error for crash in market.crashes.records())


async def test_a_store_that_has_lost_nothing_waits_for_nothing_and_makes_no_token_twice(market, autojump_clock):
    for number in range(3):
        async with market.service(log_in=number == 0):
            began = market.clock.monotonic()
            await market.until(lambda: market.status.value.running)
            assert market.clock.monotonic() - began <= 15
            share = market.equity(number)
            body = market.body(share, price=ticket_price(market, share))
            assert (await market.place(body, intent_id=f"i-{number}")).status == 200
            await trio.sleep(1)
            assert (await market.durable.engine_count()).run == number + 1
    assert leg_token("i-1", "entry", 0, 1) != leg_token("i-1", "entry", 0, 2)
    assert market.ledger()["messages"][1]["tag"] == leg_token("i-1", "entry", 0, 2)
