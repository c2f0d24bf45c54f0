"""Problems of the calendar, of the list of instruments and of day candles."""

from datetime import date, datetime, timedelta

import attrs

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.health.calendar_problems import calendar_ends, calendar_line
from onebroker.actors.health.market_problems import candles_overdue, catalogue_lacks
from onebroker.actors.history.daily_loader import CollectorView, MarketView
from onebroker.config.calendars import JoinedCalendar, always_open, calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from tests.support.every_case import every_case

REAL = calendar_from_documents(exchange_documents())


@every_case(
    ("day", "subjects"),
    [
        (date(2026, 11, 30), []),
        (date(2026, 12, 1), ["2026-12-31"]),
        (date(2026, 12, 31), ["2026-12-31"]),
        (date(2027, 1, 9), ["2026-12-31"]),  # a Saturday
        (date(2027, 1, 11), ["2026-12-31", "unknown day"]),
        (date(2027, 1, 26), ["2026-12-31"]),  # Republic Day: certainly closed
    ],
)
def test_the_end_of_the_known_days_and_a_day_that_nobody_knows(day, subjects):
    found = list(calendar_ends(REAL, day))
    assert [problem.subject for problem in found] == subjects
    assert all("onebroker import exchanges FILE" in problem.do for problem in found)
    assert all("nse, bse, mcx, ncdex" in problem.what for problem in found[:1])


def test_a_market_that_never_closes_has_no_end_and_an_imported_year_ends_the_problem():
    day = date(2027, 1, 11)
    assert list(calendar_ends(always_open(), day)) == []
    assert list(calendar_ends(JoinedCalendar(REAL, date(2026, 11, 1), always_open()), day)) == []
    documents = exchange_documents()
    for document in documents:
        for rows in document["holidays"].values():
            rows.append({"date": "2027-12-24", "closed": "all", "name": "a day"})
    assert list(calendar_ends(calendar_from_documents(documents), day)) == []


def test_the_line_of_a_start_says_how_far_the_calendar_reaches_or_what_to_do():
    assert calendar_line(always_open(), date(2026, 12, 5)) == "always open"
    assert calendar_line(REAL, date(2026, 11, 26)) == "known until 2026-12-31"
    assert "are known only until 2026-12-31" in calendar_line(REAL, date(2026, 12, 5))
    late = calendar_line(REAL, date(2027, 1, 11))
    assert "nobody knows whether 2027-01-11 is a holiday" in late
    assert late.endswith("docs/reference-documents.md)")


MAPPED = CatalogueState(latest=object(), published_today=True, reason="")


def lacks(state: CatalogueState, uptime: float = 60.0):
    return [(one.broker, one.subject) for one in catalogue_lacks(state, ["zerodha"], uptime)]


def test_what_the_list_of_instruments_lacks():
    first = CatalogueState(latest=None, published_today=False, reason="the first build is not done")
    assert lacks(first, 9.0) == []
    assert lacks(first) == [(None, "")]
    assert lacks(MAPPED) == []
    assert lacks(attrs.evolve(MAPPED, published_today=False, reason="today's build failed")) == [(None, "")]
    assert lacks(attrs.evolve(MAPPED, trouble="no broker gave an instrument")) == [(None, "build")]
    assert lacks(attrs.evolve(MAPPED, lost={"zerodha": "503", "dhan": "no login"})) == [("zerodha", "files")]
    assert lacks(attrs.evolve(MAPPED, missing={"zerodha": {"MCX.csv": "404"}})) == [("zerodha", "files")]


EVENING = datetime(2026, 11, 25, 19, 0, tzinfo=IST)
DUE = datetime(2026, 11, 25, 16, 15, tzinfo=IST).timestamp()
LATE = MarketView(
    last_day=date(2026, 11, 23), loaded_at=DUE - 86_400, instruments=9, failed=0, next_due=DUE, trouble=None
)


def overdue(market: MarketView = LATE, *, now: datetime = EVENING, uptime: float = 7200.0, loading: str | None = None):
    view = CollectorView(markets={"nse equity": market}, loading=loading)
    return [(one.subject, one.since) for one in candles_overdue(view, REAL, now, uptime)]


def test_day_candles_are_overdue_an_hour_after_they_could_have_been_loaded():
    assert overdue() == [("nse equity", DUE)]
    assert overdue(now=EVENING - timedelta(hours=2)) == []
    assert overdue(uptime=3599.0) == []
    assert overdue(loading="nse equity") == []
    noon = datetime(2026, 11, 26, 12, 0, tzinfo=IST)
    assert overdue(now=noon) == [], "nothing is loaded while the market trades"
    assert overdue(attrs.evolve(LATE, trouble="no broker has a login"), now=noon) == [("nse equity", DUE)]
    assert overdue(attrs.evolve(LATE, next_due=None)) == []
