"""A person halts trading, and lets it go on (order-engine 4.10), judged on the exchange's ledger."""

import attrs
import trio

from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.store.durable import DurableError, HaltMode
from onebroker.config.events import ExposureUnprotected, HaltOff, HaltOn
from onebroker.config.vocabulary import Product
from tests.actors.engine.days.plans.test_overdue_day import net, resting
from tests.actors.engine.days.plans.test_plan_orders import held_bracket, traded
from tests.actors.engine.days.unknown.test_unknown_orders import bracket
from tests.support.halts import SENTENCE, halt, resume


def entry(trading, **more):
    return trading.day.body(trading.share, product="MIS", price=trading.at(-2), **more)


async def test_a_halt_refuses_entries_with_its_reason_until_trading_is_resumed(market, autojump_clock):
    async with traded(market) as trading:
        answer = await halt(market)
        assert (answer.status, answer.body["mode"], answer.body["entries_under_way"]) == (200, "reduce_only", False)
        refused = await market.place(entry(trading))
        assert (refused.status, refused.body["error"]) == (403, SENTENCE)
        refused = await trading.place(held_bracket(trading))
        assert (refused.status, refused.body["error"]) == (403, SENTENCE)
        assert market.messages("place") == []
        assert (await resume(market)).body == {"halted": False}
        assert (await market.place(entry(trading), intent_id="i-2")).status == 200
        assert [type(event) for event in market.heard if isinstance(event, HaltOn | HaltOff)] == [HaltOn, HaltOff]


async def test_it_outlives_the_service_and_is_known_before_any_entry(market, autojump_clock):
    async with traded(market):
        await halt(market)
    async with traded(market) as trading:
        assert (await market.place(entry(trading))).body["error"] == SENTENCE
        await resume(market)
    async with traded(market) as trading:
        assert (await market.place(entry(trading), intent_id="i-2")).status == 200


async def test_exits_cancels_and_what_only_reduces_pass_and_an_entry_that_waits_does_not_leave(market, autojump_clock):
    async with traded(market) as trading:
        bought = await trading.place(attrs.evolve(bracket(trading), price=Fixed(trading.at(0))), intent_id="p-1")
        await trading.until(bought, "working")
        await trio.sleep(10)
        waits = await trading.place(held_bracket(trading), intent_id="p-2")
        assert waits.body["outcome"] == "armed"
        resting = await market.place(entry(trading), intent_id="i-3")
        await halt(market)
        before = market.exchange.ledger.next
        assert (await market.cancel(resting.body["order_id"], broker=resting.body["broker"])).status == 200
        trading.moved(-2)  # the held entry is due
        await trio.sleep(10)
        trading.moved(6)  # the target of the bracket is due
        await trading.until(bought, "completed")
        left = [(one.verb, one.side) for one in market.exchange.ledger.messages(before)]
        assert ("place", "BUY") not in left
        assert ("cancel", "BUY") in left
        assert ("place", "SELL") in left or ("cancel", "SELL") in left


async def test_in_mode_nothing_an_exit_waits_is_told_and_goes_when_trading_goes_on(market, autojump_clock):
    async with traded(market) as trading:
        await trading.place(attrs.evolve(bracket(trading), price=Fixed(trading.at(-1))))
        await trio.sleep(5)
        await halt(market, HaltMode.NOTHING)
        before = market.exchange.ledger.next
        trading.moved(-2)
        with trio.fail_after(60):
            while not any(isinstance(event, ExposureUnprotected) for event in market.heard):
                await trio.sleep(0.1)
        await trio.sleep(30)
        assert [one.verb for one in market.exchange.ledger.messages(before)] == []
        await resume(market)
        with trio.fail_after(60):
            while not market.exchange.ledger.messages(before):
                await trio.sleep(0.1)
        assert market.exchange.ledger.messages(before)[0].side == "SELL"


async def test_in_mode_nothing_a_stop_becomes_as_small_as_the_position(market, autojump_clock):
    """A person sells a part; the stop that stayed whole would open a short."""
    async with traded(market) as trading:
        cover = {"type": "cover", "stop_price": trading.at(-2), "stop_limit_price": trading.at(-4)}
        await trading.send(quantity=100, broker="zerodha", synthetic=cover)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 100)], 30)
        await trio.sleep(10)
        await halt(market, HaltMode.NOTHING)
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS, 8)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 92)], 30)
        await trading.move(-2.5)
        await market.until(lambda: net(trading) == 0, 20)


async def test_a_halt_that_cannot_be_stored_holds_and_says_so(market, autojump_clock):
    async with traded(market) as trading:
        market.durable.fail_with(DurableError("durable.sqlite: disk I/O error"))
        answer = await halt(market)
        assert (answer.status, answer.body["error"]) == (
            503,
            "trading is halted until the service ends, but the halt could not be stored: durable.sqlite: disk I/O error",
        )
        assert (await market.place(entry(trading))).status == 403
        assert (await resume(market)).status == 503
        assert (await market.place(entry(trading), intent_id="i-2")).status == 403
        market.durable.come_back()
        assert (await resume(market)).status == 200
        assert (await resume(market)).status == 409


async def test_while_the_stored_halt_cannot_be_read_no_entry_leaves(market, autojump_clock):
    async with traded(market):
        await halt(market)
    market.durable.fail_with(DurableError("away"))
    async with market.service(quotes=True, log_in=False):
        assert market.engine_context.gate.halt.value is None
        assert market.engine_context.entry_lock().status == 503
        market.durable.come_back()
        await market.until(lambda: market.engine_context.gate.halt.value is not None)
        assert market.engine_context.entry_lock().status == 403


async def test_a_caller_moves_a_stop_of_a_position_and_not_an_entry_to_the_market(market, autojump_clock):
    async with traded(market) as trading:
        bought = await trading.place(attrs.evolve(bracket(trading), price=Fixed(trading.at(0))), intent_id="p-1")
        await trading.until(bought, "working")
        await trio.sleep(10)
        resting = await market.place(entry(trading), intent_id="i-2")
        await market.until(lambda: resting.body["order_id"] in market.sessions["zerodha"].view.value.orders)
        await halt(market)
        before = market.exchange.ledger.next
        moved = await market.modify(resting.body["order_id"], price=trading.at(1))
        assert (moved.status, moved.body["error"]) == (403, SENTENCE)
        assert not market.exchange.ledger.messages(before)
        stops = [row for row in market.sessions["zerodha"].view.value.orders.values() if row.order_type == "SL"]
        (stop,) = [row for row in stops if row.status in ("PENDING", "OPEN")]
        moved = await market.modify(stop.order_id, trigger_price=trading.at(-3), price=trading.at(-4))
        assert moved.status == 200, moved.body
        assert [one.verb for one in market.exchange.ledger.messages(before)] == ["modify"]


async def test_an_entry_that_is_due_while_a_start_reads_the_stored_halt_waits_and_is_not_refused(
    market, autojump_clock, monkeypatch
):
    async with traded(market) as trading:
        answer = await trading.place(held_bracket(trading))
        assert answer.body["outcome"] == "armed"

    async def slowly():
        await trio.sleep(60)

    monkeypatch.setattr(market.durable, "halt", slowly)
    async with market.service(quotes=True):
        trading.moved(-2)
        await trading.until_messages(2)
        assert [one.side for one in market.exchange.ledger.messages(0)] == ["BUY", "SELL"]
