"""Plans over the whole way: engine, sessions, brokers and exchange, judged on the exchange's ledger (order-engine 6)."""

import math
from contextlib import asynccontextmanager
from decimal import Decimal as D

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.plan.execution_kinds import Twap
from onebroker.actors.engine.plan.parts import Direction, FromFill, PriceAt, Rule, SequencePart
from onebroker.actors.engine.plan.price_kinds import Fixed, Marketable, NativeStop, Trail
from onebroker.actors.engine.plan_parent.leg_placement import next_number
from onebroker.actors.engine.shown.stored_parents import open_parents
from onebroker.actors.store import keys
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.actors.engine.plan.trees import oco, order, together
from tests.support.trading import Trading as Priced


@pytest.fixture
async def trading(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            yield Trading(day)


class Trading(Priced):
    """Sends trees written by hand, with the share in the place of `I`."""

    def on_share(self, root):
        """The tree with the share in the place of `I`."""

        def swap(part):
            changes = {}
            for name in ("first", "then", "each_fill"):
                if getattr(part, name, None) is not None:
                    changes[name] = swap(getattr(part, name))
            if hasattr(part, "children"):
                changes["children"] = tuple(map(swap, part.children))
            if hasattr(part, "instrument_id"):
                changes["instrument_id"] = self.share.instrument_id
            if isinstance(part.when, PriceAt):
                changes["when"] = attrs.evolve(part.when, instrument_id=self.share.instrument_id)
            return attrs.evolve(part, **changes)

        return swap(root)

    async def place(self, root, *, intent_id="p-1", broker=None, **more):
        """Place a plan; `broker` is its root order's, as the intake writes a body's into the parts."""
        if broker is not None:
            root = attrs.evolve(root, broker=broker)
        body = self.day.body(self.share, product="MIS", price=self.at(0), plan=self.on_share(root), **more)
        return await self.day.place(body, intent_id=intent_id)


@asynccontextmanager
async def traded(day, **more):
    """The service with quotes, when the engine sees the share's price."""
    async with day.service(quotes=True, **more):
        trading = Trading(day)
        await trading.move(0)
        yield trading


def stop(trading, trigger, limit):
    return NativeStop(trigger_price=trading.at(trigger), limit_price=trading.at(limit))


def held_bracket(trading, entry=-1):
    exits = oco(
        "root.each_fill",
        order("root.each_fill.children.0", "SELL", FromFill(), stop(trading, -4, -5), is_exit=True),
        order("root.each_fill.children.1", "SELL", FromFill(), Fixed(trading.at(3)), hold=True, is_exit=True),
    )
    return order(quantity=100, price=Fixed(trading.at(entry)), hold=True, each_fill=exits)


async def test_a_bracket_is_held_then_entered_protected_and_closed_with_just_the_messages_that_takes(
    trading, autojump_clock
):
    await trading.move(0)
    answer = await trading.place(held_bracket(trading))
    assert (answer.status, answer.body["outcome"], answer.body["order_id"]) == (202, "armed", None)
    assert answer.body["trigger_direction"] == "below"
    assert answer.body["trigger_level"] == trading.at(-1)
    await trio.sleep(30)
    assert trading.messages() == []
    await trading.move(-2)
    assert await trading.until_messages(2) == [("place", "BUY", 100, "LIMIT"), ("place", "SELL", 100, "SL")]
    parent = await trading.until(answer, "held", "root.each_fill.children.1")
    assert (parent["state"], parent["synthetic_type"]) == ("working", "plan")
    assert parent["parameters"]["parts"]["root"]["filled_quantity"] == 100
    await trading.move(4)
    said = await trading.until_messages(4)
    assert said[2] == ("place", "SELL", 100, "LIMIT")
    assert said[3][0] == "cancel"
    parent = await trading.until(answer, "completed")
    assert [leg["filled_quantity"] for leg in parent["legs"]] == [100, 0, 100]
    await trio.sleep(60)
    assert len(trading.messages()) == 4


async def test_a_trailing_stop_follows_the_market_up_by_modifies_and_sells_when_it_turns(trading, autojump_clock):
    await trading.move(0)
    points, offset = trading.snap(trading.start / 100), trading.snap(trading.start / 20)
    answer = await trading.place(order(side="SELL", quantity=10, price=Trail(points=points, limit_offset=offset)))
    assert (answer.status, answer.body["outcome"]) == (200, "accepted"), answer.body
    await trading.move(1)
    await trio.sleep(5)
    await trading.move(2)
    await trio.sleep(5)
    said = trading.messages()
    assert [one[0] for one in said] == ["place", "modify", "modify"]
    await trading.move(0)
    await trading.until(answer, "completed")
    assert len(trading.messages()) == 3


async def test_pieces_are_sent_by_the_clock(trading, autojump_clock):
    await trading.move(0)
    root = order(quantity=40, price=Marketable(), execution=Twap(slices=4, over_minutes=D(4)))
    began = trading.day.clock.monotonic()
    answer = await trading.place(root)
    assert answer.status == 200, answer.body
    await trading.until(answer, "completed", seconds=400)
    assert trading.messages() == [("place", "BUY", 10, "LIMIT")] * 4
    assert 179 <= trading.day.clock.monotonic() - began <= 200


async def test_two_orders_at_once_are_answered_with_their_legs(trading, autojump_clock):
    await trading.move(0)
    root = together(
        "root",
        order("root.children.0", "BUY", 5, Fixed(trading.at(-3))),
        order("root.children.1", "BUY", 6, Fixed(trading.at(-4))),
    )
    answer = await trading.place(root)
    assert (answer.status, answer.body["outcome"], answer.body["order_id"]) == (200, "accepted", None)
    assert [leg["path"] for leg in answer.body["legs"]] == ["root.children.0", "root.children.1"]
    assert {leg["order_id"] for leg in answer.body["legs"]} == {
        one["order_id"] for one in trading.day.ledger()["messages"]
    }


async def test_without_a_quote_a_market_order_is_refused_and_nothing_is_sent(trading, autojump_clock):
    trading.day.simulator.faults.add("all", FaultKind.STALL_STREAM, seconds=10_000, count=None)
    await trio.sleep(400)
    answer = await trading.place(order(price=Marketable()))
    assert answer.status == 409
    assert answer.body["error"].endswith("could not be priced and nothing was sent")
    assert trading.messages() == []
    await trading.until(answer, "rejected")


async def test_a_restart_goes_on_where_the_plan_stood_and_sends_nothing_twice(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market():
            async with day.service(quotes=True):
                trading = Trading(day)
                await trading.move(0)
                answer = await trading.place(held_bracket(trading))
                await trading.move(-2)
                await trading.until_messages(2)
                await trading.until(answer, "held", "root.each_fill.children.1")
            async with day.service(quotes=True):
                await trio.sleep(60)
                assert len(trading.messages()) == 2
                trading.quotes = day.quotes.follow([trading.share.instrument_id])
                await trading.move(4)
                await trading.until(answer, "completed")
                assert [one[0] for one in trading.messages()] == ["place", "place", "place", "cancel"]


async def test_a_rejected_leg_ends_its_plan_with_the_brokers_words(trading, autojump_clock):
    await trading.move(0)
    trading.day.simulator.faults.add("all", FaultKind.REJECT_ORDERS, seconds=None, count=1)
    answer = await trading.place(order(price=Fixed(trading.at(-2))))
    assert (answer.status, answer.body["outcome"]) == (422, "rejected")
    parent = await trading.until(answer, "rejected")
    assert parent["status_message"]


async def test_the_first_fill_of_one_candidate_cancels_the_others(trading, autojump_clock):
    await trading.move(0)
    root = oco(
        "root",
        order("root.children.0", "BUY", 5, Fixed(trading.at(-1))),
        order("root.children.1", "BUY", 6, Fixed(trading.at(-3))),
        rule=Rule.CANCEL,
    )
    answer = await trading.place(root)
    await trading.move(-2)
    parent = await trading.until(answer, "completed")
    assert [one[0] for one in trading.messages()] == ["place", "place", "cancel"]
    assert parent["parameters"]["parts"]["root.children.1"]["state"] == "cancelled"


async def test_a_hidden_stop_waits_in_the_engine_alone(trading, autojump_clock):
    await trading.move(0)
    when = PriceAt(instrument_id="I", level=trading.at(-2), direction=Direction.BELOW)
    answer = await trading.place(order(side="SELL", price=Marketable(follow=True), when=when, is_exit=True))
    assert (answer.status, answer.body["trigger_direction"]) == (202, "below")
    await trading.move(-1)
    await trio.sleep(20)
    assert trading.messages() == []
    await trading.move(-3)
    await trading.until(answer, "completed")
    assert trading.messages() == [("place", "SELL", 10, "LIMIT")]


# --- a caller's changes --------------------------------------------------------------------------------------------------


async def test_a_trail_goes_on_from_the_trigger_a_caller_sets(trading, autojump_clock):
    await trading.move(0)
    points = trading.snap(trading.start / 100)
    answer = await trading.place(order(side="SELL", quantity=10, price=Trail(points=points, limit_offset=points)))
    order_id = answer.body["order_id"]
    code = answer.body["broker"]
    await trading.day.until(lambda: order_id in trading.day.sessions[code].view.value.orders)
    await trio.sleep(3)
    raised = trading.snap(trading.start - points / 2)
    done = await trading.day.modify(order_id, trigger_price=raised, price=trading.snap(raised - points))
    assert (done.status, done.body["outcome"]) == (200, "accepted"), done.body
    await trio.sleep(10)
    assert [one[0] for one in trading.messages()] == ["place", "modify"]
    await trading.move(1)
    assert [one[0] for one in await trading.until_messages(3)] == ["place", "modify", "modify"]
    (resting,) = [one for one in trading.day.ledger()["orders"] if one["order_id"] == order_id]
    assert D(str(resting["trigger_price"])) == trading.at(1) - points


async def test_a_held_entry_is_changed_and_its_second_part_cancelled_before_anything_is_sent(trading, autojump_clock):
    await trading.move(0)
    root = SequencePart(
        path="root",
        first=order("root.first", "BUY", 10, Fixed(trading.at(-2)), hold=True),
        then=order("root.then", "SELL", FromFill(), Fixed(trading.at(3)), is_exit=True),
    )
    answer = await trading.place(root)
    parent_id = answer.body["parent_id"]
    changed = await trading.day.modify_held(parent_id, price=trading.at(-1))
    assert changed.status == 200, changed.body
    assert (changed.body["part"], changed.body["state"]) == ("root.first", "held")
    again = await trading.day.modify_held(parent_id, part="root.first", price=trading.at(-1.2))
    assert again.status == 200, again.body
    journal = [
        fields for _, fields in await trading.day.store.stream_last(keys.INTENTS, 10) if fields["kind"] == b"modify"
    ]
    assert [{**msgspec.json.decode(fields["body"]), "price": None} for fields in journal] == [
        {"parent_id": parent_id, "price": None}, {"parent_id": parent_id, "part": "root.first", "price": None},
    ]  # fmt: skip
    noisy = D(repr(math.nextafter(float(trading.at(-1.1)), 0)))  # as arithmetic on doubles leaves it
    same = await trading.day.modify_held(parent_id, price=noisy)
    assert (same.status, same.body["changes"]["price"]["to"]) == (200, trading.at(-1.1)), same.body
    half = await trading.day.modify_held(parent_id, price=trading.at(-1.1) + trading.tick / 2)
    assert half.status == 400
    assert "whole number of ticks" in half.body["error"]
    stopped = await trading.day.stop(parent_id, part="root.then")
    assert (stopped.status, stopped.body["state"], stopped.body["orders"]) == (200, "cancelled", []), stopped.body
    again = await trading.day.stop(parent_id, part="root.then")
    assert (again.status, again.body["error"]) == (409, "the part root.then is already cancelled")
    await trading.move(-1.5)
    await trading.until(answer, "completed")
    assert trading.messages() == [("place", "BUY", 10, "LIMIT")]


async def test_cancelling_a_part_that_has_sent_waits_for_the_broker(trading, autojump_clock):
    await trading.move(0)
    root = together(
        "root",
        order("root.children.0", "BUY", 5, Fixed(trading.at(-3))),
        order("root.children.1", "BUY", 6, Fixed(trading.at(-4))),
    )
    answer = await trading.place(root)
    await trio.sleep(5)
    stopped = await trading.day.stop(answer.body["parent_id"], part="root.children.1")
    assert stopped.status == 200, stopped.body
    assert [one["cancel_accepted"] for one in stopped.body["orders"]] == [True]
    await trading.until(answer, "cancelled", "root.children.1")
    parent = await trading.until(answer, "working", "root.children.0")
    assert parent["state"] == "working"
    assert [one[0] for one in trading.messages()] == ["place", "place", "cancel"]


async def test_a_cancelled_plan_cancels_what_rests_and_sends_nothing_more(trading, autojump_clock):
    await trading.move(0)
    answer = await trading.place(held_bracket(trading))
    await trading.move(-2)
    await trading.until_messages(2)
    await trading.until(answer, "held", "root.each_fill.children.1")
    await trio.sleep(5)
    stopped = await trading.day.stop(answer.body["parent_id"])
    assert (stopped.status, stopped.body["state"]) == (200, "cancelled"), stopped.body
    await trading.move(5)
    await trio.sleep(60)
    assert [one[0] for one in trading.messages()] == ["place", "place", "cancel"]


async def test_an_exit_is_not_made_larger_by_a_caller(trading, autojump_clock):
    await trading.move(0)
    answer = await trading.place(held_bracket(trading))
    await trading.move(-2)
    await trading.until_messages(2)
    parent = await trading.until(answer, "held", "root.each_fill.children.1")
    await trio.sleep(5)
    stop_id = parent["legs"][1]["order_id"]
    refused = await trading.day.modify(stop_id, quantity=200)
    assert (refused.status, refused.body["error"]) == (409, "an exit can only be reduced, from 100 down")
    reduced = await trading.day.modify(stop_id, quantity=60)
    assert reduced.status == 200, reduced.body
    await trading.move(4)
    parent = await trading.until(answer, "completed")
    assert [leg["filled_quantity"] for leg in parent["legs"]] == [100, 0, 60]


# --- what goes wrong -----------------------------------------------------------------------------------------------------


async def test_an_entry_of_unknown_outcome_is_found_and_its_stop_sent_and_nothing_twice(trading, autojump_clock):
    await trading.move(0)
    trading.day.simulator.faults.add("all", FaultKind.DROP_AFTER_ACCEPT, seconds=None, count=1)
    child = order("root.each_fill", "SELL", FromFill(), stop(trading, -4, -5), is_exit=True)
    answer = await trading.place(order(quantity=10, price=Fixed(trading.at(1)), each_fill=child))
    assert answer.body["outcome"] in (
        "unknown",
        "accepted",
    )  # the order stream may have shown it before the answer was due
    assert await trading.until_messages(2, 120) == [("place", "BUY", 10, "LIMIT"), ("place", "SELL", 10, "SL")]
    await trio.sleep(120)
    assert len(trading.messages()) == 2


async def test_no_store_no_new_leg(trading, autojump_clock):
    await trading.move(0)
    answer = await trading.place(held_bracket(trading))
    trading.day.store.fail_with(StoreError("connection refused"))
    await trading.move(-2)
    await trio.sleep(5)
    assert trading.messages() == []
    trading.day.store.come_back()
    parent = await trading.until(answer, "rejected")
    assert "connection refused" in parent["status_message"]
    assert trading.messages() == []


async def test_an_exit_that_cannot_be_written_ahead_is_sent_once_the_store_is_back(trading, autojump_clock):
    await trading.move(0)
    when = PriceAt(instrument_id="I", level=trading.at(-2), direction=Direction.BELOW)
    answer = await trading.place(order(side="SELL", price=Marketable(follow=True), when=when, is_exit=True))
    trading.day.store.fail_with(StoreError("connection refused"))
    await trading.move(-3)
    await trio.sleep(5)
    assert trading.messages() == []
    trading.day.store.come_back()
    await trading.until(answer, "completed")
    assert trading.messages() == [("place", "SELL", 10, "LIMIT")]


async def test_a_dry_run_of_a_plan_shows_what_its_start_would_send_and_leaves_nothing_behind(trading, autojump_clock):
    await trading.move(0)
    root = together(
        "root",
        order("root.children.0", "BUY", 5, Fixed(trading.at(-3))),
        order("root.children.1", "BUY", 6, Fixed(trading.at(-2)), hold=True),
    )
    body = trading.day.body(trading.share, product="MIS", price=trading.at(0), plan=trading.on_share(root))
    answer = await trading.day.place(body, dry_run=True)
    assert answer.status == 200, answer.body
    (request,) = answer.body["requests"]
    assert (request["path"], request["order"]["quantity"]) == ("root.children.0", 5)
    assert [child["path"] for child in answer.body["plan"]["children"]] == ["root.children.0", "root.children.1"]
    assert trading.messages() == []
    assert (await open_parents(trading.day.store))["parents"] == []


async def test_pieces_that_have_gone_are_not_sent_again_after_a_restart(day, autojump_clock):
    with trio.fail_after(86_400):
        async with day.market():
            root = order(quantity=40, price=Marketable(), execution=Twap(slices=4, over_minutes=D(4)))
            async with day.service(quotes=True):
                trading = Trading(day)
                await trading.move(0)
                answer = await trading.place(root)
                await trading.until_messages(2, 100)
                await trio.sleep(5)
            async with day.service(quotes=True):
                trading.quotes = day.quotes.follow([trading.share.instrument_id])
                await trading.until(answer, "completed", seconds=400)
                assert trading.messages() == [("place", "BUY", 10, "LIMIT")] * 4


async def test_a_leg_of_after_a_restart_takes_no_place_of_an_older_one(day, autojump_clock):
    """An attempt that could not be written ahead uses up a number, so numbers may run ahead of the count of legs."""
    with trio.fail_after(86_400):
        async with day.market():
            async with day.service(quotes=True):
                trading = Trading(day)
                await trading.move(0)
                fallen = PriceAt(instrument_id="I", level=trading.at(-2), direction=Direction.BELOW)
                risen = PriceAt(instrument_id="I", level=trading.at(2), direction=Direction.ABOVE)
                root = together(
                    "root",
                    order("root.children.0", "SELL", 5, Fixed(trading.at(9)), when=fallen, is_exit=True),
                    order("root.children.1", "SELL", 6, Fixed(trading.at(8)), when=risen, is_exit=True),
                )
                answer = await trading.place(root)
                day.store.fail_with(StoreError("connection refused"))
                await trading.move(-3)
                await trio.sleep(0.5)  # one attempt fails; the next is a second later
                day.store.come_back()
                await trading.until_messages(1)
                parent = await trading.until(answer, "working", "root.children.0")
                assert parent["legs"][0]["leg_id"].endswith(".1"), "no number was used up"
                await trio.sleep(5)
            async with day.service(quotes=True):
                trading.quotes = day.quotes.follow([trading.share.instrument_id])
                await trading.move(3)
                await trading.until_messages(2)
                await trading.until(answer, "working", "root.children.1")
                await trio.sleep(5)
                parent = await trading.parent(answer)
                assert sorted(leg["quantity"] for leg in parent["legs"]) == [5, 6]
                tags = [message["tag"] for message in trading.day.ledger()["messages"]]
                assert len(tags) == len(set(tags)) == 2


def test_the_number_of_a_new_leg_is_past_all_that_there_are():
    assert next_number([]) == 0
    assert next_number(["p.0", "p.2"]) == 3
