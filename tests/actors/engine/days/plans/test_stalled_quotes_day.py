"""Days on which the live quotes of one instrument stall at every broker while the market jumps over a resting stop (order-engine 1.11): the plan says
within seconds that its stop guards nothing, and sends nothing for it. A stop whose instrument is only quiet is no trouble."""

from contextlib import asynccontextmanager

import attrs
import pytest
import trio

from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ExposureProtected, ExposureUnprotected
from onebroker.config.vocabulary import OrderStatus
from tests.actors.engine.days.plans.test_overdue_day import is_quiet, is_told, net, problems, resting
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.support.day import Day
from tests.support.further import long_case, spread

ALL = "all"
STOP, LIMIT, JUMP = -3, -4, -7
"""Percent from the first price: the stop's trigger, its limit, and the place to which the market jumps."""
TYPES = ("bracket", "oco", "trailing_stop", "cover")
FIRST = [name if name in ("bracket", "trailing_stop") else pytest.param(name, marks=long_case()) for name in TYPES]
"""The others are played by the further command: their stops are the same kind of order."""
WITHOUT_STOP = "100 units are open without a stop"
SECONDS = 20
"""How long the plan has until it must have spoken, where no book tells that the stop was triggered."""


@asynccontextmanager
async def guarded(kind, code="zerodha", *, answers=True):
    """Units that a stop of this type guards at `code`, while another share ticks on; `answers`: whether brokers give quotes over REST."""
    day = Day(brokers=tuple(dict.fromkeys((code, "zerodha"))))
    if not answers:
        day.registry = {own: attrs.evolve(broker, quotes_in_service=False) for own, broker in day.registry.items()}
    async with day.market(), traded(day) as trading:
        with day.quotes.follow([day.equity(1).instrument_id]):
            answer = await PLACED[kind](trading, {"broker": code, "product": "CNC", "quantity": 100})
            await day.until(lambda: ("SELL", "SL", 100) in resting(trading), 90)
            await trio.sleep(70)  # every broker's book has shown the stop
            assert problems(trading) == []
            yield trading, answer


async def _entered(trading, order, **settings):
    levels = {"stop_price": trading.at(STOP), "stop_limit_price": trading.at(LIMIT), **settings}
    return await trading.send(order_type="LIMIT", price=trading.at(1), synthetic=levels, **order)


async def _bracket(trading, order):
    return await _entered(trading, order, type="bracket", target_price=trading.at(4))


async def _cover(trading, order):
    return await _entered(trading, order, type="cover")


async def _oco(trading, order):
    await trading.send(**order)
    await trio.sleep(60)
    levels = {"stop_price": trading.at(STOP), "stop_limit_price": trading.at(LIMIT), "target_price": trading.at(4)}
    return await trading.send(transaction_type="SELL", synthetic={"type": "oco", **levels}, **order)


async def _trailing_stop(trading, order):
    await trading.send(**order)
    await trio.sleep(60)
    trail = {"type": "trailing_stop", "trail_percent": -STOP, "stop_limit_offset": 1}
    return await trading.send(transaction_type="SELL", synthetic=trail, **order)


PLACED = {"bracket": _bracket, "oco": _oco, "trailing_stop": _trailing_stop, "cover": _cover}


def stall(trading):
    trading.day.simulator.fault(ALL, FaultKind.STALLED_QUOTES, instrument_id=trading.share.instrument_id)


def sent(trading):
    return trading.day.ledger()["messages"]


async def said(trading, answer, sentence):
    """The plan's own status says it too, and the event was told."""
    parent = await trading.parent(answer)
    assert sentence in str(parent), parent["status_message"]
    assert [event for event in trading.day.heard if isinstance(event, ExposureUnprotected)]


@pytest.mark.parametrize("code", ["zerodha", pytest.param("icicidirect", marks=long_case())])
@pytest.mark.parametrize("kind", FIRST)
async def test_a_stop_that_a_stalled_instrument_has_jumped_over_is_told_and_is_over_with_the_quotes(
    kind, code, autojump_clock
):
    async with guarded(kind, code) as (trading, answer):
        stall(trading)
        await trio.sleep(30)
        assert problems(trading) == []
        before = sent(trading)
        trading.moved(JUMP)
        await is_told(trading, WITHOUT_STOP, SECONDS)
        await is_told(trading, "what is due waits: the market is past the limit", 1)
        await said(trading, answer, "the market is past the limit")
        for _ in range(60):  # it goes on being said between two quotes over REST
            await trio.sleep(1)
            assert any(WITHOUT_STOP in message for message in problems(trading))
        assert sent(trading) == before
        assert resting(trading)[-1][:2] == ("SELL", "SL")
        trading.day.simulator.faults.heal()
        trading.moved(LIMIT - 0.5)
        await trio.sleep(5)
        await is_told(trading, WITHOUT_STOP, 1)
        trading.moved(0)
        await is_quiet(trading, 20)
        assert [event for event in trading.day.heard if isinstance(event, ExposureProtected)]


@pytest.mark.parametrize("kind", FIRST)
async def test_a_stop_that_the_book_shows_triggered_is_told_at_once(kind, autojump_clock):
    async with guarded(kind) as (trading, _):
        stall(trading)
        await trio.sleep(1)
        trading.moved(JUMP)
        await is_told(trading, WITHOUT_STOP, 8)
        await is_told(trading, "what is due waits: the market is past the limit", 1)


@pytest.mark.parametrize("kind", FIRST)
async def test_a_stop_that_has_triggered_and_not_filled_is_told_without_any_price(kind, autojump_clock):
    async with guarded(kind, answers=False) as (trading, answer):
        stall(trading)
        await trio.sleep(30)
        before = sent(trading)
        trading.moved(JUMP)
        await is_told(trading, WITHOUT_STOP, 10)
        await is_told(trading, "has triggered and has not filled", 1)
        await said(trading, answer, "has triggered and has not filled")
        await trio.sleep(400)  # until the last live quote is too old
        await is_told(trading, "has triggered and has not filled", 1)
        assert sent(trading) == before
        trading.day.simulator.faults.heal()
        await is_told(trading, "the market is past the limit", 20)
        trading.moved(0)
        await is_quiet(trading, 20)


@pytest.mark.parametrize("answers", [True, pytest.param(False, marks=long_case())])
@pytest.mark.parametrize("code", ["icicidirect", pytest.param("zerodha", marks=long_case())])
async def test_a_stalled_instrument_whose_market_does_not_move_is_no_trouble(code, answers, autojump_clock):
    async with guarded("bracket", code, answers=answers) as (trading, _):
        stall(trading)
        for _ in range(70):  # past the time for which a live quote is usable
            await trio.sleep(5)
            assert problems(trading) == []


@pytest.mark.parametrize("code", spread(sorted(build_registry()), 3))
async def test_a_book_shows_no_waiting_stop_as_open_unless_its_broker_is_known_for_it(code, autojump_clock):
    day = Day(brokers=tuple(dict.fromkeys((code, "zerodha"))))
    async with day.market(), traded(day) as trading:
        prices = {"trigger_price": trading.at(STOP), "price": trading.at(LIMIT)}
        await trading.send(product="CNC", broker=code)
        await trio.sleep(60)
        answer = await trading.send(transaction_type="SELL", product="CNC", broker=code, order_type="SL", **prices)
        orders = day.sessions[code].view
        await day.until(lambda: answer.body["order_id"] in orders.value.orders, 90)
        await trio.sleep(60)
        shown_open = orders.value.orders[answer.body["order_id"]].status == OrderStatus.OPEN
        assert shown_open != build_registry()[code].books_tell_triggers


@pytest.mark.parametrize("kind", ["hidden_stop", "close_on_trigger", "held target"])
async def test_an_exit_that_waits_in_the_engine_leaves_by_the_price_over_rest(kind, autojump_clock):
    """Nothing of it is at a broker: without the ticks of its instrument nobody but the engine can know that its level is passed."""
    day = Day()
    async with day.market(), traded(day) as trading:
        with day.quotes.follow([day.equity(1).instrument_id]):
            level = {"trigger_price": trading.at(STOP)}
            if kind == "held target":
                levels = {
                    "stop_price": trading.at(STOP),
                    "stop_limit_price": trading.at(LIMIT),
                    "target_price": trading.at(3),
                }
                await trading.send(
                    quantity=100, order_type="LIMIT", price=trading.at(1), broker="zerodha",
                    synthetic={"type": "bracket", **levels},
                )  # fmt: skip
            else:
                await trading.send(quantity=100, broker="zerodha")
            await day.until(lambda: net(trading) == 100, 30)
            await trio.sleep(10)
            if kind != "held target":
                quantity = 100 if kind == "hidden_stop" else None
                await trading.send(
                    transaction_type="SELL", quantity=quantity, broker="zerodha", synthetic={"type": kind, **level}
                )
            await trio.sleep(5)
            stall(trading)
            await trio.sleep(5)
            trading.moved(3.5 if kind == "held target" else STOP - 1)
            await day.until(lambda: net(trading) == 0, 60)


_CLOSED = {"after_minutes": 5, "on_end": "close_filled"}
TIMED = {
    "time_stop": {"type": "time_stop", "minutes": 5},
    "order": {"type": "plan", "root": {"lifetime": _CLOSED}},
    "group": {"type": "plan", "root": {"part": "together", "lifetime": _CLOSED, "children": [{}]}},
    "sequence": {"type": "plan", "root": {"part": "sequence", "lifetime": _CLOSED, "first": {}, "then": {"when": {"time": "15:00"}}}},
}  # fmt: skip


@pytest.mark.parametrize("after", [30, 280])
@pytest.mark.parametrize("kind", TIMED)
async def test_a_close_at_a_time_leaves_by_the_price_over_rest(market, kind, after, autojump_clock):
    """No part of the plan is an exit. The close must not rest where the market was before the ticks stopped."""
    async with traded(market) as trading:
        with market.quotes.follow([market.equity(1).instrument_id]):
            body = {"quantity": 50, "broker": "zerodha", "order_type": "LIMIT", "price": trading.at(1)}
            answer = await trading.send(**body, synthetic=TIMED[kind])
            assert answer.status == 200, answer
            await market.until(lambda: net(trading) == 50, 20)
            await trio.sleep(after)
            stall(trading)
            trading.moved(-2)
            await market.until(lambda: len(market.messages("place")) == 2, 300)
            await market.until(lambda: net(trading) == 0, 6)
            await trio.sleep(10)
            assert problems(trading) == []
