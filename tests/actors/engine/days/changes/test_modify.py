"""Changing orders by order id: engine legs through their parent, orders placed elsewhere by the desk itself (rules 2.4.4;
order-engine 5.6, rows 19-24), judged on the exchange's ledger."""

import math
from decimal import Decimal

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine.context.day_loss import DayLoss, Locked
from onebroker.actors.engine.shown.stored_parents import kept_answer, stored_parent
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.brokers.requests import NotSendable
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.engine_orders import placed_elsewhere, resting, ticks, truth


async def test_the_leg_of_an_engine_order_is_changed_through_its_parent_and_the_record_follows(day, autojump_clock):
    async with day.market(), day.service():
        share, parent_id, _code, order_id = await resting(day)
        before, wanted = ticks(day, share, -3), ticks(day, share, -2)
        answer = await day.modify(order_id, price=wanted, quantity=7)
        assert (answer.status, answer.body["outcome"]) == (200, "accepted")
        assert list(answer.body) == [
            "broker", "order_id", "instrument", "status_before_modify", "changes", "outcome", "status_message",
            "broker_response", "timing_ms", "parent_id", "part", "intent_id",
        ]  # fmt: skip
        assert answer.body["instrument"] == share.identity.fields()
        assert answer.body["changes"] == {
            "price": {"from": float(before), "to": wanted},
            "quantity": {"from": 10, "to": 7},
        }
        assert (answer.body["parent_id"], answer.body["part"], answer.body["status_before_modify"]) == (
            parent_id, "entry", "OPEN",
        )  # fmt: skip
        assert list(answer.body["timing_ms"]) == ["preparation", "broker"]
        (message,) = day.messages("modify")
        assert (message["order_id"], Decimal(message["price"]), message["quantity"]) == (order_id, wanted, 7)
        leg = (await stored_parent(day.store, parent_id))["legs"][0]
        assert (leg["price"], leg["quantity"]) == (wanted, 7)
        kept = await kept_answer(day.store, answer.body["intent_id"], now=day.clock.epoch(), keep_seconds=300)
        assert kept.status == 200
        (entry,) = [
            fields for _, fields in await day.store.stream_last(keys.INTENTS, 10) if fields["kind"] == b"modify"
        ]
        assert entry["parent_id"] == parent_id.encode()
        await trio.sleep(5)
        assert (await stored_parent(day.store, parent_id))["legs"][0]["quantity"] == 7


@pytest.mark.parametrize("away", [False, True])
async def test_the_answer_is_kept_before_it_is_given_where_the_store_can(day, autojump_clock, monkeypatch, away):
    async with day.market(), day.service():
        share, _, _, order_id = await resting(day)
        posted = []
        monkeypatch.setattr(day.store, "post", lambda *ops: posted.extend(ops))
        if away:
            monkeypatch.setattr(day.store, "write", lost)
        answer = await day.modify(order_id, price=ticks(day, share, -2))
        assert answer.status == 200
        name = {"now": day.clock.epoch(), "keep_seconds": 300}
        kept = await kept_answer(day.store, answer.body["intent_id"], **name)
        assert away or kept.status == 200
        assert (keys.answer(answer.body["intent_id"]) in {getattr(op, "key", None) for op in posted}) is away


async def lost(*_):
    raise StoreError("connection refused")


@pytest.mark.parametrize("engine_runs", [True, False])
async def test_an_order_placed_elsewhere_is_changed_by_the_desk_with_or_without_an_engine(
    day, engine_runs, autojump_clock
):
    async with day.market(), day.service():
        code = day.codes[0]
        share, order_id = await placed_elsewhere(day, code)
        if not engine_runs:
            await day.store.write(Set(keys.ENGINE_LOCK, b"an epoch:somebody else", 30))
            await day.until(lambda: not day.status.value.running)
        answer = await day.modify(order_id, price=ticks(day, share, -2))
        assert (answer.status, answer.body["outcome"]) == (200, "accepted")
        assert not {"parent_id", "part", "intent_id"} & set(answer.body)
        assert Decimal(truth(day, order_id)["price"]) == ticks(day, share, -2)


async def test_without_a_running_engine_an_engine_order_is_not_changed(day, autojump_clock):
    async with day.market(), day.service():
        share, _, _code, order_id = await resting(day)
        await day.store.write(Set(keys.ENGINE_LOCK, b"an epoch:somebody else", 30))
        await day.until(lambda: not day.status.value.running)
        answer = await day.modify(order_id, price=ticks(day, share, -2))
        assert answer.status == 503
        assert answer.body["error"].startswith("the order engine is not running")
        assert day.messages("modify") == []


async def test_an_order_that_has_these_values_is_not_sent_anything(day, autojump_clock):
    async with day.market(), day.service():
        share, _, _code, order_id = await resting(day)
        for change in ({"price": ticks(day, share, -3)}, {"quantity": 10, "order_type": "LIMIT", "validity": "DAY"}):
            answer = await day.modify(order_id, **change)
            assert (answer.status, answer.body["changes"]) == (200, {})
            assert answer.body["status_message"] == "the order already has these values"
        assert day.messages("modify") == []


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_a_dry_run_shows_the_request_and_sends_nothing(day, elsewhere, autojump_clock):
    async with day.market(), day.service():
        share, order_id = await placed_elsewhere(day, day.codes[0]) if elsewhere else (await resting(day))[::3]
        answer = await day.modify(order_id, dry_run=True, price=ticks(day, share, -2))
        assert (answer.status, answer.body["dry_run"]) == (200, True)
        assert set(answer.body["request"]) == {"method", "url", "body"}
        assert not {"outcome", "status_message", "broker_response"} & set(answer.body)
        assert answer.body["changes"]["price"]["to"] == ticks(day, share, -2)
        assert day.messages("modify") == []


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_a_price_computed_in_floating_point_is_sent_as_the_tick_that_it_means(day, elsewhere, autojump_clock):
    async with day.market(), day.service():
        share, order_id = await placed_elsewhere(day, day.codes[0]) if elsewhere else (await resting(day))[::3]
        wanted = ticks(day, share, -2)
        noisy = Decimal(repr(math.nextafter(math.nextafter(float(wanted), 0), 0)))
        answer = await day.modify(order_id, price=noisy)
        assert (answer.status, answer.body["changes"]["price"]["to"]) == (200, wanted)
        (message,) = day.messages("modify")
        assert Decimal(message["price"]) == wanted
        assert (await day.modify(order_id, price=noisy)).body["changes"] == {}


async def test_what_is_wrong_with_the_values_is_refused_before_anything_is_sent(day, autojump_clock):
    async with day.market(), day.service():
        share, _, _code, order_id = await resting(day)
        price = ticks(day, share, -2)
        cases = (
            ({"price": price + Decimal("0.01")}, f"price must be a whole number of ticks of {share.tick_size}"),
            ({"trigger_price": price}, "a LIMIT order takes no trigger_price"),
            ({"order_type": "SL"}, "a SL order needs a trigger_price"),
            ({"order_type": "MARKET", "price": price}, "a MARKET order takes no price"),
            ({"price": Decimal(0)}, "a LIMIT order needs a price"),
            ({"disclosed_quantity": 11}, "disclosed_quantity cannot be more than quantity"),
        )
        for change, sentence in cases:
            answer = await day.modify(order_id, **change)
            assert (answer.status, answer.body["error"]) == (400, sentence)
        assert day.messages("modify") == []


async def test_a_quantity_below_what_has_filled_and_broken_lots_are_refused(day, autojump_clock):
    async with day.market(), day.service():
        _share, _, code, order_id = await resting(day)
        view = day.sessions[code].view
        row = msgspec.structs.replace(view.value.orders[order_id], filled_quantity=4)
        view.set(attrs.evolve(view.value, orders={order_id: row}))
        answer = await day.modify(order_id, quantity=3)
        assert (answer.status, answer.body["error"]) == (400, "quantity cannot be less than the 4 already filled")
        future = next(one for one in day.listed("nse_equity_index_futures"))
        lot = future.listings[code].lot_size
        row = msgspec.structs.replace(
            row, instrument_token=future.listings[code].broker_token, order_id="F1", tag=None, quantity=lot
        )
        view.set(attrs.evolve(view.value, orders={"F1": row}))
        answer = await day.modify("F1", quantity=lot + 1)
        assert (answer.status, answer.body["error"]) == (400, f"quantity must be a whole number of lots of {lot}")
        assert day.messages("modify") == []


async def test_orders_that_are_unknown_finished_or_held_twice_are_refused(day, autojump_clock):
    async with day.market(), day.service():
        share, _, code, order_id = await resting(day)
        other = next(one for one in day.codes if one != code)
        price = ticks(day, share, -2)
        answer = await day.modify("nobodys", price=price)
        assert (answer.status, answer.body["error"]) == (
            404,
            "no broker order book in Redis holds this order_id (orders:book)",
        )
        row = day.sessions[code].view.value.orders[order_id]
        view = day.sessions[other].view
        view.set(attrs.evolve(view.value, orders={order_id: msgspec.structs.replace(row, status="COMPLETE", tag=None)}))
        answer = await day.modify(order_id, price=price)
        assert (answer.status, sorted(answer.body["brokers"])) == (409, sorted(day.codes))
        answer = await day.modify(order_id, broker=other, price=price)
        assert (answer.status, answer.body["error"]) == (409, "the order is already COMPLETE")
        assert day.messages("modify") == []


async def test_a_field_the_broker_cannot_change_is_a_501(day, autojump_clock, monkeypatch):
    async with day.market(), day.service():
        share, order_id = await placed_elsewhere(day, day.codes[0])
        broker = day.sessions[day.codes[0]].broker
        able = attrs.evolve(broker.capabilities, modifiable=frozenset({"quantity"}))
        handle = attrs.evolve(day.sessions[day.codes[0]], broker=attrs.evolve(broker, capabilities=able))
        monkeypatch.setitem(day.sessions, day.codes[0], handle)
        answer = await day.modify(order_id, price=ticks(day, share, -2), quantity=5)
        assert answer.status == 501
        assert answer.body["error"] == f"{day.codes[0]} cannot change price on an open order"
        assert (await day.modify(order_id, price=ticks(day, share, -3), quantity=5)).status == 200
        assert len(day.messages("modify")) == 1


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_what_keeps_a_change_from_leaving_is_a_503(day, elsewhere, autojump_clock, monkeypatch):
    async with day.market(), day.service():
        code = day.codes[0]
        share, order_id = await placed_elsewhere(day, code) if elsewhere else (await resting(day, broker=code))[::3]
        price = ticks(day, share, -2)

        def unable(*_):
            raise NotSendable("no word for it")

        with monkeypatch.context() as patched:
            patched.setattr(day.sessions[code].broker.orders, "modify_request", unable)
            answer = await day.modify(order_id, price=price)
        assert (answer.status, answer.body["error"]) == (503, "the change could not be built: no word for it")
        view = day.sessions[code].view
        access = view.value.access
        view.set(attrs.evolve(view.value, access=None))
        answer = await day.modify(order_id, price=price)
        assert (answer.status, answer.body["error"]) == (503, f"{code} has no login in Redis")
        view.set(attrs.evolve(view.value, access=access))
        day.store.fail_with(StoreError("connection refused"))
        answer = await day.modify(order_id, price=price)
        assert answer.status == 503
        assert answer.body["error"].startswith("Redis could not be read: ")
        day.store.come_back()
        assert day.messages("modify") == []
        assert (await day.modify(order_id, price=price)).status == 200


async def test_a_change_the_broker_refuses_is_422_and_the_record_keeps_the_old_values(day, autojump_clock):
    async with day.market(), day.service():
        share, parent_id, _code, order_id = await resting(day)
        answer = await day.modify(order_id, price=ticks(day, share, 60))
        assert (answer.status, answer.body["outcome"]) == (422, "rejected")
        assert "error" not in answer.body
        leg = (await stored_parent(day.store, parent_id))["legs"][0]
        assert (leg["price"], leg["state"]) == (ticks(day, share, -3), "open")
        assert (await day.modify(order_id, price=ticks(day, share, -2))).status == 200


@pytest.mark.parametrize("elsewhere", [True, False])
@pytest.mark.parametrize(
    ("kind", "done"), [(FaultKind.DROP_AFTER_ACCEPT, True), (FaultKind.GARBAGE_BODY, True), (FaultKind.HTTP_500, False)]
)
async def test_a_change_whose_answer_is_lost_is_unknown_and_the_next_fresh_book_decides(
    day, kind, done, elsewhere, autojump_clock
):
    async with day.market(), day.service():
        code = day.codes[0]
        parent_id = None
        if elsewhere:
            share, order_id = await placed_elsewhere(day, code)
        else:
            share, parent_id, _, order_id = await resting(day, broker=code)
        before, wanted, next_wanted = (ticks(day, share, percent) for percent in (-3, -2, -1))
        day.simulator.faults.add(code, kind, seconds=0.6)
        answer = await day.modify(order_id, price=wanted)
        assert (answer.status, answer.body["outcome"]) == (504, "unknown")
        assert "error" not in answer.body
        again = await day.modify(order_id, price=next_wanted)
        assert (again.status, again.body["outcome"]) == (200, "accepted")
        assert again.body["changes"]["price"]["from"] == float(wanted if done else before)
        assert Decimal(truth(day, order_id)["price"]) == next_wanted
        if parent_id is not None:
            assert (await stored_parent(day.store, parent_id))["legs"][0]["price"] == next_wanted


async def test_while_no_fresh_book_has_decided_a_further_change_waits_two_seconds_and_is_refused(day, autojump_clock):
    async with day.market(), day.service():
        share, _, code, order_id = await resting(day)
        day.simulator.faults.add(code, FaultKind.DROP_AFTER_ACCEPT, count=1)
        assert (await day.modify(order_id, price=ticks(day, share, -2))).status == 504
        day.simulator.faults.add(code, FaultKind.HTTP_500, seconds=10)
        began = day.clock.monotonic()
        answer = await day.modify(order_id, price=ticks(day, share, -1))
        assert (answer.status, answer.body["error"]) == (
            409, "an order message for this leg is still being answered; try again in a moment",
        )  # fmt: skip
        assert day.clock.monotonic() - began == pytest.approx(2.0, abs=0.2)
        assert len(day.messages("modify")) == 1


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_changes_of_one_order_asked_at_once_are_sent_one_after_the_other_and_none_takes_another_back(
    day, elsewhere, autojump_clock
):
    """upstox is sent the whole order as it shall stand, and its book runs behind."""
    async with day.market(), day.service():
        code = "upstox"
        share, order_id = await placed_elsewhere(day, code) if elsewhere else (await resting(day, broker=code))[::3]
        day.simulator.faults.add(code, FaultKind.LATE_BOOK, seconds=30, delay_seconds=3)
        await trio.sleep(5)
        price = ticks(day, share, -2)
        answers = {}

        async def ask(name, **values):
            answers[name] = await day.modify(order_id, **values)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(lambda: ask("price", price=price))
            nursery.start_soon(lambda: ask("quantity", quantity=6))
        assert {name: answer.status for name, answer in answers.items()} == {"price": 200, "quantity": 200}
        order = truth(day, order_id)
        assert (Decimal(order["price"]), order["quantity"]) == (price, 6)
        await trio.sleep(30)
        order = truth(day, order_id)
        assert (Decimal(order["price"]), order["quantity"]) == (price, 6)


async def test_a_leg_whose_cancel_was_accepted_is_never_changed_again(day, autojump_clock):
    async with day.market(), day.service():
        share, _parent_id, code, order_id = await resting(day)
        day.simulator.faults.add(code, FaultKind.LATE_BOOK, seconds=30, delay_seconds=10)
        day.simulator.faults.add(code, FaultKind.STALL_STREAM, seconds=30)
        assert (await day.cancel(order_id)).status == 200
        answer = await day.modify(order_id, price=ticks(day, share, -2))
        assert (answer.status, answer.body["error"]) == (409, "a cancel of this order was already accepted")
        assert day.messages("modify") == []


async def test_a_simple_order_takes_all_six_fields(day, autojump_clock):
    async with day.market(), day.service():
        share, parent_id, _code, order_id = await resting(day, broker="zerodha")
        trigger, limit = ticks(day, share, 2), ticks(day, share, 3)
        answer = await day.modify(order_id, order_type="SL", trigger_price=trigger, price=limit, disclosed_quantity=5)
        assert answer.status == 200, answer
        assert list(answer.body["changes"]) == ["price", "trigger_price", "order_type", "disclosed_quantity"]
        order = truth(day, order_id)
        assert (order["order_type"], Decimal(order["trigger_price"]), Decimal(order["price"])) == ("SL", trigger, limit)
        leg = (await stored_parent(day.store, parent_id))["legs"][0]
        assert (leg["order_type"], leg["trigger_price"], leg["price"]) == ("SL", trigger, limit)
        answer = await day.modify(order_id, order_type="MARKET")
        assert answer.status == 200, answer
        await day.until(lambda: truth(day, order_id)["status"] == "complete")


async def test_a_simple_order_has_no_parts_and_holds_nothing(day, autojump_clock):
    async with day.market(), day.service():
        _, parent_id, _, order_id = await resting(day)
        cases = (
            (await day.modify_held(parent_id, quantity=5), 409, "no part of this order is held"),
            (await day.modify_held(parent_id, part="root", quantity=5), 409, "a simple order has no parts"),
            (await day.stop(parent_id, part="root"), 409, "a simple order has no parts"),
            (await day.modify_held("no such", quantity=5), 404, "the order engine holds no parent with this id"),
        )
        assert (await day.cancel(order_id)).status == 200
        await trio.sleep(5)
        for answer, status, sentence in (
            *cases,
            (await day.modify_held(parent_id, quantity=5), 409, "the parent is already cancelled"),
            (await day.stop(parent_id, part="root"), 409, "a simple order has no parts"),
        ):
            assert (answer.status, answer.body["error"]) == (status, sentence)
        assert day.messages("modify") == []


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_on_a_day_that_is_locked_an_order_may_shrink_and_move_but_not_grow(day, elsewhere, autojump_clock):
    async with day.market(), day.service():
        code = day.codes[0]
        share, order_id = await placed_elsewhere(day, code) if elsewhere else (await resting(day, broker=code))[::3]
        day.engine_context.loss.set(
            DayLoss(limit=Decimal(5000), locked=Locked(loss=Decimal(5200), limit=Decimal(5000)))
        )
        day.engine_context.loss.set(
            attrs.evolve(day.engine_context.loss.value, loss=Decimal(5200), figure_at=day.clock.monotonic())
        )
        answer = await day.modify(order_id, quantity=11)
        assert (answer.status, answer.body["error"]) == (
            403, "the day is down 5200.00, which is past the 5000.00 limit, so no new order is being placed",
        )  # fmt: skip
        assert day.messages("modify") == []
        assert (await day.modify(order_id, quantity=9, price=ticks(day, share, -2))).status == 200


@pytest.mark.parametrize("verb", ["modify", "cancel"])
async def test_an_order_is_changed_and_cancelled_at_once_after_it_was_placed(verb, day, autojump_clock):
    """Its broker's book shows it only a second later."""
    async with day.market(), day.service():
        share = day.equity(0)
        day.simulator.faults.add("all", FaultKind.STALL_STREAM, seconds=30)
        day.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=30, delay_seconds=1)
        placed = await day.place(day.body(share, price=ticks(day, share, -3)), intent_id="i-1")
        code, order_id = placed.body["broker"], placed.body["order_id"]
        assert order_id not in day.sessions[code].view.value.orders
        answer = await (day.cancel(order_id) if verb == "cancel" else day.modify(order_id, quantity=7))
        assert (answer.status, answer.body["outcome"]) == (200, "accepted")
        assert len(day.messages(verb)) == 1


@pytest.mark.parametrize("verb", ["modify", "cancel"])
async def test_an_order_that_its_book_does_not_show_is_changed_as_it_was_accepted(verb, day, autojump_clock):
    async with day.market(), day.service():
        day.simulator.faults.add("all", FaultKind.STALL_STREAM, seconds=60)
        day.simulator.faults.add("all", FaultKind.LATE_BOOK, seconds=60, delay_seconds=60)
        share = day.equity(0)
        placed = await day.place(day.body(share, price=ticks(day, share, -3)), intent_id="i-1")
        asked = day.clock.monotonic()
        order_id = placed.body["order_id"]
        answer = await (day.cancel(order_id) if verb == "cancel" else day.modify(order_id, quantity=7))
        assert (answer.status, answer.body["outcome"], answer.body[f"status_before_{verb}"]) == (
            200,
            "accepted",
            "PENDING",
        )
        assert day.clock.monotonic() - asked < 1
        order = truth(day, order_id)
        assert (order["status"], order["quantity"]) == (("cancelled", 10) if verb == "cancel" else ("open", 7))


async def test_an_order_that_nobody_knows_is_not_found(day, autojump_clock):
    async with day.market(), day.service():
        assert (await day.modify("N0", quantity=7)).status == 404
        assert (await day.cancel("N0")).status == 404
