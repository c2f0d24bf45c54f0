"""Exits of a running plan that cannot leave, and stops that are lost: what waits goes as soon as it can, and meanwhile the parent, health
and log say how many units are open without a stop. Judged on the exchange's ledger."""

from decimal import Decimal as D

import attrs
import pytest
import trio

from onebroker.actors.engine.orders.parent_records import ParentState, decode_parent, encode_parent
from onebroker.actors.engine.plan.parts import FromFill, Lifetime, OnEnd
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.events import ExposureProtected, ExposureUnprotected
from onebroker.http.health_parts import order_problems
from onebroker.http.metrics.order_figures import risk_figures
from tests.actors.engine.days.plans.test_plan_orders import stop, traded
from tests.actors.engine.days.unknown.test_unknown_orders import AFTER_ALL, STOP, bracket, lost, rewritten
from tests.actors.engine.plan.trees import oco, order, together

NAKED = "100 units are open without a stop"
TARGET = "root.each_fill.children.1"


def resting_bracket(trading):
    """A bracket whose entry waits at the broker for the market to come down."""
    return attrs.evolve(bracket(trading), price=Fixed(trading.at(-1)))


async def hidden_stop(trading):
    """A held position of 100 at zerodha and the stop of it that the engine keeps."""
    await trading.send(quantity=100, broker="zerodha")
    await trio.sleep(10)
    stop = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
    answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=stop)
    assert answer.status == 202
    await trio.sleep(5)
    return answer


def problems(trading):
    rows = order_problems(trading.day.engine_context.troubles.rows)
    return [(row["parent_id"], row["instrument_id"], row["message"]) for row in rows if not row["ended"]]


def at_risk(trading):
    """Return the parents at risk and the units without a stop, as the metrics show them."""
    metrics = risk_figures(trading.day.engine_context.troubles.rows)
    return [sample.value for metric in metrics for sample in metric.samples]


async def is_said(trading, answer, sentence=NAKED):
    """Wait until the parent, health, the metric and the log say it, of this parent and its share."""
    with trio.fail_after(60):
        while sentence not in ((await trading.parent(answer))["status_message"] or ""):
            await trio.sleep(0.1)
    row = (answer.body["parent_id"], trading.share.instrument_id, sentence)
    assert (problems(trading), at_risk(trading)) == ([row], [1, 100 if sentence == NAKED else 0])


async def is_over(trading, answer):
    with trio.fail_after(60):
        while problems(trading):
            await trio.sleep(0.1)
    await trio.sleep(1)
    assert NAKED not in ((await trading.parent(answer))["status_message"] or "")
    about = {"parent": answer.body["parent_id"], "instrument": trading.share.instrument_id, "units": 100}
    told = [event for event in trading.day.heard if isinstance(event, ExposureUnprotected | ExposureProtected)]
    assert [attrs.evolve(event, why=None) if hasattr(event, "why") else event for event in told] == [
        ExposureUnprotected(**about),
        ExposureProtected(**about),
    ]


def exits(trading):
    orders = trading.day.ledger()["orders"]
    own = {m["order_id"] for m in trading.day.ledger()["messages"]}
    return sorted(
        (one["order_type"], one["status"], one["filled_quantity"])
        for one in orders
        if one["side"] == "SELL" and one["order_id"] in own
    )


# --- nothing left -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seconds", [5, 120])
async def test_exits_of_a_bracket_that_find_no_connection_go_as_soon_as_there_is_one(market, seconds, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.place(resting_bracket(trading))
        await trio.sleep(5)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=seconds)
        trading.moved(-2)
        await trio.sleep(seconds)
        await is_over(trading, answer)
        assert exits(trading) == [("LIMIT", "open", 0), ("SL", "trigger_pending", 0)]
        parent = await trading.parent(answer)
        assert (parent["state"], parent["status_message"], len(parent["legs"])) == ("working", None, 3)


async def test_a_hidden_stop_whose_broker_has_no_login_goes_the_moment_it_has_one(market, autojump_clock):
    async with traded(market) as trading:
        answer = await hidden_stop(trading)
        market.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION)
        await trio.sleep(8)
        trading.moved(-3)
        await is_said(trading, answer)
        part = (await trading.parent(answer))["parameters"]["parts"]["root"]
        assert part["status_message"].endswith("zerodha has no login in Redis")
        await trio.sleep(300)
        assert (await trading.parent(answer))["state"] == "armed"
        await market.log_in("zerodha")
        await trading.until(answer, "completed", seconds=20)
        await is_over(trading, answer)
        assert [m[:3] for m in trading.messages()] == [("place", "BUY", 100), ("place", "SELL", 100)]


async def test_a_hidden_stop_that_finds_no_connection_leaves_no_trail_of_attempts(market, autojump_clock):
    async with traded(market) as trading:
        answer = await hidden_stop(trading)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=180)
        trading.moved(-3)
        await is_said(trading, answer)
        await trio.sleep(90)
        assert len((await trading.parent(answer))["legs"]) == 1
        parent = await trading.until(answer, "completed", seconds=400)
        assert [leg["filled_quantity"] for leg in parent["legs"]] == [100]


async def test_a_restart_goes_on_trying(market, autojump_clock):
    async with traded(market) as trading:
        answer = await hidden_stop(trading)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=120)
        trading.moved(-3)
        await is_said(trading, answer)
    async with traded(market, log_in=False) as trading:
        trading.moved(-3)
        await trading.until(answer, "completed", seconds=300)
        assert [m[:3] for m in trading.messages()] == [("place", "BUY", 100), ("place", "SELL", 100)]


async def test_exits_that_a_broker_never_showed_are_sent_again(market, autojump_clock):
    """Answers of 500 without an order behind them: unknown, then not sent after 60 s of books."""
    async with traded(market) as trading:
        answer = await trading.place(resting_bracket(trading))
        await trio.sleep(5)
        market.simulator.fault("zerodha", FaultKind.HTTP_500, seconds=4)
        trading.moved(-2)
        await trio.sleep(100)
        assert exits(trading) == [("LIMIT", "open", 0), ("SL", "trigger_pending", 0)]
        trading.moved(4)
        await trading.until(answer, "completed")
        assert exits(trading) == [("LIMIT", "complete", 100), ("SL", "cancelled", 0)]


async def beside_a_slow_broker(trading, first):
    """Place `first` at zerodha together with an order that upstox answers after three seconds. The market comes down to the first one
    meanwhile, and from then on zerodha takes no connections for 30 s. Returns the answer, and how long it took."""
    market, answers = trading.day, []
    slow = order("root.children.1", quantity=10, price=Fixed(trading.at(-1)), broker="upstox")
    market.simulator.fault("upstox", FaultKind.LATENCY, seconds=5, delay_seconds=3)
    began = market.clock.monotonic()

    async def place():
        answers.append(await trading.place(together("root", first, slow)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(place)
        await trio.sleep(1)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=30)
        trading.moved(-2)
    return answers[0], market.clock.monotonic() - began


def first_of_two(trading, **more):
    return order("root.children.0", quantity=100, price=Fixed(trading.at(-1)), broker="zerodha", **more)


async def test_exits_that_find_no_connection_while_the_first_caller_still_waits_go_as_soon_as_there_is_one(
    market, autojump_clock
):
    async with traded(market) as trading:
        path = "root.children.0.each_fill"
        pair = oco(
            path,
            order(f"{path}.children.0", "SELL", FromFill(), stop(trading, -4, -5), is_exit=True),
            order(f"{path}.children.1", "SELL", FromFill(), Fixed(trading.at(3)), is_exit=True),
        )
        answer, waited_seconds = await beside_a_slow_broker(trading, first_of_two(trading, each_fill=pair))
        assert (answer.status, answer.body["outcome"], len(answer.body["legs"])) == (200, "accepted", 2)
        assert 3 <= waited_seconds < 3.5  # for its own orders, not for exits that cannot leave
        await is_said(trading, answer)
        await is_over(trading, answer)
        assert exits(trading) == [("LIMIT", "open", 0), ("SL", "trigger_pending", 0)]
        trading.moved(4)
        parent = await trading.until(answer, "completed")
        assert [m[0] for m in trading.messages()] == ["place"] * 4 + ["cancel"]
        assert sorted(leg["filled_quantity"] for leg in parent["legs"]) == [0, 10, 100, 100]


async def test_a_close_at_the_end_of_a_lifetime_that_finds_no_connection_while_the_first_caller_waits_goes_too(
    market, autojump_clock
):
    async with traded(market) as trading:
        ends = Lifetime(after_minutes=D("0.03"), on_end=OnEnd.CLOSE_FILLED)
        answer, _ = await beside_a_slow_broker(trading, first_of_two(trading, lifetime=ends))
        assert (answer.status, answer.body["outcome"], len(answer.body["legs"])) == (200, "accepted", 2)
        await is_said(trading, answer)
        await trading.until(answer, "completed")
        assert exits(trading) == [("LIMIT", "complete", 100)]


async def test_callers_orders_and_entries_keep_their_answer(market, autojump_clock):
    async with traded(market) as trading:
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=20)
        simple = await trading.send(quantity=5, broker="zerodha", closes_position=True)
        entry = await trading.place(resting_bracket(trading), intent_id="p-2")
        exit = order("root", "SELL", 5, stop(trading, -4, -5), broker="zerodha", is_exit=True)
        alone = await trading.place(exit, intent_id="p-3")
        assert (alone.status, alone.body["outcome"]) == (422, "rejected")
        assert (simple.status, simple.body["outcome"]) == (422, "rejected")
        assert (entry.status, entry.body["outcome"], entry.body["broker"]) == (422, "rejected", "zerodha")
        await trio.sleep(60)
        assert trading.messages() == []
        assert problems(trading) == []


# --- lost at the broker -----------------------------------------------------------------------------------------------------


def at_exchange(trading, order_type):
    own = {m["order_id"] for m in trading.day.ledger()["messages"]}
    return next(
        (trading.day.exchange.account(one["broker"]), one["order_id"])
        for one in trading.day.ledger()["orders"]
        if one["order_id"] in own and one["side"] == "SELL" and one["order_type"] == order_type
    )


@pytest.mark.parametrize("both", [False, True])
async def test_a_stop_that_another_hand_cancelled_is_said_as_a_refused_one(market, both, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.place(bracket(trading))
        await trading.until_messages(3)
        await trio.sleep(5)
        market.exchange.cancel(*at_exchange(trading, "SL"))
        if not both:
            await is_said(trading, answer)
            trading.moved(4)  # the target closes what was open
            parent = await trading.until(answer, "completed")
            assert parent["status_message"] is None
            assert problems(trading) == []
        else:
            market.exchange.cancel(*at_exchange(trading, "LIMIT"))
            parent = await trading.until(answer, "failed")
            assert parent["status_message"] == NAKED
            (row,) = order_problems(market.engine_context.troubles.rows)
            assert (row["message"], row["ended"]) == (NAKED, True)


async def test_a_hidden_stop_that_its_broker_refuses_hours_later_is_said(market, autojump_clock):
    async with traded(market) as trading:
        answer = await hidden_stop(trading)
        await trio.sleep(600)
        market.simulator.fault("zerodha", FaultKind.REJECT_ORDERS, seconds=30)
        trading.moved(-3)
        parent = await trading.until(answer, "rejected")
        assert parent["status_message"].endswith("; " + NAKED)
        (row,) = order_problems(market.engine_context.troubles.rows)
        assert (row["message"], row["ended"]) == (NAKED, True)


async def restarted_problems(market):
    async with traded(market, log_in=False):
        return order_problems(market.engine_context.troubles.rows)


async def test_what_an_ended_parent_left_open_is_said_after_a_restart_until_the_next_broking_day(
    market, autojump_clock
):
    async with traded(market) as trading:
        answer = await trading.place(bracket(trading))
        await trading.until_messages(3)
        await trio.sleep(5)
        for order_type in ("SL", "LIMIT"):
            market.exchange.cancel(*at_exchange(trading, order_type))
        await trading.until(answer, "failed")
        (before,) = order_problems(market.engine_context.troubles.rows)
    (after,) = await restarted_problems(market)
    assert {**after, "since": None} == {**before, "since": None}
    key = keys.parent(answer.body["parent_id"])
    record = decode_parent(await market.store.get(key))
    older = attrs.evolve(record, updated_at=record.updated_at - 86_400)
    await market.store.commit(Set(key, encode_parent(older)))
    assert await restarted_problems(market) == []
    await trio.sleep(1)
    assert await market.store.members(keys.TROUBLED_PARENTS) == frozenset()


async def test_an_ended_parent_of_which_an_order_may_still_turn_up_says_after_a_restart_what_it_left_open(
    market, autojump_clock
):
    async with traded(market) as trading:
        answer = await trading.place(attrs.evolve(bracket(trading), each_fill=None))
        await trading.until(answer, "completed")
    ended = {"state": ParentState.FAILED, "troubles": (NAKED,)}
    await rewritten(market, answer, lambda record: attrs.evolve(lost(record, 0), **ended))
    market.simulator.fault("all", FaultKind.LATE_BOOK, seconds=60, delay_seconds=55.0)
    (row,) = await restarted_problems(market)
    assert (row["message"], row["ended"]) == (NAKED, True)


async def test_a_stop_on_a_held_position_that_another_hand_cancelled_is_said(market, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=100, broker="zerodha")
        await trio.sleep(10)
        pair = {
            "type": "oco", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(3),
        }  # fmt: skip
        answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=pair)
        await trio.sleep(5)
        market.exchange.cancel(*at_exchange(trading, "SL"))
        await is_said(trading, answer)


async def test_a_stop_that_the_caller_ends_stands_in_the_problems(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.place(bracket(trading))
        await trading.until_messages(3)
        await trio.sleep(5)
        assert (await market.stop(answer.body["parent_id"], part=STOP)).status == 200
        await is_said(trading, answer, "its stop was ended by hand while 100 units were open")


async def test_a_target_that_the_caller_ends_is_no_problem(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.place(bracket(trading))
        await trading.until_messages(3)
        await trio.sleep(5)
        assert (await market.stop(answer.body["parent_id"], part=TARGET)).status == 200
        await trio.sleep(60)
        assert (await trading.parent(answer))["status_message"] is None
        assert problems(trading) == []


# --- an entry that is there after all ---------------------------------------------------------------------------------------


async def lost_entry(trading):
    """A bracket whose entry filled, after its broker had not shown it for longer than an order is looked for."""
    market = trading.day
    market.simulator.fault("zerodha", FaultKind.DROP_AFTER_ACCEPT, count=1)
    market.simulator.fault("zerodha", FaultKind.LATE_BOOK, seconds=100, delay_seconds=95.0)
    market.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=100)
    answer = await trading.place(bracket(trading))
    assert (answer.status, answer.body["outcome"], answer.body["broker"]) == (504, "unknown", "zerodha")
    await trading.until(answer, "rejected", seconds=100)
    return answer


async def test_an_entry_taken_as_not_sent_that_filled_gets_its_exits(market, autojump_clock):
    async with traded(market) as trading:
        answer = await lost_entry(trading)
        parent = await trading.until(answer, "working", TARGET, seconds=120)
        assert (parent["state"], parent["status_message"]) == ("working", AFTER_ALL)
        assert exits(trading) == [("LIMIT", "open", 0), ("SL", "trigger_pending", 0)]
        trading.moved(4)
        parent = await trading.until(answer, "completed")
        assert sorted((leg["transaction_type"], leg["filled_quantity"]) for leg in parent["legs"]) == [
            ("BUY", 100), ("SELL", 0), ("SELL", 100),
        ]  # fmt: skip
        assert problems(trading) == []


async def test_under_a_parent_that_a_flatten_ended_such_an_entry_is_said(market, autojump_clock):
    async with traded(market) as trading:
        answer = await lost_entry(trading)
        parent_id = answer.body["parent_id"]
    await rewritten(market, answer, lambda record: attrs.evolve(record, state="halted"))
    async with traded(market, log_in=False) as trading:
        with trio.fail_after(200):
            while AFTER_ALL not in ((await trading.parent(answer))["status_message"] or ""):
                await trio.sleep(0.5)
        await trio.sleep(30)
        parent = await trading.parent(answer)
        assert (parent["state"], parent["status_message"]) == ("halted", f"{AFTER_ALL}; {NAKED}")
        assert [row["message"] for row in order_problems(market.engine_context.troubles.rows)] == [NAKED], parent_id
        assert [m[0] for m in trading.messages()] == ["place"]
