"""Orders that look like exits and are not, and races of orders that each reduce a position alone: under a halt none of them opens one
(order-engine 4.10). The exchange's ledger is the judge."""

from contextlib import asynccontextmanager

import pytest
import trio

from onebroker.actors.store import keys
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.halts import SENTENCE, Halted, halt, resume
from tests.support.trading import Trading

LIMIT = {"order_type": "LIMIT"}


@asynccontextmanager
async def traded(market):
    async with market.service(quotes=True):
        trading = Trading(market)
        await trading.move(0)
        yield trading


async def bought(trading, quantity=10):
    """Buy at the market, and wait until the position is shown."""
    answer = await trading.send(quantity=quantity, synthetic={"type": "simple"})
    assert answer.status == 200, answer
    await held(trading, quantity)
    return answer.body["broker"]


async def held(trading, quantity):
    tokens = {code: listing.broker_token for code, listing in trading.share.listings.items()}
    rows = lambda: (  # noqa: E731
        row.quantity or 0
        for code, one in trading.day.sessions.items()
        for row in one.view.value.positions
        if (row.view, row.product, row.instrument_token) == ("net", "MIS", tokens[code])
    )
    await trading.day.until(lambda: sum(rows()) == quantity)


def fixed(trading, percent):
    return {"kind": "fixed", "price": trading.at(percent)}


def plan(root, **more):
    return {"type": "plan", "root": root, **more}


async def test_the_hedge_of_a_fill_is_an_entry_in_another_instrument(market, autojump_clock):
    async with traded(market) as trading:
        other = market.equity(1)
        market.simulator.set_price(other.instrument_id, market.exchange.market(other.instrument_id).last_price, 86_400)
        hedge = {"type": "attached_hedge", "hedge_instrument_id": other.instrument_id, "hedge_ratio": 1}
        answer = await trading.send(**LIMIT, price=trading.at(-2), synthetic={**hedge, "hold_limits": False})
        assert answer.status == 200, answer
        await trading.until_messages(1)
        await halt(market)
        halted = Halted(market)
        trading.moved(-3)
        await trio.sleep(60)
        assert halted.slipped() == []
        assert (await trading.parent(answer))["status_message"] == "10 units are unhedged"


async def test_an_entry_that_hangs_on_an_exit_is_an_entry(market, autojump_clock):
    async with traded(market) as trading:
        again = {"transaction_type": "BUY", "price": fixed(trading, -1), "hold": True}
        target = {"transaction_type": "SELL", "price": fixed(trading, 2), "each_fill": again}
        answer = await trading.send(synthetic=plan({"each_fill": target}))
        assert answer.status == 200, answer
        await trading.until_messages(2)
        await halt(market)
        halted = Halted(market)
        await trading.move(3)
        await trading.until(answer, "held", "root.each_fill.each_fill")
        await trading.move(-2)
        await trio.sleep(30)
        assert halted.left() == []


@pytest.mark.parametrize("quantity", [{"from_fill": {"ratio": 2}}, 25])
async def test_an_exit_larger_than_what_it_closes_is_an_entry(market, autojump_clock, quantity):
    async with traded(market) as trading:
        exit = {"transaction_type": "SELL", "quantity": quantity, "price": {"kind": "marketable"}}
        when = {"price": {"level": float(trading.at(2)), "direction": "above"}}
        answer = await trading.send(broker="zerodha", synthetic=plan({"each_fill": {**exit, "when": when}}))
        assert answer.status == 200, answer
        await trading.until(answer, "waiting", "root.each_fill")
        await halt(market)
        halted = Halted(market)
        await trading.move(3)
        await trio.sleep(30)
        assert halted.slipped() == []


async def test_two_exits_of_the_same_units_that_do_not_know_of_each_other_do_not_both_leave(market, autojump_clock):
    async with traded(market) as trading:
        when = {"price": {"level": float(trading.at(2)), "direction": "above"}}
        exit = {"transaction_type": "SELL", "price": {"kind": "marketable"}, "when": when}
        answer = await trading.send(synthetic=plan({"each_fill": {"part": "together", "children": [exit, exit]}}))
        assert answer.status == 200, answer
        await trading.until(answer, "waiting", "root.each_fill.children.1")
        await halt(market)
        halted = Halted(market)
        await trading.move(3)
        await trio.sleep(30)
        assert halted.slipped() == []
        assert trading.day.exchange.account(answer.body["broker"]).net_quantity(trading.share.instrument_id, "MIS") == 0


@pytest.mark.parametrize("delay", [0.0, 0.4])
async def test_of_sales_that_race_for_one_position_only_as_many_leave_as_it_has_units(market, autojump_clock, delay):
    async with traded(market) as trading:
        await bought(trading)
        await halt(market)
        halted = Halted(market)
        if delay:
            market.simulator.fault("all", FaultKind.LATENCY, seconds=30, delay_seconds=delay)
        said = []

        async def sell(number):
            await trio.sleep(number * 0.07)
            answer = await trading.send(transaction_type="SELL", synthetic={"type": "simple"})
            said.append(answer.body.get("error") or answer.body.get("status_message"))

        async with trio.open_nursery() as nursery:
            for number in range(10):
                nursery.start_soon(sell, number)
        assert halted.slipped() == []
        assert halted.left() == [("place", "SELL")], said
        assert said.count(SENTENCE) == 9, said


async def test_a_sale_right_after_the_position_was_sold_opens_none(market, autojump_clock):
    async with traded(market) as trading:
        await bought(trading)
        await halt(market)
        halted = Halted(market)
        for _ in range(20):
            await trading.send(transaction_type="SELL", synthetic={"type": "simple"})
            await trio.sleep(0.05)
        assert halted.slipped() == []
        assert halted.left() == [("place", "SELL")]


async def reversing(trading):
    """Hold a position whose reversal waits for a fall; return its broker and the reversal's answer."""
    broker = await bought(trading)
    settings = {"type": "stop_and_reverse", "trigger_price": trading.at(-1)}
    answer = await trading.send(quantity=None, synthetic=settings)
    assert answer.status == 202, answer
    return broker, answer


async def test_a_reversal_whose_order_is_just_written_when_the_halt_comes_only_closes(
    market, autojump_clock, monkeypatch
):
    async with traded(market) as trading:
        _, answer = await reversing(trading)
        commit, made = market.store.commit, []

        async def halted_before(*ops, **more):
            if not made and any(getattr(op, "key", "").startswith(keys.leg_token("")) for op in ops):
                made.append(None)
                await halt(market)
                made[0] = Halted(market)
            await commit(*ops, **more)

        monkeypatch.setattr(market.store, "commit", halted_before)
        trading.moved(-2)
        await held(trading, 0)
        parent = await trading.until(answer, "completed")
        assert made[0].left() == [("place", "SELL")]
        assert made[0].slipped() == []
        assert parent["status_message"] == f"{SENTENCE}; the position is closed and not reversed"


async def test_a_resting_reversal_becomes_a_close_that_follows_the_market(market, autojump_clock, monkeypatch):
    async with traded(market) as trading:
        broker, answer = await reversing(trading)
        place = market.exchange._trading.place

        def too_late(account, new):
            trading.moved(-6)
            return place(account, new)

        monkeypatch.setattr(market.exchange._trading, "place", too_late)
        trading.moved(-2)
        assert (await trading.until_messages(2))[1][:3] == ("place", "SELL", 20)
        await halt(market)
        halted = Halted(market)
        await trading.until(answer, "completed")
        assert halted.left()[0] == ("modify", "SELL")
        assert halted.messages()[0].quantity == 10
        assert halted.slipped() == []
        assert market.exchange.account(broker).net_quantity(trading.share.instrument_id, "MIS") == 0


async def test_a_caller_s_word_that_a_plan_closes_moves_no_entry(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.send(
            synthetic=plan({"price": {"kind": "peg", "offset_ticks": 40}}, closes_position=True)
        )
        assert answer.status == 200, answer
        await trading.until_messages(1)
        await trading.move(1)
        await trading.until_messages(2)
        await halt(market)
        halted = Halted(market)
        await trading.move(3)
        await trio.sleep(30)
        assert halted.slipped() == []
        await resume(market)
        await trading.day.until(lambda: halted.left() == [("modify", "BUY")])


async def test_both_exits_of_an_oco_that_is_placed_under_a_halt_leave(market, autojump_clock):
    async with traded(market) as trading:
        broker = await bought(trading)
        await halt(market)
        halted = Halted(market)
        exits = {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(4)}
        answer = await trading.send(transaction_type="SELL", synthetic={"type": "oco", **exits, "hold_limits": False})
        assert answer.status == 200, answer
        assert halted.left() == [("place", "SELL")] * 2
        await trading.move(5)
        await trading.until(answer, "completed")
        assert market.exchange.account(broker).net_quantity(trading.share.instrument_id, "MIS") == 0


@pytest.mark.parametrize("apart", [0.0, 0.05])
async def test_of_two_orders_of_one_position_only_one_moves_to_the_market(market, autojump_clock, apart):
    async with traded(market) as trading:
        broker = await bought(trading)
        sale = {"transaction_type": "SELL", "broker": broker, "synthetic": {"type": "simple"}, **LIMIT}
        resting = [await trading.send(**sale, price=trading.at(percent)) for percent in (3, 4)]
        await trio.sleep(3)
        await halt(market)
        halted = Halted(market)

        async def move(number):
            await trio.sleep(number * apart)
            await market.modify(resting[number].body["order_id"], price=trading.at(-1))

        async with trio.open_nursery() as nursery:
            for number in (0, 1):
                nursery.start_soon(move, number)
        assert halted.slipped() == []
        assert halted.left() == [("modify", "SELL")]


async def test_two_flattens_at_once_close_a_position_once(market, autojump_clock):
    async with traded(market) as trading:
        broker = await bought(trading)
        await halt(market)
        halted = Halted(market)
        async with trio.open_nursery() as nursery:
            for _ in range(2):
                nursery.start_soon(market.flatten)
        assert halted.slipped() == []
        assert market.exchange.account(broker).net_quantity(trading.share.instrument_id, "MIS") == 0
