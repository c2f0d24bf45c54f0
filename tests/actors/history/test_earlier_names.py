"""Series of renamed instruments: what is read through, from when to when, and in which order."""

from datetime import date, timedelta
from decimal import Decimal

import polars as pl
import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.earlier_names import candles_of, factors_of, parts_of, parts_stored, take_rename, ticks_of
from onebroker.actors.history.interface import TICK_SCHEMA
from onebroker.actors.history.memory import MemoryHistory
from onebroker.actors.store.durable_history import Factor, Rename
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.config.instruments import security

A, B, C, D = (security("nse", "equities", name).instrument_id for name in "ABCD")
FIRST = date(2026, 1, 1)
ALL = (-(2**60), 2**60)


def day(number):
    return FIRST + timedelta(days=number)


def rename(old, new, number):
    return Rename(old_id=old, new_id=new, from_day=day(number), source="test")


def owner(renames, instrument_id, number):
    """Under which ids the instrument's rows of that day may stand, by `parts_of`."""
    moment = day_start(day(number))
    return [part.instrument_id for part in parts_of(renames, instrument_id) if part.since <= moment < part.until]


def test_before_its_day_the_old_name_is_read_beside_its_own():
    renames = [rename(A, B, 10)]
    assert owner(renames, B, 9) == [B, A]
    assert owner(renames, B, 10) == [B]
    assert owner(renames, A, 9) == [A]


def test_names_are_followed_back_through_all_of_them():
    renames = [rename(A, B, 10), rename(B, C, 20)]
    assert [owner(renames, C, number) for number in (5, 15, 25)] == [[C, B, A], [C, B], [C]]


def test_a_symbol_that_another_company_has_taken_keeps_its_past_with_who_left_it():
    """A left the symbol on day 10 (it is B since), D took it on day 20."""
    renames = [rename(A, B, 10), rename(D, A, 20)]
    assert [owner(renames, A, number) for number in (5, 15, 25)] == [[D], [A, D], [A]]
    assert [owner(renames, B, number) for number in (5, 15)] == [[B, A], [B]]


@given(
    st.lists(st.tuples(st.sampled_from("ABCD"), st.sampled_from("ABCD"), st.integers(0, 30)), max_size=6),
    st.sampled_from("ABCD"),
    st.randoms(use_true_random=False),
)
def test_whatever_renames_there_are_the_walk_ends_and_their_order_does_not_matter(given_renames, name, random):
    async def kept():
        durable = MemoryDurable()
        for old, new, number in given_renames:
            if old != new:
                try:
                    await take_rename(durable, rename(old, new, number))
                except ValueError:
                    continue
        return list(await durable.renames())

    renames = trio.run(kept)
    parts = parts_of(renames, name)
    assert parts[0].instrument_id == name
    assert len(parts) < 200
    assert set(parts_of(random.sample(renames, len(renames)), name)) == set(parts)


def test_a_rename_that_leads_back_to_itself_is_refused():
    async def take():
        durable = MemoryDurable()
        await take_rename(durable, rename(A, B, 10))
        with pytest.raises(ValueError, match="had before"):
            await take_rename(durable, rename(B, A, 10))
        assert await take_rename(durable, rename(B, A, 20))

    trio.run(take)


@pytest.mark.parametrize("of", [MemoryDurable, SqliteDurable])
async def test_renames_are_kept_replaced_and_forgotten(of, tmp_path):
    durable = of() if of is MemoryDurable else of(tmp_path / "x.sqlite")
    assert await take_rename(durable, rename(A, B, 10))
    assert not await take_rename(durable, rename(A, B, 10))
    await take_rename(durable, rename(A, C, 10))
    assert await durable.renames() == (rename(A, C, 10),)
    assert await take_rename(durable, rename(A, C, 10), forget=True)
    assert not await take_rename(durable, rename(A, C, 10), forget=True)
    assert await durable.renames() == ()


def candle(instrument_id, number, close):
    return {
        "instrument_id": instrument_id, "minutes": 1440, "time": day_start(day(number)), "open": close, "high": close, "low": close,
        "close": close, "volume": 1, "oi": None,
    }  # fmt: skip


def tick(instrument_id, number, price):
    return dict.fromkeys(TICK_SCHEMA) | {
        "instrument_id": instrument_id,
        "time": day_start(day(number)),
        "broker": "dhan",
        "last_price": price,
    }


async def stored(staged, candles=(), ticks=()):
    store = MemoryHistory()
    if candles:
        await store.put_candles(staged.candles(*candles))
    if ticks:
        await store.put_ticks(staged.ticks(*ticks))
    durable = MemoryDurable()
    await take_rename(durable, rename(A, B, 10))
    return store, durable, await parts_stored(durable, B)


async def test_candles_of_both_names_are_one_series_and_its_own_count_where_both_have_one(staged):
    rows = [
        candle(A, 8, 1.0),
        candle(A, 9, 2.0),
        candle(B, 9, 2.5),
        candle(B, 10, 3.0),
        candle(A, 11, 99.0),
        candle(B, 11, 4.0),
    ]
    store, _, parts = await stored(staged, candles=rows)
    found = await candles_of(store, parts, 1440, *ALL)
    assert found["close"].to_list() == [1.0, 2.5, 3.0, 4.0]
    assert found["time"].is_sorted()
    assert (await candles_of(store, parts, 1440, day_start(day(10)), ALL[1]))["close"].to_list() == [3.0, 4.0]


async def test_ticks_of_the_days_before_are_those_of_the_old_name_or_else_its_own(staged):
    store, _, parts = await stored(staged, ticks=[tick(A, 8, 1.0), tick(B, 10, 3.0), tick(A, 12, 99.0)])
    found = pl.concat([frame async for frame in ticks_of(store, parts, *ALL)])
    assert found["last_price"].to_list() == [1.0, 3.0]
    store, _, parts = await stored(staged, ticks=[tick(B, 8, 1.0), tick(B, 10, 3.0)])
    found = pl.concat([frame async for frame in ticks_of(store, parts, *ALL)])
    assert found["last_price"].to_list() == [1.0, 3.0]


async def test_factors_of_the_old_name_count_up_to_its_last_day_and_none_counts_twice(staged):
    _, durable, parts = await stored(staged)

    def factor(instrument_id, number, price="0.5"):
        return Factor(
            instrument_id=instrument_id,
            ex_date=day(number),
            kind="split",
            price_factor=Decimal(price),
            volume_factor=Decimal(2),
            source="x",
        )

    await durable.put_factors([factor(A, 5), factor(A, 10), factor(B, 10, "0.4"), factor(A, 15), factor(B, 20)])
    found = await factors_of(durable, parts)
    assert [(one.instrument_id, one.ex_date) for one in found] == [(A, day(5)), (B, day(10)), (B, day(20))]
