"""Problems of logins, feeds and documents, over views as sessions publish them."""

from datetime import datetime
from types import SimpleNamespace

import attrs
import pytest

from onebroker.actors.health.document_problems import DocumentProblems
from onebroker.actors.health.feed_problems import MAY_BE_HOLIDAY, FeedProblems
from onebroker.actors.health.login_problems import login_problems
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.read_status import BrokerRead
from onebroker.actors.quotes.feed_silence import FeedSilence
from onebroker.actors.sessions.session_view import FeedView, LoginState, SessionView
from onebroker.actors.sessions.slices import Slice
from onebroker.brokers.registry import build_registry
from onebroker.config.calendars import always_open, calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents
from onebroker.config.vocabulary import ReadStatus
from tests.support.every_case import every_case

REGISTRY = build_registry()
NOW = datetime(2026, 11, 25, 10, 0, tzinfo=IST).timestamp()  # a Wednesday
LIVE = SessionView(broker="zerodha", login=LoginState.LIVE, login_since=NOW - 3600)


def sessions(view: SessionView, code: str = "zerodha"):
    return {code: SimpleNamespace(broker=REGISTRY[code], view=Published(attrs.evolve(view, broker=code)))}


# --- logins -----------------------------------------------------------------------------------------------------------


def logins(code: str = "zerodha", **view: object):
    found = login_problems(sessions(attrs.evolve(LIVE, **view), code), NOW)
    return [(problem.subject, problem.what, problem.do, problem.since) for problem in found]


def test_a_login_that_lives_is_no_problem():
    assert logins() == []


def test_an_assisted_login_is_made_by_a_person():
    (found,) = logins(login=LoginState.NEEDED, trouble="Invalid token", login_since=NOW - 60)
    assert found == ("", "zerodha has no login: Invalid token", "onebroker login zerodha", NOW - 60)


def test_a_login_from_the_settings_names_the_settings_to_correct():
    (found,) = logins("dhan", login=LoginState.NEEDED, trouble="the broker has blocked the account or the key")
    for key in REGISTRY["dhan"].all_credential_keys:
        assert key in found[2]
    assert "[brokers.dhan]" in found[2]
    (tried,) = logins("dhan", login=LoginState.STARTING, trouble="the broker answered 503")
    assert tried[2].startswith("nothing, the login is tried again")


def test_a_repair_is_a_problem_after_three_seconds():
    assert logins(login=LoginState.REPAIRING, login_since=NOW - 2.9) == []
    assert len(logins(login=LoginState.REPAIRING, login_since=NOW - 3)) == 1


def test_a_living_login_may_be_in_trouble():
    assert logins(trouble="this morning's login failed: no")[0][0] == "morning"
    assert logins(trouble="orders are refused", address_refused=True)[0][0] == "address"


# --- feeds ------------------------------------------------------------------------------------------------------------

REAL = calendar_from_documents(exchange_documents())


def feeds(code="zerodha", *, calendar=None, at=NOW, silence=None, **view: object):
    house = FeedProblems(
        sessions=sessions(attrs.evolve(LIVE, login_since=at - 3600, **view), code),
        silence=Published(silence or FeedSilence()),
        calendar=calendar or REAL,
    )
    return [(problem.broker, problem.subject, problem.what, problem.since) for problem in house(at)]


DOWN = FeedView(trouble="the connection was refused", down_since=NOW - 5)


@every_case(
    ("code", "view", "subject", "words"),
    [
        ("upstox", {"market_feed": DOWN}, "market", "is down: the connection was refused"),
        ("upstox", {"market_feed": attrs.evolve(DOWN, connected=True)}, "market", "has lost one of its connections"),
        ("upstox", {"order_feed": DOWN}, "orders", "the order feed of upstox is down"),
        ("zerodha", {"market_feed": DOWN}, "market", "which carries the order updates"),
        ("upstox", {"market_feed": FeedView(connected=True, corrupt_since=NOW - 4, corrupt_at=NOW - 1)}, "market",
         "sends frames that cannot be read"),
        ("upstox", {"silence": FeedSilence(mute={"upstox": NOW - 40})}, "market", "says nothing"),
    ],
)  # fmt: skip
def test_a_feed_that_does_not_work_in_an_open_market_is_a_problem(code, view, subject, words):
    (found,) = feeds(code, **view)
    assert found[:2] == (code, subject)
    assert words in found[2]
    assert NOW - 41 < found[3] < NOW


@every_case(
    "view",
    [
        {},
        {"market_feed": attrs.evolve(DOWN, down_since=NOW - 1.9)},
        {"market_feed": DOWN, "login_since": NOW - 1},  # the feed of a new login is being connected
        {"market_feed": DOWN, "login": LoginState.NEEDED},
        {"market_feed": FeedView(connected=True, corrupt_since=NOW - 1, corrupt_at=NOW - 1)},
        {"market_feed": FeedView(connected=True, corrupt_since=NOW - 60, corrupt_at=NOW - 30)},
    ],
)
def test_what_is_short_or_over_is_no_problem(view):
    given = {"login_since": NOW - 3600, **view}
    house = FeedProblems(
        sessions=sessions(attrs.evolve(LIVE, **given)), silence=Published(FeedSilence()), calendar=REAL
    )
    assert list(house(NOW)) == []


def test_feeds_are_no_problem_while_no_market_of_the_broker_is_open():
    night = datetime(2026, 11, 25, 2, 0, tzinfo=IST).timestamp()
    assert feeds(at=night, market_feed=attrs.evolve(DOWN, down_since=night - 60)) == []


def test_a_market_without_ticks_is_named_and_no_longer_than_it_is_open():
    silent = FeedSilence(markets={("nse", "equity"): NOW - 8})
    ((broker, subject, what, since),) = feeds(silence=silent)
    assert (broker, subject, since) == (None, "nse equity", NOW - 8)
    assert MAY_BE_HOLIDAY not in what
    evening = datetime(2026, 11, 25, 19, 0, tzinfo=IST).timestamp()
    assert feeds(silence=silent, at=evening) == []


def test_on_a_day_that_the_calendar_does_not_know_the_words_say_that_it_may_be_a_holiday():
    january = datetime(2027, 1, 11, 10, 0, tzinfo=IST).timestamp()
    down = attrs.evolve(DOWN, down_since=january - 60)
    for found in (
        *feeds("upstox", at=january, market_feed=down, order_feed=down),
        *feeds(at=january, silence=FeedSilence(markets={("nse", "equity"): january - 8})),
    ):
        assert MAY_BE_HOLIDAY in found[2]
    assert MAY_BE_HOLIDAY not in feeds(calendar=always_open(), at=january, market_feed=down)[0][2]


# --- documents --------------------------------------------------------------------------------------------------------


def documents(*, at=NOW, started=NOW - 3600, slice_age=1.0, status=ReadStatus.OK, state_age=0.5, built=True, **view):
    held = Slice(broker="zerodha", resource="funds", rows=(), received_at=at - slice_age)
    read = BrokerRead(broker="zerodha", status=status, slice=None if status is ReadStatus.MISSING else held)
    state = SimpleNamespace(reads=(read,), as_of="2026-11-25T09:59:00", as_of_epoch=at - state_age) if built else None
    house = DocumentProblems(
        documents={"funds": Published(state)}, sessions=sessions(attrs.evolve(LIVE, **view)), started=started
    )
    return [(problem.broker, problem.subject, problem.what, problem.since) for problem in house(at)]


def test_a_document_of_young_parts_is_no_problem():
    assert documents() == []


def test_reads_that_fail_are_a_problem_in_the_brokers_words_after_three_seconds():
    failing = {"read_errors": {"funds": "the broker answered 500"}}
    assert documents(**failing, reads_failing_since={"funds": NOW - 2.9}) == []
    ((broker, subject, what, since),) = documents(**failing, reads_failing_since={"funds": NOW - 3})
    assert (broker, subject, since) == ("zerodha", "funds", NOW - 3)
    assert "the broker answered 500" in what
    assert documents(login=LoginState.NEEDED, **failing, reads_failing_since={"funds": NOW - 3}) == []


def test_a_part_that_is_older_than_its_rule_or_was_never_read_is_a_problem():
    assert documents(slice_age=60.0) == []
    assert documents(slice_age=61.0)[0][3] == pytest.approx(NOW - 1)
    assert documents(slice_age=61.0, login_since=NOW - 9) == [], "the first reads of a login are on their way"
    assert "not read yet" in documents(status=ReadStatus.MISSING)[0][2]
    assert documents(status=ReadStatus.UNREADABLE)[0][:2] == ("zerodha", "funds")


def test_at_seven_the_books_of_the_day_before_end_and_there_is_time_to_read_the_new_ones():
    seven = datetime(2026, 11, 25, 7, 0, tzinfo=IST).timestamp()
    assert documents(at=seven + 30, started=seven - 3600, login_since=seven - 3600, status=ReadStatus.MISSING) == []
    (found,) = documents(at=seven + 61, started=seven - 3600, login_since=seven - 3600, status=ReadStatus.MISSING)
    assert "not read today" in found[2]


def test_a_whole_document_that_is_old_or_missing_is_a_problem():
    assert [one[:2] for one in documents(state_age=31.0)] == [(None, "funds")]
    assert documents(built=False, started=NOW - 9, login_since=NOW - 9) == []
    assert (None, "funds") in [one[:2] for one in documents(built=False)]
