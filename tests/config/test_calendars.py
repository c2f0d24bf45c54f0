"""Sessions, holidays, special sessions and the rules on top of them, on small documents, the real ones, and by property."""

from datetime import date, datetime, time, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from onebroker.config.calendars import (
    CALENDARS,
    Calendar,
    DocumentCalendar,
    JoinedCalendar,
    always_open,
    calendar_from_documents,
)
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from tests.support.every_case import every_case

REAL = calendar_from_documents(exchange_documents())
ALWAYS = always_open()
PAIRS = [
    *[(exchange, calendar) for exchange in ("nse", "bse") for calendar in CALENDARS],
    ("mcx", "commodity"),
    ("ncdex", "commodity"),
]

pairs = st.sampled_from(PAIRS)
# Seconds matter most near openings and closes, so whole minutes come often, and the microseconds around them.
moments = st.builds(
    lambda day, minute, micro: datetime.combine(day, time(0), IST) + timedelta(minutes=minute, microseconds=micro),
    st.dates(date(2024, 12, 20), date(2027, 1, 10)),
    st.integers(0, 1439),
    st.sampled_from([0, 0, 1, 30_000_000, 59_999_999]),
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=IST)


def hours(calendar: Calendar, exchange: str, name: str, day: str) -> list[str]:
    found = calendar.sessions(exchange, name, date.fromisoformat(day))
    return [f"{session.name} {session.opens:%H:%M}-{session.closes:%H:%M}" for session in found]


def document(**changes: Any) -> dict[str, Any]:
    return {
        "exchange": "nse",
        "trading_hours": {
            "timezone": "Asia/Kolkata",
            "equity": {
                "sessions": [{"name": "normal", "opens": "09:15", "closes": "15:30"}],
                "pre_open": {"opens": "09:00", "closes": "09:15"},
            },
        },
        "holidays": {"equity": []},
        "special_sessions": [],
        **changes,
    }


@every_case(
    ("exchange", "calendar", "expected"),
    [
        ("nse", "equity", ["normal 09:15-15:30"]),
        ("bse", "equity", ["normal 09:15-15:30"]),
        ("nse", "currency", ["normal 09:00-17:00"]),
        ("nse", "commodity", ["morning 09:00-17:00", "evening 17:00-23:55"]),
        ("mcx", "commodity", ["morning 09:00-17:00", "evening 17:00-23:55"]),
        ("ncdex", "commodity", ["morning 10:00-17:00", "evening 17:00-21:00"]),
        ("mcx", "equity", []),
        ("unknown", "equity", []),
    ],
)
def test_a_working_day_has_the_sessions_of_the_specification(exchange: str, calendar: str, expected: list[str]) -> None:
    assert hours(REAL, exchange, calendar, "2026-11-20") == expected


@every_case(
    ("day", "closes"),
    [
        ("2026-03-06", "23:55"),  # Friday before the United States turn to daylight time (8 March)
        ("2026-03-09", "23:30"),
        ("2026-10-30", "23:30"),  # Friday before they turn back (1 November)
        ("2026-11-02", "23:55"),
        ("2025-03-07", "23:55"),
        ("2025-03-10", "23:30"),
        ("2025-10-31", "23:30"),
        ("2025-11-03", "23:55"),
    ],
)
def test_the_commodity_evening_closes_later_while_the_united_states_are_on_standard_time(day: str, closes: str) -> None:
    assert hours(REAL, "mcx", "commodity", day)[-1] == f"evening 17:00-{closes}"


def test_a_weekend_and_a_holiday_have_no_session_and_no_pre_open() -> None:
    for day in ("2026-11-21", "2026-11-22", "2026-11-24"):
        assert hours(REAL, "nse", "equity", day) == []
        assert not REAL.is_session_day("nse", "equity", date.fromisoformat(day))
        assert REAL.pre_open("nse", date.fromisoformat(day)) is None


def test_a_commodity_holiday_may_close_the_morning_or_the_evening_only() -> None:
    assert hours(REAL, "mcx", "commodity", "2026-11-24") == ["evening 17:00-23:55"]
    assert hours(REAL, "mcx", "commodity", "2026-01-01") == ["morning 09:00-17:00"]
    assert hours(REAL, "mcx", "commodity", "2026-12-25") == []
    assert hours(REAL, "ncdex", "commodity", "2026-11-24") == []


def test_a_detached_calendar_has_the_same_days_and_follows_no_documents() -> None:
    followed = DocumentCalendar(exchange_documents())
    joined = JoinedCalendar(followed, date(2026, 6, 1), always_open())
    days = [date(2026, 1, 26), date(2026, 1, 27), date(2026, 7, 5)]
    known = [[one.sessions("nse", "equity", day) for day in days] for one in (followed, joined)]
    apart = [followed.detached(), joined.detached()]
    followed.follow([])
    assert followed.sessions("nse", "equity", days[1]) == ()
    assert [[one.sessions("nse", "equity", day) for day in days] for one in apart] == known
    assert apart[1].covers("nse", "equity", days[0])


def test_only_years_whose_holidays_are_known_are_covered() -> None:
    documented = calendar_from_documents(exchange_documents())
    joined = JoinedCalendar(documented, date(2026, 6, 1), always_open())
    asked = [(day, one.covers("nse", "equity", day)) for one in (documented, joined) for day in
             (date(2024, 12, 31), date(2025, 1, 1), date(2026, 12, 31), date(2027, 1, 1))]  # fmt: skip
    assert [known for _, known in asked] == [False, True, True, False, False, True, False, False]
    assert not documented.covers("mcx", "equity", date(2026, 1, 1))


def test_a_day_of_a_year_without_a_list_is_unknown_unless_it_is_certainly_closed() -> None:
    documented = calendar_from_documents(exchange_documents())
    states = {
        date(2026, 11, 25): "trading",
        date(2026, 12, 25): "closed",
        date(2027, 1, 26): "closed",  # Republic Day
        date(2027, 3, 26): "closed",  # Good Friday
        date(2027, 4, 14): "closed",
        date(2027, 1, 9): "closed",  # a Saturday
        date(2027, 1, 11): "unknown",
    }
    assert {day: documented.day_state("nse", "equity", day) for day in states} == states
    assert documented.day_state("mcx", "commodity", date(2027, 4, 14)) == "unknown"
    assert [name for name, *_ in _parts(documented, date(2027, 4, 14))] == ["evening"]
    assert documented.is_open("nse", "equity", datetime(2027, 1, 11, 10, 0, tzinfo=IST)), (
        "an exit must be able to leave"
    )
    assert documented.known_until("nse") == date(2026, 12, 31)
    assert documented.day_state("mcx", "equity", date(2026, 11, 25)) == "closed"
    joined = JoinedCalendar(documented, date(2026, 6, 1), always_open())
    assert joined.day_state("nse", "equity", date(2027, 1, 11)) == "trading"
    assert joined.day_state("nse", "equity", date(2024, 11, 25)) == "unknown"


def _parts(calendar: Calendar, day: date) -> list[tuple[str, datetime]]:
    return [(session.name, session.opens) for session in calendar.sessions("mcx", "commodity", day)]


def test_the_list_of_a_year_replaces_its_certain_holidays() -> None:
    documents = exchange_documents()
    documents[0]["holidays"]["equity"].append({"date": "2027-12-24", "closed": "all", "name": "a day"})
    imported = calendar_from_documents(documents)
    assert imported.day_state("nse", "equity", date(2027, 1, 26)) == "trading", "the list does not name it"
    assert imported.known_until("nse") == date(2026, 12, 31), "currency and commodity are still of 2026"
    assert imported.day_state("nse", "currency", date(2027, 1, 26)) == "closed"


def test_a_market_is_an_exchange_with_a_calendar_that_it_trades() -> None:
    assert set(always_open().markets()) == set(PAIRS)
    assert ("mcx", "equity") not in always_open().markets()
    assert not always_open().trades("ncdex", "currency")


def test_the_pre_open_belongs_to_equity_and_is_no_session() -> None:
    pre_open = REAL.pre_open("nse", date(2026, 11, 20))
    assert pre_open is not None
    assert (pre_open.opens, pre_open.closes) == (at("2026-11-20T09:00"), at("2026-11-20T09:15"))
    assert not REAL.is_open("nse", "equity", at("2026-11-20T09:05"))
    assert REAL.pre_open("mcx", date(2026, 11, 20)) is None


def test_the_opening_instant_is_open_and_the_closing_instant_is_closed() -> None:
    assert not REAL.is_open("nse", "equity", at("2026-11-20T09:14:59.999999"))
    assert REAL.is_open("nse", "equity", at("2026-11-20T09:15:00"))
    assert REAL.is_open("nse", "equity", at("2026-11-20T15:29:59.999999"))
    assert not REAL.is_open("nse", "equity", at("2026-11-20T15:30:00"))


def test_the_commodity_morning_hands_over_to_the_evening_without_a_gap() -> None:
    session = REAL.current_session("mcx", "commodity", at("2026-11-20T17:00"))
    assert session is not None
    assert session.name == "evening"


def test_muhurat_is_a_session_of_a_holiday_and_has_no_pre_open_of_its_own() -> None:
    assert hours(REAL, "nse", "equity", "2025-10-21") == ["Muhurat Trading 13:45-14:45"]
    assert hours(REAL, "mcx", "commodity", "2025-10-21") == ["Muhurat Trading 13:45-14:45"]
    assert REAL.pre_open("nse", date(2025, 10, 21)) is None


def test_a_budget_sunday_trades_like_a_weekday_with_its_pre_open() -> None:
    assert hours(REAL, "bse", "equity", "2026-02-01") == ["Union Budget 09:15-15:30"]
    assert REAL.pre_open("bse", date(2026, 2, 1)) is not None
    assert hours(REAL, "bse", "currency", "2026-02-01") == []
    assert hours(REAL, "mcx", "commodity", "2026-02-01") == ["Union Budget 09:00-17:00"]


def test_a_special_session_replaces_the_regular_one_it_overlaps_and_stands_beside_others() -> None:
    special = {"date": "2026-11-20", "name": "short day", "calendars": ["equity"], "opens": "09:15", "closes": "12:30"}
    short = calendar_from_documents([document(special_sessions=[special])])
    assert hours(short, "nse", "equity", "2026-11-20") == ["short day 09:15-12:30"]
    evening = {**special, "name": "evening drill", "opens": "18:00", "closes": "19:00"}
    longer = calendar_from_documents([document(special_sessions=[evening])])
    assert hours(longer, "nse", "equity", "2026-11-20") == ["normal 09:15-15:30", "evening drill 18:00-19:00"]


def test_a_moment_in_another_offset_is_read_as_its_india_day() -> None:
    utc = datetime.fromisoformat("2026-11-19T20:00:00+00:00")  # 01:30 on the 20th in India
    assert REAL.sessions("nse", "equity", utc)[0].opens == at("2026-11-20T09:15")
    assert REAL.is_open("nse", "equity", datetime.fromisoformat("2026-11-20T04:00:00+00:00"))


def test_next_open_passes_over_weekends_and_holidays() -> None:
    assert REAL.next_open("nse", "equity", at("2026-11-20T15:30")) == at("2026-11-23T09:15")
    assert REAL.next_open("nse", "equity", at("2026-11-23T16:00")) == at("2026-11-25T09:15")
    assert REAL.next_open("mcx", "commodity", at("2026-11-23T23:56")) == at("2026-11-24T17:00")
    assert REAL.next_open("nse", "equity", at("2026-11-20T09:15")) == at("2026-11-23T09:15")


def test_last_close_is_the_close_of_the_last_session_that_ended() -> None:
    assert REAL.last_close("nse", "equity", at("2026-11-20T15:30")) == at("2026-11-20T15:30")
    assert REAL.last_close("nse", "equity", at("2026-11-20T12:00")) == at("2026-11-19T15:30")
    assert REAL.last_close("mcx", "commodity", at("2026-11-20T17:00")) == at("2026-11-20T17:00")


def test_a_calendar_the_exchange_does_not_trade_never_opens_and_proves_no_quote_current() -> None:
    now = at("2026-11-20T20:00")
    assert not REAL.trades("mcx", "equity")
    assert REAL.next_open("mcx", "equity", now) is None
    assert REAL.last_close("mcx", "equity", now) is None
    assert not REAL.closed_since_and_not_reopened("mcx", "equity", now - timedelta(hours=1), now)


def test_a_calendar_whose_holidays_never_end_gives_up_the_search() -> None:
    days = [date(2026, 1, 1) + timedelta(days=count) for count in range(200)]
    holidays = {"equity": [{"date": str(day), "closed": "all", "name": "closed"} for day in days]}
    closed = calendar_from_documents([document(holidays=holidays)])
    assert closed.next_open("nse", "equity", at("2026-02-20T12:00")) is None
    assert closed.last_close("nse", "equity", at("2026-03-20T12:00")) is None


@every_case(
    ("since", "now", "serves"),
    [
        ("2026-11-20T15:00", "2026-11-20T15:29", False),  # still open
        ("2026-11-20T15:00", "2026-11-20T15:30", True),  # closed since
        ("2026-11-20T15:00", "2026-11-22T23:00", True),  # over the weekend
        ("2026-11-20T15:00", "2026-11-23T08:59", True),
        ("2026-11-20T15:00", "2026-11-23T09:00", False),  # the pre-open has begun
        ("2026-11-20T15:00", "2026-11-23T10:00", False),  # reopened
        ("2026-11-20T15:00", "2026-11-23T16:00", False),  # a whole session lies in between
        ("2026-11-20T15:31", "2026-11-20T20:00", True),  # received after the close, nothing traded since
        ("2026-11-20T09:05", "2026-11-20T16:00", False),  # a pre-open price, the session came after it
        ("2026-11-20T09:15", "2026-11-20T16:00", True),  # received at the opening instant
        ("2026-11-23T15:00", "2026-11-24T20:00", True),  # over a holiday
    ],
)
def test_a_quote_outlives_its_window_until_the_market_opens_again(since: str, now: str, serves: bool) -> None:
    assert REAL.closed_since_and_not_reopened("nse", "equity", at(since), at(now)) is serves


def test_the_evening_session_reopens_a_commodity_window() -> None:
    assert not REAL.closed_since_and_not_reopened("mcx", "commodity", at("2026-11-20T16:59"), at("2026-11-20T17:00"))
    assert REAL.closed_since_and_not_reopened("mcx", "commodity", at("2026-11-20T17:00"), at("2026-11-20T23:55"))


def test_any_open_looks_at_every_pair() -> None:
    evening = at("2026-11-20T20:00")
    assert REAL.any_open([("nse", "equity"), ("mcx", "commodity")], evening)
    assert not REAL.any_open([("nse", "equity"), ("nse", "currency")], evening)
    assert not REAL.any_open([], evening)


@given(pairs, moments)
def test_is_open_agrees_with_the_sessions_of_the_day(pair: tuple[str, str], moment: datetime) -> None:
    inside = [session for session in REAL.sessions(*pair, moment) if session.opens <= moment < session.closes]
    assert REAL.is_open(*pair, moment) is bool(inside)
    assert REAL.current_session(*pair, moment) == (inside[0] if inside else None)


@given(pairs, moments)
def test_sessions_are_in_order_within_their_day_and_do_not_overlap(pair: tuple[str, str], moment: datetime) -> None:
    sessions = REAL.sessions(*pair, moment)
    assert all(session.opens.date() == session.closes.date() == moment.date() for session in sessions)
    assert all(session.opens < session.closes for session in sessions)
    assert all(one.closes <= other.opens for one, other in pairwise(sessions))


@given(pairs, moments)
def test_next_open_is_the_nearest_opening_after_the_moment(pair: tuple[str, str], moment: datetime) -> None:
    opens = REAL.next_open(*pair, moment)
    assert opens is not None
    assert opens > moment
    assert REAL.is_open(*pair, opens)
    between = [moment.date() + timedelta(days=count) for count in range((opens.date() - moment.date()).days + 1)]
    assert not [s for day in between for s in REAL.sessions(*pair, day) if moment < s.opens < opens]


@given(pairs, moments)
def test_last_close_is_the_nearest_close_before_the_moment(pair: tuple[str, str], moment: datetime) -> None:
    closes = REAL.last_close(*pair, moment)
    assert closes is not None
    assert closes <= moment
    assert REAL.is_open(*pair, closes - timedelta(microseconds=1))
    between = [closes.date() + timedelta(days=count) for count in range((moment.date() - closes.date()).days + 1)]
    assert not [s for day in between for s in REAL.sessions(*pair, day) if closes < s.closes <= moment]


@given(pairs, moments, st.integers(0, 6 * 86_400))
def test_a_quote_serves_only_while_nothing_can_have_traded_since(
    pair: tuple[str, str], since: datetime, seconds: int
) -> None:
    now = since + timedelta(seconds=seconds)
    if REAL.closed_since_and_not_reopened(*pair, since, now):
        assert not REAL.is_open(*pair, now)
        opens = REAL.next_open(*pair, since)
        assert opens is None or opens > now


@given(st.sampled_from(PAIRS), moments)
def test_the_always_open_market_is_open_at_every_instant(pair: tuple[str, str], moment: datetime) -> None:
    assert ALWAYS.is_open(*pair, moment)
    assert ALWAYS.is_session_day(*pair, moment)
    assert ALWAYS.pre_open(pair[0], moment) is None
    assert not ALWAYS.closed_since_and_not_reopened(*pair, moment - timedelta(days=1), moment)


def test_the_always_open_market_has_one_session_a_day_that_reads_0000_to_2359() -> None:
    for day in ("2026-11-20", "2026-11-22", "2026-12-25"):
        assert hours(ALWAYS, "mcx", "commodity", day) == ["normal 00:00-23:59"]


def test_the_always_open_market_is_open_in_its_last_instant_and_the_next_day_joins_on() -> None:
    last = at("2026-11-20T23:59:59.999999")
    assert ALWAYS.is_open("nse", "equity", at("2026-11-20T23:59:00"))
    assert ALWAYS.is_open("nse", "equity", last)
    assert ALWAYS.next_open("nse", "equity", last) == at("2026-11-21T00:00")
    assert ALWAYS.last_close("nse", "equity", at("2026-11-21T00:00")) == last


def test_a_day_is_worked_out_once() -> None:
    calendar = calendar_from_documents([document()])
    first = calendar.sessions("nse", "equity", date(2026, 11, 20))
    assert calendar.sessions("nse", "equity", at("2026-11-20T12:00")) is first


# --- the same in seconds ------------------------------------------------------------------------------------------------


@given(st.sampled_from([REAL, ALWAYS]), pairs, moments)
def test_in_epoch_seconds_a_market_is_open_as_it_is_by_the_clock(calendar, pair, moment):
    assert calendar.is_open_at(*pair, moment.timestamp()) is calendar.is_open(*pair, moment)


@given(st.sampled_from([REAL, ALWAYS]), pairs, moments)
def test_the_session_after_a_moment_is_the_first_day_that_has_not_closed(calendar, pair, moment):
    days = [calendar.sessions(*pair, moment.date() + timedelta(days=n)) for n in range(45)]
    first = next((day for day in days if day and day[-1].closes > moment), None)
    expected = None if first is None else (first[0].opens.timestamp(), first[-1].closes.timestamp())
    assert calendar.session_after(*pair, moment.timestamp()) == expected


def test_a_session_follows_documents_that_are_imported_later():
    calendar = DocumentCalendar([document()])
    ten = at("2026-11-23T10:00").timestamp()
    assert calendar.is_open_at("nse", "equity", ten)
    calendar.follow([document(holidays={"equity": [{"date": "2026-11-23", "closed": "all", "name": "A holiday"}]})])
    assert not calendar.is_open_at("nse", "equity", ten)
    assert calendar.session_after("nse", "equity", ten)[0] == at("2026-11-24T09:15").timestamp()
