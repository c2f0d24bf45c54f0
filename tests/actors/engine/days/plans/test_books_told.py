"""Only parents that a read of a book can concern hear of it: most of hundreds wait for a price and have no order at any broker."""

from collections import Counter

import trio

from onebroker.actors.engine.context.messages import BooksFresh
from onebroker.actors.engine.parent.parent import ParentActor
from tests.support.trading import Trading


async def test_a_plan_without_orders_hears_of_no_book_and_one_with_an_order_of_its_broker_s(
    day, monkeypatch, autojump_clock
):
    heard, handle = Counter(), ParentActor._handle

    def counted(actor, message):
        if isinstance(message, BooksFresh):
            heard[actor._parent_id, message.broker] += 1
        handle(actor, message)

    monkeypatch.setattr(ParentActor, "_handle", counted)
    async with day.market(), day.service(quotes=True):
        trading = Trading(day)
        await trading.move(0)
        stop = {"type": "hidden_stop", "trigger_price": trading.at(-5)}
        armed = (await trading.send(transaction_type="SELL", synthetic=stop)).body["parent_id"]
        order = await trading.send(order_type="LIMIT", price=trading.at(-2))
        resting, broker = order.body["parent_id"], order.body["broker"]
        await trio.sleep(5)
        heard.clear()
        await trio.sleep(30)
        assert {parent_id for parent_id, _ in heard} == {resting}
        assert {code for _, code in heard} == {broker}
        assert heard[resting, broker] >= 5
        # A parent that ends without an order hears of a book, and is over.
        assert (await day.stop(armed)).status == 200
        await day.until(lambda: any(parent_id == armed for parent_id, _ in heard), 10)
        await trio.sleep(5)
        assert armed not in await day.store.members("orders:parents:open")
        heard.clear()
        await trio.sleep(10)
        assert {parent_id for parent_id, _ in heard} == {resting}
