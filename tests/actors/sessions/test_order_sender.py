"""Order messages of a session: sent once or not at all, inside the budget, their outcome never guessed."""

import contextlib
from datetime import datetime

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.placing.budget_room import ask_room
from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import ActorNotRunning, Reply
from onebroker.actors.sessions.messages import AskRoom, CapReached, LoginNeeded, ReturnRoom, RoomFull
from onebroker.actors.sessions.order_sender import OrderDesk
from onebroker.actors.store import keys
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.broker import Windows
from onebroker.brokers.requests import CallKind
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.transport.budget import Budget, BudgetCounts, Moment
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import IST, Clock
from onebroker.config.events import BudgetFull

CODES = ["zerodha", "upstox"]


def orders_sent(world, code):
    return [call for call in world.calls.calls if call.kind is CallKind.ORDER and call.code == code]


@pytest.mark.parametrize("code", CODES)
async def test_an_order_taken_by_the_broker_is_accepted_with_its_id(day, world, code, autojump_clock):
    async with day.market(), day.service():
        sent = await world.place(code)
        assert (sent.answer.outcome.value, sent.reached) == ("accepted", True)
        assert [one["order_id"] for one in day.messages("place")] == [sent.answer.order_id]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(
    ("kind", "outcome", "reached", "in_ledger"),
    [
        (FaultKind.REFUSE_CONNECTIONS, "rejected", False, 0),
        (FaultKind.LATENCY, "unknown", True, None),
        (FaultKind.HTTP_500, "unknown", True, 0),
        (FaultKind.GARBAGE_BODY, "unknown", True, 1),
        (FaultKind.REFUSAL_IN_200, "rejected", True, 0),
        (FaultKind.DROP_AFTER_ACCEPT, "unknown", True, 1),
        (FaultKind.REJECT_ORDERS, "rejected", True, None),
    ],
)
async def test_whatever_happens_to_an_order_message_it_leaves_once(
    day, world, code, kind, outcome, reached, in_ledger, autojump_clock
):
    async with day.market(), day.service():
        request, place = world.place_request(code), await world.permit(code)
        day.simulator.fault(code, kind, seconds=20, delay_seconds=6)
        sent = await world.send(code, request, permit=place)
        assert (sent.answer.outcome.value, sent.reached) == (outcome, reached)
        await trio.sleep(300)
        assert len(orders_sent(world, code)) == 1
        placed = day.messages("place")
        assert len(placed) <= 1
        if in_ledger is not None:
            assert len(placed) == in_ledger
        # What never had a connection is not counted (order-engine 4.5).
        assert day.sessions[code].view.value.room.order_messages_today == int(reached)


async def test_an_order_past_its_lock_is_not_sent_and_gives_its_place_back(day, world, autojump_clock):
    async with day.market(), day.service():
        place = await world.permit("zerodha")
        sent = await world.send(
            "zerodha", world.place_request("zerodha"), permit=place, leave_before=day.clock.monotonic()
        )
        assert (sent.answer.outcome.value, sent.reached) == ("rejected", False)
        assert orders_sent(world, "zerodha") == []
        await trio.sleep(2)
        assert day.sessions["zerodha"].view.value.room.order_messages_today == 0


async def test_an_order_for_a_login_that_is_known_to_be_dead_is_not_sent(day, world, autojump_clock):
    async with day.market(), day.service():
        request, place = world.place_request("zerodha"), await world.permit("zerodha")
        day.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION)
        await day.until(lambda: not day.sessions["zerodha"].view.value.live)
        with pytest.raises(LoginNeeded):
            await world.send("zerodha", request, permit=place)
        assert orders_sent(world, "zerodha") == []


async def test_a_session_that_crashes_with_an_order_under_way_leaves_its_outcome_unknown_and_sends_nothing_again(
    day, world, autojump_clock
):
    async with day.market(), day.service():
        request, place = world.place_request("zerodha"), await world.permit("zerodha")
        day.simulator.fault("zerodha", FaultKind.LATENCY, count=1, delay_seconds=2)
        crashed = trio.Event()

        async def crash():
            await trio.sleep(1)
            await day.sessions["zerodha"].address.tell("no message of ours")
            crashed.set()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(crash)
            with pytest.raises(ActorNotRunning) as down:
                await world.send("zerodha", request, permit=place)
        assert down.value.taken
        assert [record.actor for record in day.crashes.records()] == ["session zerodha"]
        await day.until(lambda: day.has_read("zerodha"))
        await trio.sleep(60)
        assert len(orders_sent(world, "zerodha")) == 1
        assert len(day.messages("place")) <= 1


async def test_an_order_under_way_when_the_service_stops_is_waited_for(day, world, autojump_clock):
    async with day.market():
        async with day.service():
            share = day.equity()
            day.simulator.fault("all", FaultKind.LATENCY, seconds=3, delay_seconds=2)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(outlive, day, day.body(share, price=world.low(share)))
                with trio.fail_after(10):
                    while not await keys_with(day, "orders:token:"):
                        await trio.sleep(0.05)
                nursery.cancel_scope.cancel()
            began = day.clock.monotonic()
        assert day.clock.monotonic() - began <= 8
        placed = day.messages("place")
        assert len(placed) == 1
        async with day.service(log_in=False):
            await trio.sleep(60)
            assert len(day.messages("place")) == 1
            assert await keys_with(day, f"orders:leg:{placed[0]['broker']}:")


async def outlive(day, body):
    await day.place(body, wait=20)


async def keys_with(day, prefix):
    await trio.lowlevel.checkpoint()
    held = day.store.keys()
    return [key for key in held if key.startswith(prefix)]


async def test_a_long_busy_run_is_never_told_too_many_requests(day, world, autojump_clock):
    async with day.market(), day.service():

        async def busy(code, number):
            for _ in range(60):
                try:
                    await world.place(code, number=number)
                except RoomFull:
                    await trio.sleep(1)

        async with trio.open_nursery() as nursery:
            for code in CODES:
                for number in range(4):
                    nursery.start_soon(busy, code, number)
        for code in CODES:
            assert len(orders_sent(world, code)) > 100
            assert not [call for call in world.calls.calls if call.code == code and call.status == 429]
            for window, most in ((1, 10), (60, 200 if code == "zerodha" else 500)):
                times = [call.at for call in orders_sent(world, code)]
                assert max(sum(at <= later < at + window for later in times) for at in times) <= most
            assert day.sessions[code].view.value.read_errors == {}


async def test_counts_survive_a_restart(day, world, autojump_clock):
    async with day.market():
        async with day.service():
            for _ in range(8):
                await world.place("zerodha")
            await trio.sleep(61)
            before = day.sessions["zerodha"].view.value.room.order_messages_today
            assert before == 8
            assert await day.store.get(keys.rate("zerodha"))
        async with day.service(log_in=False):
            await day.until(lambda: day.has_read("zerodha"))
            assert day.sessions["zerodha"].view.value.room.order_messages_today == before


async def test_counts_are_taken_up_late_when_the_store_was_away_at_the_start(day, world, autojump_clock):
    async with day.market():
        async with day.service():
            for _ in range(5):
                await world.place("upstox")
            await trio.sleep(61)
        day.store.fail_with(StoreError("not sent: away"))
        async with day.service(log_in=False):
            await trio.sleep(200)
            day.store.come_back()
            await day.until(lambda: day.has_read("upstox"))
            assert day.sessions["upstox"].view.value.room.order_messages_today == 5


async def test_at_the_days_cap_entries_are_refused_with_the_figures_and_cancels_are_not(
    day, world, told, autojump_clock
):
    async with day.market(), day.service():
        pass
    settings = day.settings

    def capped():
        made = settings()
        brokers = {code: attrs.evolve(one, daily_messages=4, exit_reserve=1) for code, one in made.brokers.items()}
        return attrs.evolve(made, brokers=brokers)

    day.settings = capped
    day.day_limits = True
    async with day.market(), day.service(log_in=False):
        await day.until(lambda: day.has_read("zerodha"))
        for _ in range(3):
            await world.permit("zerodha")
        with pytest.raises(CapReached) as cap:
            await world.permit("zerodha")
        assert (cap.value.sent, cap.value.cap, cap.value.reserve) == (3, 4, 1)
        await world.permit("zerodha", Priority.EXIT)
        with pytest.raises(CapReached):
            await world.permit("zerodha", Priority.EXIT)
        await world.permit("zerodha", Priority.CANCEL)
        (full,) = told("zerodha", BudgetFull)
        assert full.why == "3 of 4 order messages sent today"


async def test_a_place_given_back_is_there_again(day, world, autojump_clock):
    async with day.market(), day.service():
        taken = []
        with contextlib.suppress(RoomFull):
            while len(taken) < 20:
                taken.append(await world.permit("zerodha", wait=0))
        assert len(taken) < 10
        await day.sessions["zerodha"].address.tell(ReturnRoom(permit=taken[0]))
        await world.permit("zerodha", wait=0)


async def test_a_brokers_own_too_many_requests_is_a_rejection_and_closes_its_window_for_a_second(
    day, world, autojump_clock
):
    async with day.market(), day.service():
        dialect = day.simulator.gateways["zerodha"].dialect
        request, place, handle = world.place_request("zerodha"), await world.permit("zerodha"), dialect.handle
        dialect.handle = lambda asked: dialect.rate_limited() if asked.method == "POST" else handle(asked)
        sent = await world.send("zerodha", request, permit=place)
        dialect.handle = handle
        assert (sent.answer.outcome.value, sent.answer.rate_limited) == ("rejected", True)
        with pytest.raises(RoomFull):
            await world.permit("zerodha", Priority.CANCEL, wait=0.5)
        await world.permit("zerodha", Priority.CANCEL, wait=1)


async def test_a_full_budget_is_told_at_most_once_a_minute(day, world, told, autojump_clock):
    async with day.market(), day.service():

        async def fill():
            with contextlib.suppress(RoomFull):
                while True:
                    await world.permit("zerodha", wait=0)

        for _ in range(5):
            await fill()
            await trio.sleep(1.5)
        (full,) = told("zerodha", BudgetFull)
        assert full.why == "the rate budget has no room for an order message"
        await trio.sleep(61)
        await fill()
        assert len(told("zerodha", BudgetFull)) == 2
        assert told("upstox", BudgetFull) == []


@pytest.mark.parametrize("found", [True, False])
async def test_room_that_an_order_has_found_elsewhere_is_not_missed(found, autojump_clock):
    clock, heard = Clock.following_trio(datetime(2026, 11, 23, 10, 0, tzinfo=IST)), []
    gate = BudgetGate(Budget(Windows(minute=10), Windows()), clock, most_waiting=5)
    while gate.budget.room(CallKind.ORDER, Priority.ENTRY, Moment.of(clock)):
        gate.budget.take(CallKind.ORDER, Priority.ENTRY, Moment.of(clock))
    desk = OrderDesk("b", transport=None, gate=gate, clock=clock, codec=None, events=Events(heard.append))
    message = AskRoom(priority=Priority.ENTRY, deadline=clock.monotonic() + 2, reply=Reply())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.take_room, message)
        await trio.sleep(1)
        if found:
            message.reply.refuse(RoomFull())  # as the race for the first room ends
    assert len(heard) == (not found)


@pytest.mark.parametrize("code", CODES)
async def test_room_taken_without_asking_is_the_room_that_is_asked_for(day, world, code, autojump_clock):
    async with day.market(), day.service():
        permit = day.sessions[code].room.take(Priority.ENTRY)
        counts = msgspec.json.decode(permit.counts, type=BudgetCounts)
        assert counts.day_orders == 1
        sent = await world.send(code, world.place_request(code), permit=permit)
        assert (sent.answer.outcome.value, len(orders_sent(world, code))) == ("accepted", 1)
        today = msgspec.json.decode((await world.permit(code)).counts, type=BudgetCounts).day_orders
        assert today == 2


async def test_without_a_login_or_a_session_no_room_is_taken(day, world, autojump_clock):
    async with day.market(), day.service():
        room = day.sessions["zerodha"].room
        await day.sessions["zerodha"].address.tell("no message of ours")
        await day.until(lambda: not day.sessions["zerodha"].address.running)
        assert room.take(Priority.CANCEL) is None
        await day.until(lambda: room.take(Priority.CANCEL))
        day.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION)
        await day.until(lambda: not day.sessions["zerodha"].view.value.live)
        assert room.take(Priority.CANCEL) is None
        assert day.sessions["upstox"].room.take(Priority.CANCEL) is not None
    assert day.sessions["upstox"].room.take(Priority.CANCEL) is None


async def test_where_no_room_is_free_the_session_refuses_it_and_tells_so(day, world, autojump_clock):
    async with day.market(), day.service():
        desk, room = day.sessions["zerodha"], day.sessions["zerodha"].room
        while room.take(Priority.ENTRY) is not None:
            pass
        with pytest.raises(RoomFull):
            await ask_room(desk, Priority.ENTRY, day.clock.monotonic(), day.clock)
        assert [event.broker for event in day.heard if isinstance(event, BudgetFull)] == ["zerodha"]
