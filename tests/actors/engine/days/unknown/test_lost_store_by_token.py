"""A store that came back without its last writes, and books that are later than the engine waits: what the lost run may have sent is
asked for by its token before anything goes out (order-engine 2.5, K19). Judged on the exchange's ledger."""

from decimal import Decimal as D

import attrs
import pytest
import trio

from onebroker.actors.engine import lost_orders
from onebroker.actors.engine.orders.leg_tokens import leg_token
from onebroker.actors.engine.parent.store_recovery import next_legs
from onebroker.actors.engine.plan.execution_kinds import Twap
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable
from onebroker.actors.engine.plan.stored_tree import encode_plan
from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.actors.sessions.token_lookup import TokenReader
from onebroker.brokers.requests import BadAnswer
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.transport.priorities import Priority
from tests.actors.engine.days.plans.test_plan_orders import Trading, traded
from tests.actors.engine.days.unknown.test_lost_store import (
    Memory,
    bought_once,
    lost_slices,
    memory_with_legs,
    only_parent,
)
from tests.actors.engine.days.unknown.test_unknown_orders import bracket, rewritten, ticket_price
from tests.actors.engine.orders.test_transitions import LEG, PARENT
from tests.actors.engine.plan.trees import order, together
from tests.support.further import spread

ASKED = ("upstox", "dhan", "fyers", "groww", "fivepaisa")
FOUND = "the store had lost an order of this that upstox has, so nothing more of it is sent until the book of upstox shows it"
WAITS = "Redis came back without its last writes, so nothing of this is sent until it is known what was lost"
LATE_SECONDS = 300
"""Longer than an order of unknown outcome is looked for."""


@pytest.fixture
async def at(autojump_clock, day_kind):
    """Make a day with one broker, or with several."""
    async with trio.open_nursery() as nursery:
        ends = trio.Event()

        async def market(day, task_status):
            async with day.market():
                task_status.started()
                await ends.wait()

        async def begin(*codes):
            day = day_kind(brokers=codes)
            await nursery.start(market, day)
            return day

        yield begin
        ends.set()


def late(day, seconds=LATE_SECONDS + 100):
    day.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=seconds, count=None, delay_seconds=LATE_SECONDS)


@pytest.mark.parametrize("code", spread(ASKED, 2))
async def test_a_slice_that_no_book_shows_yet_is_found_by_its_token_and_not_sent_again(at, code, autojump_clock):
    day = await at(code)
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    late(day)
    async with traded(day, log_in=False) as trading:
        await trio.sleep(200)
        assert len(trading.messages()) == 2
        await trading.until(answer, "completed", seconds=900)
        bought_once(day)


async def test_a_simple_order_that_no_book_shows_yet_is_not_said_to_be_unsent(at, autojump_clock):
    """Its parent is there, its leg is not: whoever were told that nothing was sent would send it again."""
    day = await at("upstox")
    async with day.service():
        share = day.equity()
        body = day.body(share, price=ticket_price(day, share))
        answer, memory = await memory_with_legs(day, 0, lambda: day.place(body))
        assert answer.status == 200
    memory.put_back()
    late(day)
    async with day.service(log_in=False):
        await trio.sleep(60)
        parent = await only_parent(day)
        assert (parent["state"], parent["status_message"]) == ("received", None)
        await trio.sleep(60)
        parent = await only_parent(day)
        assert (parent["state"], parent["legs"][0]["state"]) == ("working", "unknown")
        assert parent["legs"][0]["order_id"] == answer.body["order_id"]
        assert parent["status_message"] == FOUND
        assert [one.sentence for one in day.engine_context.troubles.rows] == [FOUND]
        assert (await day.place(body)).status == 409
        await trio.sleep(300)
        parent = await only_parent(day)
        assert (parent["state"], parent["status_message"]) == ("working", None)
        leg = parent["legs"][0]
        assert (leg["state"], leg["quantity"], leg["price"]) == ("open", 10, float(body.price))
        assert day.engine_context.troubles.rows == ()
        assert (await day.cancel(answer.body["order_id"])).status == 200
        await trio.sleep(10)
        assert (await only_parent(day))["state"] == "cancelled"
        assert [message["verb"] for message in day.ledger()["messages"]] == ["place", "cancel"]


async def test_exits_that_no_book_shows_yet_are_found_each_by_its_own_number(at, autojump_clock):
    day = await at("upstox")
    async with traded(day) as trading:
        answer, memory = await memory_with_legs(day, 1, lambda: trading.place(bracket(trading)))
        await trading.until_messages(3)
    memory.put_back()
    late(day)
    async with traded(day, log_in=False) as trading:
        await trio.sleep(150)
        parent = await only_parent(day)
        assert [leg["state"] for leg in parent["legs"]] == ["complete", "unknown", "unknown"]
        assert parent["status_message"] == FOUND
        await trio.sleep(300)
        parent = await only_parent(day)
        assert [leg["state"] for leg in parent["legs"]] == ["complete", "pending", "open"]
        assert len(trading.messages()) == 3
        await trading.move(4)
        await trading.until(answer, "completed")
        assert [leg["filled_quantity"] for leg in (await only_parent(day))["legs"]] == [100, 0, 100]
        assert [verb for verb, *_ in trading.messages()] == ["place", "place", "place", "cancel"]


async def test_a_plan_of_which_its_caller_was_told_nothing_ends_before_it_can_send(at, autojump_clock):
    """The order that its broker has is another's, so that nothing is found: K4 comes first, however long it had to wait."""
    day = await at("upstox")
    async with traded(day) as trading:
        answer, memory = await memory_with_legs(day, 0, lambda: trading.place(order(price=Fixed(trading.at(-3)))))
        await trading.until_messages(1)
    memory.put_back()
    await rewritten(day, answer, lambda record: attrs.evolve(record, intent_id="p-9"))
    async with traded(day, log_in=False) as trading:
        await trio.sleep(30)
        assert (await trading.parent(answer))["state"] in ("received", "armed")
        await trading.until(answer, "rejected")
        await trio.sleep(30)
        assert len(trading.messages()) == 1


async def test_a_flatten_does_not_say_flat_while_an_order_that_was_found_is_not_shown(at, autojump_clock):
    day = await at("upstox")
    async with day.service():
        share = day.equity()
        body = day.body(share, price=ticket_price(day, share), product="MIS")
        answer, memory = await memory_with_legs(day, 0, lambda: day.place(body))
    memory.put_back()
    late(day)
    async with day.service(log_in=False):
        await trio.sleep(120)
        flattened = await day.flatten()
        assert flattened.body["flat"] is False
        assert [one["order_id"] for one in flattened.body["not_shown_after_waiting"]] == [answer.body["order_id"]]
        await trio.sleep(400)
        assert (await stored_parent(day.store, answer.body["parent_id"]))["legs"][0]["state"] == "cancelled"
        ours = [one for one in day.ledger()["messages"] if one["order_id"] == answer.body["order_id"]]
        assert [message["verb"] for message in ours] == ["place", "cancel"]


@pytest.mark.parametrize("fault", [FaultKind.LATE_BOOK, FaultKind.LATENCY])
@pytest.mark.parametrize("code", ["upstox", "zerodha"])
async def test_a_book_that_is_late_or_slow_for_less_than_the_wait_shows_it(at, code, fault, autojump_clock):
    """As in the finding: late by 35 s, or slow by 12."""
    day = await at(code)
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    delay = 35.0 if fault is FaultKind.LATE_BOOK else 12.0
    day.simulator.faults.add("all", fault, seconds=100, count=None, delay_seconds=delay)
    async with day.service(quotes=True, log_in=False):
        trading = Trading(day)
        await trading.until(answer, "completed", seconds=900)
        bought_once(day)


async def test_a_broker_that_comes_back_with_an_old_book_has_it_read_for_as_long_as_an_order_may_be_late(
    at, autojump_clock
):
    """It cannot be asked by token, and its first book after the outage does not show the order yet."""
    day = await at("zerodha")
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    day.simulator.fault("zerodha", FaultKind.HTTP_500, seconds=150)
    day.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=1000, count=None, delay_seconds=200)
    async with day.service(quotes=True, log_in=False):
        trading = Trading(day)
        await trading.until(answer, "completed", seconds=1500)
        bought_once(day)


# --- an intent that is forgotten as a whole -------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [0, 200])
async def test_an_order_that_its_caller_repeats_after_the_loss_is_asked_for_before_it_is_sent(
    at, seconds, autojump_clock
):
    day = await at("upstox")
    async with day.service():
        memory = Memory(day)
        share = day.equity()
        body = day.body(share, price=ticket_price(day, share))
        answer = await day.place(body)
        await trio.sleep(5)
    memory.put_back()
    late(day, 1000)
    async with day.service(log_in=False):
        await day.until(lambda: day.status.value.running, 120)
        await trio.sleep(seconds)
        again = await day.place(body)
        assert again.status == 409
        assert again.body["error"].startswith("the order engine had already started this order")
        await trio.sleep(400)
        parent = await only_parent(day)
        assert (parent["state"], parent["legs"][0]["order_id"]) == ("working", answer.body["order_id"])
        assert len(day.messages("place")) == 1


async def test_a_plan_that_its_caller_repeats_after_the_loss_is_taken_up_with_all_its_orders(at, autojump_clock):
    day = await at("upstox")
    async with traded(day) as trading:
        memory = Memory(day)
        await trading.place(bracket(trading))
        await trading.until_messages(3)
        await trio.sleep(5)
    memory.put_back()
    late(day, 1000)
    async with traded(day, log_in=False) as trading:
        await day.until(lambda: day.status.value.running, 120)
        assert (await trading.place(bracket(trading))).status == 409
        await trio.sleep(20)
        assert [leg["state"] for leg in (await only_parent(day))["legs"]] == ["unknown"] * 3
        await trio.sleep(400)
        assert [leg["state"] for leg in (await only_parent(day))["legs"]] == ["complete", "pending", "open"]
        assert len(trading.messages()) == 3


# --- how much is asked ----------------------------------------------------------------------------------------------------


class Counted:
    """A broker's codec for questions by token that keeps them, and says nothing when it is `mute`."""

    def __init__(self, codec, *, mute=False):
        self._codec = codec
        self.mute = mute
        self.asked = []

    def token_request(self, access, question, now):
        self.asked.append((now, question.token))
        return self._codec.token_request(access, question, now)

    def parse_token(self, response, question):
        if self.mute:
            raise BadAnswer("not what was asked for")
        return self._codec.parse_token(response, question)


def counted(day, code, **more):
    broker = day.registry[code]
    codec = Counted(broker.by_token, **more)
    day.registry = {**day.registry, code: attrs.evolve(broker, by_token=codec)}
    return codec


async def test_a_start_that_misses_nothing_asks_nothing_and_goes_on_at_once(at, autojump_clock):
    day = await at("upstox")
    codec = counted(day, "upstox")
    async with traded(day) as trading:
        root = order(quantity=40, price=Marketable(), execution=Twap(slices=4, over_minutes=D(8)))
        answer = await trading.place(root)
        await trading.until_messages(1)
        await trio.sleep(5)
    async with traded(day, log_in=False) as trading:
        began = day.clock.monotonic()
        await day.until(lambda: day.status.value.running)
        assert day.clock.monotonic() - began <= 15
        assert day.engine_context.troubles.rows == ()
        began = day.clock.monotonic()
        assert (await trading.place(order(quantity=5, price=Fixed(trading.at(-3))), intent_id="p-2")).status == 200
        assert day.clock.monotonic() - began <= 1
        await trading.until(answer, "completed", seconds=900)
    assert codec.asked == []


async def test_after_a_loss_each_order_is_asked_for_once_and_a_new_one_only_for_a_while(
    at, monkeypatch, autojump_clock
):
    priorities, find = [], TokenReader.find

    async def noted(reader, question, priority):
        priorities.append(priority)
        return await find(reader, question, priority)

    monkeypatch.setattr(TokenReader, "find", noted)
    day = await at("upstox")
    codec = counted(day, "upstox")
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    async with traded(day, log_in=False) as trading:
        await trading.until(answer, "completed", seconds=900)
        bought_once(day)
        tokens = [token for _, token in codec.asked]
        assert tokens == [leg_token("p-1", "root", number) for number in (2, 3)], "the book has shown the second slice"
        await trading.place(order(quantity=5, price=Fixed(trading.at(-3))), intent_id="p-2")
        assert [token for _, token in codec.asked[2:]] == [leg_token("p-2", "root", 0)]
        await trio.sleep(300)
        await trading.place(order(quantity=5, price=Fixed(trading.at(-3))), intent_id="p-3")
        assert len(codec.asked) == 3
    assert priorities == [Priority.READ, Priority.READ, Priority.AWAITED]


async def test_only_the_broker_that_can_have_it_is_asked(at, autojump_clock):
    day = await at("dhan", "upstox")
    dhan, upstox = counted(day, "dhan"), counted(day, "upstox")
    async with traded(day) as trading:
        root = order(quantity=40, price=Marketable(), execution=Twap(slices=4, over_minutes=D(2)), broker="upstox")
        answer = await trading.place(root)
        await trading.until_messages(1)
        await trio.sleep(5)
        memory = Memory(day, rows=True)
        await trading.until_messages(2, 90)
        await trio.sleep(5)
    memory.put_back()
    late(day)
    async with traded(day, log_in=False) as trading:
        await trading.until(answer, "completed", seconds=900)
        bought_once(day)
    assert [token for _, token in upstox.asked[:2]] == [leg_token("p-1", "root", number) for number in (1, 2)]
    assert dhan.asked == []


async def test_a_broker_is_asked_no_more_than_so_often_and_its_book_decides_the_rest(at, monkeypatch, autojump_clock):
    monkeypatch.setattr(lost_orders, "MOST_ASKED", 1)
    day = await at("upstox")
    codec = counted(day, "upstox")
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    async with traded(day, log_in=False) as trading:
        await trading.until(answer, "completed", seconds=900)
        bought_once(day)
    assert len(codec.asked) == 1


async def test_a_broker_that_does_not_answer_holds_nothing_for_longer_than_an_order_is_looked_for(at, autojump_clock):
    day = await at("upstox")
    codec = counted(day, "upstox", mute=True)
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    async with day.service(quotes=True, log_in=False):
        trading = Trading(day)
        await day.until(lambda: day.status.value.running, 120)
        began = day.clock.monotonic()
        assert day.status.value.trouble.endswith(
            "no open order acts until upstox have been asked for the orders that it may have lost"
        )
        assert (await trading.parent(answer))["status_message"] == WAITS
        await day.until(lambda: day.status.value.trouble is None, 120)
        assert 59 <= day.clock.monotonic() - began <= 70
        assert len(codec.asked) <= 8, "every ten seconds"
        await trading.until(answer, "completed", seconds=900)
        assert (await trading.parent(answer))["status_message"] is None
        bought_once(day)


async def test_an_order_that_is_found_after_its_parent_was_halted_is_cancelled_when_it_shows(at, autojump_clock):
    day = await at("upstox")
    codec = counted(day, "upstox", mute=True)
    async with day.service():
        share = day.equity()
        body = day.body(share, price=ticket_price(day, share))
        answer, memory = await memory_with_legs(day, 0, lambda: day.place(body))
    memory.put_back()
    late(day, 1000)
    async with day.service(log_in=False):
        await day.until(lambda: day.status.value.running, 120)
        await day.flatten()
        assert (await stored_parent(day.store, answer.body["parent_id"]))["state"] == "halted"
        codec.mute = False
        await trio.sleep(400)
        parent = await stored_parent(day.store, answer.body["parent_id"])
        assert (parent["state"], parent["legs"][0]["state"]) == ("halted", "cancelled")
        ours = [one for one in day.ledger()["messages"] if one["order_id"] == answer.body["order_id"]]
        assert [message["verb"] for message in ours] == ["place", "cancel"]


async def test_a_restart_before_the_questions_are_answered_asks_again_for_the_same_runs(at, autojump_clock):
    day = await at("upstox")
    codec = counted(day, "upstox", mute=True)
    async with traded(day) as trading:
        answer, memory = await lost_slices(day, trading)
    memory.put_back()
    late(day, 1000)
    for _ in range(2):
        async with day.service(quotes=True, log_in=False):
            await day.until(lambda: day.status.value.running, 120)
            await trio.sleep(15)
    codec.mute = False
    async with traded(day, log_in=False) as trading:
        await trading.until(answer, "completed", seconds=1500)
        bought_once(day)


def test_so_many_orders_of_one_plan_are_asked_for():
    record = attrs.evolve(
        PARENT, legs=(), plan=encode_plan(together("root", *(order(f"root.children.{one}") for one in range(3))))
    )
    legs = list(next_legs(record, range(7, 5, -1)))
    assert len(legs) == 2 * 3 * 2
    assert {leg.number for leg in legs} == {0, 1}
    taken = tuple(attrs.evolve(LEG, leg_id=f"P.{number}") for number in (0, 3, 7))
    numbers = {leg.number for leg in next_legs(attrs.evolve(record, legs=taken), range(7, 6, -1))}
    assert numbers == {5, 6, 8, 9}
    simple = attrs.evolve(PARENT, legs=(), plan=None)
    assert [leg.token for leg in next_legs(simple, [3])] == [leg_token(PARENT.intent_id, "entry", 0, 3)]
    assert list(next_legs(attrs.evolve(simple, legs=taken[:1]), [3])) == []
