"""What is told of logins: done, needed and refused, each change once."""

from datetime import datetime
from types import SimpleNamespace

import attrs
import pytest
import trio

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.login_events import LoginEvents
from onebroker.actors.sessions.session_view import LoginState
from onebroker.brokers.broker import Login, LoginKind
from onebroker.brokers.registry import CODES
from onebroker.brokers.requests import BrokerRefusal, NotSent, RefusalKind
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.clock import IST, Clock, from_epoch
from onebroker.config.events import Event, FeedDown, FeedUp, LoginDone, LoginNeeded, LoginRefused, ReadFailing, ReadOk

LOGINS = (LoginDone, LoginNeeded, LoginRefused)
MORNING = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
MINE = Login(tokens={"t": "1"}, user_id="U", logged_in_at=0.0, expires_at=MORNING.timestamp() + 3600)


class Told:
    def __init__(self, kind):
        self.heard: list[Event] = []
        broker = SimpleNamespace(code="b", login_kind=kind)
        self.login = LoginEvents(broker, Clock.following_trio(MORNING), Events(self.heard.append))

    def drain(self):
        heard, self.heard[:] = list(self.heard), []
        return heard


@pytest.fixture
async def assisted(autojump_clock):
    return Told(LoginKind.ASSISTED)


@pytest.fixture
async def unattended(autojump_clock):
    return Told(LoginKind.UNATTENDED)


async def test_a_login_is_done_once_and_again_only_as_another_login(assisted, autojump_clock):
    assisted.login.proved(MINE)
    assisted.login.proved(MINE)
    assert assisted.drain() == [LoginDone(broker="b", until="2026-11-23T11:00:00+05:30")]
    assisted.login.died("Token expired", is_new=False)  # and the broker took it again
    assisted.login.proved(MINE)
    assert assisted.drain() == []
    assisted.login.proved(attrs.evolve(MINE, tokens={"t": "2"}))
    assert len(assisted.drain()) == 1


@pytest.mark.parametrize("end", [float("inf"), 1e18, float("nan")])
async def test_a_login_without_a_known_end_is_done_without_one(assisted, end, autojump_clock):
    assisted.login.proved(attrs.evolve(MINE, expires_at=end))
    assert assisted.drain() == [LoginDone(broker="b", until=None)]


async def test_a_person_is_needed_once_for_what_the_broker_said(assisted, autojump_clock):
    assisted.login.needed("a person must log in")
    assisted.login.needed("a person must log in")
    assert assisted.drain() == [LoginNeeded(broker="b", why="a person must log in", by_person=True)]
    assisted.login.proved(MINE)
    assisted.login.died("Token expired", is_new=False)
    assisted.login.needed("a person must log in")
    assert assisted.drain()[1:] == [LoginNeeded(broker="b", why="Token expired", by_person=True)]
    assisted.login.proved(MINE)
    assert [type(event) for event in assisted.drain()] == [LoginDone]


async def test_a_new_login_that_the_broker_does_not_answer_for_is_refused_once(unattended, autojump_clock):
    for _ in range(3):
        unattended.login.died("Invalid token", is_new=True)
    assert unattended.drain() == [LoginRefused(broker="b", words="Invalid token")]


async def test_other_words_are_another_refusal_and_so_are_the_same_after_a_login(unattended, autojump_clock):
    for words in ("Invalid TOTP", "Invalid TOTP", "Account blocked"):
        unattended.login.not_made(BrokerRefusal(RefusalKind.REFUSED, words))
    assert [event.words for event in unattended.drain()] == ["Invalid TOTP", "Account blocked"]
    unattended.login.proved(MINE)
    unattended.login.not_made(BrokerRefusal(RefusalKind.REFUSED, "Account blocked"))
    assert [type(event) for event in unattended.drain()] == [LoginDone, LoginRefused]


async def test_a_broker_that_cannot_be_asked_for_a_login_is_a_failing_read_until_it_answers(unattended, autojump_clock):
    for _ in range(3):
        unattended.login.not_made(NotSent("no connection"))
        await trio.sleep(2)
    unattended.login.made()
    assert unattended.drain() == [
        ReadFailing(broker="b", read="login", words="no connection"),
        ReadOk(broker="b", read="login", failed=3, seconds=6.0),
    ]


# --- days with real sessions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
async def test_from_the_start_to_the_login_every_broker_tells_that_it_is_done_once(day, told, code, autojump_clock):
    day.__init__(brokers=(code,))
    async with day.market(), day.service():
        await trio.sleep(120)
        login = day.sessions[code].view.value.access.login
        by_person = day.services[code].broker.login_kind is LoginKind.ASSISTED
        needed = [event for event in told(code, *LOGINS) if isinstance(event, LoginNeeded)]
        assert len(needed) == by_person
        assert all(event.by_person for event in needed)
        done = LoginDone(broker=code, until=from_epoch(login.expires_at).isoformat(timespec="seconds"))
        assert told(code, *LOGINS) == [*needed, done]
        assert told(code, ReadFailing) == []
        assert len(told(code, FeedUp)) == len({(event.feed, event.socket) for event in told(code, FeedUp)})
    assert told(code, FeedDown, LoginNeeded) == needed  # the end of the service is neither


async def test_a_login_that_dies_is_needed_once_in_the_words_of_the_broker(day, told, autojump_clock):
    async with day.market(), day.service():
        for number in range(2):
            before = len(told("zerodha", *LOGINS))
            day.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION)
            await day.until(lambda: day.sessions["zerodha"].view.value.login is LoginState.NEEDED)
            await trio.sleep(1800)
            (needed,) = told("zerodha", *LOGINS)[before:]
            assert needed.by_person
            assert "access_token" in needed.why, number
            await day.log_in("zerodha")
            await day.until(lambda: day.has_read("zerodha"))
            assert [type(event) for event in told("zerodha", *LOGINS)[before:]] == [LoginNeeded, LoginDone]


async def test_a_profile_that_cannot_be_asked_for_is_a_failing_read(day, told, autojump_clock):
    async with day.market():
        async with day.service():
            pass
        day.simulator.fault("zerodha", FaultKind.HTTP_500)
        before = len(day.heard)
        async with day.service(log_in=False):
            await trio.sleep(600)
            day.simulator.faults.heal("zerodha")
            await day.until(lambda: day.sessions["zerodha"].view.value.live, 90)
        told_now = [event for event in day.heard[before:] if event.broker == "zerodha"]
        failing, good, done = [event for event in told_now if not isinstance(event, FeedUp)]
        assert isinstance(failing, ReadFailing)
        assert isinstance(good, ReadOk)
        assert failing.read == good.read == "profile"
        assert good.failed > 3
        assert isinstance(done, LoginDone)
