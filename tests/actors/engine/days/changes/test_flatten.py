"""Flatten (rules 2.4.7; order-engine 5.7, row 35), judged on the exchange's ledger: what is open there afterwards, and how often
anything was sent."""

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.desk.flatten_closes import sliced
from onebroker.actors.engine.placing import send_once
from onebroker.actors.engine.plan.price_kinds import Fixed
from onebroker.actors.engine.shown.stored_parents import open_parents, stored_parent
from onebroker.actors.sessions.messages import RoomFull, result
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.vocabulary import Outcome
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.actors.engine.days.unknown.test_unknown_orders import bracket
from tests.support.engine_orders import placed_elsewhere, resting, take_room_later, ticks, truth

ANSWER = [
    "halted", "cancelled", "still_open_after_waiting", "not_shown_after_waiting", "closed",
    "positions_still_open_after_waiting", "brokers_not_read", "positions_not_readable", "flat", "timing_ms",
]  # fmt: skip
OTHER = Set(keys.ENGINE_LOCK, b"an epoch:somebody else", 600)


async def bought(day, code, *, number=1, intent_id, quantity=20, product="MIS"):
    """Open a position at one broker, and wait until its positions show it; return the share."""
    share = day.equity(number)
    body = day.body(share, product=product, quantity=quantity, broker=code, price=ticks(day, share, 2))
    answer = await day.place(body, intent_id=intent_id)
    assert answer.status == 200, answer
    await day.until(lambda: net(day, code, share, product) != 0)
    return share


def net(day, code, share, product="MIS"):
    """What a broker's session shows of a share."""
    token = share.listings[code].broker_token
    rows = day.sessions[code].view.value.positions
    return sum(row.quantity for row in rows if (row.view, row.instrument_token, row.product) == ("net", token, product))


def held(day):
    """Net units by (broker, instrument, product) as the exchange has them; those that are not zero."""
    return {
        (code, one["instrument_id"], one["product"]): one["quantity"]
        for code, positions in day.ledger()["positions"].items()
        for one in positions
        if one["quantity"]
    }


async def emptied(day):
    """Flatten what the accounts begin with."""
    await trio.sleep(2)
    answer = await day.flatten()
    assert (answer.status, answer.body["flat"], held(day)) == (200, True, {}), answer
    await trio.sleep(3)
    return len(day.messages("place"))


def open_orders(day):
    return [one for one in day.ledger()["orders"] if one["status"] in ("open", "trigger_pending", "pending")]


async def test_every_order_is_cancelled_and_every_position_closed_everywhere(day, autojump_clock):
    async with day.market(), day.service():
        sent = await emptied(day)
        since = len(day.messages("cancel"))
        _, parent_id, _, ours = await resting(day)
        _, theirs = await placed_elsewhere(day, "upstox")
        for number, code in enumerate(day.codes, 1):
            await bought(day, code, number=number, intent_id=f"b-{number}")
        before = held(day)
        assert len(before) == 2
        dry = await day.flatten(dry_run=True)
        assert (dry.status, list(dry.body)) == (
            200, ["dry_run", "would_cancel", "would_close", "brokers_not_read", "positions_not_readable", "timing_ms"],
        )  # fmt: skip
        assert sorted(one["order_id"] for one in dry.body["would_cancel"]) == sorted([ours, theirs])
        assert len(day.messages("cancel")) == since
        assert held(day) == before
        answer = await day.flatten()
        assert (answer.status, list(answer.body), answer.body["flat"]) == (200, ANSWER, True), answer
        assert answer.body["halted"] == {"halted_parents": 1}
        assert sorted(one["order_id"] for one in answer.body["cancelled"]) == sorted([ours, theirs])
        assert all(one["sent"] and one["outcome"] == "accepted" for one in answer.body["cancelled"])
        assert len(answer.body["closed"]) == 2
        would = dry.body["would_close"]
        assert [{name: one[name] for name in would[0]} for one in answer.body["closed"]] == would
        for one in answer.body["closed"]:
            assert (one["sent"], one["outcome"], one["http_status"]) == (True, "accepted", 200)
            assert (one["product"], one["quantity"], one["transaction_type"], one["close_quantity"]) == (
                "intraday", 20, "SELL", 20,
            )  # fmt: skip
        assert (held(day), open_orders(day)) == ({}, [])
        assert (await stored_parent(day.store, parent_id))["state"] == "halted"
        await trio.sleep(5)
        parent = await stored_parent(day.store, parent_id)
        assert (parent["state"], parent["legs"][0]["state"]) == ("halted", "cancelled")
        assert await open_parents(day.store) == {"parents": []}
        assert (len(day.messages("cancel")) - since, len(day.messages("place")) - sent) == (2, 6)


async def test_every_open_parent_is_halted_and_counted(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        parents = [(await resting(day, number=number, intent_id=f"r-{number}"))[1] for number in range(5)]
        answer = await day.flatten()
        assert (answer.status, answer.body["halted"]) == (200, {"halted_parents": 5})
        assert {(await stored_parent(day.store, parent_id))["state"] for parent_id in parents} == {"halted"}


async def test_with_nothing_to_do_it_is_flat_at_once(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        answer = await day.flatten()
        assert (answer.status, answer.body["flat"], answer.body["halted"]) == (200, True, {"halted_parents": 0})
        assert (answer.body["cancelled"], answer.body["closed"]) == ([], [])


async def test_an_order_that_a_caller_places_meanwhile_is_left_and_the_account_is_not_called_flat(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        await bought(day, "upstox", intent_id="held")
        share, answers, before = day.equity(2), [], len(day.messages("place"))

        async def flatten():
            answers.append(await day.flatten())

        day.simulator.fault("upstox", FaultKind.LATE_POSITIONS, seconds=4, delay_seconds=3)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(flatten)
            await day.until(lambda: len(day.messages("place")) > before)  # it closes
            resting_one = await day.place(
                day.body(share, product="MIS", price=ticks(day, share, -3), broker="zerodha"), intent_id="rests"
            )
            filled = await day.place(
                day.body(share, product="MIS", price=ticks(day, share, 2), broker="upstox"), intent_id="fills"
            )
        (answer,) = answers
        assert (answer.status, answer.body["flat"]) == (207, False)
        assert answer.body["still_open_after_waiting"] == [f"zerodha:{resting_one.body['order_id']}"]
        assert filled.status == 200
        (left,) = answer.body["positions_still_open_after_waiting"]
        assert left.startswith("upstox:")
        assert held(day) == {("upstox", share.instrument_id, "MIS"): 10}
        await day.cancel(resting_one.body["order_id"])


async def test_without_a_running_engine_orders_are_cancelled_and_each_close_says_why_it_was_not_sent(
    day, autojump_clock
):
    async with day.market(), day.service():
        await emptied(day)
        _, _parent_id, _, order_id = await resting(day)
        await bought(day, "zerodha", intent_id="b-1")
        await day.store.write(OTHER)
        await day.until(lambda: not day.status.value.running)
        began = day.clock.monotonic()
        answer = await day.flatten()
        assert 40 <= day.clock.monotonic() - began < 60
        sentence = (
            "the order engine is not running, so the order was not placed; start unified-orders@order_engine.service"
        )
        assert (answer.status, answer.body["flat"], answer.body["halted"]) == (207, False, {"error": sentence})
        assert truth(day, order_id)["status"] == "cancelled"
        (closed,) = answer.body["closed"]
        assert (closed["sent"], closed["status_message"], closed["http_status"]) == (False, sentence, 503)
        assert answer.body["positions_still_open_after_waiting"] == [f"zerodha:{closed['position_key']}"]
        assert list(held(day).values()) == [20]


async def test_while_redis_is_away_nothing_is_sent(day, autojump_clock):
    async with day.market(), day.service():
        await resting(day)
        day.store.fail_with(StoreError("connection refused"))
        for dry_run in (False, True):
            answer = await day.flatten(dry_run=dry_run)
            assert (answer.status, answer.body) == (503, {"error": "Redis could not be read: connection refused"})
        assert day.messages("cancel") == []


async def test_a_cancel_that_is_refused_leaves_the_order_and_says_so(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        _, _, code, order_id = await resting(day)
        day.simulator.faults.add(code, FaultKind.REJECT_CANCELS, seconds=60)
        began = day.clock.monotonic()
        answer = await day.flatten()
        assert (answer.status, answer.body["flat"]) == (207, False)
        (cancelled,) = answer.body["cancelled"]
        assert (cancelled["sent"], cancelled["outcome"]) == (True, "rejected")
        assert answer.body["still_open_after_waiting"] == [f"{code}:{order_id}"]
        assert 5 <= day.clock.monotonic() - began < 12
        assert len(day.messages("cancel")) == 1
        day.simulator.faults.heal()
        again = await day.flatten()
        assert (again.status, again.body["flat"], again.body["halted"]) == (200, True, {"halted_parents": 0})
        assert open_orders(day) == []


async def test_a_cancel_that_did_not_leave_goes_while_the_flatten_still_looks(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        await resting(day, broker="zerodha")
        day.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=3)
        answer = await day.flatten()
        (cancelled,) = answer.body["cancelled"]
        assert (cancelled["sent"], cancelled["outcome"]) == (True, "accepted")
        assert open_orders(day) == []


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_cancel_that_did_not_leave_goes_as_soon_as_it_can_after_the_flatten(day, autojump_clock, restarted):
    async with day.market():
        async with day.service():
            await emptied(day)
            await resting(day, broker="zerodha")
            day.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=60)
            answer = await day.flatten()
            (cancelled,) = answer.body["cancelled"]
            assert (cancelled["sent"], answer.body["flat"]) == (False, False)
            assert open_orders(day) != []
            if not restarted:
                await trio.sleep(10)
                sentences = [one.sentence for one in day.engine_context.troubles.rows]
                assert sentences == ["orders still to be cancelled at zerodha: 1"]
                await day.until(lambda: open_orders(day) == [], 90)
                await day.until(lambda: not day.engine_context.troubles.rows, 30)
        if restarted:
            async with day.service(log_in=False):
                await day.until(lambda: open_orders(day) == [], 120)
        assert len(day.messages("cancel")) == 1


async def test_so_does_one_whose_cancel_was_under_way_when_the_flatten_halted_its_parent(
    day, autojump_clock, monkeypatch
):
    async with day.market(), day.service(), trio.open_nursery() as nursery:
        await emptied(day)
        _, _, _, order_id = await resting(day, broker="zerodha")
        send, began = send_once._send_once, trio.Event()

        async def never_left(*given, **named):
            if began.is_set():
                return await send(*given, **named)
            began.set()
            await trio.sleep(1)
            return result(Outcome.REJECTED, "no connection", reached=False)

        monkeypatch.setattr(send_once, "_send_once", never_left)
        nursery.start_soon(day.cancel, order_id)
        await began.wait()
        day.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=60)
        assert (await day.flatten()).body["flat"] is False
        await day.until(lambda: open_orders(day) == [], 120)
        assert len(day.messages("cancel")) == 1


async def test_a_plans_order_that_the_flatten_could_not_cancel_goes_as_soon_as_it_can(market, autojump_clock):
    async with traded(market) as trading:
        answer = await trading.place(attrs.evolve(bracket(trading), price=Fixed(trading.at(-1))))
        await trio.sleep(5)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=60)
        for halted in (1, 0):
            flattened = await market.flatten()
            assert (flattened.status, flattened.body["halted"]) == (207, {"halted_parents": halted})
        await market.until(lambda: len(market.messages("cancel")) == 1, 90)
        assert open_orders(market) == []
        assert (await trading.parent(answer))["state"] == "halted"
        await market.until(lambda: not market.engine_context.troubles.rows, 60)


async def test_a_broker_that_cannot_be_read_is_named_and_the_others_are_flattened(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        await resting(day, broker="zerodha")
        await bought(day, "zerodha", intent_id="b-1")
        day.simulator.faults.add("upstox", FaultKind.REFUSE_CONNECTIONS, seconds=600)
        await trio.sleep(10)
        answer = await day.flatten()
        assert (answer.status, answer.body["flat"]) == (207, False)
        assert answer.body["brokers_not_read"] == ["upstox"]
        assert (held(day), open_orders(day)) == ({}, [])


async def test_an_order_that_only_appears_while_it_waits_is_cancelled_too(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        day.simulator.faults.add("upstox", FaultKind.STALL_STREAM, seconds=60)
        share, handle = day.equity(), day.sessions["upstox"]
        view = handle.view
        _, order_id = await placed_elsewhere(day, "upstox")
        row = view.value.orders[order_id]
        answers = []

        async def flatten():
            answers.append(await day.flatten())

        del share, row
        view.set(attrs.evolve(view.value, orders={}))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(flatten)
        assert (answers[0].status, answers[0].body["flat"]) == (200, True)
        assert [one["order_id"] for one in answers[0].body["cancelled"]] == [order_id]
        assert open_orders(day) == []


async def test_a_place_that_has_sent_nothing_is_halted_and_told_so(day, autojump_clock, monkeypatch):
    async with day.market(), day.service():
        sent = await emptied(day)
        share, answers = day.equity(), {}
        take_room_later(monkeypatch, 1.0)

        async def place():
            answers["place"] = await day.place(day.body(share, price=ticks(day, share, -3)), wait=10)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(place)
            await trio.sleep(0.5)
            answers["flatten"] = await day.flatten()
        assert (answers["place"].status, answers["place"].body["error"]) == (
            409, "a flatten halted this order before anything was sent",
        )  # fmt: skip
        assert answers["flatten"].body["halted"] == {"halted_parents": 1}
        assert len(day.messages("place")) == sent
        parent = await stored_parent(day.store, answers["place"].body["parent_id"])
        assert parent["state"] == "halted"


async def test_an_order_whose_place_is_under_way_is_waited_for_and_cancelled(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        share, answers = day.equity(), {}
        day.simulator.faults.add("all", FaultKind.LATENCY, seconds=1, delay_seconds=1.5)

        async def place():
            answers["place"] = await day.place(day.body(share, price=ticks(day, share, -3), broker="zerodha"), wait=10)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(place)
            await trio.sleep(0.5)
            answers["flatten"] = await day.flatten()
        assert answers["place"].status == 200
        assert answers["flatten"].body["halted"] == {"halted_parents": 1}
        assert [one["order_id"] for one in answers["flatten"].body["cancelled"]] == [answers["place"].body["order_id"]]
        assert (answers["flatten"].status, open_orders(day)) == (200, [])


@pytest.mark.parametrize("answer_lost", [True, False])
async def test_an_order_that_no_book_shows_yet_is_not_flat_and_is_cancelled_when_it_appears(
    day, answer_lost, autojump_clock
):
    """Its book is late: with the answer lost its outcome is unknown, else it is accepted and nowhere to be seen."""
    async with day.market(), day.service():
        await emptied(day)
        if answer_lost:
            day.simulator.fault("zerodha", FaultKind.DROP_AFTER_ACCEPT, count=1)
        day.simulator.fault("zerodha", FaultKind.LATE_BOOK, seconds=40, delay_seconds=35.0)
        day.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=40)
        share = day.equity()
        placed = await day.place(day.body(share, price=ticks(day, share, -3), broker="zerodha"), intent_id="late")
        assert placed.status == (504 if answer_lost else 200), placed
        await trio.sleep(1)
        answer = await day.flatten()
        assert (answer.status, answer.body["flat"]) == (207, False), answer
        (leg,) = answer.body["not_shown_after_waiting"]
        assert (leg["broker"], leg["tradingsymbol"], leg["transaction_type"], leg["quantity"]) == (
            "zerodha", share.listings["zerodha"].tradingsymbol, "BUY", 10,
        )  # fmt: skip
        assert leg["status_message"].startswith("the broker does not show this order yet")
        await trio.sleep(90)
        assert open_orders(day) == []
        assert len([one for one in day.messages("cancel") if one["broker"] == "zerodha"]) == 1
        parent = await stored_parent(day.store, placed.body["parent_id"])
        assert parent["state"] == "halted"
        assert parent["legs"][0]["state"] == "cancelled"
        assert parent["status_message"] == (
            "an order appeared at zerodha after the flatten and is cancelled; 0 units of it were filled"
        )
        again = await day.flatten()
        assert (again.status, again.body["flat"]) == (200, True)


async def test_an_order_that_a_flatten_could_not_see_is_cancelled_after_a_restart_too(day, autojump_clock):
    async with day.market():
        async with day.service():
            await emptied(day)
            day.simulator.fault("zerodha", FaultKind.DROP_AFTER_ACCEPT, count=1)
            day.simulator.fault("zerodha", FaultKind.LATE_BOOK, seconds=60, delay_seconds=55.0)
            day.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=60)
            share = day.equity()
            await day.place(day.body(share, price=ticks(day, share, -3), broker="zerodha"), intent_id="late")
            assert not (await day.flatten()).body["flat"]
        async with day.service(log_in=False):
            await trio.sleep(90)
            assert open_orders(day) == []


async def test_the_cancel_of_an_order_that_a_flatten_could_not_see_is_not_given_up_while_it_cannot_leave(
    day, autojump_clock, monkeypatch
):
    """Beside what fills the broker's room for a minute and a half."""
    async with day.market(), day.service():
        await emptied(day)
        day.simulator.fault("zerodha", FaultKind.DROP_AFTER_ACCEPT, count=1)
        day.simulator.fault("zerodha", FaultKind.LATE_BOOK, seconds=25, delay_seconds=20.0)
        day.simulator.fault("zerodha", FaultKind.STALL_STREAM, seconds=25)
        share = day.equity()
        await day.place(day.body(share, price=ticks(day, share, -3), broker="zerodha"), intent_id="late")
        assert not (await day.flatten()).body["flat"]

        async def full(*_):
            raise RoomFull

        with monkeypatch.context() as patch:
            patch.setattr(send_once, "ask_room", full)
            await trio.sleep(90)
        assert len(open_orders(day)) == 1
        await trio.sleep(30)
        assert open_orders(day) == []


async def test_one_flatten_at_a_time_so_that_no_position_is_closed_twice(day, autojump_clock):
    async with day.market(), day.service():
        sent = await emptied(day)
        for number, code in enumerate(day.codes, 1):
            await bought(day, code, number=number, intent_id=f"b-{number}")
        answers = []

        async def flatten():
            answers.append(await day.flatten())

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(flatten)
        assert [answer.status for answer in answers] == [200, 200, 200]
        assert sorted(len(answer.body["closed"]) for answer in answers) == [0, 0, 2]
        assert held(day) == {}
        assert len(day.messages("place")) - sent == 4


async def test_a_short_position_is_bought_back_and_a_carried_one_closes_as_nrml(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        share = day.equity(1)
        answer = await day.place(
            day.body(share, product="MIS", transaction_type="SELL", quantity=5, broker="upstox"), intent_id="s-1"
        )
        assert answer.status == 200, answer
        future = day.listed("nse_equity_index_futures")[0]
        lot = future.listings["zerodha"].lot_size
        answer = await day.place(day.body(future, product="NRML", quantity=lot, broker="zerodha"), intent_id="f-1")
        assert answer.status == 200, answer
        await day.until(lambda: net(day, "upstox", share) and net(day, "zerodha", future, "NRML"))
        answer = await day.flatten()
        assert (answer.status, answer.body["flat"]) == (200, True), answer
        shown = {one["broker"]: one for one in answer.body["closed"]}
        assert (shown["upstox"]["transaction_type"], shown["upstox"]["close_quantity"]) == ("BUY", 5)
        assert (shown["zerodha"]["product"], shown["zerodha"]["segment"]) == ("carry", "nse_equity_index_futures")
        assert held(day) == {}


async def test_a_position_above_the_freeze_quantity_is_closed_in_whole_lots_each_counted(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        future = day.listed("nse_equity_index_futures")[0]
        lot = future.listings["zerodha"].lot_size
        for number in range(2):
            body = day.body(future, product="NRML", quantity=2 * lot, broker="zerodha")
            assert (await day.place(body, intent_id=f"f-{number}")).status == 200
        await day.until(lambda: net(day, "zerodha", future, "NRML") == 4 * lot)
        table = {future.identity.underlying_symbol: 3 * lot - 1}
        settings = attrs.evolve(day.engine_context.settings, freeze_quantities=table)
        object.__setattr__(day.engine_context, "settings", settings)
        answer = await day.flatten()
        assert (answer.status, answer.body["flat"]) == (200, True), answer
        assert [one["close_quantity"] for one in answer.body["closed"]] == [2 * lot, 2 * lot]
        assert len({one["order_id"] for one in answer.body["closed"]}) == 2
        assert held(day) == {}


async def test_a_token_that_names_no_instrument_is_left_open_and_said(day, autojump_clock, monkeypatch):
    async with day.market(), day.service():
        await emptied(day)
        await bought(day, "zerodha", intent_id="b-1")
        monkeypatch.setattr(type(day.snapshot), "by_token", lambda *_: None)
        answer = await day.flatten()
        assert (answer.status, answer.body["flat"]) == (207, False)
        (closed,) = answer.body["closed"]
        assert (closed["sent"], closed["segment"], closed["status_message"]) == (
            False, None,
            "the broker's token does not name exactly one mapped instrument, so this position was not closed",
        )  # fmt: skip
        assert len(answer.body["positions_still_open_after_waiting"]) == 1


async def test_a_position_in_contracts_of_unknown_size_is_left_open_and_said(day, autojump_clock):
    async with day.market(), day.service():
        await emptied(day)
        share = await bought(day, "zerodha", intent_id="b-1")
        view = day.sessions["zerodha"].view
        rows = [row for row in view.value.positions if row.instrument_token == share.listings["zerodha"].broker_token]
        unknown = tuple(msgspec.structs.replace(row, quantity=None, contracts=-2) for row in rows)
        view.set(attrs.evolve(view.value, positions=unknown))
        dry = await day.flatten(dry_run=True)
        shown = dry.body["would_close"][0]
        assert (shown["quantity"], shown["close_quantity"], shown["transaction_type"]) == (None, None, "BUY")


@pytest.mark.parametrize(
    ("units", "most", "slices"),
    [(10, None, [10]), (10, 10, [10]), (11, 10, [10, 1]), (30, 10, [10, 10, 10]), (75, 50, [50, 25]), (5, 0, [5])],
)
def test_slices_sum_up_to_the_position(units, most, slices):
    assert sliced(units, most) == slices
