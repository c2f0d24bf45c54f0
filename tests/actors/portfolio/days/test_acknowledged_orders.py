"""What a broker has acknowledged stands in the order document at the next beat, at all ten brokers, whatever their books do; and
ends as the exchange says."""

import pytest
import trio

from onebroker.brokers.registry import build_registry
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.engine_orders import ticks, truth
from tests.support.order_document import order_document

TEN = tuple(build_registry())
WITHIN_SECONDS = 1.0


def slow_books(day, seconds, delay):
    """Books that run behind, and streams that say nothing."""
    day.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=seconds, delay_seconds=delay)
    day.simulator.faults.add("all", FaultKind.STALL_STREAM, seconds=seconds)


def nothing_left(day):
    views = [handle.view.value for handle in day.sessions.values()]
    return all(not view.unseen and not view.broken_acknowledgments for view in views)


@pytest.fixture
async def ten(day, autojump_clock):
    return type(day)(brokers=TEN, number=600)


async def test_each_acknowledged_message_is_shown_within_a_second_at_all_ten_brokers(ten, autojump_clock):
    day = ten
    async with day.market(), day.service(), order_document(day) as orders:
        await trio.sleep(90)
        slow_books(day, 60, 8)
        placed = {}
        for number, code in enumerate(TEN):
            share = day.equity(number)
            price = ticks(day, share, -3)
            answer = await day.place(day.body(share, price=price, broker=code), intent_id=f"i-{number}")
            assert answer.status == 200, (code, answer)
            placed[code] = share, answer.body["order_id"], answer.body["parent_id"]
            await trio.sleep(WITHIN_SECONDS)
            view = orders()[answer.body["order_id"]]
            assert (view.broker, view.status, view.quantity, view.pending_quantity) == (code, "PENDING", 10, 10), code
            assert (view.price, view.engine_parent_id) == (float(price), answer.body["parent_id"])
            assert view.instrument_id == share.instrument_id, code
            assert (view.tag, view.order_timestamp is None) == (None, False)
        for code, (share, order_id, _) in placed.items():
            await day.until(lambda code=code, order_id=order_id: order_id in day.sessions[code].view.value.orders, 120)
            price = ticks(day, share, -2)
            answer = await day.modify(order_id, broker=code, price=price, quantity=7)
            assert (answer.status, answer.body["outcome"]) == (200, "accepted"), (code, answer)
            await trio.sleep(WITHIN_SECONDS)
            view = orders()[order_id]
            assert (view.price, view.quantity, view.pending_quantity) == (float(price), 7, 7), code
        for code, (_, order_id, _) in placed.items():
            answer = await day.cancel(order_id, broker=code)
            assert (answer.status, answer.body["outcome"]) == (200, "accepted"), (code, answer)
            await trio.sleep(WITHIN_SECONDS)
            view = orders()[order_id]
            assert (view.status, view.pending_quantity, view.cancelled_quantity) == ("CANCELLED", 0, 7), code
        await trio.sleep(45)
        assert {orders()[order_id].status for _, order_id, _ in placed.values()} == {"CANCELLED"}
        assert {truth(day, order_id)["status"] for _, order_id, _ in placed.values()} == {"cancelled"}
        assert nothing_left(day)


@pytest.mark.parametrize("kind", [FaultKind.LATE_BOOK, None])
async def test_fills_and_ends_are_the_brokers_and_show_nothing_old_in_between(kind, day, autojump_clock):
    """A market order, and one that trades after it was changed: from PENDING to COMPLETE, never back."""
    async with day.market(), day.service(), order_document(day) as orders:
        await trio.sleep(3)
        if kind is not None:
            day.simulator.faults.add("all", kind, seconds=60, delay_seconds=4)
        seen = {}

        async def watch():
            while True:
                for order_id, view in orders().items():
                    if view.status != seen.setdefault(order_id, [view.status])[-1]:
                        seen[order_id].append(view.status)
                await trio.sleep(0.25)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch)
            bought = await day.place(day.body(day.equity(0), product="MIS"), intent_id="i-1")
            share = day.equity(1)
            rests = await day.place(day.body(share, price=ticks(day, share, -3)), intent_id="i-2")
            await trio.sleep(2)
            changed = await day.modify(rests.body["order_id"], price=ticks(day, share, 3))
            assert changed.body["outcome"] == "accepted"
            await trio.sleep(30)
            nursery.cancel_scope.cancel()
        for answer in (bought, rests):
            order_id = answer.body["order_id"]
            assert truth(day, order_id)["status"] == "complete"
            assert seen[order_id][-1] == "COMPLETE"
            assert [one for one in seen[order_id] if one not in ("PENDING", "OPEN")] == ["COMPLETE"]
        assert nothing_left(day)


async def test_an_order_that_the_exchange_rejects_afterwards_is_shown_as_rejected(day, autojump_clock):
    async with day.market(), day.service(), order_document(day) as orders:
        await trio.sleep(3)
        share = day.equity(0)
        answer = await day.place(day.body(share, price=ticks(day, share, -3), quantity=10**7), intent_id="i-1")
        await trio.sleep(5)
        shown = {order_id: view.status for order_id, view in orders().items()}
        ends = {one["order_id"]: one["status"].upper() for one in day.ledger()["orders"] if one["order_id"] in shown}
        assert shown == ends, answer


async def test_what_was_acknowledged_is_shown_right_after_a_restart_too(day, autojump_clock):
    async with day.market():
        async with day.service():
            await trio.sleep(2)
            share, other = day.equity(0), day.equity(1)
            code = day.codes[0]
            body = day.body(other, price=ticks(day, other, -3), broker=code)
            resting = (await day.place(body, intent_id="i-1")).body["order_id"]
            await day.until(lambda: resting in day.sessions[code].view.value.orders)
            slow_books(day, 60, 25)
            body = day.body(share, price=ticks(day, share, -3), broker=code)
            answer = await day.place(body, intent_id="i-2")
            assert (await day.cancel(resting)).status == 200
            await trio.sleep(0.5)
        day.simulator.faults.add(code, FaultKind.LATENCY, seconds=5, delay_seconds=5)  # no book at first
        async with day.service(log_in=False), order_document(day) as orders:
            await trio.sleep(1)
            views = orders()
            assert (views[answer.body["order_id"]].status, views[resting].status) == ("PENDING", "CANCELLED")
        async with day.service(), order_document(day) as orders:
            await trio.sleep(90)
            views = orders()
            assert (views[answer.body["order_id"]].status, views[resting].status) == ("OPEN", "CANCELLED")


async def test_a_cancel_that_the_exchange_never_heard_of_is_taken_back_and_counted(day, autojump_clock, monkeypatch):
    """The broker accepts it and forgets it: seconds later the order document says what the books say, and so does health."""
    async with day.market(), day.service(), order_document(day) as orders:
        await trio.sleep(2)
        share, code = day.equity(0), day.codes[0]
        order_id = (await day.place(day.body(share, price=ticks(day, share, -3), broker=code))).body["order_id"]
        await day.until(lambda: order_id in day.sessions[code].view.value.orders)
        account = day.exchange.account(code)
        monkeypatch.setattr(account, "cancel", lambda *given, **more: account.order(order_id))
        answer = await day.cancel(order_id)
        if answer.body["outcome"] != "accepted":
            pytest.fail(f"the simulated broker said {answer.body}")
        await trio.sleep(WITHIN_SECONDS)
        assert orders()[order_id].status == "CANCELLED"
        await trio.sleep(30)
        assert orders()[order_id].status == "OPEN"
        assert day.sessions[code].view.value.broken_acknowledgments == 1


@pytest.mark.parametrize("code", TEN)
async def test_at_every_broker_what_was_accepted_is_enough_to_change_and_cancel_an_order(day, code, autojump_clock):
    """Its book shows the order half a minute later. 5paisa names orders by the exchange's number, which only its book tells: there a
    cancel is refused and says why, and nothing is sent."""
    day.__init__(brokers=(code,), number=60)
    async with day.market(), day.service(), order_document(day) as orders:
        await trio.sleep(2)
        slow_books(day, 90, 30)
        share = day.equity(0)
        order_id = (await day.place(day.body(share, price=ticks(day, share, -3), broker=code))).body["order_id"]
        began, price = day.clock.monotonic(), ticks(day, share, -2)
        changed, cancelled = await day.modify(order_id, price=price), await day.cancel(order_id)
        if code == "fivepaisa":
            assert (changed.status, cancelled.status) == (503, 503)
            assert "exchange's number" in cancelled.body["error"]
            assert day.messages("modify") == day.messages("cancel") == []
            return
        assert (changed.body["outcome"], cancelled.body["outcome"]) == ("accepted", "accepted"), (changed, cancelled)
        assert day.clock.monotonic() - began < 3
        assert truth(day, order_id)["status"] == "cancelled"
        await trio.sleep(WITHIN_SECONDS)
        assert (orders()[order_id].status, orders()[order_id].price) == ("CANCELLED", float(price))
