"""One account, not one broker: sales of units that lie at several brokers, judged on the exchange's ledger (order-engine 4.1)."""

import attrs
import pytest
import trio

from tests.actors.engine.days.changes.test_flatten import bought, emptied, held, net
from tests.actors.engine.plan.trees import order
from tests.support.day import Day
from tests.support.engine_orders import ticks

BROKERS = ("kotakneo", "upstox", "zerodha")


async def three_brokers(story):
    with trio.fail_after(86_400):
        day = Day(brokers=BROKERS)
        async with day.market(), day.service():
            await emptied(day)
            await story(day)


async def at_two(day, product):
    """Ten units each at upstox and zerodha, of a share that no account has brought along."""
    brought = {row.isin for session in day.sessions.values() for row in session.view.value.holdings}
    number = next(number for number in range(50) if day.equity(number).isin not in brought)
    for code in ("upstox", "zerodha"):
        share = await bought(day, code, number=number, intent_id=f"b-{code}", quantity=10, product=product)
    return share


def sale(day, share, product, quantity=20, **more):
    return day.body(
        share,
        **{
            "product": product,
            "quantity": quantity,
            "transaction_type": "SELL",
            "price": ticks(day, share, -2),
            **more,
        },
    )


async def test_a_delivery_sale_that_no_broker_can_deliver_whole_is_refused_and_nothing_is_sent(autojump_clock):
    async def story(day):
        share = await at_two(day, "CNC")
        sent = len(day.messages("place"))
        for dry_run in (True, False):
            answer = await day.place(sale(day, share, "CNC"), intent_id=f"s-{dry_run}", dry_run=dry_run)
            assert (answer.status, answer.body["error"]) == (
                409,
                (
                    "no broker can deliver 20 units: upstox can deliver 10, zerodha can deliver 10; "
                    "place a sale for each of them, with its broker and its units"
                ),
            )
            assert {row["broker"]: row["reason"] for row in answer.body["skipped"]} == {
                "kotakneo": "holds no units to deliver",
                "upstox": "can deliver 10 of the 20 units",
                "zerodha": "can deliver 10 of the 20 units",
            }
        assert len(day.messages("place")) == sent

    await three_brokers(story)


async def test_two_delivery_sales_at_once_go_to_the_two_holders_and_a_third_is_refused(autojump_clock):
    async def story(day):
        share = await at_two(day, "CNC")
        answers = [await day.place(sale(day, share, "CNC", 10), intent_id=f"s-{number}") for number in range(3)]
        assert [answer.status for answer in answers] == [200, 200, 409]
        assert {answer.body["broker"] for answer in answers[:2]} == {"upstox", "zerodha"}
        assert held(day) == {}

    await three_brokers(story)


@pytest.mark.parametrize("closes", [True, False])
async def test_an_intraday_sale_of_more_than_one_holder_has_goes_to_a_holder_and_says_what_it_opens(
    autojump_clock, closes
):
    async def story(day):
        share = await at_two(day, "MIS")
        body = attrs.evolve(sale(day, share, "MIS"), closes_position=closes)
        dry = await day.place(body, intent_id="dry", dry_run=True)
        assert dry.status == 200, dry.body
        broker = dry.body["broker"]
        other = next(code for code in ("upstox", "zerodha") if code != broker)
        assert dry.body["warnings"] == [f"{other} holds 10; this opens a new short of 10 at {broker}"]
        answer = await day.place(body, intent_id="s")
        assert (answer.status, answer.body["broker"]) == (200, broker)
        assert answer.body["warnings"] == dry.body["warnings"]
        assert held(day) == {
            (other, share.instrument_id, "MIS"): 10,
            (broker, share.instrument_id, "MIS"): -10,
        }

    await three_brokers(story)


async def test_a_sale_that_names_a_third_broker_says_who_holds_the_units(autojump_clock):
    async def story(day):
        share = await at_two(day, "MIS")
        answer = await day.place(sale(day, share, "MIS", broker="kotakneo"), intent_id="s")
        assert answer.body["warnings"] == ["upstox and zerodha hold 20; this opens a new short of 20 at kotakneo"]
        kept = await day.store.get("orders:answer:s")
        assert b"this opens a new short of 20" in (kept or b"")

    await three_brokers(story)


async def test_a_purchase_beside_a_short_says_so_and_an_order_that_only_reduces_says_nothing(autojump_clock):
    async def story(day):
        share = day.equity(1)
        opened = await day.place(sale(day, share, "MIS", 10, broker="upstox"), intent_id="short")
        assert (opened.status, "warnings" in opened.body) == (200, False)
        await day.until(lambda: net(day, "upstox", share) == -10)
        buys = day.body(share, product="MIS", quantity=10, price=ticks(day, share, 2))
        beside = await day.place(attrs.evolve(buys, broker="zerodha"), intent_id="beside", dry_run=True)
        assert beside.body["warnings"] == ["upstox is short 10; this opens a new long of 10 at zerodha"]
        covered = await day.place(buys, intent_id="cover")
        assert (covered.body["broker"], "warnings" in covered.body) == ("upstox", False)
        assert held(day) == {}

    await three_brokers(story)


async def test_a_plans_first_orders_say_it_too(autojump_clock):
    async def story(day):
        share = await at_two(day, "MIS")
        root = order(side="SELL", quantity=20, price=str(ticks(day, share, -2)), of=share.instrument_id)
        body = sale(day, share, "MIS", plan=root)
        dry = await day.place(body, intent_id="dry", dry_run=True)
        broker = dry.body["requests"][0]["broker"]
        other = next(code for code in ("upstox", "zerodha") if code != broker)
        assert dry.body["warnings"] == [f"{other} holds 10; this opens a new short of 10 at {broker}"]
        answer = await day.place(body, intent_id="s")
        assert (answer.status, answer.body["warnings"]) == (200, dry.body["warnings"])

    await three_brokers(story)
