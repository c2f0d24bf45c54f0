"""The types that are sized by a position over the whole way (order-engine 3.9, 3.42, 3.44, 3.45, 6.10)."""

from datetime import timedelta

import pytest
import trio


async def shown(trading, code, units, product="MIS"):
    """Wait until a broker shows so many net units of the share."""
    token = trading.share.listings[code].broker_token

    def net():
        rows = trading.day.sessions[code].view.value.positions
        of_share = (row for row in rows if (row.view, row.instrument_token, row.product) == ("net", token, product))
        return sum(row.quantity or 0 for row in of_share)

    await trading.day.until(lambda: net() == units, 120)


async def holding(trading, side="BUY", quantity=10, broker="zerodha"):
    """Open a position at a broker."""
    answer = await trading.send(transaction_type=side, quantity=quantity, broker=broker)
    await trading.until(answer, "completed")
    await shown(trading, broker, quantity if side == "BUY" else -quantity)


async def test_a_square_off_clears_the_way_and_closes_at_each_broker_what_lies_there(trading, autojump_clock):
    await holding(trading, "BUY", 100, "zerodha")
    await holding(trading, "SELL", 50, "upstox")
    resting = await trading.send(
        transaction_type="SELL", quantity=100, order_type="LIMIT", price=trading.at(4), broker="zerodha",
        synthetic={"type": "simple"},
    )  # fmt: skip
    assert resting.status == 200, resting
    before = len(trading.messages())
    soon = (trading.day.clock.now() + timedelta(seconds=40)).strftime("%H:%M:%S")
    settings = {"type": "square_off", "at_time": soon, "closes_position": True}
    answer = await trading.send(quantity=None, synthetic=settings)
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    await trading.until(answer, "waiting", "root")
    parent = await trading.until(answer, "completed")
    messages = trading.messages()[before:]
    assert messages[0] == ("cancel", "SELL", None, "LIMIT")
    assert sorted(messages[1:]) == [("place", "BUY", 50, "LIMIT"), ("place", "SELL", 100, "LIMIT")]
    assert sorted((leg["broker"], leg["quantity"]) for leg in parent["legs"]) == [("upstox", 50), ("zerodha", 100)]


async def test_a_square_off_now_answers_with_its_orders_and_with_none_when_nothing_is_open(trading, autojump_clock):
    none = await trading.send(quantity=None, synthetic={"type": "square_off", "now": True})
    assert (none.status, none.body["legs"], none.body["status_message"]) == (
        200,
        [],
        "there was no open position to close",
    )
    await holding(trading)
    answer = await trading.send(quantity=None, synthetic={"type": "square_off", "now": True})
    assert (answer.status, answer.body["outcome"]) == (200, "accepted")
    assert [(leg["path"], leg["broker"], leg["outcome"]) for leg in answer.body["legs"]] == [
        ("root", "zerodha", "accepted")
    ]
    await trading.until(answer, "completed")
    assert trading.messages()[-1] == ("place", "SELL", 10, "LIMIT")


@pytest.mark.parametrize(("side", "moved", "closing"), [("BUY", -3, "SELL"), ("SELL", 3, "BUY")])
async def test_a_close_on_trigger_closes_what_is_there_when_the_market_goes_against_it(
    trading, autojump_clock, side, moved, closing
):
    settings = {"type": "close_on_trigger", "trigger_price": trading.at(moved * 2 / 3)}
    refused = await trading.send(quantity=None, synthetic=settings)
    sentence = "a close_on_trigger order found no open position in this instrument, so there is nothing to close"
    assert (refused.status, refused.body["error"]) == (409, sentence)
    await holding(trading, side)
    answer = await trading.send(quantity=None, synthetic=settings)
    direction = "below" if side == "BUY" else "above"
    dry = await trading.send(quantity=None, synthetic=settings, dry_run=True)
    assert (dry.status, dry.body["requests"], dry.body["trigger_direction"]) == (200, [], direction)
    assert (answer.status, answer.body["trigger_direction"]) == (202, direction)
    await holding_grows(trading, side)
    await trading.move(moved)
    await trading.until(answer, "completed")
    assert trading.messages()[2:] == [("place", closing, 15, "LIMIT")]


async def holding_grows(trading, side):
    answer = await trading.send(transaction_type=side, quantity=5, broker="zerodha")
    await trading.until(answer, "completed")
    await shown(trading, "zerodha", 15 if side == "BUY" else -15)


async def test_a_stop_and_reverse_turns_the_position_round_with_one_order(trading, autojump_clock):
    settings = {"type": "stop_and_reverse", "trigger_price": trading.at(-2)}
    refused = await trading.send(quantity=None, synthetic=settings)
    sentence = "a stop_and_reverse order found no open position in this instrument, so there is nothing to reverse"
    assert (refused.status, refused.body["error"]) == (409, sentence)
    await holding(trading)
    answer = await trading.send(quantity=None, synthetic=settings)
    assert answer.status == 202, answer
    await trading.move(-3)
    await trading.until(answer, "completed")
    assert trading.messages()[1:] == [("place", "SELL", 20, "LIMIT")]
    await shown(trading, "zerodha", -10)


async def test_a_strategy_stop_closes_everything_together_once_the_loss_is_reached(trading, autojump_clock):
    settings = {"type": "strategy_stop", "instrument_ids": [trading.share.instrument_id], "max_loss": 100}
    refused = await trading.send(quantity=None, synthetic=settings)
    sentence = "a strategy_stop order found no open position in these instruments, so there is nothing to guard"
    assert (refused.status, refused.body["error"]) == (409, sentence)
    await holding(trading, "BUY", 10, "zerodha")
    await holding(trading, "BUY", 20, "upstox")
    answer = await trading.send(quantity=None, synthetic=settings)
    assert (answer.status, answer.body["outcome"]) == (202, "armed")
    await trio.sleep(20)
    assert len(trading.messages()) == 2
    await trading.move(-3)
    await trading.until(answer, "completed")
    assert sorted(trading.messages()[2:]) == [("place", "SELL", 10, "LIMIT"), ("place", "SELL", 20, "LIMIT")]


async def test_a_caller_ends_a_position_s_guard_before_it_fires(trading, autojump_clock):
    await holding(trading)
    answer = await trading.send(quantity=None, synthetic={"type": "close_on_trigger", "trigger_price": trading.at(-2)})
    done = await trading.day.stop(answer.body["parent_id"])
    assert done.status == 200, done
    await trading.move(-3)
    await trio.sleep(10)
    assert len(trading.messages()) == 1
    assert (await trading.parent(answer))["state"] == "cancelled"
