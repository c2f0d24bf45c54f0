"""A broker's answer that is about another order decides nothing: unknown to the caller (504), and the next fresh book says what became
of the message (order-engine rows 10, 12, 23, 33). Judged on the exchange's ledger."""

from decimal import Decimal

import msgspec
import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import stored_parent
from onebroker.brokers.registry import build_registry
from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.messages import orders as texts
from tests.support.engine_orders import placed_elsewhere, resting, ticks, truth

TEN = tuple(build_registry())
REPEATS_THE_TAG = ("fivepaisa", "groww", "icicidirect")
"""Of the brokers whose simulated answers to a place repeat its tag."""


def last_message(day, verb):
    return day.messages(verb)[-1]


def assert_unknown(answer):
    assert (answer.status, answer.body["outcome"]) == (504, "unknown"), answer
    assert "error" not in answer.body
    assert answer.body["status_message"].startswith("the broker's answer is about ")
    assert answer.body["broker_response"] is not None


async def leg_of(day, parent_id):
    return (await stored_parent(day.store, parent_id))["legs"][0]


async def until_state(day, parent_id, state):
    with trio.fail_after(120):
        while (await stored_parent(day.store, parent_id))["state"] != state:
            await trio.sleep(0.1)


@pytest.mark.parametrize("code", TEN)
async def test_at_every_broker_a_modify_and_a_cancel_answered_so_are_unknown_sent_once_and_settled_by_the_book(
    day, code, autojump_clock
):
    day.__init__(brokers=(code,))
    async with day.market(), day.service():
        share, parent_id, _, order_id = await resting(day)
        if code == "fivepaisa":  # which is asked by the exchange's number
            await day.until(lambda: day.sessions[code].view.value.orders[order_id].exchange_order_id is not None, 120)
        price = ticks(day, share, -2)
        day.simulator.faults.add(code, FaultKind.ANOTHER_ORDER, count=1)
        assert_unknown(await day.modify(order_id, price=price))
        assert last_message(day, "modify")["delivered"] is False
        with trio.fail_after(120):
            while (await leg_of(day, parent_id))["price"] != price:
                await trio.sleep(0.1)
        day.simulator.faults.add(code, FaultKind.ANOTHER_ORDER, count=1)
        assert_unknown(await day.cancel(order_id))
        await until_state(day, parent_id, "cancelled")
        assert truth(day, order_id)["status"] == "cancelled"
        assert [len(day.messages(verb)) for verb in ("place", "modify", "cancel")] == [1, 1, 1]
        assert day.crashes.records() == ()


@pytest.mark.parametrize("code", REPEATS_THE_TAG)
async def test_a_placed_order_whose_answer_has_another_tag_is_unknown_then_found_by_its_own(day, code, autojump_clock):
    day.__init__(brokers=(code,))
    async with day.market(), day.service():
        await trio.sleep(2)
        share = day.equity()
        day.simulator.faults.add(code, FaultKind.ANOTHER_ORDER, count=1)
        answer = await day.place(day.body(share, price=ticks(day, share, -3)))
        assert_unknown(answer)
        assert answer.body["order_id"] is None
        with trio.fail_after(180):
            while (await leg_of(day, answer.body["parent_id"]))["state"] != "open":
                await trio.sleep(0.1)
        (placed,) = day.messages("place")
        assert (await leg_of(day, answer.body["parent_id"]))["order_id"] == placed["order_id"]


async def test_a_placed_order_answered_with_an_older_order_is_unknown_and_the_older_one_is_not_taken_for_it(
    day, autojump_clock
):
    """zerodha repeats no tag: only that the order was there before shows it."""
    async with day.market(), day.service():
        code = "zerodha"
        share, older_id = await placed_elsewhere(day, code)
        dialect = day.simulator.gateways[code].dialect
        handle = dialect.handle

        def mistaken(request):
            response = handle(request)
            if request.method != "POST":
                return response
            return WireResponse(status=200, body=kite(older_id))

        dialect.handle = mistaken
        answer = await day.place(day.body(share, price=ticks(day, share, -2), broker=code))
        dialect.handle = handle
        assert_unknown(answer)
        assert answer.body["status_message"] == texts.answer_of_older_order(older_id)
        parent_id = answer.body["parent_id"]
        with trio.fail_after(120):
            while (await leg_of(day, parent_id))["state"] != "open":
                await trio.sleep(0.1)
        own_id = (await leg_of(day, parent_id))["order_id"]
        assert own_id not in (None, older_id)
        assert Decimal(truth(day, own_id)["price"]) == ticks(day, share, -2)
        assert (await day.stop(parent_id)).body["state"] == "cancelled"
        assert (truth(day, own_id)["status"], truth(day, older_id)["status"]) == ("cancelled", "open")


def kite(order_id):
    return msgspec.json.encode({"status": "success", "data": {"order_id": order_id}})


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_an_order_that_still_rests_after_a_cancel_answered_so_stays_open_and_can_be_cancelled_again(
    day, elsewhere, autojump_clock
):
    """The broker answered somebody else's question: nothing was cancelled."""
    async with day.market(), day.service():
        code, parent_id = "zerodha", None
        if elsewhere:
            _, order_id = await placed_elsewhere(day, code)
        else:
            _, parent_id, _, order_id = await resting(day, broker=code)
        dialect = day.simulator.gateways[code].dialect
        handle = dialect.handle
        other_id = order_id[:-1] + str((int(order_id[-1]) + 1) % 10)
        dialect.handle = lambda request: (
            WireResponse(status=200, body=kite(other_id)) if request.method == "DELETE" else handle(request)
        )
        answer = await day.cancel(order_id)
        dialect.handle = handle
        assert_unknown(answer)
        assert answer.body["status_message"] == texts.answer_of_another_order(other_id, order_id)
        await trio.sleep(5)
        assert (truth(day, order_id)["status"], day.messages("cancel")) == ("open", [])
        if parent_id is not None:
            assert (await leg_of(day, parent_id))["state"] == "open"
        again = await day.cancel(order_id)
        assert (again.status, again.body["outcome"]) == (200, "accepted")
        assert truth(day, order_id)["status"] == "cancelled"
        assert len(day.messages("cancel")) == 1


async def test_a_parent_whose_cancel_is_answered_so_is_207_and_ends_when_the_book_shows_it(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, code, order_id = await resting(day)
        day.simulator.faults.add(code, FaultKind.ANOTHER_ORDER, count=1)
        answer = await day.stop(parent_id)
        assert (answer.status, answer.body["state"]) == (207, "cancelling")
        (leg,) = answer.body["cancelled_legs"]
        assert (leg["outcome"], leg["status_message"][:30]) == ("unknown", "the broker's answer is about o")
        await until_state(day, parent_id, "cancelled")
        assert truth(day, order_id)["status"] == "cancelled"
        assert len(day.messages("cancel")) == 1
