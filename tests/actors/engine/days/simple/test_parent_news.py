"""What the engine tells of its parents: each as the store acknowledged it last, from its birth to its end, and nothing that is
not stored."""

from decimal import Decimal

import attrs
import msgspec
import trio

from onebroker.actors.engine.orders.parent_records import ParentState
from onebroker.actors.engine.shown.stored_parents import stored_parent


async def test_a_parents_states_are_told_as_they_are_stored_the_last_one_final(day, autojump_clock):
    async with day.market(), day.service():
        told: list[tuple[str, ParentState, str]] = []

        async def listen() -> None:
            changes = day.engine_context.parents
            while True:
                await changes.wait()
                for parent_id, record in changes.take().newest.items():
                    stored = await stored_parent(day.store, parent_id)
                    told.append((parent_id, record.state, stored["state"]))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            share = day.equity()
            last = day.exchange.market(share.instrument_id).last_price
            tick = Decimal(repr(share.tick_size))
            price = (last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick
            answer = await day.place(day.body(share, price=price))
            day.simulator.set_price(share.instrument_id, price - Decimal("1.00"))
            await day.until(lambda: told and told[-1][1].final)
            nursery.cancel_scope.cancel()
        assert {parent_id for parent_id, _, _ in told} == {answer.body["parent_id"]}
        states = list(dict.fromkeys(state for _, state, _ in told))
        assert states[-2:] == [ParentState.WORKING, ParentState.COMPLETED]
        assert told[-1][2] == "completed"


async def test_that_the_engine_gave_a_parent_up_is_told(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        last = day.exchange.market(share.instrument_id).last_price
        tick = Decimal(repr(share.tick_size))
        answer = await day.place(day.body(share, price=(last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick))
        code, order_id, parent_id = answer.body["broker"], answer.body["order_id"], answer.body["parent_id"]
        await day.until(lambda: order_id in day.sessions[code].view.value.orders)
        for filled in range(8):  # a row that no codec makes: its quantity is text
            await trio.sleep(0.7)
            view = day.sessions[code].view
            rows = dict(view.value.orders)
            rows[order_id] = msgspec.structs.replace(rows[order_id], filled_quantity="many", price=float(filled))
            view.set(attrs.evolve(view.value, orders=rows))
        with trio.fail_after(60):
            while (await stored_parent(day.store, parent_id))["status_message"] is None:
                await trio.sleep(0.2)
        told = day.engine_context.parents.take().newest[parent_id]
        assert (told.state, "gave this order up" in told.said()) == (ParentState.WORKING, True)
