"""What the holder changes in the app of each of the ten brokers is seen, each by its own codec; and how a broker writes an order of ours, before
and after a change of ours, is never taken for that (order-engine 2.2, row 24b)."""

from decimal import Decimal as D

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.brokers.registry import build_registry
from onebroker.config.events import OrderChangedElsewhere
from tests.support.engine_orders import ticks
from tests.support.further import long_case

TEN = tuple(build_registry())


@pytest.fixture
async def ten(day, autojump_clock):
    return type(day)(brokers=TEN, number=600)


def told(day):
    return sorted((event.broker, event.order_id) for event in day.heard if isinstance(event, OrderChangedElsewhere))


@pytest.mark.parametrize("is_stop", [pytest.param(False, marks=long_case()), True])
async def test_each_brokers_own_rows_are_no_change_and_the_holders_change_is_one(ten, is_stop, autojump_clock):
    day = ten
    async with day.market(), day.service():
        await trio.sleep(90)
        orders = {}
        for number, code in enumerate(TEN):
            share = day.equity(number)
            prices = {"price": ticks(day, share, 3 if is_stop else -3)}
            if is_stop:
                prices |= {"trigger_price": ticks(day, share, 2), "order_type": "SL"}
            answer = await day.place(day.body(share, broker=code, **prices), intent_id=f"i-{number}")
            assert answer.status == 200, (code, answer)
            orders[code] = share, answer.body["order_id"], answer.body["parent_id"]
        await trio.sleep(120)
        assert told(day) == []
        for code, (share, order_id, _) in orders.items():
            price = ticks(day, share, 4 if is_stop else -2)
            answer = await day.modify(order_id, broker=code, price=price, quantity=8)
            assert answer.status == 200, (code, answer)
        await trio.sleep(120)
        assert told(day) == []
        set_there = {}
        for code, (share, order_id, _) in orders.items():
            changes = {"quantity": 5, "price": ticks(day, share, 5 if is_stop else -1)}
            if is_stop:
                changes["trigger_price"] = ticks(day, share, 2.5)
            day.exchange.account(code).modify(order_id, **changes)
            set_there[code] = (5, changes["price"], changes.get("trigger_price"))
        await trio.sleep(150)
        assert told(day) == sorted((code, order_id) for code, (_, order_id, _) in orders.items())
        for code, (_, _, parent_id) in orders.items():
            leg = (await stored_parent(day.store, parent_id))["legs"][0]
            assert (leg["quantity"], D(str(leg["price"])), leg["trigger_price"]) == set_there[code], code
