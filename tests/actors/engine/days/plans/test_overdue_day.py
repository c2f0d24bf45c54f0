"""A day on which the world withholds what a due exit needs, judged on the exchange's ledger: nothing that guards is taken away for an order that
could not leave, what waits is told within seconds, and a close does not wait for ever (order-engine 1.11, 1.12)."""

from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial

import attrs
import pytest
import trio

from onebroker.actors.engine.books.settled_positions import held_for
from onebroker.actors.engine.shown.stored_parents import stored_record
from onebroker.actors.sessions.budget_counts import encode_counts
from onebroker.actors.store import keys
from onebroker.actors.store.durable import HaltMode
from onebroker.actors.store.interface import Set
from onebroker.brokers.requests import CallKind, NotSent
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.host.inprocess import InProcessTransport
from onebroker.brokers.simulator.world.model import NewOrder
from onebroker.brokers.transport.budget import BudgetCounts
from onebroker.config.events import ExposureProtected, ExposureUnprotected, ParentTrouble, ParentTroubleOver
from onebroker.config.vocabulary import OrderType, Product, Side, Validity
from onebroker.http.health_parts import order_problems
from tests.actors.engine.days.plans.test_plan_orders import traded
from tests.support.day import Day
from tests.support.halts import SENTENCE, halt, resume
from tests.support.trading import Trading

ALL = "all"


def problems(trading):
    return [row["message"] for row in order_problems(trading.day.engine_context.troubles.rows)]


async def is_told(trading, sentence, seconds=5):
    with trio.fail_after(seconds):
        while not any(sentence in message for message in problems(trading)):
            await trio.sleep(0.1)


async def is_quiet(trading, seconds=10):
    with trio.fail_after(seconds):
        while problems(trading):
            await trio.sleep(0.1)


async def silence(trading, *, answers):
    """Let the feeds be silent until no quote is usable; `answers`: whether brokers still answer for a quote over REST."""
    if not answers:

        async def nothing(_):
            return False

        trading.day.quotes.fetch = nothing
        trading.day.quotes.followers.is_guarded = lambda _: False  # for a stop at a broker the book asks by itself
    trading.day.simulator.faults.add(ALL, FaultKind.STALL_STREAM, seconds=3000)
    await trio.sleep(310)
    assert answers or trading.day.quotes.usable_tick(trading.share.instrument_id) is None


async def bought_with_bracket(trading, **more):
    answer = await trading.send(
        quantity=100, order_type="LIMIT", price=trading.at(1), broker="zerodha",
        synthetic={"type": "bracket", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5),
                   "target_price": trading.at(4), **more},
    )  # fmt: skip
    await trading.until(answer, "working", "root.each_fill")
    await trio.sleep(5)
    return answer


def resting(trading):
    return sorted(
        (one["side"], one["order_type"], one["quantity"])
        for one in trading.day.ledger()["orders"]
        if one["status"] in ("open", "trigger_pending")
    )


def triggers(trading):
    """The triggers of the live orders."""
    return [one["trigger_price"] for one in trading.day.ledger()["orders"] if one["status"] == "trigger_pending"]


def net(trading, code="zerodha"):
    rows = trading.day.ledger()["positions"].get(code, [])
    return sum(row["quantity"] for row in rows if row["instrument_id"] == trading.share.instrument_id)


@pytest.mark.parametrize("answers", [True, False])
async def test_a_square_off_without_a_feed_closes_and_takes_no_stop_away_before_it_can(market, answers, autojump_clock):
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        await silence(trading, answers=answers)
        since = len(trading.messages())
        at = market.clock.epoch()
        close = await trading.send(
            transaction_type="SELL", quantity=None, synthetic={"type": "square_off", "at_time": "10:10"}
        )
        assert close.status == 202
        due = market.clock.now().replace(hour=10, minute=10, second=0, microsecond=0).timestamp()
        assert at < due
        await trio.sleep(due - market.clock.epoch() - 0.5)
        assert resting(trading) == [("SELL", "SL", 100)]
        await trading.until(close, "completed", seconds=20)
        assert (net(trading), resting(trading)) == (0, [])
        assert market.clock.epoch() - due < 15
        sent = trading.messages()[since:]
        assert [one[:3] for one in sent if one[0] == "place"] == [("place", "SELL", 100)]


@pytest.mark.parametrize("answers", [True, False])
async def test_a_time_stop_without_a_feed_closes_what_it_has_bought(market, answers, autojump_clock):
    async with traded(market) as trading:
        settings = {"type": "time_stop", "minutes": 6}
        bought = {"order_type": "LIMIT", "price": trading.at(1), "broker": "zerodha"}
        began = market.clock.epoch()
        answer = await trading.send(quantity=100, synthetic=settings, **bought)
        await market.until(lambda: net(trading) == 100, 20)
        await silence(trading, answers=answers)
        due = began + 360
        await trio.sleep(due - market.clock.epoch() - 1)
        assert net(trading) == 100
        await trading.until(answer, "completed", seconds=20)
        assert market.clock.epoch() - due < 15
        assert (net(trading), resting(trading)) == (0, [])
        assert trading.messages()[1:] == [("place", "SELL", 100, "LIMIT" if answers else "MARKET")]


async def test_a_close_that_takes_the_exits_of_another_plan_is_nobody_s_hand(market, autojump_clock):
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        settings = {"type": "square_off", "at_time": "10:02"}
        close = await trading.send(transaction_type="SELL", quantity=None, synthetic=settings)
        await trading.until(close, "completed", seconds=200)
        await market.until(lambda: net(trading) == 0, 30)
        await is_quiet(trading, seconds=30)
        assert not [event for event in market.heard if "ended by hand" in str(event)]


async def test_a_stop_that_comes_while_the_positions_of_a_close_are_read_is_ended_too(market, autojump_clock):
    """A caller's cover fills meanwhile, and its units are closed with the others. Its stop had rested beside the close."""
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        settings = {"type": "square_off", "at_time": "10:02"}
        close = await trading.send(transaction_type="SELL", quantity=None, synthetic=settings)
        await market.until(lambda: market.clock.now().strftime("%H:%M:%S") == "10:01:59", 200)
        market.simulator.fault("zerodha", FaultKind.LATE_POSITIONS, seconds=20, delay_seconds=4)
        await trading.send(quantity=5, order_type="LIMIT", price=trading.at(1), broker="zerodha")
        await market.until(lambda: ("SELL", "SL", 100) not in resting(trading), 200)
        await trio.sleep(1.2)  # all is cleared, and the positions do not agree with the fills yet
        cover = {"type": "cover", "stop_price": trading.at(-5), "stop_limit_price": trading.at(-6)}
        await trading.send(quantity=40, order_type="LIMIT", price=trading.at(1), broker="zerodha", synthetic=cover)
        await market.until(lambda: ("SELL", "SL", 40) in resting(trading), 3)
        await trading.until(close, "completed", seconds=60)
        said = [(one["verb"], one["quantity"]) for one in market.ledger()["messages"] if one["side"] != "BUY"]
        assert said[-2:] == [("cancel", None), ("place", 145)], said
        await market.until(lambda: net(trading) == 0, 30)
        await is_quiet(trading, seconds=30)


@pytest.mark.parametrize("path", [None, "root"])
async def test_a_close_that_is_cancelled_right_after_it_took_a_stop_away_says_so(market, path, autojump_clock):
    """Its positions are still being read then, so there is no row of them yet (model 100001726)."""
    async with traded(market) as trading:
        bracket = await bought_with_bracket(trading)
        settings = {"type": "square_off", "at_time": "10:02"}
        close = await trading.send(transaction_type="SELL", quantity=None, synthetic=settings)
        await market.until(lambda: ("SELL", "SL", 100) not in resting(trading), 200)
        await market.stop(close.body["parent_id"], part=path)
        await trading.until(bracket, "completed")
        assert net(trading) == 100
        said = (
            "its stop was ended by hand while 100 units were open"
            if path is None
            else "100 units are open without a stop"
        )
        await is_told(trading, said)
        assert (await trading.parent(close))["open_units"] == {trading.share.instrument_id: 100}
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await is_quiet(trading, seconds=60)


async def test_a_caller_s_own_cancel_of_a_stop_is_said_until_the_position_goes(market, autojump_clock):
    async with traded(market) as trading:
        answer = await bought_with_bracket(trading)
        await market.stop(answer.body["parent_id"])
        await is_told(trading, "its stop was ended by hand while 100 units were open")
        market.person.reduce("zerodha", trading.share.instrument_id, Product.MIS)
        await is_quiet(trading, seconds=60)


async def test_a_square_off_under_a_full_halt_leaves_the_stop_and_says_why(market, autojump_clock):
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        await halt(market, HaltMode.NOTHING)
        close = await trading.send(
            transaction_type="SELL", quantity=None, synthetic={"type": "square_off", "at_time": "10:04"}
        )
        due = market.clock.now().replace(hour=10, minute=4, second=0, microsecond=0).timestamp()
        await trio.sleep(due - market.clock.epoch() + 3)
        assert resting(trading) == [("SELL", "SL", 100)]
        assert SENTENCE in " ".join(problems(trading))
        await trio.sleep(60)
        assert resting(trading) == [("SELL", "SL", 100)]
        await resume(market)
        await trading.until(close, "completed", seconds=20)
        assert (net(trading), resting(trading)) == (0, [])


async def test_a_stop_that_the_market_falls_through_under_a_full_halt_stays_until_the_resume(market, autojump_clock):
    """The new trigger is passed before the trail stands there, and the order at the market may not leave: the old stop is better than none."""
    async with traded(market) as trading:
        await trading.send(quantity=100, broker="zerodha")
        await trio.sleep(10)
        trail = {"type": "trailing_stop", "trail_percent": 4, "stop_limit_offset": 1}
        answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=trail)
        assert answer.status == 200
        await trio.sleep(5)
        before, since = triggers(trading), len(trading.messages())
        await halt(market, HaltMode.NOTHING)
        await trading.move(6)
        await trading.move(1.5)
        await is_told(trading, SENTENCE, seconds=10)
        await trio.sleep(30)
        assert (resting(trading), triggers(trading), trading.messages()[since:]) == ([("SELL", "SL", 100)], before, [])
        assert SENTENCE in (await trading.parent(answer))["status_message"]
        await resume(market)
        await trading.until(answer, "completed", seconds=20)
        assert (net(trading), resting(trading)) == (0, [])


async def test_a_hidden_stop_that_is_blind_is_told_and_judged_by_a_quote_over_rest(market, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=100, broker="zerodha")
        await trio.sleep(10)
        stop = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
        answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=stop)
        assert answer.status == 202
        fetch = trading.day.quotes.fetch
        await silence(trading, answers=False)
        await is_told(trading, "100 units are open without a stop")
        assert any("what is due waits" in message for message in problems(trading))
        trading.moved(-3)
        trading.day.quotes.fetch = fetch
        await trading.until(answer, "completed", seconds=30)
        assert net(trading) == 0
        await is_quiet(trading)


async def test_a_caller_who_ends_a_stop_is_warned_and_it_stands_in_the_problems(market, autojump_clock):
    async with traded(market) as trading:
        answer = await bought_with_bracket(trading)
        parent = await trading.parent(answer)
        stop = next(leg for leg in parent["legs"] if leg["order_type"] == "SL")
        words = f"this is the stop of bracket {parent['parent_order_id']}: 100 units stay open without it"
        dry = await market.cancel(stop["order_id"], broker="zerodha", dry_run=True)
        assert dry.body["warnings"] == [words]
        done = await market.cancel(stop["order_id"], broker="zerodha")
        assert (done.status, done.body["warnings"]) == (200, [words])
        await is_told(trading, "its stop was ended by hand while 100 units were open")
        ended = await market.stop(parent["parent_order_id"])
        assert ended.body["open_units"] == {trading.share.instrument_id: 100}
        assert (await trading.parent(answer))["open_units"] == {trading.share.instrument_id: 100}
        await is_told(trading, "its stop was ended by hand while 100 units were open")


@pytest.mark.parametrize("kind", ["hidden_stop", "candle_close_stop"])
async def test_a_hidden_stop_and_its_backstop_are_warned_of_once(market, kind, autojump_clock):
    """They are for the same units; the backstop alone leaves these guarded (stranger 17)."""
    async with traded(market) as trading:
        await trading.send(quantity=30, broker="zerodha")
        await trio.sleep(20)
        levels = {"trigger_price": -3, "backstop_price": -5, "backstop_limit_price": -6}
        settings = {"type": kind, **{name: trading.at(percent) for name, percent in levels.items()}}
        answer = await trading.send(transaction_type="SELL", quantity=30, broker="zerodha", synthetic=settings)
        await trio.sleep(8)
        (backstop,) = (await trading.parent(answer))["legs"]
        words = f"this is the stop of {kind} {answer.body['parent_id']}: 30 units stay open without it"
        alone = await market.cancel(backstop["order_id"], broker="zerodha", dry_run=True)
        assert "warnings" not in alone.body or alone.body["warnings"] == []
        for dry_run in (True, False):
            assert (await market.stop(answer.body["parent_id"], dry_run=dry_run)).body["warnings"] == [words]
        await is_told(trading, "its stop was ended by hand while 30 units were open")


@pytest.mark.parametrize(("before", "meanwhile"), [(40, 30), (0, 100)])
async def test_what_fills_while_a_bracket_is_cancelled_is_told_with_what_had_filled_before(
    market, before, meanwhile, autojump_clock
):
    async with traded(market) as trading:
        levels = {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(4)}
        answer = await trading.send(
            quantity=100, order_type="LIMIT", price=trading.at(-1), broker="zerodha",
            synthetic={"type": "bracket", "hold_limits": False, **levels},
        )  # fmt: skip
        order_id = answer.body["order_id"]
        if before:
            market.exchange.fill("zerodha", order_id, before)
            await market.until(lambda: ("SELL", "SL", before) in resting(trading), 30)
        await trio.sleep(5)
        market.simulator.fault("zerodha", FaultKind.LATENCY, seconds=1, delay_seconds=1)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(market.stop, answer.body["parent_id"])
            await trio.sleep(0.8)
            market.exchange.fill("zerodha", order_id, meanwhile)
        left = before + meanwhile
        await is_told(trading, f"{left} units are open without a stop", seconds=15)
        parent = await trading.parent(answer)
        assert parent["open_units"] == {trading.share.instrument_id: left}
        assert (net(trading), resting(trading)) == (left, [])


class Unreachable(InProcessTransport):
    """For 8 s after zerodha has answered the first cancel no new order gets through: no connection for an order message can be opened (None), or a fault
    strikes. Its book is read all the while, so the engine knows that the cancelled order has gone."""

    def __init__(self, day, fault):
        super().__init__(day.simulator)
        self._day, self._fault, self._shut = day, fault, None
        self.refused = 0
        day.open_transport = lambda: self

    async def send(self, request, timeout_seconds):
        is_order = request.kind is CallKind.ORDER
        if is_order and self._fault is None and self._shut is not None and trio.current_time() < self._shut:
            self.refused += 1
            raise NotSent("the connection was refused")
        answer = await super().send(request, timeout_seconds)
        if is_order and self._shut is None and request.method == "DELETE":
            self._shut = trio.current_time() + 8
            if self._fault is not None:
                self._day.simulator.fault("zerodha", self._fault, seconds=8)
        return answer


async def moved_until_replaced(trading, percent):
    """Move the market in steps until the engine replaces an order, because its broker takes no more changes of it, and on from there."""
    for step in range(1, 40):
        trading.moved(step * percent)
        await trio.sleep(1.5)
    assert trading.day.messages("cancel"), "nothing was replaced"


@pytest.mark.parametrize(
    ("kind", "fault"), [("trailing_stop", None), ("trailing_stop", FaultKind.REJECT_ORDERS), ("atr_trail", None)]
)
async def test_a_trail_that_the_engine_replaces_is_tried_again_whatever_stopped_it(market, kind, fault, autojump_clock):
    transport = Unreachable(market, fault)
    async with traded(market) as trading:
        await trading.send(quantity=100, broker="zerodha")
        await trio.sleep(10)
        distance = {"trailing_stop": {"trail_percent": 4}, "atr_trail": {"trail_points": trading.at(4) - trading.at(0)}}
        trail = {"type": kind, "stop_limit_offset": 1, **distance[kind]}
        answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=trail)
        assert answer.status == 200
        await moved_until_replaced(trading, 0.2)
        await trio.sleep(30)
        assert fault or transport.refused
        assert resting(trading) == [("SELL", "SL", 100)]
        assert (await trading.parent(answer))["state"] == "working"
        await is_quiet(trading)


@pytest.mark.parametrize(("kind", "price"), [("peg", 8), ("chaser", -5)])
async def test_an_entry_that_the_engine_replaces_is_tried_again_when_no_connection_could_be_opened(
    market, kind, price, autojump_clock
):
    transport = Unreachable(market, None)
    async with traded(market) as trading:
        settings = {"type": kind, **({"step_seconds": 1} if kind == "chaser" else {})}
        entry = {"order_type": "LIMIT", "price": trading.at(price), "broker": "zerodha", "synthetic": settings}
        answer = await trading.send(quantity=20, **entry)
        assert answer.status == 200, answer
        await moved_until_replaced(trading, 0.1)
        assert transport.refused
        await market.until(lambda: resting(trading) == [("BUY", "LIMIT", 20)], 120)
        assert (await trading.parent(answer))["state"] == "working"


async def test_a_stop_over_delivery_shares_stays_while_its_target_may_not_leave(market, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=10, product="CNC", broker="zerodha")
        await trio.sleep(10)
        held = net(trading)
        levels = {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(3)}
        sale = {"transaction_type": "SELL", "quantity": 10, "product": "CNC", "broker": "zerodha"}
        answer = await trading.send(synthetic={"type": "oco", **levels}, **sale)
        await market.until(lambda: resting(trading) == [("SELL", "SL", 10)], 30)
        await halt(market, HaltMode.NOTHING)
        trading.moved(3.2)
        await is_told(trading, f"what is due waits: {SENTENCE}", seconds=15)
        assert resting(trading) == [("SELL", "SL", 10)]
        await resume(market)
        await trading.until(answer, "completed", seconds=60)
        assert (net(trading), resting(trading)) == (held - 10, [])


async def without_a_login(trading, code="zerodha"):
    """Let the broker's login end, and wait until its session knows."""
    trading.day.simulator.fault(code, FaultKind.EXPIRE_SESSION)
    await trading.day.until(lambda: not trading.day.sessions[code].view.value.live)


async def stops_leaving(trading, how):
    """Let nothing leave at zerodha from now on. Return the reason that is told."""
    if how == "halt":
        await halt(trading.day, HaltMode.NOTHING)
        return SENTENCE
    await without_a_login(trading)
    return "zerodha has no login in Redis"


async def leaves_again(trading, how):
    await (resume(trading.day) if how == "halt" else trading.day.log_in("zerodha"))


@pytest.mark.parametrize("how", ["halt", "login"])
@pytest.mark.parametrize("kind", ["trailing_stop", "stepped_stop"])
async def test_a_stop_that_should_follow_and_cannot_says_so_until_it_has_moved(market, how, kind, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=100, broker="zerodha")
        await trio.sleep(10)
        gain = trading.at(2) - trading.at(0)
        settings = {
            "trailing_stop": {"trail_percent": 4},
            "stepped_stop": {"entry_price": trading.at(0), "stop_price": trading.at(-4), "rules": [{"gain": gain, "stop_at_gain": 0}]},
        }[kind]  # fmt: skip
        settings = {"type": kind, "stop_limit_offset": 1, **settings}
        answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=settings)
        assert answer.status == 200
        await trio.sleep(5)
        before = triggers(trading)
        sentence = await stops_leaving(trading, how)
        await trio.sleep(10)
        assert problems(trading) == []
        trading.moved(6)
        await is_told(trading, sentence, seconds=10)
        assert sentence in (await trading.parent(answer))["status_message"]
        assert triggers(trading) == before
        await leaves_again(trading, how)
        await is_quiet(trading, seconds=30)
        with trio.fail_after(30):
            while triggers(trading) <= before:
                await trio.sleep(0.1)


async def use_up_the_cap(market):
    """From its next start on the service has sent zerodha all order messages of the day."""
    settings, now = market.settings, market.clock.now()

    def capped():
        made = settings()
        zerodha = attrs.evolve(made.brokers["zerodha"], daily_messages=1000, exit_reserve=100)
        return attrs.evolve(made, brokers={**made.brokers, "zerodha": zerodha})

    market.settings, market.day_limits = capped, True
    counts = BudgetCounts(dumped_at=now.timestamp(), minutes=(), day=f"{now:%Y-%m-%d}", day_orders=1000, day_calls=1000)
    await market.store.write(Set(keys.rate("zerodha"), encode_counts(counts)))


@pytest.mark.parametrize("kind", ["trailing_stop", "hidden_stop", "square_off"])
async def test_no_stop_is_taken_away_once_the_daily_cap_is_used_up(market, kind, autojump_clock):
    """A cancel may still be sent then, and nothing that would take its place."""
    async with traded(market) as trading:
        if kind == "square_off":
            await bought_with_bracket(trading)
        else:
            await trading.send(quantity=100, broker="zerodha")
            await trio.sleep(10)
        backstop = {"backstop_price": trading.at(-4), "backstop_limit_price": trading.at(-5)}
        settings = {
            "trailing_stop": {"trail_percent": 4, "stop_limit_offset": 1},
            "hidden_stop": {"trigger_price": trading.at(-2), **backstop},
            "square_off": {"at_time": "10:05"},
        }[kind]
        size = {"quantity": None} if kind == "square_off" else {"quantity": 100, "broker": "zerodha"}
        answer = await trading.send(transaction_type="SELL", synthetic={"type": kind, **settings}, **size)
        assert answer.status in (200, 202), answer
        await market.until(lambda: resting(trading) == [("SELL", "SL", 100)], 20)
        await trio.sleep(5)
    before, since = triggers(trading), len(trading.messages())
    await use_up_the_cap(market)
    async with traded(market) as trading:
        if kind == "trailing_stop":
            await trading.move(6)
            await trading.move(1.5)
        elif kind == "hidden_stop":
            await trading.move(-2.5)
        else:
            due = market.clock.now().replace(hour=10, minute=5, second=0, microsecond=0).timestamp()
            await trio.sleep(due - market.clock.epoch())
        said = "what is due waits: zerodha has been sent 1000 order messages today, which is all of its 1000"
        await is_told(trading, said, seconds=10)
        await trio.sleep(30)
        assert said in (await trading.parent(answer))["status_message"]
        assert (resting(trading), triggers(trading), trading.messages()[since:]) == ([("SELL", "SL", 100)], before, [])


@pytest.mark.parametrize("how", ["halt", "login", "connections"])
async def test_a_target_that_is_reached_and_cannot_leave_is_told_while_its_stop_guards(market, how, autojump_clock):
    async with traded(market) as trading:
        answer = await bought_with_bracket(trading)
        if how == "connections":
            market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=40)
            sentence = "what is due waits: "
        else:
            sentence = await stops_leaving(trading, how)
        await trio.sleep(5)
        assert problems(trading) == []
        trading.moved(5)
        await is_told(trading, sentence, seconds=10)
        assert sentence in (await trading.parent(answer))["status_message"]
        assert resting(trading) == [("SELL", "SL", 100)]
        if how != "connections":
            await leaves_again(trading, how)
        await trading.until(answer, "completed", seconds=120)
        assert (net(trading), resting(trading), problems(trading)) == (0, [], [])


async def until_the_loss_is_counted(trading, close):
    with trio.fail_after(60):
        while not (await stored_record(trading.day.store, close.body["parent_id"])).parts["root"].joint:
            await trio.sleep(0.1)


@pytest.mark.parametrize("fault", [FaultKind.REJECT_CANCELS, FaultKind.HTTP_500])
async def test_a_close_that_is_due_at_once_goes_on_once_its_caller_has_an_answer(market, fault, autojump_clock):
    """Nobody hears then that it could not be read or cleared."""
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        market.simulator.fault("zerodha", fault, seconds=60)
        close = await trading.send(quantity=None, synthetic={"type": "square_off", "now": True})
        assert close.body.get("outcome") == "armed", close
        await is_told(trading, "what is due waits: ", seconds=15)
        await market.until(lambda: net(trading) == 0, 120)
        await is_quiet(trading, 30)
        assert (await trading.parent(close))["state"] == "completed"


@pytest.mark.parametrize("kind", ["square_off", "close_on_trigger", "stop_and_reverse", "strategy_stop"])
async def test_a_close_whose_broker_has_no_login_is_told_and_closes_after_the_login(market, kind, autojump_clock):
    async with traded(market) as trading:
        await bought_with_bracket(trading)
        at = (market.clock.now() + timedelta(seconds=60)).strftime("%H:%M:%S")
        settings = {
            "square_off": {"at_time": at},
            "close_on_trigger": {"trigger_price": trading.at(-2)},
            "stop_and_reverse": {"trigger_price": trading.at(-2)},
            "strategy_stop": {"instrument_ids": [trading.share.instrument_id], "max_loss": 100},
        }[kind]
        close = await trading.send(transaction_type="SELL", quantity=None, synthetic={"type": kind, **settings})
        assert close.status == 202, close
        if kind == "strategy_stop":  # a loss since its placement needs the figure of then
            await until_the_loss_is_counted(trading, close)
        await without_a_login(trading)
        if kind != "square_off":
            trading.moved(-3)
        said = "what is due waits: the positions of zerodha "
        await is_told(trading, said, seconds=80)
        await trio.sleep(60)
        troubles = [e for e in market.heard if isinstance(e, ParentTrouble | ParentTroubleOver) and said in e.words]
        assert [type(one) for one in troubles] == [ParentTrouble], "one trouble, however often it is read again"
        assert resting(trading) == [("SELL", "SL", 100)]
        await market.log_in("zerodha")
        await trading.until(close, "completed", seconds=60)
        assert (net(trading), resting(trading)) == (-100 if kind == "stop_and_reverse" else 0, [])
        assert not any("what is due waits" in message for message in problems(trading))


async def test_a_pair_over_delivery_shares_rests_as_a_stop_and_swaps_its_target_in(market, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=10, product="CNC", broker="zerodha")
        await trio.sleep(10)
        before = net(trading)
        pair = {
            "type": "oco",
            "stop_price": trading.at(-4),
            "stop_limit_price": trading.at(-5),
            "target_price": trading.at(3),
        }
        answer = await trading.send(
            transaction_type="SELL", quantity=10, product="CNC", broker="zerodha", synthetic=pair
        )  # fmt: skip
        assert answer.status in (200, 207)
        await trio.sleep(10)
        assert resting(trading) == [("SELL", "SL", 10)]
        assert (await trading.parent(answer))["state"] == "working"
        trading.moved(3.5)
        await trading.until(answer, "completed", seconds=60)
        assert (net(trading), resting(trading)) == (before - 10, [])


async def test_a_target_whose_stop_cannot_be_cancelled_says_so_as_long_as_the_market_is_there(market, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=10, product="CNC", broker="zerodha")
        await trio.sleep(10)
        before = net(trading)
        prices = {"stop_price": trading.at(-4), "stop_limit_price": trading.at(-5), "target_price": trading.at(3)}
        await trading.send(
            transaction_type="SELL", quantity=10, product="CNC", broker="zerodha", synthetic={"type": "oco", **prices}
        )
        await trio.sleep(10)
        market.simulator.fault("zerodha", FaultKind.REJECT_CANCELS, seconds=60)
        await trading.move(3.5)
        said = "zerodha refuses to cancel a live order of 10 units that is not wanted any more"
        await is_told(trading, said, seconds=4)
        for _ in range(40):
            await trio.sleep(1)
            assert problems(trading) == [said]
        assert resting(trading) == [("SELL", "SL", 10)]
        await market.until(lambda: net(trading) == before - 10, 60)
        await is_quiet(trading)


@asynccontextmanager
async def blocked_pair(code):
    """A pair for 20 delivery shares that a person's resting sale has; the broker takes orders, and rejects them in its book a moment later. Yields
    the trading, the answer, and what takes the person's sale back."""
    day = Day(brokers=(code, "zerodha"))
    with trio.fail_after(86_400):
        async with day.market(), traded(day) as trading:
            share = trading.share.instrument_id
            await trading.send(quantity=20, product="CNC", broker=code)
            await day.until(lambda: (held_for(day.engine_context, code, share, "CNC", Side.SELL) or 0) >= 20, 60)
            await trio.sleep(10)
            sale = NewOrder(
                instrument_id=share, side=Side.SELL, product=Product.CNC, order_type=OrderType.LIMIT, validity=Validity.DAY,
                quantity=held_for(day.engine_context, code, share, "CNC", Side.SELL), price=trading.at(6),
            )  # fmt: skip
            other = day.person.place(code, sale)
            await trio.sleep(10)
            pair = {"type": "oco", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5)}
            answer = await trading.send(
                transaction_type="SELL", quantity=20, product="CNC", broker=code,
                synthetic={**pair, "target_price": trading.at(3)},
            )  # fmt: skip
            yield trading, answer, partial(day.person.cancel, code, other.order_id)


@pytest.mark.parametrize("code", ["upstox", "dhan", "kotakneo"])
async def test_a_pair_that_its_broker_refuses_after_the_answer_is_told_and_its_stop_goes_again(code, autojump_clock):
    """Where the broker's stream is faster than the answer, the caller hears in it that the stop, or both, are refused. What he heard stays so."""
    async with blocked_pair(code) as (trading, answer, unblock):
        if answer.status == 422:
            return
        assert answer.status in (200, 207)
        await is_told(trading, "20 units are open without a stop", seconds=10)
        assert "20 units are open without a stop" in (await trading.parent(answer))["status_message"]
        await trio.sleep(60)
        unblock()
        if answer.status == 207:
            assert (await trading.parent(answer))["state"] == "rejected"
            return
        await trading.day.until(lambda: resting(trading) == [("SELL", "SL", 20)], 30)
        await is_quiet(trading)
        told = [event for event in trading.day.heard if isinstance(event, ExposureUnprotected | ExposureProtected)]
        assert [type(event) for event in told] == [ExposureUnprotected, ExposureProtected]


@pytest.mark.parametrize("guard", ["strategy_stop", "plan"])
async def test_a_joint_result_is_not_judged_without_a_broker_whose_position_came_later(market, guard, autojump_clock):
    """The condition had its first look before the position was shown; then its broker cannot be read while the market falls through the limit."""
    async with traded(market) as trading:
        limit = float(trading.start) * 30 * 0.02
        entry = {"quantity": 30, "broker": "upstox"}
        if guard == "plan":
            when = {"pnl": {"instrument_ids": [trading.share.instrument_id], "loss": limit}}
            close = {"transaction_type": "SELL", "price": {"kind": "marketable"}, "when": when}
            await trading.send(**entry, synthetic={"type": "plan", "root": {"part": "order", "each_fill": close}})
        else:
            await trading.send(**entry)
            settings = {"type": guard, "instrument_ids": [trading.share.instrument_id], "max_loss": limit}
            await trading.send(quantity=None, synthetic=settings)
        await market.until(lambda: net(trading, "upstox") == 30, 20)
        await trio.sleep(10)
        market.simulator.fault("upstox", FaultKind.REFUSE_CONNECTIONS, seconds=90)
        await trio.sleep(40)
        trading.moved(-4)
        await is_told(trading, "what is due waits", seconds=15)
        await market.until(lambda: net(trading, "upstox") == 0, 150)
        await is_quiet(trading, 30)


def following(trading, kind):
    """An order of 40 and the order that shall follow its fills."""
    if kind == "oto":
        return {"type": "oto", "hold_limits": False, "then": {"transaction_type": "SELL", "order_type": "MARKET"}}
    quantity = {"from_fill": {"ratio": 1}}
    then = {"transaction_type": "SELL", "quantity": quantity, "price": {"kind": "marketable"}}
    return {"type": "plan", "root": {"part": "sequence", "first": {}, "then": then}}


@pytest.mark.parametrize("trouble", ["no ticks", "no connection"])
@pytest.mark.parametrize("kind", ["oto", "sequence"])
async def test_the_second_order_of_a_sequence_is_sent_in_the_end_and_told_meanwhile(
    market, kind, trouble, autojump_clock
):
    """Its first order has filled: it is owed, as an exit is."""
    async with traded(market) as trading:
        body = {"quantity": 40, "order_type": "LIMIT", "price": trading.at(-1), "broker": "zerodha"}
        answer = await trading.send(**body, synthetic=following(trading, kind))
        await trio.sleep(3)
        share = trading.share.instrument_id
        if trouble == "no connection":
            market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=12)
        else:
            market.simulator.fault("all", FaultKind.STALLED_QUOTES, seconds=60, instrument_id=share)
            await trio.sleep(40)
        market.exchange.fill("zerodha", answer.body["order_id"], 40)
        if trouble == "no connection":
            await is_told(trading, "40 units", seconds=5)
        await trading.until(answer, "completed", seconds=25 if trouble == "no connection" else 60)
        assert (net(trading), problems(trading)) == (0, [])


@pytest.mark.parametrize("fault", [FaultKind.REFUSE_CONNECTIONS, FaultKind.EXPIRE_SESSION])
async def test_a_guard_by_the_accounts_result_says_that_it_is_judged_by_old_figures(market, fault, autojump_clock):
    """The broker whose figures they are cannot be read: the loss grows unseen."""
    async with traded(market, funds=True) as trading:
        await trading.send(quantity=40, broker="zerodha")
        await trio.sleep(30)
        settings = {"watch_field": "day_pnl", "trigger_level": -100_000, "trigger_direction": "below"}
        await trading.send(
            transaction_type="SELL", quantity=40, broker="zerodha",
            synthetic={"type": "account_conditional", **settings, "closes_position": True},
        )  # fmt: skip
        await trio.sleep(20)
        assert problems(trading) == []
        market.simulator.fault("zerodha", fault, **({} if fault is FaultKind.EXPIRE_SESSION else {"seconds": 60}))
        sentence = "zerodha cannot be read, so a condition on the account is judged by old figures of that broker"
        await is_told(trading, sentence, seconds=12)
        if fault is FaultKind.EXPIRE_SESSION:
            await market.log_in("zerodha")
        await is_quiet(trading, seconds=90)


async def test_a_strategy_stop_whose_broker_has_no_login_any_more_says_so_within_seconds(market, autojump_clock):
    """Its rows are new enough for half a minute, but no newer ones can come."""
    async with traded(market) as trading:
        await trading.send(quantity=40, broker="zerodha")
        await trio.sleep(20)
        settings = {"instrument_ids": [trading.share.instrument_id], "product": "intraday", "max_loss": 100_000}
        answer = await trading.send(quantity=None, synthetic={"type": "strategy_stop", **settings})
        assert answer.status == 202, answer
        await trio.sleep(10)
        assert problems(trading) == []
        market.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION)
        await is_told(trading, "the positions of zerodha cannot be read, so their joint profit or loss", seconds=6)


@pytest.mark.parametrize("kind", ["hidden_stop", "square_off", "time_stop"])
async def test_a_close_that_rests_because_nobody_bids_is_told_until_it_fills(market, kind, autojump_clock):
    """Its order has left after two seconds, at the last price; its units are open all the same."""
    async with traded(market) as trading:
        soon = (market.clock.now() + timedelta(seconds=40)).strftime("%H:%M:%S")
        if kind == "time_stop":
            synthetic = {"type": "time_stop", "minutes": 1, "hold_limits": False}
            await trading.send(
                quantity=40, order_type="LIMIT", price=trading.at(1), broker="zerodha", synthetic=synthetic
            )
        else:
            await trading.send(quantity=40, broker="zerodha")
        await market.until(lambda: net(trading) == 40, 10)
        await trio.sleep(15)
        if kind == "hidden_stop":
            stop = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
            await trading.send(transaction_type="SELL", quantity=40, broker="zerodha", synthetic=stop)
        elif kind == "square_off":
            await trading.send(quantity=None, synthetic={"type": "square_off", "at_time": soon})
        market.simulator.empty_side(trading.share.instrument_id, Side.BUY, 100)
        if kind == "hidden_stop":
            await trading.move(-3)
        await market.until(lambda: resting(trading), 60)
        await is_told(trading, "40 units are open without a stop", seconds=8)
        for _ in range(10):
            await trio.sleep(2)
            assert "40 units are open without a stop" in problems(trading)
        assert "nobody is bidding" in trading.day.engine_context.troubles.rows[0].found.why
        await market.until(lambda: net(trading) == 0, 120)
        await market.until(lambda: problems(trading) == [], 10)


async def test_a_close_that_is_moved_out_of_the_circuit_goes_to_the_touch(market, autojump_clock):
    """It rested while nobody bid. Then its price, two ticks past the touch, is outside of the circuit, and its broker refuses the move (model
    100000078)."""
    async with traded(market) as trading:
        await trading.send(quantity=40, broker="zerodha")
        await market.until(lambda: net(trading) == 40, 10)
        await trio.sleep(15)
        soon = (market.clock.now() + timedelta(seconds=5)).strftime("%H:%M:%S")
        await trading.send(quantity=None, synthetic={"type": "square_off", "at_time": soon})
        share, exchange = trading.share.instrument_id, market.exchange
        market.simulator.empty_side(share, Side.BUY, 30)
        await market.until(lambda: ("SELL", "LIMIT", 40) in resting(trading), 30)
        market.simulator.set_price(share, exchange.market(share).lower_circuit + trading.tick, 86_400)
        await market.until(lambda: net(trading) == 0, 40)
        answers = [one["answer"]["status"] for one in market.messages("modify")]
        assert answers == ["400", "200"], answers
        await market.until(lambda: problems(trading) == [], 10)


async def resting_entry(trading, kind):
    """Place an entry of 20 that rests, with a hedge or a second leg in another share. Return that share's id, and the answer."""
    other = Trading(trading.day, 1)
    await other.move(0)
    second = other.share.instrument_id
    own = {
        "legged_spread": {"second_instrument_id": second, "net_price": float(trading.at(-2) - other.at(0))},
        "attached_hedge": {"hedge_instrument_id": second, "hedge_ratio": 1},
    }[kind]
    body = {"quantity": 20, "order_type": "LIMIT", "price": trading.at(-2), "broker": "zerodha"}
    return second, await trading.send(**body, synthetic={"type": kind, **own})


@pytest.mark.parametrize("kind", ["legged_spread", "attached_hedge"])
async def test_a_hedge_that_rests_because_nobody_bids_is_told(market, kind, autojump_clock):
    async with traded(market) as trading:
        second, answer = await resting_entry(trading, kind)
        await trio.sleep(3)
        market.simulator.empty_side(second, Side.BUY, 60)
        await trio.sleep(1)
        market.exchange.fill("zerodha", answer.body["order_id"], 20)
        await is_told(trading, "20 units", seconds=10)
        await trio.sleep(10)
        assert any("20 units" in sentence for sentence in problems(trading))
        await trading.until(answer, "completed", seconds=120)
        assert problems(trading) == []


@pytest.mark.parametrize(
    ("kind", "said"),
    [("attached_hedge", "20 units are unhedged"), ("legged_spread", "20 units are without their second leg")],
)
async def test_a_second_leg_whose_broker_is_out_of_reach_names_its_units(market, kind, said, autojump_clock):
    async with traded(market) as trading:
        _, answer = await resting_entry(trading, kind)
        await trio.sleep(5)
        market.simulator.fault("zerodha", FaultKind.REFUSE_CONNECTIONS, seconds=20)
        market.exchange.fill("zerodha", answer.body["order_id"], 20)
        await is_told(trading, said)
        assert "what is due waits: the connection was refused" in problems(trading)
        await trading.until(answer, "completed", seconds=120)
        assert problems(trading) == []


@pytest.mark.parametrize("fault", [FaultKind.HTTP_500, FaultKind.REJECT_ORDERS])
@pytest.mark.parametrize("kind", ["oto", "sequence"])
async def test_a_second_order_that_is_lost_is_sent_again_or_stays_told(market, kind, fault, autojump_clock):
    """Its broker never had it, or has refused it. The plan ends then, and the problem stays."""
    async with traded(market) as trading:
        body = {"quantity": 40, "order_type": "LIMIT", "price": trading.at(-1), "broker": "zerodha"}
        answer = await trading.send(**body, synthetic=following(trading, kind))
        await trio.sleep(5)
        how = {"seconds": 8} if fault is FaultKind.HTTP_500 else {"count": 1}
        market.simulator.fault("zerodha", fault, **how)
        market.exchange.fill("zerodha", answer.body["order_id"], 40)
        if fault is FaultKind.HTTP_500:
            await trading.until(answer, "completed", seconds=120)
            assert (net(trading), problems(trading)) == (0, [])
        else:
            await trading.until(answer, "failed")
            await trio.sleep(60)
            assert problems(trading) == ["40 units are without the order that shall follow them"]


@pytest.mark.parametrize(
    ("fault", "why", "seconds"),
    [
        (FaultKind.REFUSE_CONNECTIONS, "the connection was refused", 5),
        (FaultKind.LATENCY, "zerodha has not answered", 8),
    ],
)
async def test_a_trail_that_cannot_be_moved_is_told_until_it_can(market, fault, why, seconds, autojump_clock):
    async with traded(market) as trading:
        await trading.send(quantity=100, broker="zerodha")
        await trio.sleep(20)
        trail = {"type": "trailing_stop", "trail_percent": 4, "stop_limit_offset": 1}
        answer = await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=trail)
        assert answer.status == 200
        await trio.sleep(10)
        before = triggers(trading)
        market.simulator.fault("zerodha", fault, seconds=20, delay_seconds=15)
        await trading.move(2)
        await is_told(trading, f"an order of 100 units at zerodha could not be changed or cancelled: {why}", seconds)
        await market.until(lambda: triggers(trading) > before, 60)
        await is_quiet(trading, 40)


async def test_a_stop_that_has_triggered_and_finds_nobody_is_told_wherever_the_market_was_last(market, autojump_clock):
    """The last price is back above the stop's limit, but nobody buys: the order rests, and guards nothing."""
    async with traded(market) as trading:
        levels = {"stop_price": trading.at(-2), "stop_limit_price": trading.at(-3)}
        cover = {"type": "cover", **levels}
        await trading.send(quantity=30, order_type="LIMIT", price=trading.at(1), broker="zerodha", synthetic=cover)
        await market.until(lambda: ("SELL", "SL", 30) in resting(trading), 30)
        await trio.sleep(20)
        market.simulator.empty_side(trading.share.instrument_id, Side.BUY, 40)
        trading.moved(-5)
        await is_told(trading, "30 units are open without a stop", 8)
        trading.moved(1)
        await trio.sleep(5)
        for _ in range(10):
            assert "30 units are open without a stop" in problems(trading)
            await trio.sleep(1)
        await market.until(lambda: net(trading) == 0, 60)
        await is_quiet(trading)


@pytest.mark.parametrize("kind", ["scheduled", "market_if_touched", "plan"])
async def test_an_entry_that_is_due_and_finds_no_price_is_told(market, kind, autojump_clock):
    async with traded(market) as trading:
        at = (market.clock.now() + timedelta(seconds=20)).strftime("%H:%M:%S")
        root = {"when": {"time": at}, "price": {"kind": "marketable"}}
        settings = {
            "scheduled": {"type": "scheduled", "at_time": at},
            "market_if_touched": {
                "type": "market_if_touched",
                "trigger_price": trading.at(2),
                "trigger_direction": "above",
            },
            "plan": {"type": "plan", "root": root},
        }[kind]
        answer = await trading.send(quantity=10, broker="zerodha", synthetic=settings)
        assert answer.status == 202, answer
        await trio.sleep(19)
        market.simulator.empty_side(trading.share.instrument_id, Side.SELL, 20)
        trading.moved(2.5)
        await is_told(trading, "what is due waits", 6)
        await trading.until(answer, "completed", seconds=60)
        await is_quiet(trading)


@pytest.mark.parametrize("field", ["day_pnl", "unrealized_pnl"])
@pytest.mark.parametrize("side", ["BUY", "SELL"])
async def test_a_condition_on_the_account_names_the_broker_that_tells_nothing(market, field, side, autojump_clock):
    """Of an entry too: the order waits, and nobody could see for what."""
    async with traded(market, funds=True) as trading:
        await trading.send(quantity=40, broker="zerodha")
        await trio.sleep(30)
        settings = {
            "type": "account_conditional",
            "watch_field": field,
            "trigger_level": -4e6,
            "trigger_direction": "below",
        }
        answer = await trading.send(transaction_type=side, quantity=40, broker="zerodha", synthetic=settings)
        assert answer.status == 202, answer
        await trio.sleep(20)
        market.simulator.fault("zerodha", FaultKind.HTTP_500, seconds=200)
        await market.until(lambda: any("zerodha" in said for said in problems(trading)), 90)
        assert "zerodha" in (await trading.parent(answer))["status_message"]
        market.simulator.faults.heal()
        await is_quiet(trading, 60)
