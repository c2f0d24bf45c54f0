"""What every history store must do, asked of the one in memory and of DuckDB's."""

import polars as pl
import pytest
import trio
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.interface import CANDLE_KEY, CANDLE_SCHEMA, CANDLE_VALUES, MOST_TICKS, HistoryError
from onebroker.actors.history.memory import MemoryHistory, merge
from onebroker.actors.store.merge_result import Merged
from tests.actors.history.stored_ticks import ALL, DAY, all_ticks
from tests.support.further import searched


async def test_nothing_is_stored_at_first(store, rows):
    found = await store.candles(rows.SHARE, 1440, *ALL)
    assert (found.height, dict(found.schema)) == (0, CANDLE_VALUES)
    assert (await all_ticks(store, rows.SHARE, *ALL)).height == 0
    assert (await store.series()).height == 0


async def test_candles_come_back_oldest_first_within_the_half_open_range(store, staged, rows):
    given_rows = [
        rows.candle(3 * DAY, close=103.5, oi=7),
        rows.candle(DAY, close=101.0),
        rows.candle(2 * DAY, volume=None),
    ]
    assert await store.put_candles(staged.candles(*given_rows)) == Merged(added=3)
    found = await store.candles(rows.SHARE, 1440, DAY, 3 * DAY)
    assert found["time"].to_list() == [DAY, 2 * DAY]
    assert found.row(1, named=True) == {"time": 2 * DAY, "open": 100.0, "high": 100.0, "low": 100.0, "close": 100.0,
                                        "volume": None, "oi": None}  # fmt: skip
    assert (await store.candles(rows.SHARE, 1440, *ALL))["oi"].to_list() == [None, None, 7]


async def test_series_of_other_instruments_and_intervals_are_apart(store, staged, rows):
    await store.put_candles(staged.candles(
        rows.candle(DAY), rows.candle(DAY, minutes=1), rows.candle(DAY, instrument_id=rows.OTHER)
    ))  # fmt: skip
    await store.put_ticks(staged.ticks(rows.tick(5), rows.tick(9)))
    assert (await store.candles(rows.SHARE, 1, *ALL)).height == 1
    assert {tuple(row) for row in (await store.series()).rows()} == {
        (rows.SHARE, 1, 1, DAY, DAY), (rows.SHARE, 1440, 1, DAY, DAY), (rows.OTHER, 1440, 1, DAY, DAY),
        (rows.SHARE, None, 2, 5, 9),
    }  # fmt: skip


async def test_the_same_rows_again_change_nothing_and_different_ones_replace(store, staged, rows):
    file = staged.candles(rows.candle(DAY), rows.candle(2 * DAY, volume=None))
    await store.put_candles(file)
    assert await store.put_candles(file) == Merged(equal=2)
    changed = staged.candles(rows.candle(DAY), rows.candle(2 * DAY, volume=1), rows.candle(3 * DAY))
    assert await store.put_candles(changed) == Merged(added=1, replaced=1, equal=1)
    assert (await store.candles(rows.SHARE, 1440, *ALL))["volume"].to_list() == [10, 1, 10]


async def test_of_two_rows_of_one_file_with_the_same_key_the_later_counts(store, staged, rows):
    file = staged.candles(rows.candle(DAY, close=101.0), rows.candle(DAY, close=102.0), rows.candle(DAY, close=102.0))
    assert await store.put_candles(file) == Merged(added=1, replaced=1, equal=1)
    assert (await store.candles(rows.SHARE, 1440, *ALL))["close"].to_list() == [102.0]


async def test_the_last_day_candle_of_each_instrument_before_a_moment(store, staged, rows):
    zero = dict.fromkeys(("open", "high", "low", "close"), 0.0)
    await store.put_candles(staged.candles(
        rows.candle(20 * DAY, close=1.0, oi=5), rows.candle(21 * DAY, close=2.0), rows.candle(23 * DAY, close=3.0),
        rows.candle(22 * DAY) | zero, rows.candle(22 * DAY + 1, minutes=1), rows.candle(DAY, instrument_id=rows.OTHER),
    ))  # fmt: skip
    wanted = [rows.SHARE, rows.OTHER]
    assert (await store.last_days(wanted, 23 * DAY)).rows() == [(rows.SHARE, 21 * DAY, 2.0, None)]
    assert (await store.last_days(wanted, 21 * DAY)).rows() == [(rows.SHARE, 20 * DAY, 1.0, 5)]
    assert (await store.last_days(wanted, 2 * DAY)).rows() == [(rows.OTHER, DAY, 100.0, None)]
    assert (await store.last_days([], 2 * DAY)).is_empty()
    assert (await store.last_days(wanted, DAY)).is_empty()


async def test_minutes_are_read_of_the_days_without_candles_of_an_interval(store, staged, rows):
    midnight = 2 * DAY - 19_800_000_000  # in India
    minutes = [rows.candle(midnight + offset, minutes=1) for offset in (-1, 0, 60_000_000, DAY - 1, DAY)]
    await store.put_candles(staged.candles(
        *minutes, rows.candle(midnight, minutes=1440), rows.candle(midnight + DAY, minutes=5),
        rows.candle(midnight - DAY, minutes=1440, instrument_id=rows.OTHER),
    ))  # fmt: skip
    span = (midnight - DAY, midnight + 2 * DAY)
    for interval, left in (
        (1440, [-1, DAY]),
        (5, [-1, 0, 60_000_000, DAY - 1]),
        (15, [-1, 0, 60_000_000, DAY - 1, DAY]),
    ):
        found = await store.minutes_besides(rows.SHARE, interval, *span)
        assert (found["time"] - midnight).to_list() == left
        assert dict(found.schema) == CANDLE_VALUES
    assert (await store.minutes_besides(rows.SHARE, 1440, midnight, midnight + DAY)).height == 0


async def test_candles_without_a_price_that_were_stored_once_are_none(store, staged, rows):
    zero = dict.fromkeys(("open", "high", "low", "close"), 0.0)
    noon = DAY - 19_800_000_000
    await store.put_candles(staged.candles(
        rows.candle(noon, minutes=1), rows.candle(noon + 60_000_000, minutes=1, **zero),
        rows.candle(noon, minutes=5, **zero), rows.candle(noon + 300_000_000, minutes=1, **{**zero, "high": 1.0}),
    ))  # fmt: skip
    span = (noon, noon + DAY)
    assert (await store.candles(rows.SHARE, 5, *span)).height == 0
    assert (await store.candles(rows.SHARE, 1, *span))["time"].to_list() == [noon, noon + 300_000_000]
    assert (await store.minutes_besides(rows.SHARE, 5, *span)).height == 2
    assert await store.put_candles(staged.candles(rows.candle(noon, minutes=5))) == Merged(replaced=1)


async def test_ticks_keep_their_depth_and_one_that_differs_in_it_is_replaced(store, staged, rows):
    level = {"price": 99.95, "quantity": 10, "orders": 2}
    full = rows.tick(5, buy=[level], sell=[], volume=10)
    assert await store.put_ticks(staged.ticks(full, rows.tick(7))) == Merged(added=2)
    assert await store.put_ticks(staged.ticks(full)) == Merged(equal=1)
    deeper = full | {"buy": [level, level]}
    assert await store.put_ticks(staged.ticks(deeper)) == Merged(replaced=1)
    found = await all_ticks(store, rows.SHARE, 5, 8)
    assert found["buy"].to_list() == [[level, level], None]
    assert found["sell"].to_list() == [[], None]
    assert (await all_ticks(store, rows.SHARE, 6, 7)).height == 0


async def test_ticks_of_one_moment_are_kept_by_broker_and_sequence(store, staged, rows):
    file = staged.ticks(
        rows.tick(5, 101.0, sequence=1), rows.tick(5, 100.0), rows.tick(5, 99.0, broker="dhan"), rows.tick(4, 98.0)
    )
    assert await store.put_ticks(file) == Merged(added=4)
    assert await store.put_ticks(file) == Merged(equal=4)
    found = await all_ticks(store, rows.SHARE, 4, 6)
    assert found.select("time", "broker", "last_price").rows() == [
        (4, "zerodha", 98.0), (5, "dhan", 99.0), (5, "zerodha", 100.0), (5, "zerodha", 101.0),
    ]  # fmt: skip
    assert await store.put_ticks(staged.ticks(rows.tick(5, 102.0, sequence=1))) == Merged(replaced=1)
    assert (await all_ticks(store, rows.SHARE, 5, 6))["last_price"].to_list() == [99.0, 100.0, 102.0]


async def test_more_ticks_of_one_moment_than_a_frame_holds_are_all_read(store, staged, rows):
    moments = [7] * (2 * MOST_TICKS + 700) + [8] * 3 + [9] * MOST_TICKS
    times = pl.Series("time", moments)
    frame = staged.tick_times(times)
    numbered = pl.read_parquet(frame).with_columns(
        sequence=pl.int_range(pl.len(), dtype=pl.Int32).over("time"), last_price=pl.int_range(pl.len()).cast(pl.Float64)
    )
    numbered.write_parquet(frame)
    await store.put_ticks(frame)
    frames = [frame async for frame in store.ticks(rows.SHARE, *ALL)]
    assert max(frame.height for frame in frames) <= MOST_TICKS
    assert pl.concat(frames)["last_price"].to_list() == [float(number) for number in range(len(moments))]


async def test_many_ticks_come_in_bounded_frames_over_gaps_and_bursts(store, staged, rows):
    burst = list(range(10**15, 10**15 + 45_000))
    sparse = [10**15 + 10**9 * number for number in range(1, 30)]
    late = [10**15 + 400 * DAY * number for number in range(1, 4)]
    times = pl.Series("time", burst + sparse + late)
    await store.put_ticks(staged.tick_times(times))
    frames = [frame async for frame in store.ticks(rows.SHARE, *ALL)]
    assert max(frame.height for frame in frames) <= MOST_TICKS
    assert pl.concat(frames)["time"].to_list() == times.to_list()


async def test_a_read_that_has_begun_does_not_see_what_is_put_later(store, staged, rows):
    times = pl.Series("time", range(MOST_TICKS + 10))
    await store.put_ticks(staged.tick_times(times))
    reading = store.ticks(rows.SHARE, *ALL)
    first = await anext(reading)
    await store.put_ticks(staged.ticks(rows.tick(MOST_TICKS + 500)))
    rest = [frame.height async for frame in reading]
    assert first.height + sum(rest) == times.len()


async def test_closing_ends_a_read_and_the_next_call_opens_the_store_again(store, staged, rows):
    times = pl.Series("time", range(MOST_TICKS + 10))
    await store.put_ticks(staged.tick_times(times))
    reading = store.ticks(rows.SHARE, *ALL)
    await anext(reading)
    await store.close()
    with pytest.raises(HistoryError):
        await anext(reading)
    assert (await all_ticks(store, rows.SHARE, *ALL)).height == times.len()


async def test_giving_memory_back_changes_nothing_that_is_stored(store, staged, rows):
    await store.release()
    await store.put_candles(staged.candles(rows.candle(DAY)))
    before = await store.candles(rows.SHARE, 1440, *ALL)
    for _ in range(2):
        await store.release()
    assert (await store.candles(rows.SHARE, 1440, *ALL)).equals(before)
    assert before.height == 1


async def test_a_file_that_is_none_is_refused_and_changes_nothing(store, tmp_path, rows):
    path = tmp_path / "no.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(HistoryError):
        await store.put_candles(path)
    with pytest.raises(HistoryError):
        await store.put_ticks(tmp_path / "absent.parquet")
    assert (await store.series()).height == 0


async def test_two_loaders_at_once_leave_what_one_after_the_other_leaves(store, staged, rows):
    files = [staged.candles(*(rows.candle(number * DAY) for number in range(part, part + 40))) for part in (0, 20)]
    merged = []

    async def load(file):
        merged.append(await store.put_candles(file))

    async with trio.open_nursery() as nursery:
        for file in files * 2:
            nursery.start_soon(load, file)
    assert sum(one.added for one in merged) == 60
    assert sum(one.replaced for one in merged) == 0
    assert (await store.candles(rows.SHARE, 1440, *ALL))["time"].to_list() == [number * DAY for number in range(60)]


CANDLES = st.lists(
    st.tuples(st.integers(0, 4), st.sampled_from([99.5, 100.0, 101.5]), st.none() | st.integers(0, 1)), max_size=12
)


@searched(25, 60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(loads=st.lists(CANDLES, min_size=1, max_size=4))
def test_both_stores_agree_on_any_sequence_of_loads_with_a_plain_dictionary(loads, staged, rows, tmp_path_factory):
    async def run():
        folder = tmp_path_factory.mktemp("duck")
        duck, memory, plain = DuckHistory(folder / "h.duckdb", memory_limit="256MB"), MemoryHistory(), {}
        try:
            for load in loads:
                given_rows = [rows.candle(time, close=close, volume=volume) for time, close, volume in load]
                file = staged.candles(*given_rows)
                counts = await duck.put_candles(file)
                assert counts == await memory.put_candles(file)
                assert counts.added + counts.replaced + counts.equal == len(load)
                plain.update({row["time"]: row for row in given_rows})
                for store in (duck, memory):
                    found = await store.candles(rows.SHARE, 1440, *ALL)
                    assert found.to_dicts() == [
                        {name: plain[time][name] for name in CANDLE_VALUES} for time in sorted(plain)
                    ]
        finally:
            await duck.close()

    trio.run(run)


def test_merging_counts_what_became_of_each_row(rows):
    stored = pl.DataFrame([rows.candle(1), rows.candle(2)], schema=CANDLE_SCHEMA, orient="row")
    given_rows = pl.DataFrame([rows.candle(2), rows.candle(1, volume=None)], schema=CANDLE_SCHEMA, orient="row")
    after, merged = merge(stored, given_rows, CANDLE_KEY)
    assert (after.height, merged) == (2, Merged(replaced=1, equal=1))


# What only a file can
async def test_closing_waits_for_the_threads_that_are_at_work(duck, staged, rows):
    await duck.put_candles(staged.candles(*(rows.candle(number * DAY) for number in range(500))))

    async def read(_):
        for _ in range(30):
            try:
                await duck.candles(rows.SHARE, 1440, *ALL)
            except HistoryError:
                await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(read, number)
        for _ in range(20):
            await duck.close()
            await trio.sleep(0.002)
    assert (await duck.candles(rows.SHARE, 1440, *ALL)).height == 500
    await duck.close()


async def test_while_the_store_is_held_still_reads_go_on_and_writes_wait(store, staged, rows, nursery):
    await store.put_candles(staged.candles(rows.candle(DAY)))
    put = trio.Event()

    async def write():
        await store.put_candles(staged.candles(rows.candle(2 * DAY)))
        put.set()

    async with store.still():
        nursery.start_soon(write)
        for _ in range(20):
            assert (await store.candles(rows.SHARE, 1440, *ALL)).height == 1
        assert not put.is_set()
    await put.wait()
    assert (await store.candles(rows.SHARE, 1440, *ALL)).height == 2
