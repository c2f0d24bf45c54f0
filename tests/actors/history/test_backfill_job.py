"""Backfills: what the store holds afterwards, what the brokers were asked for it, what is said of the rest; over brokers that refuse,
limit, lose their login and answer nonsense, and over a kill in the middle."""

from datetime import date, datetime
from decimal import Decimal

import msgspec
import polars as pl
import pytest
import trio

from onebroker.actors.history.backfill_job import BackfillOrder
from onebroker.actors.history.backfill_runner import BackfillRefused
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.messages import Backfill, StopBackfill
from onebroker.actors.history.selection import Selection
from onebroker.actors.sessions.messages import LoginNeeded, NotOffered
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.store.durable_history import Factor
from onebroker.brokers.codec.contained import OddRows
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, OutcomeUnknown, RefusalKind
from onebroker.config.clock import IST
from onebroker.config.instruments import future, security
from tests.support.candle_world import World, calendar_with

CALENDAR = calendar_with({"2026-11-10": "Diwali Balipratipada"})
NOW = datetime(2026, 11, 20, 10, 0, tzinfo=IST)
"""The market is open, so that the daily load keeps out of it."""
FIRST, LAST = date(2026, 11, 2), date(2026, 11, 19)
SHARES = tuple(security("nse", "equities", f"S{number}") for number in range(6))


@pytest.fixture
def world(tmp_path):
    def make(codes=("alpha", "beta"), now=NOW):
        return World(now, CALENDAR, tmp_path, codes)

    return make


async def holds(world, shares, first=FIRST, last=LAST):
    """Tell whether the store holds the whole truth of those days, and nothing else."""
    return [await world.stored(one) == world.truth(one, first, last) for one in shares] == [True] * len(shares)


async def test_candles_of_all_that_was_named_are_in_the_store_and_brokers_share_the_work(world, autojump_clock):
    here = world()
    shares = here.lists(*SHARES)
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse", segment="equities")
        assert (done.instruments, done.added, done.refused, done.unread, done.report) == (6, 6 * 13, 0, 0, None)
        assert await holds(here, shares)
        assert {call.broker for call in here.calls} == {"alpha", "beta"}
        assert len(here.calls) == 6
        assert here.last_load.value.merged.added == 6 * 13
        again = await here.fill(FIRST, LAST, exchange="nse", segment="equities")
        assert (again.added, again.equal, again.before) == (0, 6 * 13, 0)
        assert here.progress.value is None
    assert not list((here.folder / "incoming").iterdir())


async def test_what_a_killed_service_had_staged_is_gone_with_the_next_start(world, autojump_clock):
    here = world()
    (here.folder / "incoming").mkdir(parents=True)
    left, other = here.folder / "incoming" / "brokers-7f0c.parquet", here.folder / "incoming" / "somebodys"
    for file in (left, other):
        file.write_bytes(b"half")
    async with here.service():
        assert (left.exists(), other.exists()) == (False, True)


async def test_what_is_chosen_when_nothing_is_named_has_candles_or_is_held(world, autojump_clock):
    here = world()
    shares = here.lists(*SHARES)
    async with here.service():
        nothing = await here.fill(FIRST, LAST)
        assert nothing.instruments == 0
        await here.fill(LAST, LAST, symbols=("S1",))
        await here.fill(FIRST, LAST)
    assert await holds(here, shares[1:2])
    assert await here.stored(shares[0]) == {}


async def test_only_the_named_broker_is_asked(world, autojump_clock):
    here = world()
    here.lists(*SHARES)
    async with here.service():
        done = await here.fill(FIRST, LAST, broker="beta", exchange="nse")
        assert {call.broker for call in here.calls} == {"beta"}
        assert done.brokers == {"beta": 6 * 13}
        with pytest.raises(BackfillRefused, match="gamma is not one of the brokers in service: alpha, beta"):
            await here.fill(FIRST, LAST, broker="gamma", exchange="nse")


@pytest.mark.parametrize(
    "error",
    [
        BrokerRefusal(RefusalKind.REFUSED, "no such symbol"),
        BadAnswer("candles without volume"),
        NotOffered("alpha has no candles of it"),
        BrokerRefusal(RefusalKind.UNAVAILABLE, "maintenance"),
        BrokerRefusal(RefusalKind.SESSION_DEAD, "token expired"),
        OutcomeUnknown("cut off"),
        LoginNeeded("alpha"),
    ],
)
async def test_whatever_one_broker_says_the_other_reads_the_rest(world, error, autojump_clock):
    here = world()
    shares = here.lists(*SHARES)

    def answer(code, one, candles):
        if code == "alpha":
            raise error
        return candles

    here.answer = answer
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
    assert (done.unread, done.refused) == (0, 0)
    assert await holds(here, shares)


async def test_too_many_calls_are_waited_out_and_nothing_is_lost(world, autojump_clock):
    here = world(codes=("alpha",))
    shares = here.lists(*SHARES)
    limited = iter([True, True, False, True, True, True, False, False])

    def answer(code, one, candles):
        if next(limited, False):
            raise BrokerRefusal(RefusalKind.RATE_LIMITED, "too many requests")
        return candles

    here.answer = answer
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
    assert (done.unread, len(here.calls)) == (0, 6 + 5)
    assert await holds(here, shares)
    gaps = [(later.at - earlier.at).total_seconds() for earlier, later in zip(here.calls, here.calls[1:], strict=False)]
    assert sorted(gaps)[-5:] == pytest.approx([2.2, 2.2, 4.2, 4.2, 8.2], abs=0.01)


async def test_a_broker_that_waits_holds_up_nobody_when_the_others_have_done_the_rest(world, autojump_clock):
    here = world()
    here.lists(*SHARES)

    def answer(code, one, candles):
        if code == "alpha":
            raise BrokerRefusal(RefusalKind.UNAVAILABLE, "maintenance")
        return candles

    here.answer = answer
    async with here.service():
        began = here.clock.monotonic()
        assert (await here.fill(FIRST, LAST, exchange="nse")).unread == 0
        assert here.clock.monotonic() - began < 3.0


async def test_what_no_broker_has_is_reported_with_every_reason_and_stops_nothing(world, autojump_clock):
    here = world()
    shares = here.lists(*SHARES)

    def answer(code, one, candles):
        if one is shares[2]:
            raise BrokerRefusal(RefusalKind.REFUSED, f"symbol unknown to {code}")
        return candles

    here.answer = answer
    async with here.service():
        done = await here.fill(
            FIRST, LAST, ids=(*tuple(one.instrument_id for one in shares), "00000000-0000-0000-0000-000000000001")
        )
    assert (done.instruments, done.unread, done.later) == (7, 2, 0)
    assert await holds(here, [*shares[:2], *shares[3:]])
    rows = {row["instrument_id"]: row for row in pl.read_csv(done.report).iter_rows(named=True)}
    assert rows[shares[2].instrument_id]["name"] == "nse nse_equities security S2"
    assert "alpha: symbol unknown to alpha" in rows[shares[2].instrument_id]["reason"]
    assert "beta: symbol unknown to beta" in rows[shares[2].instrument_id]["reason"]
    assert rows["00000000-0000-0000-0000-000000000001"]["reason"] == "no broker lists it today"


def one_odd(candles):
    """Raise what a codec does that cannot read the third candle."""
    raise OddRows(["row 3: a candle without its prices"], len(candles), [*candles[:2], *candles[3:]])


async def test_a_series_with_a_row_that_cannot_be_read_is_asked_for_at_the_next_broker(world, autojump_clock):
    here = world()
    shares = here.lists(*SHARES)
    here.answer = lambda code, one, candles: one_odd(candles) if code == "alpha" else candles
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
    assert (done.unread, done.refused) == (0, 0)
    assert await holds(here, shares)


async def test_a_row_that_cannot_be_read_costs_one_candle_where_no_other_broker_has_it(world, autojump_clock):
    here = world()
    share, other = here.lists(*SHARES[:2])

    def answer(code, one, candles):
        return candles if one is other else one_odd(candles)

    here.answer = answer
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
    days = here.days(share, FIRST, LAST)
    assert (done.refused, done.unread, done.added) == (1, 0, 2 * 13 - 1)
    assert list(await here.stored(share)) == [*days[:2], *days[3:]]
    assert await holds(here, [other])
    report = pl.read_csv(done.report)
    assert report["reason"].to_list() == ["row 3: a candle without its prices"]


async def test_an_answer_without_a_readable_row_is_no_answer(world, autojump_clock):
    here = world(codes=("alpha",))
    here.lists(*SHARES[:1])

    def answer(code, one, candles):
        raise OddRows(["row 1: a row that is not an object but null"], 1, [])

    here.answer = answer
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
    assert (done.unread, done.refused, done.added) == (1, 0, 0)


async def test_bad_candles_are_refused_one_by_one(world, autojump_clock):
    here = world(codes=("alpha",))
    share, other = here.lists(*SHARES[:2])

    def answer(code, one, candles):
        if one is not share:
            return candles
        wrong = [
            {"high": 1.0},
            {"close": float("nan")},
            {"volume": -1},
            {"open": 0.0, "high": 0.0, "low": 0.0, "close": 0.0},
        ]
        return [msgspec.structs.replace(candle, **(wrong[n] if n < 4 else {})) for n, candle in enumerate(candles)]

    here.answer = answer
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
    assert (done.refused, done.unread, done.added) == (4, 0, 2 * 13 - 4)
    assert await holds(here, [other])
    assert list(await here.stored(share)) == here.days(share, FIRST, LAST)[4:]
    report = pl.read_csv(done.report)
    assert report["time"].to_list() == [f"2026-11-0{day}T00:00:00+05:30" for day in (2, 3, 4, 5)]
    assert set(report["broker"]) == {"alpha"}
    assert report["reason"].to_list() == [
        "high must not be below open, low or close",
        "close must be a number",
        "volume must be a whole number of at least 0",
        "a candle without a price",
    ]


async def test_a_kill_in_the_middle_and_the_same_command_again_leave_the_same_as_one_clean_run(world, autojump_clock):
    here = world()
    shares = here.lists(*(security("nse", "equities", f"K{number}") for number in range(150)))
    here.seconds_per_read = 1.0
    order = BackfillOrder(first=FIRST, last=LAST, selection=Selection(exchange="nse"))
    for seconds in (20.5, 13.0, 7.7):
        with trio.move_on_after(seconds):
            async with here.service():
                await here.collector.ask(lambda reply: Backfill(order, reply), 10_000)
    before = len(here.calls)
    assert 60 < before < 100
    async with here.service():
        done = await here.collector.ask(lambda reply: Backfill(order, reply), 10_000)
        assert await holds(here, shares)
        assert done.instruments == 150
        assert done.rows == 150 * 13
        assert done.before >= 50
        # Nothing that was on disk is read again: only what was in hand at each kill.
        assert len(here.calls) <= 150 + 3 * 14
        here.calls.clear()
        await here.collector.ask(lambda reply: Backfill(order, reply), 10_000)
        assert len(here.calls) == 150  # a finished one is forgotten


async def test_who_stops_waiting_ends_his_backfill_and_another_may_begin(world, autojump_clock):
    here = world(codes=("alpha",))
    here.lists(*SHARES)
    here.seconds_per_read = 10.0
    order = BackfillOrder(first=FIRST, last=LAST, selection=Selection(exchange="nse"))
    async with here.service():
        with trio.move_on_after(25):
            await here.collector.ask(lambda reply: Backfill(order, reply), 10_000)
        with pytest.raises(BackfillRefused, match="running already"):
            await here.fill(FIRST, LAST, symbols=("S1",))
        await here.collector.tell(StopBackfill(order))
        await trio.sleep(1)
        assert here.progress.value is None
        asked = len(here.calls)
        await trio.sleep(100)
        assert len(here.calls) == asked
        assert (await here.fill(FIRST, LAST, symbols=("S1",))).unread == 0
    assert not here.crashes.records()


async def test_who_stops_late_does_not_end_the_like_that_another_began_since(world, autojump_clock):
    here = world(codes=("alpha",))
    here.lists(*SHARES)
    orders = [BackfillOrder(first=FIRST, last=LAST, selection=Selection(exchange="nse")) for _ in range(2)]
    done = []

    async def fill():
        done.append(await here.collector.ask(lambda reply: Backfill(orders[1], reply), 10_000))

    async with here.service(), trio.open_nursery() as nursery:
        await here.collector.ask(lambda reply: Backfill(orders[0], reply), 10_000)
        here.seconds_per_read = 10.0
        nursery.start_soon(fill)
        await trio.sleep(15)
        await here.collector.tell(StopBackfill(orders[0]))
        with trio.fail_after(1000):
            while not done:
                await trio.sleep(1)
        assert done[0].unread == 0


async def test_the_running_day_is_not_taken_before_its_close(world, autojump_clock):
    here = world(now=datetime(2026, 11, 20, 12, 0, tzinfo=IST))
    (share,) = here.lists(SHARES[0])
    here.answer = lambda code, one, candles: [*candles, here.candle(one, date(2026, 11, 20))]
    async with here.service():
        await here.fill(FIRST, None, exchange="nse")
        assert await holds(here, [share])
        early = await here.fill(date(2026, 11, 20), date(2026, 11, 20), exchange="nse")
        assert (early.unread, early.later, early.reasons) == (1, 1, {"the day is not over yet on its market": 1})
        await here.wait_until(datetime(2026, 11, 20, 16, 14, tzinfo=IST))
        assert LAST.replace(day=20) not in await here.stored(share)
        await trio.sleep(100)
        assert (await here.fill(date(2026, 11, 20), date(2026, 11, 20), exchange="nse")).unread == 0
        assert await holds(here, [share], last=date(2026, 11, 20))


async def test_without_a_login_anywhere_nothing_begins_and_one_that_comes_later_finishes_it(world, autojump_clock):
    here = world()
    here.lists(*SHARES[:3], codes=("alpha",))
    shares = here.lists(*SHARES[3:], codes=("beta",))
    here.session("alpha", login=LoginState.NEEDED)
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
        assert (done.unread, done.later, done.reasons) == (3, 3, {"alpha has no login": 3})
        assert await holds(here, shares)
        here.session("beta", login=LoginState.NEEDED)
        with pytest.raises(BackfillRefused, match="no login at alpha, beta"):
            await here.fill(FIRST, LAST, exchange="nse")
        here.session("alpha", login=LoginState.LIVE)
        here.calls.clear()
        done = await here.fill(FIRST, LAST, exchange="nse")
        assert (done.instruments, done.unread, done.before, done.rows) == (6, 0, 3, 6 * 13)
        assert {call.broker for call in here.calls} == {"alpha"}
    assert await holds(here, here.instruments)


async def test_a_broker_that_refuses_everything_is_left_alone(world, autojump_clock):
    here = world()
    shares = here.lists(*(security("nse", "equities", f"R{number}") for number in range(100)))
    here.seconds_per_read = 0.5

    def answer(code, one, candles):
        if code == "alpha":
            raise BrokerRefusal(RefusalKind.REFUSED, "data plan missing")
        return candles

    here.answer = answer
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
    assert done.unread == 0
    assert await holds(here, shares)
    assert sum(call.broker == "alpha" for call in here.calls) == 8


async def test_an_empty_answer_is_believed_when_two_brokers_give_it(world, autojump_clock):
    here = world(codes=("alpha", "beta", "gamma"))
    here.lists(SHARES[0])
    here.answer = lambda code, one, candles: []
    async with here.service():
        done = await here.fill(FIRST, LAST, exchange="nse")
        assert (done.rows, done.unread, len(here.calls)) == (0, 0, 2)
        here.calls.clear()
        here.answer = lambda code, one, candles: candles if code != "alpha" else []
        done = await here.fill(FIRST, LAST, exchange="nse")
        assert done.rows == 13


async def test_open_interest_comes_from_a_broker_that_has_it(world, autojump_clock):
    here = world()
    here.sessions["alpha"].broker.candles_with_interest = False
    contracts = here.lists(*(future("nse", "equity_futures", f"F{n}", date(2026, 11, 26)) for n in range(5)))
    (alone,) = here.lists(future("nse", "equity_futures", "ALONE", date(2026, 11, 26)), codes=("alpha",))
    here.lists(SHARES[0])
    here.answer = lambda code, one, candles: [msgspec.structs.replace(candle, oi=7) for candle in candles]
    async with here.service():
        await here.fill(FIRST, LAST, exchange="nse")
        asked = {(call.broker, call.name) for call in here.calls}
        frames = [await here.store.candles(one.instrument_id, 1440, -(2**60), 2**60) for one in here.instruments]
    assert {one for one in asked if one[0] == "alpha"} <= {("alpha", "2026-11-26"), ("alpha", "S0")}
    assert sum(call.broker == "beta" for call in here.calls) >= len(contracts)
    assert alone.listings.keys() == {"alpha"}
    assert [set(frame["oi"]) for frame in frames] == [{7}] * 6 + [{None}]


SPLIT = Factor(
    instrument_id=SHARES[0].instrument_id, ex_date=date(2026, 11, 11), kind="split", price_factor=Decimal("0.2"),
    volume_factor=Decimal(5), source="notice",
)  # fmt: skip


@pytest.mark.parametrize("last", [LAST, date(2026, 11, 6)])
@pytest.mark.parametrize("as_traded", [True, False])
async def test_prices_that_a_broker_has_adjusted_already_are_not_taken_in(world, as_traded, last, autojump_clock):
    here = world(codes=("alpha",))
    (share,) = here.lists(SHARES[0])
    await here.durable.put_factors([SPLIT])

    def answer(code, one, candles):
        """Give a share at about 500 before and 100 after, or at 100 all the time."""
        given = []
        for candle in candles:
            before = candle.start < datetime(2026, 11, 11, tzinfo=IST).timestamp()
            price = 500.0 if before and as_traded else 100.0
            given.append(msgspec.structs.replace(candle, open=price, high=price, low=price, close=price))
        return given

    here.answer = answer
    async with here.service():
        done = await here.fill(FIRST, last, exchange="nse")
    days = here.days(share, FIRST, last)
    if as_traded:
        assert (done.refused, list(await here.stored(share))) == (0, days)
    else:
        assert list(await here.stored(share)) == [day for day in days if day >= SPLIT.ex_date]
        assert done.refused == len([day for day in days if day < SPLIT.ex_date])
        assert "corporate action of 2026-11-11 as adjusted" in next(iter(done.reasons))


async def test_a_store_that_cannot_be_written_ends_the_backfill_with_its_reason(world, autojump_clock):
    here = world()
    shares = here.lists(*SHARES)
    async with here.service():
        here.store.fail_with(HistoryError("disk is full"))
        with pytest.raises(HistoryError, match="disk is full"):
            await here.fill(FIRST, LAST, exchange="nse")
        here.store.come_back()
        assert (await here.fill(FIRST, LAST, exchange="nse")).unread == 0
    assert await holds(here, shares)
    assert not here.crashes.records()
