"""Logins that need no person: made by the keeper itself, never again and again (lesson 4)."""

from datetime import datetime
from types import SimpleNamespace

import pytest
import trio
import trio.testing

from onebroker.actors.sessions.flows import Caller
from onebroker.actors.sessions.login import LoginKeeper
from onebroker.actors.sessions.view import LoginState
from onebroker.actors.store.memory import MemoryStore
from onebroker.brokers.broker import Access, Endpoints, Login, LoginKind, Windows
from onebroker.brokers.requests import BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse
from onebroker.brokers.transport.budget import Budget
from onebroker.brokers.transport.gate import BudgetGate
from onebroker.config.clock import IST, Clock

ENDPOINTS = Endpoints(rest_url="", login_url="", stream_url="", order_stream_url="", instruments_url="")
LOGIN = WireRequest(kind=CallKind.LOGIN, method="POST", url="http://b.test/login")
PROFILE = WireRequest(kind=CallKind.READ, method="GET", url="http://b.test/profile")


class Codec:
    """A broker whose answers to login and profile can be set; it counts both."""

    def __init__(self, clock, *, lives_seconds=86_400.0):
        self.clock = clock
        self.lives_seconds = lives_seconds
        self.logins = []
        self.profiles = []
        self.refuses_login = None
        self.refuses_profile = None

    def log_in(self, access, redirect, now):
        yield LOGIN
        self.logins.append(self.clock.monotonic())
        assert len(self.logins) < 1000
        if self.refuses_login is not None:
            raise self.refuses_login
        number, epoch = len(self.logins), now.timestamp()
        return Login(
            tokens={"t": f"token{number}"}, user_id="U", logged_in_at=epoch, expires_at=epoch + self.lives_seconds
        )

    def renew(self, access, now):
        return None

    def profile_request(self, access):
        return PROFILE

    def parse_profile(self, response):
        self.profiles.append(self.clock.monotonic())
        if self.refuses_profile is not None:
            raise self.refuses_profile
        return {"user": "U"}


class Answering:
    async def send(self, request, timeout_seconds):
        await trio.lowlevel.checkpoint()
        return WireResponse(status=200)


@pytest.fixture
def keeper(nursery, autojump_clock):
    clock = Clock.following_trio(datetime(2026, 11, 23, 10, 0, tzinfo=IST))
    codec, store, shown = Codec(clock), MemoryStore(clock), []
    gate = BudgetGate(Budget(Windows(), Windows()), clock, most_waiting=10)
    kept = LoginKeeper(
        broker=SimpleNamespace(code="b", login=codec, login_kind=LoginKind.UNATTENDED),
        access=Access(endpoints=ENDPOINTS, credentials={}, login=None),
        caller=Caller(Answering(), gate, clock),
        store=store,
        clock=clock,
        on_change=lambda state, access, trouble: shown.append((state, trouble)),
    )
    nursery.start_soon(kept.run)
    return SimpleNamespace(keeper=kept, codec=codec, store=store, shown=shown)


def dead():
    return BrokerRefusal(RefusalKind.SESSION_DEAD, "dead")


async def test_it_logs_in_by_itself_and_proves_the_login(keeper, autojump_clock):
    with trio.fail_after(5):
        access = await keeper.keeper.wait_live()
    assert access.login.tokens == {"t": "token1"}
    assert (len(keeper.codec.logins), len(keeper.codec.profiles)) == (1, 1)


async def test_a_dead_session_is_repaired_by_one_new_login(keeper, autojump_clock):
    access = await keeper.keeper.wait_live()
    await trio.sleep(3600)
    keeper.codec.refuses_profile = dead()
    keeper.keeper.dead(access)
    keeper.keeper.dead(access)
    await trio.testing.wait_all_tasks_blocked()
    keeper.codec.refuses_profile = None
    with trio.fail_after(120):
        again = await keeper.keeper.wait_other(access)
    assert again.login.tokens["t"] == f"token{len(keeper.codec.logins)}"
    assert len(keeper.codec.logins) <= 3


async def test_a_login_that_ends_at_its_hour_is_made_anew(keeper, autojump_clock):
    access = await keeper.keeper.wait_live()
    with trio.fail_after(90_000):
        again = await keeper.keeper.wait_other(access)
    assert again.login.tokens == {"t": "token2"}
    assert len(keeper.codec.logins) == 2


async def test_a_broker_that_refuses_what_its_own_login_gave_is_not_logged_in_to_again_and_again(
    keeper, autojump_clock
):
    keeper.codec.refuses_profile = dead()
    await trio.sleep(3600)
    assert len(keeper.codec.logins) <= 62
    assert keeper.keeper.live is None


@pytest.mark.parametrize("refusal", [BrokerRefusal(RefusalKind.REFUSED, "wrong pin"), ValueError("no secret at all")])
async def test_a_refusal_that_trying_again_cannot_mend_is_not_tried_again(keeper, refusal, autojump_clock):
    keeper.codec.refuses_login = refusal
    await trio.sleep(86_400)
    assert len(keeper.codec.logins) == 1
    assert keeper.shown[-1] == (LoginState.NEEDED, str(refusal))


async def test_a_broker_that_is_away_is_tried_ever_more_rarely_until_it_is_back(keeper, autojump_clock):
    keeper.codec.refuses_login = BrokerRefusal(RefusalKind.UNAVAILABLE, "service hours")
    await trio.sleep(3600)
    assert len(keeper.codec.logins) <= 70
    keeper.codec.refuses_login = None
    with trio.fail_after(61):
        await keeper.keeper.wait_live()


async def test_a_broker_that_contradicts_itself_costs_one_proof_a_report(keeper, autojump_clock):
    access = await keeper.keeper.wait_live()
    for _ in range(100):
        keeper.keeper.dead(access)
        access = await keeper.keeper.wait_other(access)
        await trio.sleep(1)
    assert len(keeper.codec.logins) == 1
    assert len(keeper.codec.profiles) == 101


async def test_who_reports_an_old_login_dead_changes_nothing(keeper, autojump_clock):
    access = await keeper.keeper.wait_live()
    keeper.keeper.dead(access)
    newer = await keeper.keeper.wait_other(access)
    keeper.keeper.dead(access)
    await trio.sleep(10)
    assert keeper.keeper.live is newer
