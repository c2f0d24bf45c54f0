"""A trade that the exchange annuls: the exits shrink to what is left, and it is told (order-engine 2.3)."""

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.engine import ended_orders
from onebroker.actors.engine.order_router import OrderRouter
from onebroker.actors.engine.orders.parent_records import encode_parent
from onebroker.actors.engine.parent.following import Following
from onebroker.actors.engine.shown.stored_parents import stored_record
from onebroker.actors.health.order_problems import fills_taken_back
from onebroker.actors.sessions.session_books import Books
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.vocabulary import Product
from onebroker.http.health_parts import order_problems
from tests.support.engine_orders import truth
from tests.support.trading import Trading


@pytest.fixture
def annulled(monkeypatch):
    """Broker and order id -> the units of the order that every book and position leave out."""
    orders, positions = {}, {}
    read_done = Books.read_done

    def less(row, code):
        if isinstance(row, OrderRow) and (code, row.order_id) in orders:
            return msgspec.structs.replace(row, filled_quantity=row.filled_quantity - orders[code, row.order_id])
        if (
            isinstance(row, PositionRow)
            and row.quantity
            and code in positions
            and row.instrument_token == positions[code][0]
        ):
            return msgspec.structs.replace(row, quantity=row.quantity - positions[code][1])
        return row

    def read(books, done):
        if done.resource in ("orders", "positions") and isinstance(done.rows, tuple):
            done = attrs.evolve(done, rows=tuple(less(row, books._code) for row in done.rows))
        read_done(books, done)

    monkeypatch.setattr(Books, "read_done", read)
    return orders, positions


async def filled_bracket(trading):
    settings = {
        "type": "bracket", "stop_price": trading.at(-5), "stop_limit_price": trading.at(-6), "target_price": trading.at(3),
        "hold_limits": False,
    }  # fmt: skip
    answer = await trading.send(synthetic=settings, quantity=100, order_type="LIMIT", price=trading.at(-3))
    code, order_id = answer.body["broker"], answer.body["order_id"]
    trading.day.exchange.fill(code, order_id, 100)
    await trading.until_messages(3)
    await trio.sleep(10)
    return answer, code, order_id


def exits(trading, parent, code):
    return [
        truth(trading.day, leg["order_id"], code)["quantity"]
        for leg in parent["legs"]
        if leg["transaction_type"] == "SELL"
    ]


async def test_the_exits_shrink_when_books_and_positions_agree_and_nothing_is_bought_again(
    trading, annulled, autojump_clock
):
    orders, positions = annulled
    answer, code, order_id = await filled_bracket(trading)
    orders[code, order_id] = 40
    await trio.sleep(150)
    assert exits(trading, await trading.parent(answer), code) == [100, 100]  # the positions do not agree yet
    positions[code] = (trading.share.listings[code].broker_token, 40)
    await trio.sleep(150)
    parent = await trading.parent(answer)
    assert exits(trading, parent, code) == [60, 60]
    assert [leg["filled_quantity"] for leg in parent["legs"] if leg["order_id"] == order_id] == [60]
    assert f"{code} took back 40 units" in parent["status_message"]
    assert [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)] == [
        f"{code} took back 40 units"
    ]
    assert [message[0] for message in trading.messages()] == ["place"] * 3 + ["modify"] * 2


async def completed_bracket(trading):
    """A bracket whose stop has filled, so that nothing is open; returns (answer, broker, order id of the stop)."""
    answer, code, _ = await filled_bracket(trading)
    stop = next(leg for leg in (await trading.parent(answer))["legs"] if leg["trigger_price"])
    await trading.move(-5.5)
    await trading.until(answer, "completed")
    return answer, code, stop["order_id"]


def told_of(trading, answer):
    rows = order_problems(trading.day.engine_context.troubles.rows)
    return [(row["message"], row["ended"]) for row in rows if row["parent_id"] == answer.body["parent_id"]]


async def test_an_exit_that_is_annulled_after_its_parent_has_ended_is_told(trading, autojump_clock):
    answer, code, order_id = await completed_bracket(trading)
    (fill,) = [one for one in trading.day.ledger()["fills"] if one["order_id"] == order_id]
    sent = trading.messages()
    trading.day.exchange.hands.annul(code, fill["trade_id"])
    wanted = [("100 units are open without a stop", True), (f"{code} took back 100 units", True)]
    await trading.day.until(lambda: told_of(trading, answer) == wanted, 150)
    assert annulled_of_others(trading.day) == [], "the parent says it"
    parent = await trading.parent(answer)
    assert (parent["state"], parent["open_units"]) == ("completed", {trading.share.instrument_id: 100})
    assert parent["status_message"] == "; ".join(sentence for sentence, _ in reversed(wanted))
    assert [leg["filled_quantity"] for leg in parent["legs"] if leg["order_id"] == order_id] == [0]
    assert trading.messages() == sent  # an ended plan sends nothing


def annulled_of_others(day):
    return [(one.broker, one.what) for one in fills_taken_back(day.sessions, day.engine_context.legs)]


async def test_an_annulled_sale_of_another_hand_is_told_while_the_units_are_held(day, autojump_clock):
    """The plan has ended because a person had sold its units. They are held again, and no plan guards them; no parent is there to say so."""
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            answer, code, _ = await filled_bracket(trading)
            share = trading.share.instrument_id
            sale = day.person.reduce(code, share, Product.MIS, 100).order_id
            await trading.until(answer, "completed", seconds=60)
            assert annulled_of_others(day) == []
            (fill,) = [one for one in day.exchange.account(code).all_fills() if one.order_id == sale]
            day.exchange.hands.annul(code, fill.trade_id)
            await day.until(lambda: annulled_of_others(day), 150)
            ((broker, what),) = annulled_of_others(day)
            assert broker == code
            assert f"a trade of the SELL order {sale} in" in what
            assert what.endswith(f"0 of its 100 units stay filled, and {code} holds 100 units")
            assert told_of(trading, answer) == []
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: annulled_of_others(day) == [(broker, what)], 60)
            day.person.reduce(code, share, Product.MIS, 100)
            await day.until(lambda: annulled_of_others(day) == [], 60)


async def test_an_entry_that_is_annulled_after_its_stop_was_lost_leaves_nothing_open(trading, autojump_clock):
    """The sentence about the open units is part of the message with which the parent ended."""
    below_circuit = trading.at(-40)
    settings = {"type": "cover", "stop_price": trading.at(-5), "stop_limit_price": below_circuit, "hold_limits": False}
    answer = await trading.send(synthetic=settings, quantity=100, order_type="LIMIT", price=trading.at(-3))
    code, order_id = answer.body["broker"], answer.body["order_id"]
    trading.day.exchange.fill(code, order_id, 100)
    parent = await trading.until(answer, "failed")
    assert "100 units are open without a stop" in parent["status_message"]
    (fill,) = [one for one in trading.day.ledger()["fills"] if one["order_id"] == order_id]
    trading.day.exchange.hands.annul(code, fill["trade_id"])
    await trading.day.until(lambda: told_of(trading, answer) == [(f"{code} took back 100 units", True)], 150)
    assert "without a stop" not in (await trading.parent(answer))["status_message"]


async def test_a_problem_of_an_ended_parent_is_there_again_after_a_restart(day, autojump_clock):
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            answer, code, order_id = await completed_bracket(trading)
        (fill,) = [one for one in day.ledger()["fills"] if one["order_id"] == order_id]
        day.exchange.hands.annul(code, fill["trade_id"])
        async with day.service(log_in=False, quotes=True):
            wanted = [("100 units are open without a stop", True), (f"{code} took back 100 units", True)]
            await day.until(lambda: told_of(trading, answer) == wanted, 200)
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: told_of(trading, answer) == wanted, 200)


@pytest.mark.parametrize("is_open", [False, True])
async def test_what_a_broker_took_back_right_before_a_restart_is_not_forgotten(
    day, is_open, monkeypatch, autojump_clock
):
    """The session has written the lower row, and the process ends before the engine has written anything."""
    deaf = [False]
    route = OrderRouter._route_row

    async def route_none(router, code, row):
        if not deaf[0]:
            await route(router, code, row)

    monkeypatch.setattr(OrderRouter, "_route_row", route_none)
    monkeypatch.setattr(
        Following, "read", lambda following, news, read=Following.read: deaf[0] or read(following, news)
    )
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            if is_open:
                answer, code, order_id = await filled_bracket(trading)
            else:
                answer, code, order_id = await completed_bracket(trading)
            deaf[0] = True
            (fill,) = [one for one in day.ledger()["fills"] if one["order_id"] == order_id]
            day.exchange.hands.annul(code, fill["trade_id"])
            await day.until(lambda: day.sessions[code].view.value.corrected_fills.get(order_id) == 0, 150)
            await trio.sleep(5)
        deaf[0] = False
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: f"{code} took back 100 units" in dict(told_of(trading, answer)), 60)


async def test_what_a_broker_took_back_is_told_although_the_store_was_away_for_a_moment(
    trading, monkeypatch, autojump_clock
):
    answer, code, order_id = await completed_bracket(trading)
    (fill,) = [one for one in trading.day.ledger()["fills"] if one["order_id"] == order_id]
    trading.day.exchange.hands.annul(code, fill["trade_id"])
    failures = []

    async def load(store, parent_id, load=ended_orders.load_parent):
        if len(failures) < 3 and order_id in trading.day.sessions[code].view.value.corrected_fills:
            failures.append(parent_id)
            raise StoreError("away")
        return await load(store, parent_id)

    monkeypatch.setattr(ended_orders, "load_parent", load)
    await trading.day.until(lambda: (f"{code} took back 100 units", True) in told_of(trading, answer), 150)
    assert failures


def lose_answer_about(store, parent_id, monkeypatch):
    """Lose the answer to the next write of a parent, which takes effect."""
    commit, lost = store.commit, []

    async def commit_and_lose(*ops, **more):
        await commit(*ops, **more)
        if not lost and any(getattr(op, "key", None) == keys.parent(parent_id) for op in ops):
            lost.append(True)
            raise StoreError("connection lost before the answer")

    monkeypatch.setattr(store, "commit", commit_and_lose)


@pytest.mark.parametrize("is_lost", [False, True])
async def test_a_fill_that_is_shown_after_the_parent_has_ended_is_told(
    trading, annulled, is_lost, monkeypatch, autojump_clock
):
    """`is_lost`: the store takes the corrected record, but its answer is lost."""
    orders, _ = annulled
    answer = await trading.send(quantity=100, order_type="LIMIT", price=trading.at(-3))
    code, order_id = answer.body["broker"], answer.body["order_id"]
    trading.day.exchange.fill(code, order_id, 60)
    await trio.sleep(5)
    await trading.day.cancel(order_id, broker=code)
    await trading.until(answer, "cancelled")
    if is_lost:
        lose_answer_about(trading.day.store, answer.body["parent_id"], monkeypatch)
    orders[code, order_id] = -40  # the book shows 40 more than it did when it showed the end
    await trading.day.until(lambda: told_of(trading, answer), 150)
    assert told_of(trading, answer) == [(f"{code} filled 40 more units of an order after this had ended", True)]
    (leg,) = (await trading.parent(answer))["legs"]
    assert (leg["filled_quantity"], leg["state"]) == (100, "cancelled")


async def test_an_ended_parent_whose_plan_cannot_be_read_ends_no_engine(trading, autojump_clock):
    answer, code, order_id = await completed_bracket(trading)
    day, parent_id = trading.day, answer.body["parent_id"]
    record = await stored_record(day.store, parent_id)
    damaged = attrs.evolve(record, plan={"part": "of another version"})
    await day.store.commit(Set(keys.parent(parent_id), encode_parent(damaged)))
    (fill,) = [one for one in day.ledger()["fills"] if one["order_id"] == order_id]
    day.exchange.hands.annul(code, fill["trade_id"])
    await day.until(lambda: order_id in day.sessions[code].view.value.corrected_fills, 150)
    await trio.sleep(10)
    assert (day.status.value.running, day.crashes.records()) == (True, ())


async def test_a_problem_of_an_ended_parent_whose_plan_cannot_be_read_stays_in_silence(day, caplog, autojump_clock):
    async with day.market():
        async with day.service(quotes=True):
            trading = Trading(day)
            answer, code, order_id = await completed_bracket(trading)
            (fill,) = [one for one in day.ledger()["fills"] if one["order_id"] == order_id]
            day.exchange.hands.annul(code, fill["trade_id"])
            await day.until(lambda: len(told_of(trading, answer)) == 2, 150)
        parent_id = answer.body["parent_id"]
        record = await stored_record(day.store, parent_id)
        damaged = attrs.evolve(record, plan={"part": "of another version"})
        await day.store.commit(Set(keys.parent(parent_id), encode_parent(damaged)))
        async with day.service(log_in=False, quotes=True):
            await day.until(lambda: len(told_of(trading, answer)) == 2, 60)
            await trio.sleep(5)
            assert "could not be compared" not in caplog.text
