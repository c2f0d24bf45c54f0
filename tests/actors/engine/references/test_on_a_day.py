"""References worked out over real sessions and a real quote book, judged on the exchange's ledger (rules 2.6)."""

from contextlib import asynccontextmanager
from decimal import Decimal

import attrs
import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from onebroker.actors.engine.context.messages import HaltParents
from onebroker.actors.engine.orders.intents import Intent, IntentKind
from onebroker.actors.engine.references.parsing import parse_references
from onebroker.actors.engine.shown.stored_parents import KeptAnswer, kept_answer, stored_parent
from onebroker.brokers.simulator.exchange.faults import FaultKind

NO_QUOTE = "a price reference needs a live quote and there is none for this instrument now"


@asynccontextmanager
async def trading(day, *, quotes=True):
    async with day.market(), day.service(quotes=quotes):
        yield day.equity()
    assert day.crashes.records() == ()


def referring(day, share, *, price=None, quantity=None, typed=10, **more):
    """A LIMIT order with references, as the route hands it over."""
    given = {"price_reference": price, "quantity_reference": quantity}
    sent = {"quantity": typed, "transaction_type": "BUY", "tag": "mine", **given}
    fields = {"order_type": "LIMIT", "quantity": typed or 0, "sent": sent, **more}
    return day.body(share, references=parse_references(given, typed), **fields)


async def hold(day, broker, share, quantity=10, side="BUY"):
    """Trade at one broker, and wait until it is filled."""
    before = len(day.messages("place"))
    order = referring(
        day,
        share,
        price={"kind": "marketable", "buffer_percent": 1},
        typed=quantity,
        transaction_type=side,
        broker=broker,
    )
    answer = await day.place(order, intent_id=f"hold {broker} {before}")
    assert answer.status == 200, answer.body
    await day.until(lambda: filled(day, answer.body["order_id"]))


def filled(day, order_id):
    return any(order["order_id"] == order_id and order["status"] == "complete" for order in day.ledger()["orders"])


def net(day, broker, share):
    """What the exchange says a broker's account holds of a share, from today's trading."""
    trades = [
        one for one in day.ledger()["orders"] if one["broker"] == broker and one["instrument_id"] == share.instrument_id
    ]
    return sum(one["filled_quantity"] * (1 if one["side"] == "BUY" else -1) for one in trades)


# --- prices ------------------------------------------------------------------------------------------------------------


async def test_a_price_is_worked_out_from_a_quote_that_nobody_had_watched_and_recorded_as_a_number(day, autojump_clock):
    async with trading(day) as share:
        day.simulator.set_price(share.instrument_id, Decimal("700.00"), hold_seconds=600)
        answer = await day.place(referring(day, share, price={"kind": "last", "offset_percent": -1, "offset_ticks": 2}))
        assert answer.status == 200, answer.body
        (sent,) = day.messages("place")
        assert Decimal(str(sent["price"])) == Decimal("693.10")
        record = await stored_parent(day.store, answer.body["parent_id"])
        assert record["body"] == {"quantity": 10, "transaction_type": "BUY", "tag": "mine", "price": 693.1}
        assert float(record["legs"][0]["price"]) == 693.1


@pytest.mark.parametrize("side", ["BUY", "SELL"])
async def test_a_marketable_price_fills_at_once(day, autojump_clock, side):
    async with trading(day) as share:
        order = referring(day, share, price={"kind": "marketable"}, product="MIS", transaction_type=side, typed=1)
        answer = await day.place(order)
        assert answer.status == 200, answer.body
        await day.until(lambda: filled(day, answer.body["order_id"]), 5)


async def test_without_a_live_quote_nothing_is_sent_and_the_refusal_can_be_read(day, autojump_clock):
    async with trading(day, quotes=False) as share:
        began = trio.current_time()
        answer = await day.place(referring(day, share, price={"kind": "mid"}))
        assert trio.current_time() - began < 4.0  # the caller waits for five seconds
        assert (answer.status, answer.body) == (
            503,
            {"error": NO_QUOTE, "instrument_id": share.instrument_id, "intent_id": "i-1"},
        )
        kept = await kept_answer(day.store, "i-1", now=day.clock.epoch(), keep_seconds=300)
        assert isinstance(kept, KeptAnswer)
        assert kept.status == 503
        assert day.messages("place") == []
        assert day.engine_context.in_hand == set()


async def test_a_quote_that_no_feed_renews_is_no_live_one(day, autojump_clock):
    async with trading(day) as share:
        assert (await day.place(referring(day, share, price={"kind": "last", "offset_percent": -3}))).status == 200
        for kind in (FaultKind.DROP_STREAM, FaultKind.REFUSE_CONNECTIONS):
            day.simulator.fault("all", kind)
        await day.until(lambda: day.quotes.usable_tick(share.instrument_id) is None)
        answer = await day.place(referring(day, share, price={"kind": "last"}), intent_id="i-2")
        assert (answer.status, answer.body["error"]) == (503, NO_QUOTE)
        assert len(day.messages("place")) == 1


async def test_an_absolute_price_needs_no_quote(day, autojump_clock):
    async with trading(day, quotes=False) as share:
        last = day.exchange.market(share.instrument_id).last_price
        price = {"kind": "absolute", "price": float(last), "offset_percent": -2}
        answer = await day.place(referring(day, share, price=price))
        assert answer.status == 200, answer.body


async def test_without_an_agreed_tick_size_there_is_no_price(day, autojump_clock):
    async with trading(day) as share:
        order = referring(day, attrs.evolve(share, tick_size=None), price={"kind": "absolute", "price": 100})
        answer = await day.place(order)
        sentence = "a price reference needs a tick size the brokers agree on and there is none for this instrument"
        assert (answer.status, answer.body["error"]) == (503, sentence)
        assert day.messages("place") == []


# --- positions -----------------------------------------------------------------------------------------------------------


async def test_a_position_is_closed_where_it_lies_whatever_side_was_asked_for(day, autojump_clock):
    async with trading(day) as share:
        await hold(day, "upstox", share)
        order = referring(
            day,
            share,
            price={"kind": "marketable"},
            quantity={"kind": "liquidate_position"},
            typed=None,
            transaction_type="BUY",
        )
        answer = await day.place(order)
        assert answer.status == 200, answer.body
        sent = day.messages("place")[-1]
        assert (sent["broker"], sent["side"], sent["quantity"]) == ("upstox", "SELL", 10)
        record = await stored_parent(day.store, answer.body["parent_id"])
        assert (record["body"]["transaction_type"], record["body"]["quantity"]) == ("SELL", 10)
        await day.until(lambda: filled(day, answer.body["order_id"]))
        assert net(day, "upstox", share) == 0


async def test_a_position_that_was_just_closed_is_not_closed_again(day, autojump_clock):
    """The rows that were read before the last fill still show it; they are read again before anything is sent."""
    async with trading(day) as share:
        await hold(day, "zerodha", share)
        for number in range(4):
            order = referring(
                day,
                share,
                price={"kind": "marketable", "buffer_percent": 1},
                quantity={"kind": "liquidate_position"},
                typed=None,
            )
            answer = await day.place(order, intent_id=f"close {number}")
            if number:
                sentence = "a liquidate_position quantity_reference found no open position in this instrument, so there is nothing to close"
                assert (answer.status, answer.body["error"]) == (409, sentence)
                assert answer.body["instrument_id"] == share.instrument_id
            else:
                assert answer.status == 200, answer.body
                await day.until(lambda answer=answer: filled(day, answer.body["order_id"]), 5)
        assert net(day, "zerodha", share) == 0


async def test_a_reduction_is_never_more_than_the_position(day, autojump_clock):
    async with trading(day) as share:
        await hold(day, "zerodha", share, 10)
        for asked, sent_quantity in ((4, 4), (40, 6)):
            quantity = {"kind": "reduce_position", "product": "delivery"}
            order = referring(
                day, share, price={"kind": "marketable", "buffer_percent": 1}, quantity=quantity, typed=asked
            )
            answer = await day.place(order, intent_id=f"reduce {asked}")
            assert answer.status == 200, answer.body
            assert day.messages("place")[-1]["quantity"] == sent_quantity
            await day.until(lambda answer=answer: filled(day, answer.body["order_id"]))
        assert net(day, "zerodha", share) == 0


async def test_only_the_product_that_was_named_counts(day, autojump_clock):
    async with trading(day) as share:
        await hold(day, "zerodha", share)
        quantity = {"kind": "reduce_position", "product": "intraday"}
        answer = await day.place(referring(day, share, price={"kind": "last"}, quantity=quantity))
        assert answer.status == 409


async def test_a_short_position_is_bought_back(day, autojump_clock):
    async with trading(day) as share:
        order = referring(day, share, price={"kind": "marketable"}, transaction_type="SELL", product="MIS", typed=3)
        opened = await day.place(order, intent_id="open")
        await day.until(lambda: filled(day, opened.body["order_id"]))
        quantity = {"kind": "liquidate_position"}
        order = referring(
            day,
            share,
            price={"kind": "marketable"},
            quantity=quantity,
            typed=None,
            product="MIS",
            transaction_type="SELL",
        )
        answer = await day.place(order)
        assert answer.status == 200, answer.body
        sent = day.messages("place")[-1]
        assert (sent["side"], sent["quantity"], sent["broker"]) == ("BUY", 3, opened.body["broker"])


async def test_a_position_that_lies_at_two_brokers_is_closed_by_an_order_at_each(day, autojump_clock):
    async with trading(day) as share:
        await hold(day, "zerodha", share, 10)
        await hold(day, "upstox", share, 4)
        sent = len(day.messages("place"))
        quantity = {"kind": "reduce_position"}
        answer = await day.place(referring(day, share, price={"kind": "marketable"}, quantity=quantity, typed=12))
        assert answer.status == 200, answer.body
        assert [(leg["path"], leg["broker"], leg["outcome"]) for leg in answer.body["legs"]] == [
            ("root.children.0", "zerodha", "accepted"), ("root.children.1", "upstox", "accepted"),
        ]  # fmt: skip
        orders = [(one["broker"], one["side"], one["quantity"]) for one in day.messages("place")[sent:]]
        assert sorted(orders) == [("upstox", "SELL", 2), ("zerodha", "SELL", 10)]
        await day.until(lambda: (net(day, "zerodha", share), net(day, "upstox", share)) == (0, 2))


async def test_of_a_pinned_broker_only_what_it_holds_itself_is_closed(day, autojump_clock):
    async with trading(day) as share:
        await hold(day, "zerodha", share, 10)
        await hold(day, "upstox", share, 4)
        quantity = {"kind": "liquidate_position"}
        for code, held in (("upstox", 4), ("zerodha", 10)):
            order = referring(day, share, price={"kind": "marketable"}, quantity=quantity, typed=None, broker=code)
            assert (await day.place(order, intent_id=f"at {code}")).status == 200
            assert (day.messages("place")[-1]["broker"], day.messages("place")[-1]["quantity"]) == (code, held)


async def test_a_holder_whose_positions_cannot_be_read_again_refuses_the_order(day, autojump_clock):
    async with trading(day) as share:
        await hold(day, "zerodha", share)
        await trio.sleep(10)
        day.simulator.fault("zerodha", FaultKind.HTTP_500)
        sent = len(day.messages("place"))
        answer = await day.place(
            referring(day, share, price={"kind": "last"}, quantity={"kind": "liquidate_position"}, typed=None)
        )
        sentence = "the positions of zerodha could not be read, so the quantity reference was not worked out"
        assert (answer.status, answer.body["error"]) == (503, sentence)
        assert len(day.messages("place")) == sent


async def test_a_disclosed_quantity_is_judged_by_the_quantity_that_was_worked_out(day, autojump_clock):
    async with trading(day) as share:
        await hold(day, "zerodha", share, 5)
        order = referring(
            day, share, price={"kind": "last"}, quantity={"kind": "reduce_position"}, typed=50, disclosed_quantity=6
        )
        answer = await day.place(order)
        assert (answer.status, answer.body["error"]) == (400, "disclosed_quantity cannot be more than quantity")


# --- the way there -------------------------------------------------------------------------------------------------------


async def test_a_dry_run_shows_the_numbers_and_sends_and_keeps_nothing(day, autojump_clock):
    async with trading(day) as share:
        await hold(day, "zerodha", share)
        day.simulator.set_price(share.instrument_id, Decimal("700.00"), hold_seconds=600)
        await trio.sleep(5)
        sent = len(day.messages("place"))
        order = referring(day, share, price={"kind": "last"}, quantity={"kind": "reduce_position"}, typed=3)
        answer = await day.place(order, dry_run=True)
        assert answer.status == 200, answer.body
        shown = answer.body["order"]
        assert (shown["transaction_type"], shown["quantity"], shown["price"]) == ("SELL", 3, Decimal("700.00"))
        refused = await day.place(
            referring(day, day.equity(1), price={"kind": "last"}, quantity={"kind": "reduce_position"}), dry_run=True
        )
        assert refused.status == 409
        assert await kept_answer(day.store, "i-1", now=day.clock.epoch(), keep_seconds=300) is None
        assert len(day.messages("place")) == sent


async def test_an_order_that_waits_for_a_quote_keeps_no_other_waiting(day, autojump_clock, nursery):
    async with trading(day, quotes=False) as share:
        nursery.start_soon(day.place, referring(day, share, price={"kind": "mid"}))
        await wait_all_tasks_blocked(0.01)
        assert day.engine_context.in_hand == {"i-1"}
        began = trio.current_time()
        assert (await day.place(day.body(share, quantity=1), intent_id="i-2")).status == 200
        assert trio.current_time() - began < 1.0
        await day.until(lambda: day.engine_context.in_hand == set())


async def test_a_flatten_halts_what_is_still_being_worked_out(day, autojump_clock, nursery):
    async with trading(day, quotes=False) as share:
        answers = []

        async def place():
            answers.append(await day.place(referring(day, share, price={"kind": "mid"})))

        nursery.start_soon(place)
        await wait_all_tasks_blocked(0.01)
        intent = Intent(intent_id="halt", kind=IntentKind.HALT, body={})
        halted = await day.engine.ask(lambda reply: HaltParents(intent=intent, reply=reply), 5)
        assert halted.count == 0
        await day.until(lambda: answers)
        assert (answers[0].status, answers[0].body["error"]) == (
            409,
            "a flatten halted this order before anything was sent",
        )
        assert day.messages("place") == []
