"""What is told of orders, compared with the exchange's ledger: one `order.sent` for each message that reached a broker."""

from collections import Counter

import attrs
import pytest
import trio

from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import (
    ExposureProtected,
    ExposureUnprotected,
    OrderAnswered,
    OrderFilled,
    OrderRejected,
    OrderSent,
    OrderSettled,
    OrderUnknown,
    ParentMoved,
)
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.simple.test_simple_order import far_below, until_parent
from tests.actors.engine.days.unknown.test_unknown_orders import bracket


def of(day, kind):
    return [event for event in day.heard if type(event) is kind]


def sent_and_ledger(day):
    """Return two counts of the order messages by broker, verb and order: as told, and as the exchange has them."""
    told = Counter((event.broker, event.verb, event.order_id or event.token) for event in of(day, OrderSent))
    ledger = Counter(
        (row["broker"], row["verb"], row["tag"] if row["verb"] == "place" else row["order_id"])
        for row in day.ledger()["messages"]
    )
    return told, ledger


async def test_a_simple_order_is_told_from_its_parent_to_its_fill(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        answer = await day.place(day.body(share, price=far_below(day, share)))
        day.simulator.set_price(share.instrument_id, far_below(day, share), 60)
        await until_parent(day, answer, "completed")
        (sent,), (answered,) = of(day, OrderSent), of(day, OrderAnswered)
        assert (sent.verb, sent.parent, sent.leg) == ("place", answer.body["parent_id"], f"{sent.parent}.0")
        assert sent.intent == answer.body["intent_id"]
        assert (sent.instrument, sent.side, sent.price) == (share.instrument_id, "BUY", sent.price)
        assert (answered.outcome, answered.order_id, answered.leg) == ("accepted", answer.body["order_id"], sent.leg)
        states = [(event.before, event.state) for event in of(day, ParentMoved) if event.parent == sent.parent]
        assert states == [("", "received"), ("received", "working"), ("working", "completed")]
        fills = of(day, OrderFilled)
        assert sum(event.added for event in fills) == fills[-1].filled == sent.quantity
        assert day.heard.index(sent) < day.heard.index(answered) < day.heard.index(fills[-1])
        told, ledger = sent_and_ledger(day)
        assert told == ledger


@pytest.mark.parametrize("kind", [FaultKind.REJECT_ORDERS, FaultKind.DROP_AFTER_ACCEPT, FaultKind.REFUSE_CONNECTIONS])
async def test_each_fault_of_an_order_is_told_once_and_in_the_brokers_words(day, autojump_clock, kind):
    async with day.market(), day.service():
        share = day.equity()
        day.simulator.fault("zerodha", kind, seconds=5)
        body = day.body(share, price=far_below(day, share), broker="zerodha")
        answer = await day.place(body)
        told, ledger = sent_and_ledger(day)
        assert told == ledger
        rejected, unknown = of(day, OrderRejected), of(day, OrderUnknown)
        match kind:
            case FaultKind.REJECT_ORDERS:
                assert [event.words for event in rejected] == [answer.body["status_message"]]
                assert not unknown
            case FaultKind.DROP_AFTER_ACCEPT:
                assert [event.leg for event in unknown] == [f"{answer.body['parent_id']}.0"]
                assert [event.outcome for event in of(day, OrderAnswered)] == ["unknown"]
                with trio.fail_after(120):
                    while not of(day, OrderSettled):
                        await trio.sleep(0.1)
                assert [(event.state, event.leg) for event in of(day, OrderSettled)] == [("open", unknown[0].leg)]
            case _:
                assert not told
                assert not rejected
                assert not unknown
                assert not of(day, OrderAnswered)


async def test_every_message_of_a_plan_is_told_once(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.place(attrs.evolve(bracket(trading), price=Fixed(trading.at(-1))))
        await trio.sleep(5)
        trading.moved(-2)
        await trio.sleep(30)
        trading.moved(6)
        await trading.until(answer, "completed")
        told, ledger = sent_and_ledger(market)
        assert told == ledger
        assert {"place", "cancel"} <= {verb for _, verb, _ in told}
        assert not of(market, ExposureUnprotected)


async def test_units_without_a_stop_are_told_when_it_begins_and_when_it_is_over(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.place(attrs.evolve(bracket(trading), price=Fixed(trading.at(-1))))
        await trio.sleep(5)
        market.simulator.fault("all", FaultKind.REFUSE_CONNECTIONS, seconds=20)
        trading.moved(-2)
        with trio.fail_after(120):
            while not of(market, ExposureUnprotected):
                await trio.sleep(0.1)
        with trio.fail_after(120):
            while not of(market, ExposureProtected):
                await trio.sleep(0.1)
        (begins,), (ends,) = of(market, ExposureUnprotected), of(market, ExposureProtected)
        assert (begins.parent, begins.units) == (ends.parent, ends.units)
        assert begins.parent == answer.body["parent_id"]
