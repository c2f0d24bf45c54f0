"""A wall clock that is put while plans wait for a time of day, a machine that sleeps, and a broker whose clock is behind: nothing is
missed (order-engine 2.7)."""

from datetime import datetime, timedelta
from decimal import Decimal as D

import attrs
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.clock_watch import ClockWatch
from onebroker.actors.engine.orders.leg_refusals import Refusals
from onebroker.actors.engine.orders.parent_records import LegRecord
from onebroker.actors.engine.orders.part_state import Bar, Bars, Memory, PartRecord
from onebroker.actors.engine.parent.clock_corrections import (
    ClockPut,
    leg_put_right,
    parts_put_right,
    refusals_put_right,
)
from onebroker.actors.kernel.events import Events
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST, Clock, from_epoch
from onebroker.config.events import ClockStepped
from onebroker.config.exchange_documents import exchange_documents
from tests.support.trading import Trading


class Machine:
    """A clock of one's own: `put` moves its wall time, `sleep` too, and what goes on while it sleeps."""

    def __init__(self):
        self.offset = self.slept = 0.0
        origin, start = trio.current_time(), datetime(2026, 11, 23, 10, 0, tzinfo=IST).timestamp()
        ahead = lambda: trio.current_time() - origin  # noqa: E731
        self.clock = Clock(wall=lambda: start + ahead() + self.offset)
        self.clock.slept_seconds = lambda: self.slept
        self.heard = []

    def put(self, seconds):
        self.offset += seconds

    def sleep(self, seconds):
        self.offset += seconds
        self.slept += seconds


@pytest.fixture
async def watched(autojump_clock, nursery):
    machine = Machine()
    await nursery.start(ClockWatch(machine.clock, events=Events(machine.heard.append)).run)
    return machine


@pytest.mark.parametrize(
    ("how", "seconds", "told"),
    [
        ("put", 1700, ClockStepped(seconds=1700.0)),
        ("put", -3, ClockStepped(seconds=-3.0)),
        ("sleep", 400, ClockStepped(seconds=400.0, slept_seconds=400.0)),
    ],
)
async def test_a_step_is_seen_within_a_second_and_told(watched, how, seconds, told, autojump_clock):
    await trio.sleep(10.5)
    assert watched.clock.steps == 0
    with trio.fail_after(1):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watched.clock.wait_step)
            await trio.testing.wait_all_tasks_blocked()
            getattr(watched, how)(seconds)
    await trio.sleep(10)
    assert watched.clock.steps == 1
    assert watched.heard == [told]


async def test_a_clock_that_is_put_back_by_as_much_as_the_machine_slept_is_seen_too(watched, autojump_clock):
    watched.sleep(60)
    watched.put(-60)
    await trio.sleep(2)
    assert watched.clock.steps == 1
    assert watched.heard == [ClockStepped(seconds=0.0, slept_seconds=60.0)]


async def test_small_corrections_are_none_until_they_sum_up(watched, autojump_clock):
    for _ in range(3):
        watched.put(0.9)
        await trio.sleep(1.5)
    assert watched.clock.steps == 1


@pytest.fixture
async def trading(day, autojump_clock):
    """The service with a wall clock of its own, which `trading.put` moves; the exchange's stays right."""
    base = day.clock
    machine_ahead = [0.0]
    day.clock = Clock(wall=lambda: base.epoch() + machine_ahead[0])
    with trio.fail_after(86_400):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)

            def put(seconds):
                machine_ahead[0] += seconds

            trading.put = put
            yield trading


def in_minutes(trading, minutes):
    return (trading.day.clock.now() + timedelta(minutes=minutes)).strftime("%H:%M:%S")


async def test_a_square_off_and_a_scheduled_order_act_at_their_time_of_day_after_the_machine_has_slept(
    trading, autojump_clock
):
    await trading.move(0)
    await trading.send(quantity=100, broker="zerodha")
    await trio.sleep(20)
    at = in_minutes(trading, 30)
    square_off = await trading.send(
        transaction_type="SELL", quantity=None, order_type="MARKET", synthetic={"type": "square_off", "at_time": at}
    )
    scheduled = await trading.send(
        quantity=7, order_type="LIMIT", price=trading.at(-2), broker="zerodha",
        synthetic={"type": "scheduled", "at_time": at, "hold_limits": False},
    )  # fmt: skip
    assert (square_off.status, scheduled.status) == (202, 202)
    await trio.sleep(60)
    before = len(trading.messages())
    trading.put(1700)
    await trio.sleep(80)
    said = trading.messages()[before:]
    assert ("place", "BUY", 7, "LIMIT") in said
    assert any(verb == "place" and side == "SELL" for verb, side, *_ in said)


async def test_an_order_whose_time_has_gone_back_waits_for_it(trading, autojump_clock):
    await trading.move(0)
    at = in_minutes(trading, 2)
    answer = await trading.send(
        quantity=7, order_type="LIMIT", price=trading.at(-2), broker="zerodha",
        synthetic={"type": "scheduled", "at_time": at, "hold_limits": False},
    )  # fmt: skip
    assert answer.status == 202
    await trio.sleep(30)
    trading.put(-60)
    await trio.sleep(120)
    assert trading.messages() == []
    await trio.sleep(40)
    assert trading.messages() == [("place", "BUY", 7, "LIMIT")]


@pytest.mark.parametrize(
    ("start", "settings"),
    [
        ((8, 59), {"type": "opening_auction", "at_time": "09:00:00"}),
        ((9, 14), {"type": "scheduled", "at_time": "09:15:00", "hold_limits": False}),
    ],
)
async def test_an_order_for_the_opening_is_taken_by_a_broker_whose_clock_is_behind_ours(
    day_kind, start, settings, autojump_clock
):
    calendar = calendar_from_documents(exchange_documents())
    day = day_kind(start=datetime(2026, 11, 20, *start, 30, tzinfo=IST), calendar=calendar, number=60)
    base = day.clock
    day.clock = Clock(wall=lambda: base.epoch() + 1.6)
    with trio.fail_after(3600):
        async with day.market(), day.service(quotes=True):
            trading = Trading(day)
            answer = await trading.send(
                order_type="LIMIT", price=trading.at(-2), broker="zerodha", product="CNC", synthetic=settings
            )
            assert answer.status == 202, answer.body
            await trio.sleep(45)
            (order,) = [one for one in day.ledger()["orders"] if one["instrument_id"] == trading.share.instrument_id]
            assert order["status"] == "open", order
            assert len(trading.messages()) == 1


async def test_an_order_sent_while_the_clock_ran_ahead_is_not_one_of_the_day_to_come(trading, autojump_clock):
    await trading.move(0)
    await trading.send(quantity=100, broker="zerodha", product="CNC")
    settings = {"type": "daily_stop", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5)}
    answer = await trading.send(
        transaction_type="SELL", quantity=100, broker="zerodha", product="CNC", synthetic=settings
    )
    await trading.day.until(lambda: len(trading.messages()) == 2)
    await trio.sleep(5)
    trading.put(-86_400)
    await trio.sleep(30)
    (leg,) = (await trading.parent(answer))["legs"]
    assert trading.day.clock.epoch() - 40 < leg["sent_at"] <= trading.day.clock.epoch()
    (known,) = [leg for leg in trading.day.legs.unfinished if leg.leg_id.startswith(answer.body["parent_id"])]
    assert known.session_day == trading.day.clock.today().isoformat()


async def test_pieces_by_the_clock_keep_their_pace_when_the_clock_is_put_back(trading, autojump_clock):
    trading.put(3600)
    await trading.move(0)
    twap = {"type": "twap", "slices": 4, "over_minutes": 4}
    answer = await trading.send(quantity=40, order_type="MARKET", price=None, synthetic=twap)
    assert answer.status == 200, answer.body
    await trading.day.until(lambda: len(trading.messages()) == 1)
    await trio.sleep(30)
    trading.put(-3600)
    await trio.sleep(50)
    assert len(trading.messages()) == 2
    await trading.until(answer, "completed", seconds=180)
    assert [quantity for _, _, quantity, _ in trading.messages()] == [10] * 4


async def test_a_stop_that_was_armed_while_the_clock_ran_ahead_fires(trading, autojump_clock):
    await trading.move(0)
    await trading.send(quantity=100, broker="zerodha")
    trading.put(3600)
    await trio.sleep(10)
    stop = {"type": "hidden_stop", "trigger_price": trading.at(-2)}
    await trading.send(transaction_type="SELL", quantity=100, broker="zerodha", synthetic=stop)
    trading.put(-3600)
    await trio.sleep(20)
    trading.moved(-3)
    await trio.sleep(20)
    assert [side for _, side, _, _ in trading.messages()] == ["BUY", "SELL"]


@pytest.mark.parametrize("ahead", [False, True])
async def test_a_clock_put_back_by_a_day_makes_nothing_run_faster(day, ahead, autojump_clock):
    """What waits on a time that has gone far off must not wake again and again: as many steps as before, minute for minute."""
    base, machine_ahead, steps = day.clock, [86_400.0 * ahead], Steps()
    day.clock = Clock(wall=lambda: base.epoch() + machine_ahead[0])
    async with day.market(), day.service():
        trading = Trading(day)
        settings = {"type": "daily_stop", "stop_price": trading.at(-4), "stop_limit_price": trading.at(-5)}
        stop = await trading.send(transaction_type="SELL", product="CNC", broker="zerodha", synthetic=settings)
        assert stop.status == 202
        await trio.sleep(60)
        trio.lowlevel.add_instrument(steps)
        await trio.sleep(120)
        before = steps.count
        machine_ahead[0] -= 86_400.0
        await trio.sleep(60)
        steps.count = 0
        await trio.sleep(120)
        trio.lowlevel.remove_instrument(steps)
        assert 0 < steps.count <= 1.2 * before


class Steps(trio.abc.Instrument):
    """Counts how often tasks run."""

    count = 0

    def before_task_step(self, task):
        self.count += 1


SENT = LegRecord(
    leg_id="p.0", part="root", token="ob01", broker="zerodha", segment="nse_equities", instrument_token="1", tradingsymbol="A",
    transaction_type="SELL", product="CNC", order_type="SL", validity="DAY", quantity=10, price=None, trigger_price=None, session_day="2026-11-26",
)  # fmt: skip
"""As a clock a day ahead had it: in truth it was the 25th."""
MORNING = datetime(2026, 11, 26, 8, 0, tzinfo=IST).timestamp()
STARTED = ClockPut(now=MORNING, today="2026-11-26", put_seconds=0.0, restarted=True)


def put_back(seconds):
    return ClockPut(now=MORNING, today="2026-11-26", put_seconds=-seconds)


@pytest.mark.parametrize("hours", [0.1, 1.3, 24, 400])
def test_after_a_restart_an_order_of_the_future_counts_as_sent_the_evening_before(hours):
    leg = attrs.evolve(SENT, sent_at=MORNING + hours * 3600, moved_at=MORNING + hours * 3600)
    right = leg_put_right(leg, STARTED)
    assert from_epoch(right.sent_at).isoformat() == "2026-11-25T23:59:59+05:30"
    assert (right.session_day, right.moved_at) == ("2026-11-26", MORNING)
    assert leg_put_right(right, STARTED) is right
    assert leg_put_right(attrs.evolve(leg, sent_at=MORNING + 2), STARTED).sent_at == MORNING + 2


def test_an_order_that_was_moved_while_the_clock_ran_ahead_may_be_moved_again():
    """Its own time is one of before; what it was moved and changed at is not."""
    leg = attrs.evolve(SENT, sent_at=MORNING - 60, moved_at=MORNING + 3590, updated_at=MORNING + 3595)
    right = leg_put_right(leg, put_back(3600))
    assert (right.sent_at, right.moved_at, right.updated_at) == (MORNING - 60, MORNING - 10, MORNING - 5)
    assert right.session_day == leg.session_day


def test_a_daily_order_noted_as_refused_on_a_day_to_come_was_refused_today():
    parts = {"root": PartRecord(armed_day="2026-11-27"), "root.1": PartRecord(armed_day="2026-11-25")}
    right = parts_put_right(parts, STARTED)
    assert [part.armed_day for part in right.values()] == ["2026-11-26", "2026-11-25"]
    assert parts_put_right(right, STARTED) is right


def test_a_part_was_in_no_session_to_come_and_an_ex_date_that_scaled_it_stays():
    ahead = PartRecord(actions_seen="2026-11-27", changed_day="2026-11-27", figures_days={"I": "2026-11-27"})
    right = parts_put_right({"root": ahead}, STARTED)["root"]
    assert (right.actions_seen, right.changed_day, right.figures_days) == (
        "2026-11-26", "2026-11-26", {"I": "2026-11-27"},
    )  # fmt: skip


TIMES = ("due_at", "fired_at", "started_at", "rows_at")
MEMORIES = ("since", "began", "past_limit_since")


@pytest.mark.parametrize("restarted", [False, True])
@given(noted=st.lists(st.floats(-7200, 7200), min_size=7, max_size=7), put=st.sampled_from([3600, 7200]))
def test_no_time_of_a_part_lies_ahead_and_what_lies_between_stays(noted, put, restarted):
    at = [MORNING + one for one in noted]
    memory = Memory(**dict(zip(MEMORIES, at[4:], strict=True)))
    part = PartRecord(**dict(zip(TIMES, at[:4], strict=True)), memory=memory)
    clock = attrs.evolve(put_back(put), restarted=restarted)
    right = parts_put_right({"root": part}, clock)["root"]
    found = [getattr(right, name) for name in TIMES] + [getattr(right.memory, name) for name in MEMORIES]
    for before, after in zip(at, found, strict=True):
        assert after == (before if before <= MORNING + 2 else min(MORNING, before - put))


def test_bars_of_a_time_to_come_begin_anew_and_what_has_closed_stays():
    ahead = Bars(
        open_bar=Bar(began=MORNING + 3600, high=D(2), low=D(1), close=D(1), whole=True),
        until=MORNING + 3600,
        closed=3,
        atr=D(1),
    )
    part = PartRecord(memory=Memory(bars=ahead), condition_bars={"": ahead})
    right = parts_put_right({"root": part}, put_back(3600))["root"]
    for bars in (right.memory.bars, right.condition_bars[""]):
        assert (bars.open_bar, bars.until, bars.closed, bars.atr) == (None, None, 3, D(1))


def test_a_cancel_that_was_refused_while_the_clock_ran_ahead_goes_again():
    right = refusals_put_right({"p.0": Refusals(cancels=1, cancelled_at=MORNING + 3599)}, put_back(3600))
    assert right == {"p.0": Refusals(cancels=1, cancelled_at=MORNING - 1)}
