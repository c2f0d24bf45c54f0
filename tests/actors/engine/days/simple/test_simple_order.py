"""A simple order's whole life, judged on the exchange's ledger (order-engine 2.2, 4.1, 5)."""

from decimal import Decimal

import pytest
import trio

from onebroker.actors.engine.shown.stored_parents import open_parents, stored_parent
from onebroker.actors.store.interface import StoreError
from onebroker.brokers.requests import NotSendable
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.engine_orders import tick_of


def far_below(day, instrument):
    """Return a price that rests: 3 % below the market, on the tick."""
    last = day.exchange.market(instrument.instrument_id).last_price
    tick = tick_of(day, instrument)
    return (last * Decimal("0.97") / tick).quantize(Decimal(1)) * tick


async def parent_of(day, answer):
    return await stored_parent(day.store, answer.body["parent_id"])


async def until_parent(day, answer, state, seconds=120):
    with trio.fail_after(seconds):
        while (await parent_of(day, answer))["state"] != state:
            await trio.sleep(0.1)
    return await parent_of(day, answer)


async def test_a_limit_order_is_placed_once_rests_and_is_shown_with_its_parent(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        answer = await day.place(day.body(share, price=far_below(day, share), tag="mine1"))
        assert answer.status == 200, answer.body
        assert list(answer.body) == [
            "broker", "instrument_id", "tag", "outcome", "order_id", "status_message", "broker_response", "skipped",
            "timing_ms", "intent_id", "parent_id",
        ]  # fmt: skip
        assert answer.body["outcome"] == "accepted"
        assert set(answer.body["timing_ms"]) == {"preparation", "broker"}
        placed = day.messages("place")
        code, order_id = answer.body["broker"], answer.body["order_id"]
        assert [(one["order_id"], one["broker"]) for one in placed] == [(order_id, code)]
        await day.until(lambda: order_id in day.sessions[code].view.value.orders)
        row = day.sessions[code].view.value.orders[order_id]
        assert row.status == "OPEN"
        owner = day.legs.owner(code, order_id, row.tag)
        assert (owner.parent_id, owner.tag, owner.leg_role) == (answer.body["parent_id"], "mine1", "entry")
        record = await parent_of(day, answer)
        assert (record["state"], record["legs"][0]["state"]) == ("working", "open")
        assert [one["parent_order_id"] for one in (await open_parents(day.store))["parents"]] == [
            answer.body["parent_id"]
        ]


def watch_builds(day, monkeypatch, *, unsendable=0):
    """Return the brokers for which a request is built, in order; the first `unsendable` of them have no words for it."""
    built = []
    for code, handle in day.engine_context.sessions.items():

        def watched(*asked, code=code, build=handle.broker.orders.place_request):
            built.append(code)
            if len(built) <= unsendable:
                raise NotSendable(f"{code} has no words for it")
            return build(*asked)

        monkeypatch.setattr(handle.broker.orders, "place_request", watched)
    return built


async def test_a_request_is_built_for_the_broker_that_gets_the_order_alone(day, autojump_clock, monkeypatch):
    async with day.market(), day.service():
        share, built = day.equity(), watch_builds(day, monkeypatch)
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert (answer.status, answer.body["skipped"], built) == (200, [], [answer.body["broker"]])


async def test_a_broker_that_has_no_words_for_the_order_is_skipped_for_the_next(day, autojump_clock, monkeypatch):
    async with day.market(), day.service():
        share, built = day.equity(), watch_builds(day, monkeypatch, unsendable=1)
        answer = await day.place(day.body(share, price=far_below(day, share)))
        first, second = built
        assert (answer.status, answer.body["broker"]) == (200, second)
        assert answer.body["skipped"] == [{"broker": first, "reason": f"{first} has no words for it"}]


async def test_an_order_that_the_market_reaches_completes_its_parent(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        price = far_below(day, share)
        answer = await day.place(day.body(share, price=price))
        day.simulator.set_price(share.instrument_id, price - Decimal("1.00"))
        record = await until_parent(day, answer, "completed")
        assert record["legs"][0]["filled_quantity"] == 10
        assert record["legs"][0]["state"] == "complete"
        assert await open_parents(day.store) == {"parents": []}
        assert len(day.messages("place")) == 1


async def test_a_dry_run_sends_and_writes_nothing_and_shows_the_request_without_secrets(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        before = len(day.store.commits)
        answer = await day.place(day.body(share, price=far_below(day, share)), dry_run=True)
        assert answer.status == 200
        assert answer.body["dry_run"] is True
        assert answer.body["request"]["method"] == "POST"
        assert answer.body["order"]["quantity"] == 10
        for code in day.codes:
            for secret in day.sessions[code].view.value.access.login.tokens.values():
                assert len(secret) < 6 or secret not in str(answer.body)
        assert day.messages("place") == []
        assert len(day.store.commits) == before


async def test_a_broker_that_refuses_is_answered_422_and_no_other_is_tried(day, autojump_clock):
    async with day.market(), day.service():
        day.simulator.fault("all", FaultKind.REJECT_ORDERS)
        share = day.equity()
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert answer.status == 422
        assert answer.body["outcome"] == "rejected"
        assert answer.body["status_message"]
        assert "error" not in answer.body
        assert len(day.messages("place")) <= 1
        assert (await until_parent(day, answer, "rejected"))["legs"][0]["state"] == "rejected"


async def test_a_connection_that_cannot_be_opened_counts_as_rejected(day, autojump_clock):
    async with day.market(), day.service():
        day.simulator.fault("all", FaultKind.REFUSE_CONNECTIONS, seconds=3)
        share = day.equity()
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert (answer.status, answer.body["outcome"]) == (422, "rejected")
        assert day.messages("place") == []


@pytest.mark.parametrize("kind", [FaultKind.DROP_AFTER_ACCEPT, FaultKind.GARBAGE_BODY])
async def test_an_order_taken_without_a_readable_answer_is_unknown_then_found_by_its_token_and_never_sent_again(
    day, kind, autojump_clock
):
    async with day.market(), day.service():
        day.simulator.fault("all", kind, seconds=1)
        share = day.equity()
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert (answer.status, answer.body["outcome"]) == (504, "unknown")
        with trio.fail_after(30):
            while (await parent_of(day, answer))["legs"][0]["state"] != "open":
                await trio.sleep(0.1)
        record = await parent_of(day, answer)
        assert record["legs"][0]["order_id"] == day.messages("place")[0]["order_id"]
        await trio.sleep(300)
        assert len(day.messages("place")) == 1


async def test_an_unknown_order_that_no_book_shows_for_a_minute_was_not_sent(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        day.simulator.fault("all", FaultKind.HTTP_500, seconds=1)
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert (answer.status, answer.body["outcome"]) == (504, "unknown")
        began = day.clock.monotonic()
        record = await until_parent(day, answer, "rejected", seconds=200)
        assert day.clock.monotonic() - began >= 60
        assert record["status_message"] == "the broker never showed this order"
        assert record["legs"][0]["state"] == "not_sent"
        assert day.messages("place") == []


async def test_a_broker_whose_book_is_read_once_a_minute_settles_an_unknown_order_as_soon_as_the_others(
    day, autojump_clock
):
    """Left to its own pace, the second book that decides would be read nearly two minutes later (icicidirect)."""
    day.__init__(brokers=("icicidirect",))
    async with day.market(), day.service():
        share = day.equity()
        day.simulator.fault("all", FaultKind.HTTP_500, seconds=1)
        began = day.clock.monotonic()
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert (answer.status, answer.body["outcome"]) == (504, "unknown")
        await until_parent(day, answer, "rejected", seconds=300)
        assert day.clock.monotonic() - began <= 75


async def test_a_slow_broker_is_answered_unknown_before_the_callers_deadline_and_the_truth_is_recorded(
    day, autojump_clock
):
    async with day.market(), day.service():
        share = day.equity()
        day.simulator.faults.add("all", FaultKind.LATENCY, seconds=1, count=None, delay_seconds=6)
        began = day.clock.monotonic()
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert (answer.status, answer.body["outcome"]) == (504, "unknown")
        assert day.clock.monotonic() - began <= 5
        with trio.fail_after(120):
            while (await parent_of(day, answer))["legs"][0]["state"] not in ("open", "not_sent"):
                await trio.sleep(0.1)
        assert len(day.messages("place")) <= 1


async def test_without_a_store_nothing_is_sent_and_the_answer_says_so(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        day.store.fail_with(StoreError("connection refused"))
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert answer.status == 503
        assert answer.body["error"] == "the order could not be written for the order engine: connection refused"
        assert day.messages("place") == []


async def test_a_sell_goes_to_the_broker_that_holds_the_shares_and_waits_for_its_room(day_kind, autojump_clock):
    """The calls of the start are still in the brokers' windows when it is asked for."""
    day = day_kind(holdings=8)
    async with day.market(), day.service():
        await day.until(lambda: all(day.sessions[code].view.value.holdings for code in day.codes))
        held = {
            code: {row.isin: row for row in day.sessions[code].view.value.holdings if row.settled_quantity >= 10}
            for code in day.codes
        }
        for code, other in (day.codes, reversed(day.codes)):
            lonely = [isin for isin in held[code] if isin not in held[other]]
            listed = [
                instrument
                for isin in lonely
                for instrument_id in day.snapshot.by_isin(isin)
                if set(day.codes) <= set((instrument := day.snapshot.instrument(instrument_id)).listings)
            ]
            assert listed
            share = listed[0]
            last = day.exchange.market(share.instrument_id).last_price
            tick = tick_of(day, share)
            price = (last * Decimal("1.03") / tick).quantize(Decimal(1)) * tick
            answer = await day.place(day.body(share, transaction_type="SELL", price=price, quantity=1), intent_id=code)
            assert (answer.status, answer.body["broker"]) == (200, code)


async def test_brokers_without_a_login_are_skipped_with_that_reason(day, autojump_clock):
    async with day.market(), day.service(log_in=False):
        await day.log_in("upstox")
        await day.until(lambda: day.has_read("upstox") and day.status.value.running)
        share = day.equity()
        answer = await day.place(day.body(share, price=far_below(day, share)))
        assert answer.body["broker"] == "upstox"
        assert answer.body["skipped"] == [{"broker": "zerodha", "reason": "zerodha has no login in Redis"}]
        pinned = await day.place(day.body(share, price=far_below(day, share), broker="zerodha"), intent_id="i-2")
        assert pinned.status == 409
        assert pinned.body["error"] == "zerodha cannot take this order: zerodha has no login in Redis"


async def test_the_same_intent_is_never_placed_twice(day, autojump_clock):
    async with day.market(), day.service():
        share = day.equity()
        order = day.body(share, price=far_below(day, share))
        assert (await day.place(order)).status == 200
        again = await day.place(order)
        assert again.status == 409
        assert again.body["error"].startswith("the order engine had already started this order")
        assert len(day.messages("place")) == 1


# --- cancel -------------------------------------------------------------------------------------------------------------


async def resting(day):
    share = day.equity()
    answer = await day.place(day.body(share, price=far_below(day, share)))
    code, order_id = answer.body["broker"], answer.body["order_id"]
    await day.until(lambda: order_id in day.sessions[code].view.value.orders)
    return answer, code, order_id


async def test_a_cancel_goes_through_the_parent_which_ends_cancelled(day, autojump_clock):
    async with day.market(), day.service():
        answer, _, order_id = await resting(day)
        cancelled = await day.cancel(order_id)
        assert cancelled.status == 200
        assert list(cancelled.body) == [
            "broker", "order_id", "status_before_cancel", "outcome", "status_message", "broker_response", "timing_ms",
        ]  # fmt: skip
        assert (cancelled.body["status_before_cancel"], cancelled.body["outcome"]) == ("OPEN", "accepted")
        record = await until_parent(day, answer, "cancelled")
        assert record["legs"][0]["state"] == "cancelled"
        assert [one["order_id"] for one in day.messages("cancel")] == [order_id]
        again = await day.cancel(order_id)
        assert (again.status, again.body["error"]) == (409, "the order is already CANCELLED")
        assert len(day.messages("cancel")) == 1


async def test_a_refused_cancel_leaves_the_order_open(day, autojump_clock):
    async with day.market(), day.service():
        answer, code, order_id = await resting(day)
        day.simulator.fault(code, FaultKind.REJECT_CANCELS, seconds=5)
        refused = await day.cancel(order_id)
        assert (refused.status, refused.body["outcome"]) == (422, "rejected")
        with trio.fail_after(30):
            while (await parent_of(day, answer))["legs"][0]["state"] != "open":
                await trio.sleep(0.1)


async def test_a_cancel_of_an_unknown_id_is_404_naming_the_book(day, autojump_clock):
    async with day.market(), day.service():
        answer = await day.cancel("nosuchorder")
        assert answer.status == 404
        assert answer.body["error"].startswith("no broker order book in Redis holds this order_id")
        assert "orders:book" in answer.body["error"]


async def test_a_dry_cancel_sends_nothing(day, autojump_clock):
    async with day.market(), day.service():
        _, _, order_id = await resting(day)
        answer = await day.cancel(order_id, dry_run=True)
        assert answer.status == 200
        assert answer.body["dry_run"] is True
        assert answer.body["request"]["method"] == "DELETE"
        assert day.messages("cancel") == []


# --- restart ------------------------------------------------------------------------------------------------------------


async def test_after_a_restart_the_same_parent_follows_its_order_to_its_end(day, autojump_clock):
    async with day.market():
        async with day.service():
            share = day.equity()
            price = far_below(day, share)
            answer = await day.place(day.body(share, price=price))
        day.simulator.set_price(share.instrument_id, price - Decimal("1.00"), hold_seconds=600)
        await trio.sleep(5)
        async with day.service(log_in=False):
            record = await until_parent(day, answer, "completed")
            assert record["legs"][0]["filled_quantity"] == 10
            assert len(day.messages("place")) == 1
            await day.until(lambda: day.status.value.running)
            order_id = answer.body["order_id"]
            row = day.sessions[answer.body["broker"]].view.value.orders[order_id]
            assert day.legs.owner(answer.body["broker"], order_id, row.tag).parent_id == answer.body["parent_id"]
