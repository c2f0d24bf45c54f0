"""The worked examples of order-engine 6 over the whole way, message by message on the exchange's ledger: 6.6, 6.8, 6.9, 6.11, 6.13 and 6.15,
with their restarts and lost answers. The others: `test_worked_examples_day`."""

from decimal import Decimal as D

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import kept_answer, stored_parent
from onebroker.actors.store import keys
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.entry_days import REAL, at
from tests.support.mortal import mortal
from tests.support.plan_judge import judge
from tests.support.worked_days import Line, Worked, bare

AROUND_100, AROUND_50 = 12, 11
"""The numbers of shares that may trade from 88.80 to 133.10, and from 43.30 to 64.90."""


@pytest.fixture
async def running(day, autojump_clock):
    day.line = Line(day)
    with trio.fail_after(86_400):
        async with bare(day).market(), day.service(quotes=True):
            yield day


# --- 6.6 ---------------------------------------------------------------------------------------------------------------

HIDDEN = {
    "transaction_type": "SELL", "quantity": 20,
    "synthetic": {"type": "hidden_stop", "trigger_price": 95, "backstop_price": 93, "backstop_limit_price": 92.5},
}  # fmt: skip
BACKSTOP = "PLACE zerodha SELL 20 SL 93.00/92.50 -> A1"


async def backed_stop(running):
    share = Worked(running, AROUND_100)
    await share.quote("97.00")
    share.begin()
    answer = await share.send(**HIDDEN)
    await share.says(BACKSTOP)
    told = [answer.body[key] for key in ("order_id", "trigger_direction", "trigger_level")]
    assert (answer.status, told) == (200, [await share.rests("A1"), "below", 95.00])
    await share.stands(answer, children_0="waiting", children_1="working")
    await share.second(30)
    assert share.said() == [BACKSTOP]
    return share, answer


async def test_6_6_a_hidden_stop_cancels_its_backstop_before_it_sells_and_follows_the_bid(running, autojump_clock):
    share, answer = await backed_stop(running)
    await share.quote("94.95", "94.90", "95.00")
    said = [BACKSTOP, "CANCEL A1", "PLACE zerodha SELL 20 LIMIT 94.80 -> A2"]
    await share.says(*said)
    await share.until(answer, "working", "root.children.0")
    assert share.passed(answer, "root.children.1")[-2:] == ["cancelling", "cancelled"]
    await share.second(31)
    share.fill("A2", 12)
    await share.second(32)
    await share.quote("94.75", "94.70", "94.80")
    await share.says(*said, "MODIFY A2 price 94.60", seconds=6)
    times = [at for at, _ in share.spoken()]
    assert times[3] - times[2] == pytest.approx(5, abs=0.2)
    await share.second(38)
    share.fill("A2")
    await share.until(answer, "completed")
    await share.second(90)
    assert share.said() == [*said, "MODIFY A2 price 94.60"]
    judge(running)


async def test_6_6_a_backstop_that_fills_while_its_cancel_is_lost_leaves_nothing_to_sell(running, autojump_clock):
    share, answer = await backed_stop(running)
    running.line.state = "lost"
    await share.quote("94.95", "94.90", "95.00")
    await share.until(answer, "cancelling", "root.children.1")
    running.line.state = "whole"
    await share.quote("93.00")
    share.fill("A1")
    await share.until(answer, "completed")
    assert (await share.part(answer, "root.children.1"))["filled_quantity"] == 20
    await share.second(70)
    assert share.said() == [BACKSTOP]
    judge(running)


# --- 6.8 ---------------------------------------------------------------------------------------------------------------

PAIR = {
    "transaction_type": "SELL", "product": "CNC", "order_type": "LIMIT", "quantity": 10, "price": 91.50,
    "synthetic": {"type": "gtt", "trigger_price": 92, "second_trigger_price": 112, "second_limit_price": 112},
}  # fmt: skip


async def until_moment(day, text):
    await trio.sleep((at(text) - day.clock.now()).total_seconds())


async def fired_pair(day):
    """Two trading days, a holiday between them, up to ten o'clock of the second, when the upper trigger is reached. The service runs where
    something happens."""
    async with day.market(), day.service(quotes=True):
        share = Worked(day, AROUND_100)
        await share.quote("100.00")
        await share.hold(10, product="CNC")
        share.begin()
        answer = await share.send(**PAIR)
        assert (answer.status, answer.body["outcome"]) == (202, "armed"), answer
        await share.stands(answer, plan="armed", children_0="waiting", children_1="waiting")
        lower, upper = [await share.part(answer, f"root.children.{n}") for n in (0, 1)]
        assert (lower["trigger_direction"], lower["trigger_level"]) == ("below", 92)
        assert (upper["trigger_direction"], upper["trigger_level"]) == ("above", 112)
    await until_moment(day, "2026-11-23T15:29:30")
    async with day.market(), day.service(quotes=True):
        await until_moment(day, "2026-11-23T15:30:30")
        await share.stands(answer, plan="armed", children_0="waiting", children_1="waiting")
    await until_moment(day, "2026-11-25T09:40:00")
    async with day.market(), day.service(quotes=True):
        share = Worked(day, AROUND_100)
        await share.quote("100.00")
        await trio.sleep(20)
        await share.stands(answer, plan="armed", children_0="waiting", children_1="waiting")
        assert share.said() == []
    await until_moment(day, "2026-11-25T09:59:40")
    return answer


FIRED = "PLACE zerodha SELL 10 LIMIT 112.00 -> A1"


async def test_6_8_a_gtt_pair_outlives_a_day_and_a_restart_and_one_of_it_fires(day_kind, autojump_clock):
    day = bare(day_kind(start=at("2026-11-23T11:00"), calendar=REAL))
    with trio.fail_after(3 * 86_400):
        answer = await fired_pair(day)
        async with day.market(), day.service(quotes=True):
            share = Worked(day, AROUND_100)
            await share.quote("100.00")
            await until_moment(day, "2026-11-25T10:00:00")
            await share.quote("112.00", "111.95", "112.05")
            await share.says(FIRED)
            await share.stands(answer, plan="working", children_0="cancelled", children_1="working")
            share.fill("A1")
            await share.until(answer, "completed")
            await trio.sleep(30)
            assert share.said() == [FIRED]
    judge(day)


async def test_6_8_a_fired_order_that_expires_with_its_day_is_not_sent_again(day_kind, autojump_clock):
    day = bare(day_kind(start=at("2026-11-23T11:00"), calendar=REAL))
    with trio.fail_after(4 * 86_400):
        answer = await fired_pair(day)
        async with day.market(), day.service(quotes=True):
            share = Worked(day, AROUND_100)
            await share.quote("112.00", "111.95", "112.05")
            await share.says(FIRED)
            await share.stands(answer, plan="working")
        await until_moment(day, "2026-11-25T15:29:40")
        async with day.market(), day.service(quotes=True):
            await share.until(answer, "expired", seconds=1800)
        judge(day)
        await until_moment(day, "2026-11-26T09:59:40")
        async with day.market(), day.service(quotes=True):
            await Worked(day, AROUND_100).quote("112.00", "111.95", "112.05")
            await trio.sleep(30)
            assert len(day.ledger()["messages"]) == 1
            assert (await stored_parent(day.store, answer.body["parent_id"]))["state"] == "expired"


# --- 6.9 ---------------------------------------------------------------------------------------------------------------

SLICED = {
    "order_type": "LIMIT", "quantity": 100, "price": 50.00, "tag": "mine", "synthetic": {"type": "iceberg", "slice_quantity": 40},
}  # fmt: skip
FORTY = [f"PLACE zerodha BUY 40 LIMIT 50.00 -> A{number}" for number in (1, 2, 3)]
TWENTY = "PLACE zerodha BUY 20 LIMIT 50.00 -> A3"


async def die_with_the_second_slice(day, death):
    """The first slice fills, and the process dies at a step of sending the second (counted from that fill on)."""
    with mortal(day, None) as life:
        async with trio.open_nursery() as nursery:

            async def serve():
                async with day.service(quotes=True):
                    share = Worked(day, AROUND_50)
                    await share.quote("50.50")
                    share.begin()
                    day.answer = await share.send(**SLICED)
                    assert (day.answer.status, day.answer.body["order_id"]) == (200, await share.rests("A1"))
                    await share.stands(day.answer, plan="working", root="working")
                    await share.second(5)
                    assert share.said() == FORTY[:1]
                    life.count()
                    life.death = death
                    share.fill("A1")
                    await trio.sleep_forever()

            nursery.start_soon(serve)
            with trio.fail_after(120):
                await life.dead.wait()
            nursery.cancel_scope.cancel()
    await trio.sleep(7)


async def goes_on(share, answer):
    """The second slice fills, and the rest is sent and fills."""
    await share.rests("A2")
    await trio.sleep(2)
    share.fill("A2")
    await share.says(*FORTY[:2], TWENTY)
    await share.rests("A3")
    share.fill("A3")
    parent = await share.until(answer, "completed")
    assert sum(leg["filled_quantity"] for leg in parent["legs"]) == 100
    await trio.sleep(90)
    assert share.said() == [*FORTY[:2], TWENTY]
    assert len({message["tag"] for message in share.day.messages("place")}) == 3


async def test_6_9_a_slice_that_left_before_the_crash_is_found_by_its_token_and_not_sent_again(day, autojump_clock):
    with trio.fail_after(3600):
        async with bare(day).market():
            await die_with_the_second_slice(day, "send 1 after")
            assert len(day.messages("place")) == 2
            async with day.service(log_in=False, quotes=True):
                share = Worked(day, AROUND_50)
                assert share.said() == FORTY[:2]
                share.fill("A2", 15)
                await share.until(day.answer, "working", "root")
                with trio.fail_after(30):
                    while (leg := (await share.parent(day.answer))["legs"][1])["filled_quantity"] != 15:
                        await trio.sleep(0.1)
                order_id = day.messages("place")[1]["order_id"]
                assert (leg["order_id"], leg["state"], leg["quantity"]) == (order_id, "open", 40)
                entry = await day.store.get(keys.leg("zerodha", "2026-11-23", order_id))
                assert b'"mine"' in entry  # what the order book shows as its tag
                assert share.said() == FORTY[:2]
                await goes_on(share, day.answer)
        judge(day)


async def test_6_9_a_slice_that_never_left_is_looked_for_and_ends_the_iceberg(day, autojump_clock):
    with trio.fail_after(3600):
        async with bare(day).market():
            await die_with_the_second_slice(day, "send 1 before")
            async with day.service(log_in=False, quotes=True):
                await day.until(lambda: day.status.value.running)
                share = Worked(day, AROUND_50)
                await trio.sleep(50)
                assert (await share.parent(day.answer))["legs"][1]["state"] == "sending"
                await share.until(day.answer, "failed", seconds=30)
                root = await share.part(day.answer)
                assert (root["filled_quantity"], root["status_message"]) == (40, "the broker never showed this order")
                assert (await share.parent(day.answer))["legs"][1]["state"] == "not_sent"
                await trio.sleep(60)
                assert share.said() == FORTY[:1]
        judge(day)


@pytest.mark.parametrize("death", ["commit 1 before", "leg 1 before"])
async def test_6_9_a_slice_that_was_not_written_is_sent_once_when_the_fill_is_acted_on_again(
    death, day, autojump_clock
):
    with trio.fail_after(3600):
        async with bare(day).market():
            await die_with_the_second_slice(day, death)
            (leg, *further) = (await stored_parent(day.store, day.answer.body["parent_id"]))["legs"]
            assert (leg["order_id"], further) == (day.messages("place")[0]["order_id"], [])
            async with day.service(log_in=False, quotes=True):
                share = Worked(day, AROUND_50)
                await share.says(*FORTY[:2], seconds=30)
                await goes_on(share, day.answer)
        judge(day)


# --- 6.11 --------------------------------------------------------------------------------------------------------------

LOT = 1300
"""Of the future, where the section has 300: its quantities are in proportion, so that 1.5 lots are that exactly, and its prices 265.00
higher, where this future trades."""


async def test_6_11_a_hedge_is_rounded_to_lots_by_all_that_has_filled(day_kind, autojump_clock):
    running = bare(day_kind(brokers=("zerodha",)))  # of futures neither of the two is the cheaper
    with trio.fail_after(3600):
        async with running.market(), running.service(quotes=True):
            await play_hedge(running)
    judge(running)


async def play_hedge(running):
    future = next(one for one in running.listed("nse_equity_futures") if one.lot_size == LOT)
    number = next(
        n
        for n, one in enumerate(sorted(running.listed("nse_equities"), key=lambda one: one.identity.symbol))
        if one.identity.symbol == future.identity.underlying_symbol
    )
    share, hedge = Worked(running, number), Worked(running, instrument=future)
    await share.quote("465.50")
    await hedge.quote("466.05", "466.00", "466.10")
    share.begin()
    answer = await share.send(
        order_type="LIMIT", quantity=4333, price=465.00,
        synthetic={
            "type": "attached_hedge", "hedge_instrument_id": future.instrument_id, "hedge_ratio": 1, "hedge_product": "NRML",
        },
    )  # fmt: skip
    assert answer.status == 200, answer
    said = ["PLACE zerodha BUY 4333 LIMIT 465.00 -> A1"]
    await share.says(*said)
    await share.rests("A1")
    lot = f"PLACE zerodha SELL {LOT} of another LIMIT 465.90"
    filled = 0
    for second, in_all, lots in ((5, 433, 0), (9, 867, 1), (15, 1950, 2), (30, 4333, 3)):
        await share.second(second)
        share.fill("A1", in_all - filled)
        filled = in_all
        await trio.sleep(2)
        assert share.said() == [*said, *(f"{lot} -> A{number}" for number in range(2, 2 + lots))]
        assert (await share.part(answer))["filled_quantity"] == in_all
    await share.stands(answer, plan="working", each_fill="working")
    await share.second(32.5)
    for name in ("A2", "A3", "A4"):
        hedge.fill(name)
    parent = await share.until(answer, "completed")
    assert [(leg["filled_quantity"], leg["product"]) for leg in parent["legs"]] == [(4333, "MIS"), *[(LOT, "NRML")] * 3]
    await share.second(60)
    assert len(share.said()) == 4


# --- 6.13, unknown -----------------------------------------------------------------------------------------------------


async def test_6_13_an_order_without_an_answer_is_answered_in_time_as_unknown_and_found_in_the_book(
    running, autojump_clock
):
    """The feed is silent too, and the book six seconds late: nothing tells of the order before."""
    share = Worked(running, AROUND_100)
    await share.quote("100.00")
    share.begin()
    running.line.state = "unanswered"
    running.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=60)
    running.simulator.fault("zerodha", FaultKind.LATE_BOOK, seconds=60, delay_seconds=6)
    answer = await share.send(order_type="LIMIT", price=99.00, synthetic={"type": "simple"})
    running.line.state = "whole"
    waited = (running.clock.now() - share.began).total_seconds()
    assert (answer.status, answer.body["outcome"]) == (504, "unknown")
    assert {"intent_id", "parent_id"} <= answer.body.keys()
    assert waited == pytest.approx(4.5, abs=0.6), waited
    said = ["PLACE zerodha BUY 10 LIMIT 99.00 -> A1"]
    assert share.said() == said
    assert (await share.parent(answer))["legs"][0]["state"] == "unknown"
    with trio.fail_after(20):
        while (leg := (await share.parent(answer))["legs"][0])["state"] != "open":
            await trio.sleep(0.1)
    assert leg["order_id"] == running.messages("place")[0]["order_id"]
    assert 6 <= (running.clock.now() - share.began).total_seconds() < 12
    told = await kept_answer(running.store, "sent-1", now=running.clock.epoch(), keep_seconds=300)
    assert told is not None
    assert told.status == 504
    await share.second(120)
    assert share.said() == said
    judge(running)


# --- 6.15 --------------------------------------------------------------------------------------------------------------


async def test_6_15_a_stepped_stop_passes_two_milestones_in_one_move_and_never_goes_back(running, autojump_clock):
    share = Worked(running, AROUND_100)
    await share.quote("100.50")
    share.begin()
    rules = [{"gain": 2, "stop_at_gain": 0}, {"gain": 4, "stop_at_gain": 2}, {"gain": 6, "trail_points": 3}]
    settings = {"entry_price": 100, "stop_price": 97, "stop_limit_offset": 0.5, "rules": rules}
    answer = await share.send(transaction_type="SELL", synthetic={"type": "stepped_stop", **settings})
    said = ["PLACE zerodha SELL 10 SL 97.00/96.50 -> A1"]
    await share.says(*said)
    assert (answer.status, answer.body["order_id"]) == (200, await share.rests("A1"))
    for second, last, moved in (
        (10, "101.95", None),
        (20, "104.10", "MODIFY A1 SL 102.00/101.50"),
        (30, "103.00", None),
        (40, "106.00", "MODIFY A1 SL 103.00/102.50"),
        (50, "107.00", "MODIFY A1 SL 104.00/103.50"),
        (60, "104.00", None),
    ):
        await share.second(second)
        await share.quote(last)
        said = said if moved is None else [*said, moved]
        await trio.sleep(3)
        assert share.said() == said
    share.fill("A1", price=D("104.00"))
    await share.until(answer, "completed")
    await share.second(90)
    assert share.said() == said
    judge(running)
