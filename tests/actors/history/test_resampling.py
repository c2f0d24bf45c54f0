"""Candles made of minutes: beside a plain loop over the calendar's sessions, and beside polars' own grouping by time."""

from datetime import UTC, date, datetime, timedelta
from itertools import groupby

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onebroker.actors.history.interface import CANDLE_VALUES
from onebroker.actors.history.resampling import make_candles, with_made
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.intervals import INTERVALS
from tests.support.further import searched

CALENDAR = calendar_from_documents(exchange_documents())
SHARES, METALS = ("nse", "equity"), ("mcx", "commodity")
MINUTE = timedelta(minutes=1)
LONGER = [minutes for minutes in INTERVALS.values() if minutes > 1]


def microseconds(moment):
    return int(moment.timestamp()) * 1_000_000


def at(day, clock):
    return datetime.combine(day, datetime.strptime(clock, "%H:%M").replace(tzinfo=UTC).time(), IST)  # a time of day


def frame(rows):
    """Rows of (moment, open, high, low, close, volume, oi)."""
    return pl.DataFrame([(microseconds(row[0]), *row[1:]) for row in rows], schema=CANDLE_VALUES, orient="row")


def minutes_at(day, *clocks):
    return frame([(at(day, clock), 10.0, 11.0, 9.0, 10.5, 1, None) for clock in clocks])


def starts(made):
    return [datetime.fromtimestamp(time / 1e6, IST).strftime("%H:%M") for time in made["time"].to_list()]


@pytest.mark.parametrize(
    ("market", "day", "minutes", "clocks", "wanted"),
    [
        (SHARES, date(2026, 11, 19), 60, ("09:15", "10:14", "10:15", "15:14", "15:29"), ["09:15", "10:15", "14:15", "15:15"]),
        (SHARES, date(2026, 11, 19), 25, ("09:15", "09:39", "09:40"), ["09:15", "09:40"]),
        # Muhurat of 2025 began at 13:45; nothing of 09:15 is left.
        (SHARES, date(2025, 10, 21), 60, ("13:45", "14:44"), ["13:45"]),
        # The morning was a holiday: the evening is counted from 17:00, on other days from 09:00.
        (METALS, date(2026, 10, 20), 180, ("17:00", "19:59", "20:00", "23:54"), ["17:00", "20:00", "23:00"]),
        (METALS, date(2026, 11, 19), 180, ("09:00", "16:59", "17:00", "18:00"), ["09:00", "15:00", "18:00"]),
        # The pre-open's minute and the closing auction's stand on the same grid.
        (SHARES, date(2026, 11, 19), 5, ("09:08", "09:15", "15:30"), ["09:05", "09:15", "15:30"]),
        # Years whose holidays nobody knows: the usual hours on a weekday, a guess on Muhurat's Sunday of 2019.
        (SHARES, date(2010, 3, 2), 15, ("09:00", "09:14", "09:15"), ["09:00", "09:15"]),
        (SHARES, date(2019, 10, 27), 30, ("18:17", "18:44", "18:45"), ["18:15", "18:45"]),
        (("unknown", "equity"), date(2026, 11, 19), 60, ("09:20", "10:15"), ["09:15", "10:15"]),
        (SHARES, date(2026, 11, 19), 1440, ("09:15", "15:29"), ["00:00"]),
    ],
)  # fmt: skip
def test_candles_begin_where_the_market_opened(market, day, minutes, clocks, wanted):
    made = make_candles(minutes_at(day, *clocks), minutes, market, CALENDAR)
    assert starts(made) == wanted
    assert made["volume"].sum() == len(clocks)


def test_two_sessions_of_one_day_have_each_their_own_anchor():
    document = next(one for one in exchange_documents() if one["exchange"] == "nse")
    drill = {"date": "2026-11-21", "name": "drill", "calendars": ["equity"], "opens": "09:15", "closes": "10:00"}
    later = drill | {"name": "after", "opens": "11:40", "closes": "12:30"}
    calendar = calendar_from_documents([document | {"special_sessions": [drill, later]}])
    clocks = ("09:15", "09:59", "11:40", "12:29")
    assert starts(make_candles(minutes_at(date(2026, 11, 21), *clocks), 60, SHARES, calendar)) == ["09:15", "11:40"]


def test_a_volume_that_is_not_known_makes_no_sum_and_the_last_known_interest_counts():
    day = date(2026, 11, 19)
    bare = frame([
        (at(day, "09:15"), 10.0, 12.0, 9.0, 11.0, None, 5), (at(day, "09:16"), 11.0, 11.5, 8.0, 9.0, 7, None),
        (at(day, "09:20"), 9.0, 9.0, 9.0, 9.0, 3, None),
    ])  # fmt: skip
    made = make_candles(bare, 5, SHARES, CALENDAR)
    assert made.drop("time").rows() == [(10.0, 12.0, 8.0, 9.0, None, 5), (9.0, 9.0, 9.0, 9.0, 3, None)]


DAYS = [date(2026, 11, 19), date(2026, 11, 20), date(2025, 10, 21), date(2026, 10, 20), date(2026, 2, 1)]
PRICE = st.integers(1, 50).map(float)
ROWS = st.dictionaries(
    st.tuples(st.sampled_from(DAYS), st.integers(0, 24 * 60 - 1)),
    st.tuples(PRICE, PRICE, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
    max_size=40,
)


def minute_rows(drawn):
    moments = {
        datetime.combine(day, datetime.min.time(), IST) + number * MINUTE: row for (day, number), row in drawn.items()
    }
    return [
        (moment, opened, max(opened, closed) + 1, min(opened, closed) - 0.5, closed, volume, oi)
        for moment, (opened, closed, volume, oi) in sorted(moments.items())
    ]


def start_of(moment, minutes, market):
    """Where the candle begins that holds a minute, by a plain look at the day's sessions."""
    midnight = moment.replace(hour=0, minute=0)
    if minutes == 1440:
        return midnight
    sessions = CALENDAR.sessions(*market, moment.date())
    opens = [one.opens for one in sessions if one.opens not in [other.closes for other in sessions]]
    begun = [opening for opening in opens if opening <= moment]
    anchor = begun[-1] if begun else opens[0]
    return anchor + (moment - anchor) // (minutes * MINUTE) * (minutes * MINUTE)


@searched(30, 150)
@given(drawn=ROWS, minutes=st.sampled_from(LONGER), market=st.sampled_from([SHARES, METALS]))
def test_what_is_made_is_what_a_plain_loop_makes(drawn, minutes, market):
    rows = [row for row in minute_rows(drawn) if CALENDAR.sessions(*market, row[0].date())]
    wanted = []
    for start, group in groupby(rows, key=lambda row: start_of(row[0], minutes, market)):
        part = list(group)
        volumes, interests = [row[5] for row in part], [row[6] for row in part if row[6] is not None]
        wanted.append((
            microseconds(start), part[0][1], max(row[2] for row in part), min(row[3] for row in part), part[-1][4],
            None if None in volumes else sum(volumes), interests[-1] if interests else None,
        ))  # fmt: skip
    assert make_candles(frame(rows), minutes, market, CALENDAR).rows() == wanted


@searched(20, 100)
@given(drawn=ROWS, minutes=st.sampled_from([minutes for minutes in LONGER if minutes < 1440]))
def test_what_is_made_of_a_share_is_what_polars_groups_from_a_quarter_past_nine(drawn, minutes):
    rows = [row for row in minute_rows(drawn) if row[0].date() == DAYS[0] and row[0] >= at(DAYS[0], "09:15")]
    opening = microseconds(at(DAYS[0], "09:15"))
    since = frame(rows).with_columns((pl.col("time") - opening).cast(pl.Datetime("us")))
    grouped = since.group_by_dynamic("time", every=f"{minutes}m", start_by="window").agg(
        pl.col("open").first(), pl.col("high").max(), pl.col("low").min(), pl.col("close").last()
    )
    wanted = grouped.with_columns(pl.col("time").cast(pl.Int64) + opening)
    made = make_candles(frame(rows), minutes, SHARES, CALENDAR)
    assert made.select("time", "open", "high", "low", "close").rows() == wanted.rows()


def test_stored_candles_of_a_day_keep_its_minutes_out():
    first, second = date(2026, 11, 18), date(2026, 11, 19)
    stored = minutes_at(second, "10:15")
    bare = pl.concat([minutes_at(first, "09:15", "09:16"), minutes_at(second, "09:15")])
    assert starts(with_made(stored, bare, 60, SHARES, CALENDAR)) == ["09:15", "10:15"]
    assert with_made(stored, stored.clear(), 60, SHARES, CALENDAR).rows() == stored.rows()
