"""The profile of a vwap that was given none: from the stored candles of the last days, else a U (order-engine 3.55)."""

from datetime import datetime, timedelta
from decimal import Decimal as D

import attrs
import polars as pl
import pytest
import trio

from onebroker.actors.engine.context.past_volumes import StoredVolumes
from onebroker.actors.engine.intake.place_body import check_body, with_instrument
from onebroker.actors.engine.intake.preparation import ready
from onebroker.actors.engine.presets.body import Body
from onebroker.actors.engine.presets.volume_profile import Volume, profile, u_shape
from onebroker.actors.history.interface import CANDLE_SCHEMA, MICROSECONDS, HistoryError
from onebroker.actors.history.memory import MemoryHistory
from onebroker.config.clock import IST
from tests.actors.engine.plan.strategies import SHARE, World, body
from tests.support.equity_hours import EQUITY_HOURS

TODAY = datetime(2026, 11, 23, 10, 0, tzinfo=IST)


def at_ten(now=TODAY):
    return Body(defaults=body(), world=World(now=now, calendar=EQUITY_HOURS))


def candles(day, *volumes, hour=10, minute=0):
    """Volumes of five-minute candles from ten o'clock of a day of November on."""
    began = datetime(2026, 11, day, hour, minute, tzinfo=IST)
    return [Volume(began + timedelta(minutes=5) * number, units) for number, units in enumerate(volumes)]


def weights(stored, *, slices=2, minutes=10, now=TODAY):
    return profile(stored, at_ten(now), slices, D(minutes))


def test_the_profile_is_the_mean_of_the_days_shares_not_of_their_volumes():
    stored = [*candles(18, 100, 300), *candles(19, 10_000, 10_000), *candles(20, 3, 1)]
    assert weights(stored) == (D("0.5"), D("0.5"))
    stored = [*candles(18, 100, 300), *candles(19, 10_000, 30_000), *candles(20, 1, 3)]
    assert weights(stored) == (D("0.25"), D("0.75"))


def test_only_the_last_ten_days_count():
    recent = [one for day in range(10, 20) for one in candles(day, 1, 3)]
    old = [one for day in range(1, 10) for one in candles(day, 9, 1)]
    assert weights([*old, *recent]) == (D("0.25"), D("0.75"))


def test_what_was_traded_outside_the_slices_hours_does_not_count():
    stored = [
        one for day in (18, 19, 20) for one in (*candles(day, 5_000, hour=9, minute=30), *candles(day, 1, 3, 999))
    ]
    assert weights(stored) == (D("0.25"), D("0.75"))


def test_a_candle_is_spread_over_slices_shorter_than_it():
    stored = [one for day in (18, 19, 20) for one in candles(day, 100, 300)]
    shares = weights(stored, slices=4)
    assert shares == (D("0.125"), D("0.125"), D("0.375"), D("0.375"))
    across = weights(stored, slices=1, minutes=10, now=TODAY + timedelta(minutes=2))
    assert across == (D(1),)
    skewed = weights(stored, slices=2, minutes=8, now=TODAY + timedelta(minutes=2))
    assert skewed == (
        D("0.333333"),
        D("0.666667"),
    )  # 3 of 5 minutes of 100 and 1 of 300: 120; 4 of 5 minutes of 300: 240


def test_of_fewer_than_three_days_the_shape_of_a_u_is_taken():
    stored = [*candles(19, 1, 3), *candles(20, 1, 3), *candles(18, 0, 0)]
    assert weights(stored) == u_shape(at_ten(), 2, D(10))
    assert weights([]) == u_shape(at_ten(), 2, D(10))


def test_before_the_opening_the_slices_are_those_after_it():
    stored = [one for day in (18, 19, 20) for one in candles(day, 1, 3, hour=9, minute=15)]
    assert weights(stored, now=TODAY.replace(hour=8)) == (D("0.25"), D("0.75"))


def test_without_a_session_all_slices_weigh_the_same():
    assert weights([], now=TODAY.replace(hour=16)) == (D(1), D(1))
    assert weights([], now=datetime(2026, 11, 22, 10, tzinfo=IST)) == (D(1), D(1))


# --- from the store to the plan -----------------------------------------------------------------------------------------------


@pytest.fixture
async def history(tmp_path):
    stored = [one for day in (18, 19, 20) for one in candles(day, 100, 300)]
    rows = [
        {
            "instrument_id": SHARE.instrument_id, "minutes": 5, "time": int(one.began.timestamp()) * MICROSECONDS,
            "open": 1.0, "high": 1.0, "low": 1.0, "close": 1.0, "volume": one.units, "oi": None,
        }
        for one in stored
    ]  # fmt: skip
    pl.DataFrame(rows, schema=CANDLE_SCHEMA).write_parquet(tmp_path / "candles.parquet")
    store = MemoryHistory()
    await store.put_candles(tmp_path / "candles.parquet")
    return store


async def test_stored_candles_are_read_with_their_times_in_india(history):
    first, last = datetime(2026, 11, 19, tzinfo=IST), datetime(2026, 11, 20, tzinfo=IST)
    found = await StoredVolumes(history).five_minutes(SHARE.instrument_id, first, last)
    assert [(one.began, one.units) for one in found] == [(one.began, one.units) for one in candles(19, 100, 300)]


async def test_of_days_without_five_minute_candles_the_minutes_count(history, tmp_path):
    def row(minutes, day, minute, volume):
        began = int(datetime(2026, 11, day, 9, minute, tzinfo=IST).timestamp()) * MICROSECONDS
        prices = dict.fromkeys(("open", "high", "low", "close"), 1.0)
        return {
            "instrument_id": SHARE.instrument_id,
            "minutes": minutes,
            "time": began,
            **prices,
            "volume": volume,
            "oi": None,
        }

    minutes = [row(1, 17, 15, 5), row(1, 17, 19, 7), row(1, 17, 20, None), row(1, 17, 21, 3), row(1, 19, 15, 1)]
    pl.DataFrame(minutes, schema=CANDLE_SCHEMA).write_parquet(tmp_path / "minutes.parquet")
    await history.put_candles(tmp_path / "minutes.parquet")
    first, last = datetime(2026, 11, 17, tzinfo=IST), datetime(2026, 11, 20, tzinfo=IST)
    found = [
        (one.began, one.units) for one in await StoredVolumes(history).five_minutes(SHARE.instrument_id, first, last)
    ]
    assert found[:2] == [
        (datetime(2026, 11, 17, 9, 15, tzinfo=IST), 12),
        (datetime(2026, 11, 17, 9, 20, tzinfo=IST), 3),
    ]
    assert found[2:] == [(one.began, one.units) for day in (18, 19) for one in candles(day, 100, 300)]


async def test_a_store_that_cannot_be_read_has_no_candles(history):
    history.fail_with(HistoryError("away"))
    first, last = datetime(2026, 11, 19, tzinfo=IST), datetime(2026, 11, 20, tzinfo=IST)
    assert await StoredVolumes(history).five_minutes(SHARE.instrument_id, first, last) == ()


class Usual:
    """The same three days for every instrument; `seconds` late."""

    def __init__(self, seconds=0):
        self.seconds = seconds
        self.asked = 0

    async def five_minutes(self, _, first, last):
        self.asked += 1
        assert last - first == timedelta(days=30)
        await trio.sleep(self.seconds)
        return [one for day in (18, 19, 20) for one in candles(day, 100, 300)]


async def shaped(day, volumes, **more):
    """Return the settings that the engine ends up with."""
    own = {"type": "vwap", "slices": 2, "over_minutes": 10, **more}
    share = day.equity()
    sent = {
        "instrument_id": share.instrument_id, "transaction_type": "BUY", "product": "MIS", "order_type": "MARKET",
        "quantity": 40, "synthetic": own,
    }  # fmt: skip
    world = World(now=day.clock.now(), known=(share,), calendar=day.calendar, brokers=tuple(day.codes))
    order = with_instrument(check_body(sent, brokers=tuple(day.codes)), sent, share, world)
    ready_order = await ready(order, attrs.evolve(day.engine_context, volumes=volumes))
    assert ready_order.parameters["volume_profile"] == ready_order.plan.execution.volume_profile
    return ready_order.plan.execution.volume_profile


async def test_at_intake_the_profile_comes_from_the_store_unless_one_was_given(day, autojump_clock):
    async with day.market(), day.service(quotes=True):
        usual = Usual()
        assert [round(one, 1) for one in await shaped(day, usual)] == [D("0.3"), D("0.7")]  # a little after ten
        assert await shaped(day, usual, volume_profile=[5, 1]) == (5, 1)
        assert usual.asked == 1
        late = await shaped(day, Usual(seconds=5))
        unknown = await shaped(day, day.engine_context.volumes)
        assert all(one > D(1) for one in (*late, *unknown))  # both a U
