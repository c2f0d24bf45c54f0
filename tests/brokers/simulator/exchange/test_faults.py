"""Which faults are active when, and what those of orders and books do."""

from datetime import timedelta

import pytest
import trio

from onebroker.brokers.simulator.exchange.call_limits import CallLimits, TooManyCalls
from onebroker.brokers.simulator.exchange.faults import FaultKind, Faults
from onebroker.brokers.simulator.world.broker_traits import BROKERS
from onebroker.brokers.simulator.world.model import RefusalReason, SimRefusal, SimStatus
from onebroker.config.clock import Clock
from onebroker.config.vocabulary import OrderType


async def test_a_fault_ends_after_its_seconds_or_its_strikes(autojump_clock):
    faults = Faults(Clock())
    faults.add("zerodha", FaultKind.HTTP_500, seconds=5)
    faults.add("upstox", FaultKind.HTTP_500, count=2)
    assert faults.strike("zerodha", FaultKind.HTTP_500)
    assert not faults.strike("zerodha", FaultKind.LATENCY)
    await trio.sleep(5)
    assert faults.find("zerodha", FaultKind.HTTP_500) is None
    assert [faults.strike("upstox", FaultKind.HTTP_500) is not None for _ in range(3)] == [True, True, False]


async def test_a_fault_without_end_lasts_until_it_is_healed(autojump_clock):
    faults = Faults(Clock())
    for code in ("zerodha", "upstox"):
        faults.add(code, FaultKind.HTTP_500)
        faults.add(code, FaultKind.LATENCY)
    await trio.sleep(80_000)
    assert faults.heal("zerodha", FaultKind.HTTP_500) == 1
    assert faults.find("zerodha", FaultKind.HTTP_500) is None
    assert faults.find("zerodha", FaultKind.LATENCY)
    assert faults.heal(kind=FaultKind.LATENCY) == 2
    assert faults.heal("all") == 1


async def test_a_fault_of_all_strikes_every_broker():
    faults = Faults(Clock())
    faults.add("all", FaultKind.HTTP_500)
    assert faults.strike("dhan", FaultKind.HTTP_500)


async def test_forced_refusals_strike_orders_and_cancels_apart(floor):
    share = floor.contract()
    order = floor.place(share, "BUY", 1, "LIMIT", price=floor.last(share) - 100 * share.tick_size)
    floor.faults.add("zerodha", FaultKind.REJECT_ORDERS, count=1)
    with pytest.raises(SimRefusal) as caught:
        floor.place(share, "BUY", 1)
    assert caught.value.reason is RefusalReason.FORCED
    assert floor.place(share, "BUY", 1).filled_quantity == 1
    floor.faults.add("zerodha", FaultKind.REJECT_CANCELS, count=1)
    with pytest.raises(SimRefusal):
        floor.account().cancel(order.order_id)
    assert floor.account().cancel(order.order_id).cancelled_quantity == 1


async def test_a_fault_of_one_instrument_leaves_the_orders_of_others_alone(floor):
    share, other = floor.contract(), floor.contract(n=1)
    resting = [
        floor.place(one, "BUY", 1, "LIMIT", price=floor.last(one) - 100 * one.tick_size) for one in (share, other)
    ]
    for kind in (FaultKind.REJECT_ORDERS, FaultKind.REJECT_CANCELS):
        floor.faults.add("zerodha", kind, count=1, instrument_id=other.instrument_id)
    assert floor.place(share, "BUY", 1).filled_quantity == 1
    assert floor.account().cancel(resting[0].order_id).cancelled_quantity == 1
    with pytest.raises(SimRefusal):
        floor.place(other, "BUY", 1)
    with pytest.raises(SimRefusal):
        floor.account().cancel(resting[1].order_id)
    for one in (share, other):
        floor.faults.add("zerodha", FaultKind.REJECT_ORDERS, instrument_id=one.instrument_id)
    assert floor.faults.heal(instrument_id=share.instrument_id) == 1
    assert floor.place(share, "BUY", 1).filled_quantity == 1
    with pytest.raises(SimRefusal):
        floor.place(other, "BUY", 1)


async def test_a_fault_of_one_order_type_leaves_orders_of_others_alone(floor):
    share = floor.contract()
    above = floor.last(share) + 100 * share.tick_size
    floor.faults.add("zerodha", FaultKind.REJECT_ORDERS, count=1, order_type=OrderType.SL)
    assert floor.place(share, "BUY", 1).filled_quantity == 1
    with pytest.raises(SimRefusal):
        floor.place(share, "BUY", 1, "SL", price=above, trigger_price=above)
    assert floor.place(share, "BUY", 1, "SL", price=above, trigger_price=above).status is SimStatus.TRIGGER_PENDING


async def test_a_late_book_shows_the_past_and_then_the_present(floor):
    share = floor.contract()
    old = floor.place(share, "BUY", 1, "LIMIT", price=floor.last(share) - 100 * share.tick_size)
    floor.faults.add("zerodha", FaultKind.LATE_BOOK, delay_seconds=3)
    floor.moment += 10
    new = floor.place(share, "BUY", 1)
    floor.account().cancel(old.order_id)
    seen = {order.order_id: order.status for order in floor.account().orders()}
    assert seen[old.order_id] == "open"
    assert new.order_id not in seen
    assert new.order_id not in {fill.order_id for fill in floor.account().fills()}
    floor.moment += 3
    seen = {order.order_id: order.status for order in floor.account().orders()}
    assert (seen[old.order_id], seen[new.order_id]) == ("cancelled", "complete")
    assert new.order_id in {fill.order_id for fill in floor.account().fills()}


async def test_windows_of_orders_and_of_all_calls_refuse_what_is_too_much(autojump_clock):
    clock = Clock()
    zerodha = CallLimits(BROKERS["zerodha"].limits, clock, day_limits=False)
    for _ in range(10):
        zerodha.count_order()
    with pytest.raises(TooManyCalls):
        zerodha.count_order()
    zerodha.count_call()
    await trio.sleep(1)
    zerodha.count_order()
    fyers = CallLimits(BROKERS["fyers"].limits, clock, day_limits=False)
    for _ in range(20):
        for _ in range(10):
            fyers.count_call()
        await trio.sleep(1)
    with pytest.raises(TooManyCalls):
        fyers.count_call()


async def test_day_limits_are_enforced_only_when_asked_for(autojump_clock):
    clock = Clock()
    strict = CallLimits(BROKERS["zerodha"].limits, clock, day_limits=True)
    lenient = CallLimits(BROKERS["zerodha"].limits, clock, day_limits=False)
    for _ in range(1000):
        for _ in range(3):
            strict.count_order()
            lenient.count_order()
        await trio.sleep(timedelta(seconds=1).total_seconds())
    lenient.count_order()
    with pytest.raises(TooManyCalls):
        strict.count_order()


async def test_late_positions_show_the_past_while_the_order_book_is_right(floor):
    share, account = floor.contract(n=100), floor.account()
    floor.faults.add("zerodha", FaultKind.LATE_POSITIONS, delay_seconds=2)

    def shown():
        return {row.instrument_id: row.quantity for row in account.positions()}.get(share.instrument_id)

    first = floor.place(share, "BUY", 5)
    assert account.order(first.order_id).status is SimStatus.COMPLETE
    assert first.order_id in {fill.order_id for fill in account.fills()}
    assert shown() is None
    floor.moment += 2
    assert shown() == 5
    floor.place(share, "BUY", 3)
    floor.moment += 1
    floor.place(share, "SELL", 2)
    assert shown() == 5
    floor.moment += 1
    assert shown() == 8
    floor.moment += 1
    assert shown() == 6
    assert {row.instrument_id: row.quantity for row in account.held_positions()}[share.instrument_id] == 6


async def test_late_positions_do_not_touch_the_days_end(floor):
    share = floor.contract(n=100)
    floor.faults.add("zerodha", FaultKind.LATE_POSITIONS, delay_seconds=100_000)
    floor.faults.add("zerodha", FaultKind.LATE_BOOK, delay_seconds=100_000)
    floor.place(share, "BUY", 5)
    floor.at(floor.clock.now() + timedelta(days=1))
    assert {row.instrument_id: row.t1_quantity for row in floor.account().holdings()}[share.instrument_id] == 5
    assert floor.account().all_fills() == ()


async def test_the_newest_row_of_one_instrument_or_of_any_is_left_out_of_an_answer(floor):
    account, kind = floor.account(), FaultKind.PARTIAL_POSITIONS
    floor.faults.add("zerodha", kind, count=1, instrument_id="b")
    assert account.struck_row(kind, ["a", "c"]) is None
    assert account.struck_row(FaultKind.PARTIAL_ORDERS, ["a", "b"]) is None
    assert account.struck_row(kind, ["b", "b", "c"]) == 1
    assert account.struck_row(kind, ["b", "b", "c"]) is None
    floor.faults.add("zerodha", kind, count=2)
    assert [account.struck_row(kind, rows) for rows in (["a", "b"], [], ["a"], ["a"])] == [1, None, 0, None]
