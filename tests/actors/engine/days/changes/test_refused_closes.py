"""A close that has taken a stop away and cannot do what the stop did: the exchange refuses its price, its holder cancels it, the process ends between the
two. The ledger says what left (order-engine 1.11)."""

import pytest
import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.vocabulary import Product, Side
from onebroker.http.health_parts import order_problems
from tests.support.closing import AT, Closing, bracket
from tests.support.mortal import mortal

OPEN = "30 units are open without a stop"


def told(day):
    return [row["message"] for row in order_problems(day.engine_context.troubles.rows)]


def resting(closing):
    """The orders that rest at the exchange."""
    return [order for order in closing.day.exchange.all_orders() if not order.status.finished]


def sold(closing):
    """(price, status) of every limit order that sells, without the bracket's stop."""
    return [
        (order.price, order.status.value)
        for order in closing.day.exchange.all_orders()
        if order.new.side is Side.SELL and order.price is not None and order.trigger_price is None
    ]


async def guarded(closing):
    """Thirty units with a bracket's stop, and a close of them at a minute past ten."""
    other = await closing.place(bracket(closing), intent_id="b-1")
    await closing.until(other, "working", path="root.each_fill.children.0")
    await closing.day.until(lambda: closing.shown("zerodha") == 30, 120)
    closing.since = len(closing.day.ledger()["messages"])


@pytest.mark.parametrize("number", [1, 2])
async def test_a_close_at_the_circuit_that_is_refused_goes_again_inside_of_it_and_closes_once(
    closing, number, autojump_clock
):
    await guarded(closing)
    answers = [await closing.place(closing.close(when=AT), intent_id=f"c-{n}") for n in range(number)]
    await trio.sleep(10)
    market = closing.day.exchange.market(closing.share.instrument_id)
    lowest = market.lower_circuit
    closing.day.simulator.set_price(closing.share.instrument_id, lowest + 2 * closing.tick, 86_400)
    await closing.until_over(answers)
    assert [status for _, status in sold(closing)].count("complete") == 1
    assert next(status for _, status in sold(closing)) == "rejected"
    assert all(price < lowest for price, status in sold(closing) if status == "rejected")
    assert (closing.net("zerodha"), resting(closing), told(closing.day)) == (0, [], [])


async def waiting_close(closing):
    """The close rests at the last price: nobody bids. Return its parent's answer."""
    closing.day.simulator.empty_side(closing.share.instrument_id, Side.BUY, 120)
    answer = await closing.place(closing.close(when=AT), intent_id="c-1")
    with trio.fail_after(120):
        while not any(order.new.side is Side.SELL and order.trigger_price is None for order in resting(closing)):
            await trio.sleep(0.1)
    return answer


async def end_close_in_the_app(closing):
    (order,) = [order for order in resting(closing) if order.new.side is Side.SELL]
    closing.day.person.cancel("zerodha", order.order_id)


async def test_a_close_that_its_holder_cancels_leaves_units_without_a_stop_and_says_so_until_they_go(
    closing, autojump_clock
):
    await guarded(closing)
    answer = await waiting_close(closing)
    await end_close_in_the_app(closing)
    parent = await closing.until(answer, "cancelled", 30)
    assert (parent["status_message"], parent["open_units"]) == (OPEN, {closing.share.instrument_id: 30})
    assert told(closing.day) == [OPEN]
    closing.day.person.reduce("zerodha", closing.share.instrument_id, Product.MIS, 30)
    await closing.day.until(lambda: closing.net("zerodha") == 0, 150)  # once somebody bids
    await closing.day.until(lambda: told(closing.day) == [], 30)


async def test_a_close_that_took_nothing_away_says_that_its_holder_cancelled_it(closing, autojump_clock):
    await closing.holds("zerodha", 30)
    answer = await waiting_close(closing)
    await end_close_in_the_app(closing)
    parent = await closing.until(answer, "cancelled", 30)
    why = "the order of a close was cancelled at zerodha with 30 units unfilled, so it did not close them"
    assert (parent["open_units"], told(closing.day)) == ({}, [why])


async def test_the_caller_who_cancels_such_a_close_is_told_what_stays_open(closing, autojump_clock):
    await guarded(closing)
    answer = await waiting_close(closing)
    stopped = await closing.day.stop(answer.body["parent_id"])
    assert stopped.body["open_units"] == {closing.share.instrument_id: 30}
    await closing.day.until(lambda: told(closing.day) != [], 10)


@pytest.mark.parametrize("death", ["send 1 after", "send 2 before"])
async def test_after_a_restart_it_is_still_known_that_the_stop_was_taken_away(day, death, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market():
            with mortal(day, None) as life:
                async with trio.open_nursery() as nursery:

                    async def serve():
                        async with day.service(quotes=True):
                            closing = day.closing = Closing(day)
                            await closing.quoted()
                            await guarded(closing)
                            day.answer = await closing.place(closing.close(when=AT), intent_id="c-1")
                            life.death = death
                            life.count()
                            await trio.sleep(200)

                    nursery.start_soon(serve)
                    with trio.move_on_after(200):
                        await life.dead.wait()
                    nursery.cancel_scope.cancel()
            assert life.dead.is_set(), "a step that never comes is not a crash point"
            closing = day.closing
            day.simulator.empty_side(closing.share.instrument_id, Side.BUY, 600)
            async with day.service(quotes=True):
                await closing.quoted()
                with trio.fail_after(120):
                    while not (left := [one for one in resting(closing) if one.new.side is Side.SELL]):
                        await trio.sleep(0.5)
                assert [order.trigger_price for order in left] == [None]
                await end_close_in_the_app(closing)
                await closing.until(day.answer, "cancelled", 30)
                assert OPEN in told(day)


async def test_a_broker_that_refuses_all_orders_is_asked_again_until_it_takes_the_close(closing, autojump_clock):
    await guarded(closing)
    answer = await closing.place(closing.close(when=AT), intent_id="c-1")
    await closing.until(answer, "waiting", path="root")
    closing.day.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=75)
    await trio.sleep(75)
    assert OPEN in told(closing.day)
    await closing.until(answer, "completed", 60)
    assert (closing.net("zerodha"), resting(closing), told(closing.day)) == (0, [], [])


async def test_a_refused_close_goes_again_although_only_another_broker_is_read_meanwhile(closing, autojump_clock):
    """The other broker cannot be read, and is read again alone: it says nothing about the position whose close was refused (model 820128)."""
    await guarded(closing)
    closing.day.simulator.fault("upstox", FaultKind.HTTP_500, seconds=75)
    closing.day.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=70)
    answer = await closing.place(closing.close(when=AT), intent_id="c-1")
    await closing.until_over([answer], 150)
    assert (closing.net("zerodha"), resting(closing), told(closing.day)) == (0, [], [])


async def test_a_row_whose_close_its_holder_cancels_is_told_while_the_other_row_rests(closing, autojump_clock):
    await guarded(closing)
    await closing.holds("upstox", 20)
    answer = await waiting_close(closing)
    await closing.day.until(lambda: len([one for one in resting(closing) if one.new.side is Side.SELL]) == 2, 30)
    (order,) = [one for one in resting(closing) if one.broker == "zerodha" and one.new.side is Side.SELL]
    closing.day.person.cancel("zerodha", order.order_id)
    # The 20 at the other broker rest at an empty side: they are open too.
    await closing.day.until(lambda: "50 units are open without a stop" in told(closing.day), 8)
    assert (await closing.parent(answer))["state"] == "working"
