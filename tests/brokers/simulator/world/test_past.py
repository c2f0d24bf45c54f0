"""What the simulator was before its first day: candles that fit each other, the present, and the files of the demo."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import msgspec
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onebroker.brokers.simulator.exchange.journal import Row
from onebroker.brokers.simulator.world.bulk_noise import BulkNoise
from onebroker.brokers.simulator.world.past_files import Extent, Recipe, write_past
from onebroker.brokers.simulator.world.walks import LayeredNoise, layers_of
from onebroker.config.calendars import JoinedCalendar, always_open, calendar_from_documents
from onebroker.config.clock import IST, from_epoch
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.instruments import Shape

SUNDAY = datetime(2026, 11, 22, 16, 0, tzinfo=IST)
FIRST = SUNDAY.date()
LAST_TRADED = FIRST - timedelta(days=2)
BEGIN = FIRST - timedelta(days=730)


@pytest.fixture
def demo_floor(make_floor, real_hours):
    """A market that never closes, made on a Sunday, whose past has real hours."""
    return make_floor(start=SUNDAY, past_calendar=real_hours)


def recipe(real, number=300, seed=1):
    """A past that reaches as far back as a test has patience for."""
    extent = Extent(day_candles=60, minutes=3, ticks=1, minute_instruments=6, tick_instruments=2)
    return Recipe(
        number=number, seed=seed, first_day=FIRST, calendar=JoinedCalendar(real, FIRST, always_open()), extent=extent
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_past(recipe(calendar_from_documents(exchange_documents())), tmp_path_factory.mktemp("past"))


def one_of_each_segment(floor):
    found = {}
    for contract in floor.exchange.contracts():
        found.setdefault(contract.identity.segment, contract)
    return list(found.values())


def candles(floor, contract, interval, first, last):
    return floor.exchange.candles(contract, interval, first, last)


def joined(rows):
    """One candle of many: open, high, low, close, volume, and the open interest at its end."""
    return (rows[0][1], max(row[2] for row in rows), min(row[3] for row in rows), rows[-1][4],
            sum(row[5] for row in rows), rows[-1][6])  # fmt: skip


def acting(floor):
    """A contract of each share with corporate actions, and its actions."""
    world = floor.exchange._world
    past = world.board._candles._past
    return [
        (
            next(each for each in floor.exchange.contracts() if world.universe.walk_of[each.instrument_id] == key),
            actions,
        )
        for key, actions in past.actions.items()
    ]


@pytest.mark.parametrize("days_ago", [2, 3, 33])
def test_minutes_of_a_past_day_make_up_its_day_candle_in_every_segment(demo_floor, days_ago):
    day = FIRST - timedelta(days=days_ago)
    for contract in one_of_each_segment(demo_floor):
        days = candles(demo_floor, contract, "day", day, day)
        minutes = candles(demo_floor, contract, "1minute", day, day)
        assert len(days) == (1 if minutes else 0)
        if days:
            assert days[0][1:] == joined(minutes)
            assert days[0][0] == datetime.combine(day, datetime.min.time(), IST).timestamp()


@pytest.mark.parametrize("interval", ["3minute", "25minute", "60minute", "240minute"])
def test_longer_candles_are_made_of_minutes(demo_floor, interval):
    for contract in (demo_floor.contract(), demo_floor.contract("commodity_futures", "mcx")):
        minutes = candles(demo_floor, contract, "1minute", LAST_TRADED, LAST_TRADED)
        rows = candles(demo_floor, contract, interval, LAST_TRADED, LAST_TRADED)
        length = int(interval.removesuffix("minute"))
        parts = [minutes[at : at + length] for at in range(0, len(minutes), length)]
        assert [row[1:] for row in rows] == [joined(part) for part in parts]
        assert [row[0] for row in rows] == [part[0][0] for part in parts]


def test_own_days_are_made_of_minutes_too_and_a_price_set_by_hand_is_in_them(demo_floor):
    share = demo_floor.contract()
    high = demo_floor.last(share) + 20 * share.tick_size
    demo_floor.exchange.set_price(share.instrument_id, high, 60.0)
    demo_floor.steps(20)
    minutes = candles(demo_floor, share, "1minute", FIRST, FIRST)
    assert minutes[-1][2] == float(high)
    assert candles(demo_floor, share, "day", FIRST, FIRST)[0][1:] == joined(minutes)
    demo_floor.moment += 86_400
    assert candles(demo_floor, share, "day", FIRST, FIRST)[0][1:] == joined(
        candles(demo_floor, share, "1minute", FIRST, FIRST)
    )


def test_nothing_traded_on_days_and_at_hours_without_a_session(demo_floor, real_hours):
    for contract in (demo_floor.contract(), demo_floor.contract("commodity_futures", "mcx")):
        exchange, calendar = contract.identity.exchange, contract.calendar
        days = {from_epoch(row[0]).date() for row in candles(demo_floor, contract, "day", BEGIN, FIRST)} - {FIRST}
        begin = min(days)
        span = (begin + timedelta(days=n) for n in range((FIRST - begin).days))
        assert days == {day for day in span if real_hours.is_session_day(exchange, calendar, day)}
        for row in candles(demo_floor, contract, "1minute", LAST_TRADED - timedelta(days=9), LAST_TRADED):
            assert real_hours.is_open(exchange, calendar, from_epoch(row[0]))


def test_the_last_day_closes_at_what_the_market_shows_as_its_previous_close(demo_floor):
    for contract in one_of_each_segment(demo_floor):
        last = candles(demo_floor, contract, "day", LAST_TRADED - timedelta(days=9), FIRST - timedelta(days=1))[-1]
        assert last[4] == float(demo_floor.exchange.market(contract.instrument_id).previous_close)


def test_each_later_day_goes_on_where_the_one_before_closed(demo_floor):
    share = demo_floor.contract()
    for _ in range(2):
        demo_floor.moment += 86_400
        demo_floor.exchange.step()
        today = demo_floor.clock.today()
        before = candles(demo_floor, share, "day", FIRST, today - timedelta(days=1))[-1]
        assert before[4] == float(demo_floor.exchange.market(share.instrument_id).previous_close)


def test_prices_stand_on_the_tick_grid_inside_their_candle(demo_floor):
    for contract in one_of_each_segment(demo_floor):
        for row in candles(demo_floor, contract, "day", FIRST - timedelta(days=50), FIRST):
            opened, high, low, close = (Decimal(str(price)) for price in row[1:5])
            assert low <= min(opened, close) <= max(opened, close) <= high
            assert all(price > 0 and price % contract.tick_size == 0 for price in (opened, high, low, close))
            assert row[5] % contract.lot_size == 0


def test_raw_prices_jump_by_the_factor_of_an_action_and_adjusted_ones_do_not(demo_floor):
    rows = acting(demo_floor)
    assert len(rows) == 5
    assert {action.kind for _, actions in rows for action in actions} == {"split", "bonus", "dividend"}
    for contract, actions in rows:
        for action in actions:
            assert action.ex_date < FIRST
            days = candles(demo_floor, contract, "day", action.ex_date - timedelta(days=9), action.ex_date)
            before, ex = days[-2], days[-1]
            assert from_epoch(ex[0]).date() == action.ex_date
            assert ex[1] == pytest.approx(before[4] * float(action.price_factor), rel=0.1)
            assert ex[5] == pytest.approx(before[5] * float(action.volume_factor), rel=1.5)


def test_shares_with_actions_have_no_derivatives(demo_floor):
    underlyings = {each.identity.underlying_symbol for each in demo_floor.exchange.contracts()}
    assert not {contract.identity.symbol for contract, _ in acting(demo_floor)} & underlyings


def test_derivatives_begin_when_they_were_listed(demo_floor):
    future = next(each for each in demo_floor.exchange.contracts() if each.identity.shape is Shape.FUTURE)
    rows = candles(demo_floor, future, "day", BEGIN, FIRST)
    first = from_epoch(rows[0][0]).date()
    expiry = date.fromisoformat(str(future.identity.expiry_date))
    assert timedelta(days=85) < expiry - first <= timedelta(days=91)


def test_the_past_stays_what_it_was_after_days_and_restarts(demo_floor):
    contracts = [demo_floor.contract("equity_indices"), *(one for one, _ in acting(demo_floor)[:2])]

    def past():
        return [candles(demo_floor, each, "day", FIRST - timedelta(days=300), LAST_TRADED) for each in contracts]

    before = past()
    demo_floor.moment += 5 * 86_400
    demo_floor.exchange.step()
    assert past() == before
    demo_floor.restart()
    assert past() == before


def test_a_data_directory_of_before_begins_on_the_day_it_was_last_listed(demo_floor):
    journal = demo_floor.journal
    meta = msgspec.json.decode(dict(journal.load("meta"))["made"])
    del meta["made_on"]
    journal.write([Row("meta", "made", msgspec.json.encode(meta))])
    demo_floor.restart()
    assert demo_floor.exchange.made.first_day == FIRST


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**64 - 1),
    volatility=st.floats(0.01, 1.0),
    steps=st.lists(st.integers(0, 2**33), min_size=64, max_size=80),
)
def test_noise_by_columns_is_the_noise_to_the_last_bit(seed, volatility, steps):
    for layers in layers_of(seed, volatility):
        assert BulkNoise(layers).many(steps) == LayeredNoise(layers).many(steps)


def rows_of(table, instrument_id):
    """A file's candles as the exchange has them, with 0 where there is no such figure."""
    own = table.filter(pl.col("instrument_id") == instrument_id)
    seconds = own["time"].dt.epoch("ms") / 1000
    names = ("open", "high", "low", "close", "volume", "oi")
    return list(zip(seconds, *(own[name].fill_null(0) for name in names), strict=True))


def test_the_files_hold_what_the_brokers_serve(demo_floor, files):
    contracts = {each.instrument_id: each for each in demo_floor.exchange.contracts()}
    for name, interval, days in (("listed", "day", 60), ("minutes", "1minute", 3)):
        table = pl.read_parquet(getattr(files, name))
        kept = table["instrument_id"].unique(maintain_order=True).to_list()
        for instrument_id in (*kept[:20], *kept[-3:]) if interval == "day" else kept:
            contract = contracts[instrument_id]
            wanted = candles(demo_floor, contract, interval, FIRST - timedelta(days=days), FIRST - timedelta(days=1))
            assert rows_of(table, instrument_id) == wanted


def test_the_files_are_of_every_segment_and_of_the_sizes_that_are_promised(demo_floor, files):
    segments = {each.instrument_id: each.identity.segment for each in demo_floor.exchange.contracts()}
    listed, minutes, ticks = (
        pl.read_parquet(one)["instrument_id"].unique() for one in (files.listed, files.minutes, files.ticks)
    )
    assert {segments[one] for one in listed} == set(segments.values())
    assert (len(minutes), len(ticks)) == (6, 2)
    assert set(ticks) <= set(minutes) <= set(listed)
    gone = pl.read_parquet(files.gone)
    assert gone["segment"].unique().to_list() == ["nse_equity_index_futures"]  # the share went before these sixty days
    assert gone["expiry_date"].unique().to_list() == ["2026-10-27"]


def test_the_same_recipe_makes_the_same_bytes(files, tmp_path, real_hours):
    again = write_past(recipe(real_hours), tmp_path)
    for name in ("factors", "listed", "gone", "minutes", "ticks"):
        assert getattr(again, name).read_bytes() == getattr(files, name).read_bytes()


def test_ticks_make_up_their_minutes(files):
    ticks, minutes = pl.read_parquet(files.ticks), pl.read_parquet(files.minutes)
    for instrument_id in ticks["instrument_id"].unique():
        made = (
            ticks.filter(pl.col("instrument_id") == instrument_id)
            .group_by_dynamic("time", every="1m")
            .agg(
                open=pl.col("last_price").first(), high=pl.col("last_price").max(), low=pl.col("last_price").min(),
                close=pl.col("last_price").last(),
            )
        )  # fmt: skip
        wanted = minutes.filter(pl.col("instrument_id") == instrument_id, pl.col("time").is_in(made["time"].implode()))
        assert made.height > 300
        assert made.equals(wanted.select(made.columns))


def test_the_smallest_universe_has_a_past(tmp_path, real_hours):
    made = write_past(recipe(real_hours, number=60, seed=7), tmp_path)
    assert pl.read_csv(made.factors)["instrument_id"].n_unique() == 5
    assert pl.read_parquet(made.listed)["instrument_id"].n_unique() > 50
