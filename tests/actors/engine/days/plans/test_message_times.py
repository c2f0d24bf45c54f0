"""Every order message tells how long it took to leave, and the messages of a running plan also how fast it reacted (`order.sent`). On the mocked
clock the service's own work takes no time: what a message waits for is seen alone."""

import pytest
import trio

from onebroker.actors.engine.orders.parent_records import ParentState
from onebroker.config.events import OrderSent
from tests.support.trading import Trading

REACTION_MS = 1_000
"""More than a plan takes to react to a quote or a fill."""


@pytest.fixture
async def trading(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            yield Trading(day)


def sent(trading) -> list[OrderSent]:
    return [event for event in trading.day.heard if isinstance(event, OrderSent)]


async def test_messages_that_a_caller_asked_for_react_to_nothing(trading, autojump_clock):
    answer = await trading.send(order_type="LIMIT", price=trading.at(-3), quantity=10)
    order_id = answer.body["order_id"]
    await trio.sleep(5)
    assert (await trading.day.modify(order_id, quantity=5)).status == 200
    await trio.sleep(5)
    assert (await trading.day.cancel(order_id)).status == 200
    messages = sent(trading)
    assert [event.verb for event in messages] == ["place", "modify", "cancel"]
    assert [event.triggered_ms for event in messages] == [None] * 3
    assert all(event.prepared_ms is not None and event.queued_ms is not None for event in messages)


async def test_a_wait_for_room_is_queueing_and_not_preparation(trading, autojump_clock):
    body = {"order_type": "LIMIT", "price": trading.at(-3), "broker": "zerodha"}
    async with trio.open_nursery() as nursery:
        for number in range(15):  # zerodha takes ten orders a second
            nursery.start_soon(lambda number=number: trading.send(intent_id=f"many-{number}", **body))
    waited = [event for event in sent(trading) if event.queued_ms > 500]
    assert 0 < len(waited) < 15
    assert all(event.prepared_ms < 500 for event in sent(trading))


async def test_the_exits_of_a_bracket_react_to_its_fill(trading, autojump_clock):
    await trading.move(0)
    prices = {"stop_price": trading.at(-2), "stop_limit_price": trading.at(-3), "target_price": trading.at(3)}
    answer = await trading.send(order_type="LIMIT", price=trading.at(1), synthetic={"type": "bracket", **prices})
    assert answer.status == 200, answer.body
    await trading.until_messages(2)
    entry, *exits = sent(trading)
    assert entry.triggered_ms is None
    assert exits
    assert all(0 <= event.triggered_ms < REACTION_MS for event in exits)


async def test_a_hidden_stop_reacts_to_the_quote_that_touches_it(trading, autojump_clock):
    await trading.send(quantity=10, broker="zerodha")
    await trio.sleep(10)
    stop = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
    answer = await trading.send(transaction_type="SELL", quantity=10, broker="zerodha", synthetic=stop)
    assert answer.status == 202, answer.body
    await trio.sleep(60)
    await trading.move(-3)
    await trading.until_messages(2)
    entry, exit = sent(trading)[:2]
    assert (entry.triggered_ms, exit.verb) == (None, "place")
    assert 0 <= exit.triggered_ms < REACTION_MS


async def test_pieces_by_the_clock_react_to_nothing(trading, autojump_clock):
    await trading.move(0)
    twap = {"type": "twap", "slices": 3, "over_minutes": 3}
    answer = await trading.send(quantity=30, synthetic=twap)
    assert answer.status == 200, answer.body
    await trading.until_messages(3, seconds=400)
    assert [event.triggered_ms for event in sent(trading)] == [None] * len(sent(trading))


async def test_the_states_of_open_parents_are_kept_while_they_are_open(trading, autojump_clock):
    states = trading.day.engine_context.open_states
    assert states == {}
    resting = await trading.send(order_type="LIMIT", price=trading.at(-3))
    assert states == {resting.body["parent_id"]: ParentState.WORKING}
    await trio.sleep(5)
    await trading.day.cancel(resting.body["order_id"])
    await trading.until(resting, "cancelled")
    await trio.sleep(5)
    assert states == {}
