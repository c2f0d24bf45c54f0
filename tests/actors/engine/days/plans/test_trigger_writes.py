"""What a plan writes between the tick that fires it and its order (order-engine 2.4, b and c): one record, with the leg. If the order must
wait, what has fired is written meanwhile."""

import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.order_sender import OrderDesk
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from onebroker.config.events import OrderSent
from tests.support.engine_orders import no_free_room
from tests.support.mortal import mortal
from tests.support.plan_judge import judge
from tests.support.trading import Trading


def stop(trading, percent=-2):
    return {"type": "hidden_stop", "trigger_price": trading.at(percent)}


async def test_a_stop_that_fires_writes_its_record_once_before_its_order_leaves(day_kind, autojump_clock):
    day, written = day_kind(brokers=("zerodha",)), []

    def hear(event):
        if isinstance(event, OrderSent):
            written.append(len(day.store.commits))

    day.events = Events(hear)
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        answer = await trading.send(transaction_type="SELL", synthetic=stop(trading))
        await trio.sleep(5)
        before = len(day.store.commits)
        await trading.move(-3)
        await trading.until_messages(1)
    parent, token = keys.parent(answer.body["parent_id"]), keys.leg_token("")
    records = [
        [op.key for op in ops if isinstance(op, Set)]
        for ops in day.store.commits[before : written[0]]
        if any(isinstance(op, Set) and op.key == parent for op in ops)
    ]
    assert len(records) == 1, records
    assert any(key.startswith(token) for key in records[0])


async def never(desk, message):
    """Grants no room, as a full budget."""
    await trio.sleep_forever()


async def test_a_level_touched_while_the_budget_is_full_is_not_forgotten_by_a_process_that_dies(
    day_kind, monkeypatch, autojump_clock
):
    day = day_kind(brokers=("zerodha",))
    async with day.market():
        with mortal(day, None) as life:
            async with trio.open_nursery() as nursery:

                async def serve():
                    async with day.service(quotes=True):
                        trading = Trading(day)
                        await trading.move(0)
                        await trading.send(transaction_type="SELL", synthetic=stop(trading))
                        await trio.sleep(5)
                        with monkeypatch.context() as patch:
                            patch.setattr(OrderDesk, "take_room", never)
                            no_free_room(patch)
                            await trading.move(-3)
                            await trading.move(0)
                            await trio.sleep(0.5)
                            life.dead.set()
                            nursery.cancel_scope.cancel()
                            await trio.sleep_forever()

                nursery.start_soon(serve)
        assert day.messages("place") == []
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: day.messages("place"), 120)
            await trio.sleep(30)
        assert [(one["side"], one["quantity"]) for one in day.messages("place")] == [("SELL", 10)]
    judge(day)
