"""The first types over the whole way, message by message (order-engine 6.1, 6.2, 6.4, 6.5), and what is common to all (3.0)."""

import trio


async def test_a_plain_market_order_runs_as_a_marketable_limit(trading, autojump_clock):
    answer = await trading.send()
    assert answer.status == 200, answer
    parent = await trading.until(answer, "completed")
    assert (parent["synthetic_type"], parent["routed_from"]) == ("plan", "marketable_limit")
    assert trading.messages() == [("place", "BUY", 10, "LIMIT")]
    assert parent["parameters"]["buffer_ticks"] == 2


async def test_a_market_order_of_type_simple_stays_market(trading, autojump_clock):
    answer = await trading.send(synthetic={"type": "simple"})
    assert answer.status == 200, answer
    assert trading.messages() == [("place", "BUY", 10, "MARKET")]


async def test_a_bracket_arms_its_exits_with_the_entry_s_fill(trading, autojump_clock):
    answer = await trading.send(
        synthetic={
            "type": "bracket", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(3),
        }
    )  # fmt: skip
    assert answer.status == 200, answer
    assert [leg["path"] for leg in answer.body["legs"]] == ["root"]
    await trading.until_messages(2)
    await trading.until(answer, "held", "root.each_fill.children.1")
    await trading.move(4)
    parent = await trading.until(answer, "completed")
    assert trading.messages() == [
        ("place", "BUY", 10, "LIMIT"), ("place", "SELL", 10, "SL"), ("place", "SELL", 10, "LIMIT"), ("cancel", "SELL", None, "SL"),
    ]  # fmt: skip
    assert parent["routed_from"] == "bracket"


async def test_a_trailing_stop_waits_for_its_activation_and_then_follows(trading, autojump_clock):
    settings = {"type": "trailing_stop", "trail_percent": 2, "stop_limit_offset": 1, "activate_at": trading.at(2)}
    answer = await trading.send(transaction_type="SELL", synthetic=settings)
    assert (answer.status, answer.body["outcome"], answer.body["trigger_direction"]) == (202, "armed", "above")
    await trading.move(3)
    assert (await trading.until_messages(1)) == [("place", "SELL", 10, "SL")]
    await trio.sleep(2)
    await trading.move(5)
    assert (await trading.until_messages(2))[1][0] == "modify"


async def test_a_twap_sends_its_slices(trading, autojump_clock):
    answer = await trading.send(quantity=40, synthetic={"type": "twap", "slices": 4, "over_minutes": 4})
    assert answer.status == 200, answer
    parent = await trading.until(answer, "completed", seconds=600)
    assert [message[2] for message in trading.messages() if message[0] == "place"] == [10, 10, 10, 10]
    assert parent["legs"][0]["filled_quantity"] == 10
