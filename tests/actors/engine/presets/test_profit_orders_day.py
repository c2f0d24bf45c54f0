"""Profit orders that hang on single fills, over the whole way (order-engine 1.2 exception, 2.3, 3.39)."""

from datetime import timedelta


async def test_what_fills_later_of_one_order_has_its_profit_order_too(trading, autojump_clock):
    """Nothing moves after the second fill: no quote, no book row is there to make the plan look again."""
    step = trading.at(0) - trading.at(-1)
    settings = {
        "type": "scale_with_profit_taker", "levels": 2, "step_points": step, "profit_points": step, "hold_limits": False,
    }  # fmt: skip
    await trading.move(-2.5)
    answer = await trading.send(synthetic=settings, order_type="LIMIT", price=trading.at(-3))
    broker, order_id = answer.body["broker"], answer.body["order_id"]
    trading.day.exchange.fill(broker, order_id, 2)
    await trading.until_messages(2)
    trading.day.exchange.fill(broker, order_id, 3)
    began = trading.day.clock.now()
    messages = await trading.until_messages(4)
    assert trading.day.clock.now() - began < timedelta(seconds=5)
    assert sorted(messages[2:]) == [("modify", "SELL", 5, "LIMIT"), ("place", "BUY", 5, "LIMIT")]
