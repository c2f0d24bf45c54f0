"""Cancelling by order id, with and without the engine (rules 2.4.5; order-engine 5.1)."""

from decimal import Decimal

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.brokers.broker import OrderTicket
from onebroker.brokers.requests import NotSendable
from onebroker.brokers.simulator.exchange.faults import FaultKind


async def resting(day):
    share = day.equity()
    last = day.exchange.market(share.instrument_id).last_price
    tick = Decimal(repr(share.tick_size))
    price = (last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick
    answer = await day.place(day.body(share, price=price))
    code, order_id = answer.body["broker"], answer.body["order_id"]
    await day.until(lambda: order_id in day.sessions[code].view.value.orders)
    return answer.body["parent_id"], code, order_id


async def place_outside(day, code):
    """Place an order at a broker as its holder would, beside the service; return its id."""
    share, handle = day.equity(), day.sessions[code]
    last = day.exchange.market(share.instrument_id).last_price
    tick = Decimal(repr(share.tick_size))
    ticket = OrderTicket(
        listing=share.listings[code], segment=share.identity.segment, transaction_type="BUY", product="CNC",
        order_type="LIMIT", validity="DAY", quantity=1, disclosed_quantity=0,
        price=(last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick, trigger_price=None, after_market=False,
        token="",
    )  # fmt: skip
    request = handle.broker.orders.place_request(handle.view.value.access, ticket, day.clock.now())
    async with day.open_transport() as transport:
        response = await transport.send(request, 5)
    return handle.broker.orders.parse_order_answer(response).order_id


def show(day, code, **changes):
    view = day.sessions[code].view
    view.set(attrs.evolve(view.value, **changes))


async def until_parent(day, parent_id, state):
    with trio.fail_after(60):
        while (await stored_parent(day.store, parent_id))["state"] != state:
            await trio.sleep(0.1)


async def test_without_a_running_engine_a_cancel_is_sent_and_the_engine_reads_of_it_later(day, autojump_clock):
    async with day.market(), day.service():
        parent_id, _, order_id = await resting(day)
        await day.store.write(Set(keys.ENGINE_LOCK, b"an epoch:somebody else", 30))
        await day.until(lambda: not day.status.value.running)
        answer = await day.cancel(order_id)
        assert (answer.status, answer.body["outcome"]) == (200, "accepted")
        assert (await stored_parent(day.store, parent_id))["state"] == "working"
        await until_parent(day, parent_id, "cancelled")
        assert len(day.messages("cancel")) == 1


async def test_an_order_id_that_two_brokers_hold_needs_a_broker(day, autojump_clock):
    async with day.market(), day.service():
        _, code, order_id = await resting(day)
        other = next(one for one in day.codes if one != code)
        row = day.sessions[code].view.value.orders[order_id]
        show(day, other, orders={order_id: msgspec.structs.replace(row, status="COMPLETE", tag=None)})
        answer = await day.cancel(order_id)
        assert answer.status == 409
        assert answer.body["error"] == "more than one broker holds an order with this order_id, so give broker"
        assert sorted(answer.body["brokers"]) == sorted(day.codes)
        assert (await day.cancel(order_id, broker=code)).status == 200


async def test_an_order_that_is_not_the_engines_is_cancelled_by_the_desk(day, autojump_clock):
    async with day.market(), day.service():
        code = day.codes[0]
        order_id = await place_outside(day, code)
        await day.until(lambda: order_id in day.sessions[code].view.value.orders)
        answer = await day.cancel(order_id)
        assert (answer.status, answer.body["status_before_cancel"]) == (200, "OPEN")
        assert [one["order_id"] for one in day.messages("cancel")] == [order_id]


async def test_a_broker_without_login_is_503_and_nothing_is_sent(day, autojump_clock):
    async with day.market(), day.service():
        _, code, order_id = await resting(day)
        show(day, code, access=None)
        answer = await day.cancel(order_id)
        assert (answer.status, answer.body["error"]) == (503, f"{code} has no login in Redis")
        assert day.messages("cancel") == []


async def test_while_the_store_is_away_nothing_is_sent_and_the_answer_says_so(day, autojump_clock):
    async with day.market(), day.service():
        _, _, order_id = await resting(day)
        day.store.fail_with(StoreError("connection refused"))
        answer = await day.cancel(order_id)
        assert answer.status == 503
        assert answer.body["error"].startswith("Redis could not be read: ")
        assert day.messages("cancel") == []


async def test_a_cancel_that_cannot_be_built_is_a_refusal_and_the_desk_lives_on(day, autojump_clock, monkeypatch):
    async with day.market(), day.service():
        _, code, order_id = await resting(day)

        def unable(*_):
            raise NotSendable("the variety is not known")

        with monkeypatch.context() as patched:
            patched.setattr(day.sessions[code].broker.orders, "cancel_request", unable)
            answer = await day.cancel(order_id)
        assert (answer.status, answer.body["error"]) == (503, "the cancel could not be built: the variety is not known")
        assert (await day.cancel(order_id)).status == 200
        assert day.crashes.records() == ()


@pytest.mark.parametrize("kind", [FaultKind.DROP_AFTER_ACCEPT, FaultKind.GARBAGE_BODY])
async def test_a_cancel_whose_answer_is_lost_is_unknown_and_the_book_decides(day, kind, autojump_clock):
    async with day.market(), day.service():
        parent_id, _, order_id = await resting(day)
        day.simulator.fault("all", kind, seconds=1)
        answer = await day.cancel(order_id)
        assert (answer.status, answer.body["outcome"]) == (504, "unknown")
        assert "error" not in answer.body
        await until_parent(day, parent_id, "cancelled")
        assert len(day.messages("cancel")) == 1


async def test_an_engine_that_ends_in_the_middle_of_a_cancel_leaves_it_unknown_not_refused(day, autojump_clock):
    async with day.market(), day.service():
        _, _, order_id = await resting(day)
        day.simulator.faults.add("all", FaultKind.LATENCY, seconds=1, count=None, delay_seconds=2)
        answers = []

        async def cancel():
            answers.append(await day.cancel(order_id))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(cancel)
            await trio.sleep(0.5)
            await day.store.write(Set(keys.ENGINE_LOCK, b"an epoch:somebody else", 30))
        assert answers[0].status in (200, 504)
        assert answers[0].body["outcome"] in ("accepted", "unknown")
        assert len(day.messages("cancel")) == 1


async def test_a_fill_that_races_a_cancel_is_not_lost(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        parent_id, _, order_id = await resting(day)
        commit = day.store.commit

        async def slow(*ops, **more):
            await commit(*ops, **more)
            await trio.sleep(1)

        day.store.commit = slow
        async with trio.open_nursery() as nursery:
            nursery.start_soon(day.cancel, order_id)
            await trio.sleep(0.3)  # the cancel is written, and has not left
            last = day.exchange.market(share.instrument_id).last_price
            tick = Decimal(repr(share.tick_size))
            day.simulator.set_price(share.instrument_id, (last * Decimal("0.96") / tick).quantize(Decimal(1)) * tick)
        await until_parent(day, parent_id, "completed")
        parent = await stored_parent(day.store, parent_id)
        assert (parent["legs"][0]["state"], parent["legs"][0]["filled_quantity"]) == ("complete", 10)
