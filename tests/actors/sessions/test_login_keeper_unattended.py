"""Logins that need no person: made by the keeper itself, never again and again (lesson 4)."""

import random
from datetime import datetime, time
from types import SimpleNamespace

import pytest
import trio
import trio.testing

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.login_keeper import LoginKeeper
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.sessions.stored_logins import StoredLogins
from onebroker.actors.store.keys import broker_login
from onebroker.actors.store.memory import MemoryStore
from onebroker.actors.store.sealing import Seal, new_key
from onebroker.brokers.broker import Access, Endpoints, Login, LoginKind, Windows
from onebroker.brokers.requests import BrokerRefusal, CallKind, RefusalKind, WireRequest, WireResponse
from onebroker.brokers.transport.budget import Budget, Moment
from onebroker.brokers.transport.budget_gate import BudgetGate
from onebroker.brokers.transport.priorities import Priority
from onebroker.config.clock import IST, Clock
from onebroker.config.events import LoginDone, LoginNeeded, LoginRefused

ENDPOINTS = Endpoints(rest_url="", login_url="", stream_url="", order_stream_url="", instruments_url="")
LOGIN = WireRequest(kind=CallKind.LOGIN, method="POST", url="http://b.test/login")
START = datetime(2026, 11, 23, 10, 0, tzinfo=IST)
UNLIMITED = Windows()
PROFILE = WireRequest(kind=CallKind.READ, method="GET", url="http://b.test/profile")


class Codec:
    """A broker whose answers to login and profile can be set; it counts both."""

    def __init__(self, clock, *, lives_seconds=86_400.0, same_token=False):
        self.same_token = same_token
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
            tokens={"t": "token1" if self.same_token else f"token{number}"},
            user_id="U",
            logged_in_at=epoch,
            expires_at=epoch + self.lives_seconds,
        )

    def renew(self, access, now):
        return None

    def profile_request(self, access):
        return PROFILE

    def parse_profile(self, response, login):
        self.profiles.append(self.clock.monotonic())
        if self.refuses_profile is not None:
            raise self.refuses_profile
        return {"user": "U"}


class Answering:
    async def send(self, request, timeout_seconds):
        await trio.lowlevel.checkpoint()
        return WireResponse(status=200)


def make_keeper(
    nursery,
    *,
    call_windows=UNLIMITED,
    before=(),
    seal=None,
    store=None,
    login_kind=LoginKind.UNATTENDED,
    **codec_options,
):
    """`before` are the priorities of the reads that its budget has let through just now."""
    clock = Clock.following_trio(START)
    codec, store, shown, heard = Codec(clock, **codec_options), store or MemoryStore(clock), [], []
    budget = Budget(UNLIMITED, call_windows)
    for priority in before:
        budget.take(CallKind.READ, priority, Moment.of(clock))
    gate = BudgetGate(budget, clock, most_waiting=10)
    kept = LoginKeeper(
        broker=SimpleNamespace(code="b", login=codec, login_kind=login_kind),
        access=Access(endpoints=ENDPOINTS, credentials={}, login=None),
        caller=Caller(Answering(), gate, clock),
        store=store,
        seal=seal or Seal(),
        clock=clock,
        on_change=lambda state, access, trouble: shown.append((state, trouble)),
        events=Events(heard.append),
        spread=random.Random(1),
    )
    nursery.start_soon(kept.run)
    return SimpleNamespace(keeper=kept, codec=codec, store=store, shown=shown, heard=heard, clock=clock)


@pytest.fixture
def keeper(nursery, autojump_clock):
    return make_keeper(nursery)


def dead():
    return BrokerRefusal(RefusalKind.SESSION_DEAD, "dead")


async def test_it_logs_in_by_itself_and_proves_the_login(keeper, autojump_clock):
    with trio.fail_after(5):
        access = await keeper.keeper.wait_live()
    assert access.login.tokens == {"t": "token1"}
    assert (len(keeper.codec.logins), len(keeper.codec.profiles)) == (1, 1)


async def test_reads_that_have_used_up_their_share_of_the_calls_do_not_hold_up_a_login(nursery, autojump_clock):
    """Without a login no cancel leaves either, so its calls come before the reads and may use the share kept for exits."""
    keeper = make_keeper(nursery, call_windows=Windows(minute=100), before=[Priority.READ] * 55)
    with trio.fail_after(5):
        await keeper.keeper.wait_live()


async def test_a_profile_that_is_only_refreshed_is_a_read_like_any_other(nursery, autojump_clock):
    keeper = make_keeper(nursery, call_windows=Windows(minute=100), before=[Priority.READ] * 53)
    access = await keeper.keeper.wait_live()
    asked = len(keeper.codec.profiles)
    with trio.move_on_after(5):
        await keeper.keeper.refresh_profile(access)
    assert len(keeper.codec.profiles) == asked


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
    await trio.sleep(21 * 3600)  # until 07:00 of the next day
    assert len(keeper.codec.logins) == 1
    assert keeper.shown[-1] == (LoginState.NEEDED, str(refusal))
    await trio.sleep(24 * 3600)
    assert len(keeper.codec.logins) == 2  # somebody may have put it right at the broker's


@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        (RefusalKind.BAD_CREDENTIALS, "is wrong"),
        (RefusalKind.BLOCKED, "blocked"),
        (RefusalKind.ADDRESS_NOT_REGISTERED, "not registered"),
    ],
)
async def test_a_refused_login_says_what_has_to_be_put_right(keeper, kind, meaning, autojump_clock):
    keeper.codec.refuses_login = BrokerRefusal(kind, "AB1000 no")
    await trio.sleep(3600)
    state, trouble = keeper.shown[-1]
    assert state is LoginState.NEEDED
    assert meaning in trouble
    assert "AB1000 no" in trouble
    assert len(keeper.codec.logins) == 1


async def test_a_refused_code_is_tried_once_more_with_the_next_code(keeper, autojump_clock):
    keeper.codec.refuses_login = BrokerRefusal(RefusalKind.BAD_TOTP, "Invalid TOTP")
    await trio.sleep(3600)
    first, second = keeper.codec.logins
    assert int((second + START.timestamp()) // 30) == int((first + START.timestamp()) // 30) + 1
    assert "TOTP secret" in keeper.shown[-1][1]


async def test_a_code_refused_at_the_turn_of_its_half_minute_costs_nothing(keeper, autojump_clock):
    keeper.codec.refuses_login = BrokerRefusal(RefusalKind.BAD_TOTP, "Invalid TOTP")
    await trio.testing.wait_all_tasks_blocked()
    keeper.codec.refuses_login = None
    with trio.fail_after(32):
        await keeper.keeper.wait_live()


async def test_each_morning_there_is_a_new_login_before_the_pre_open_session(nursery, autojump_clock):
    kept = make_keeper(nursery, lives_seconds=30 * 3600.0)
    access = await kept.keeper.wait_live()
    moments = []
    for _ in range(5):
        with trio.fail_after(86_400 + 3600):
            access = await kept.keeper.wait_other(access)
        moments.append(kept.clock.now())
    assert [moment.date().day for moment in moments] == [24, 25, 26, 27, 28]
    assert all(time(8, 10) <= moment.time() <= time(8, 30) for moment in moments)
    assert len({moment.time() for moment in moments}) > 1
    assert len(kept.codec.logins) == 6
    assert all(state is not LoginState.REPAIRING for state, _ in kept.shown)  # never a moment without a login


async def test_a_refused_morning_login_keeps_the_login_that_lives(nursery, autojump_clock):
    kept = make_keeper(nursery, lives_seconds=30 * 3600.0)
    await kept.keeper.wait_live()
    kept.codec.refuses_login = BrokerRefusal(RefusalKind.BLOCKED, "account frozen")
    await trio.sleep(23 * 3600)
    assert kept.keeper.live is not None
    assert kept.shown[-1][0] is LoginState.LIVE
    assert "blocked" in kept.shown[-1][1]
    assert len(kept.codec.logins) == 2
    await trio.sleep(8 * 3600)  # yesterday's login has ended
    assert kept.keeper.live is None
    assert kept.shown[-1][0] is LoginState.NEEDED


async def test_an_access_token_of_the_settings_that_is_dead_is_not_tried_again_and_again(nursery, autojump_clock):
    kept = make_keeper(nursery, same_token=True)
    kept.codec.refuses_profile = dead()
    await trio.sleep(7200)
    assert len(kept.codec.logins) == 2
    assert kept.shown[-1] == (LoginState.NEEDED, "the broker refuses the access token of the settings")


async def test_somebody_who_asks_for_a_login_gets_one_at_once(keeper, autojump_clock):
    keeper.codec.refuses_login = BrokerRefusal(RefusalKind.ADDRESS_NOT_REGISTERED, "no")
    await trio.sleep(10)
    keeper.codec.refuses_login = None
    login = await keeper.keeper.exchange("")
    with trio.fail_after(1):
        assert (await keeper.keeper.wait_live()).login == login


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


async def test_refusals_of_a_day_and_the_login_after_them_are_told_once_each(keeper, autojump_clock):
    keeper.codec.refuses_login = BrokerRefusal(RefusalKind.BLOCKED, "account frozen")
    await trio.sleep(3 * 24 * 3600)
    assert len(keeper.codec.logins) == 4
    assert keeper.heard == [
        LoginRefused(broker="b", words="account frozen"),
        LoginNeeded(broker="b", why="the broker has blocked the account or the key (account frozen)", by_person=False),
    ]
    keeper.codec.refuses_login = None
    await trio.sleep(24 * 3600)
    assert [type(event) for event in keeper.heard[2:]] == [LoginDone]
    await trio.sleep(24 * 3600)
    assert [type(event) for event in keeper.heard[3:]] == [LoginDone]  # each day's login is a new login


async def test_a_broker_that_refuses_what_its_own_login_gave_tells_of_it(keeper, autojump_clock):
    keeper.codec.refuses_profile = dead()
    await trio.sleep(1800)
    assert keeper.heard == [LoginRefused(broker="b", words="dead")]


async def test_a_morning_without_a_new_login_is_told_while_the_old_login_lives(nursery, autojump_clock):
    kept = make_keeper(nursery, lives_seconds=30 * 3600.0)
    await kept.keeper.wait_live()
    kept.codec.refuses_login = BrokerRefusal(RefusalKind.BLOCKED, "account frozen")
    await trio.sleep(23 * 3600)
    assert [type(event) for event in kept.heard] == [LoginDone, LoginRefused]
    await trio.sleep(8 * 3600)
    assert [type(event) for event in kept.heard[2:]] == [LoginNeeded]


# --- the stored login is encrypted ---------------------------------------------------------------------------------------

KEY, OTHER_KEY = new_key(), new_key()


async def stored_with(key, clock):
    """A store with a living login of the broker, sealed with `key`."""
    store, now = MemoryStore(clock), clock.epoch()
    login = Login(tokens={"t": "of before"}, user_id="U", logged_in_at=now, expires_at=now + 80_000.0)
    await store.write(StoredLogins(store, Seal([key])).written("b", login))
    return store


async def test_a_login_that_its_key_opens_is_used(nursery, autojump_clock):
    store = await stored_with(KEY, Clock.following_trio(START))
    made = make_keeper(nursery, seal=Seal([OTHER_KEY, KEY]), store=store)
    with trio.fail_after(5):
        access = await made.keeper.wait_live()
    assert access.login.tokens == {"t": "of before"}
    assert made.codec.logins == []
    await trio.testing.wait_all_tasks_blocked()
    assert Seal([OTHER_KEY]).open("", await store.get(broker_login("b"))), "it is written anew with the first key"


@pytest.mark.parametrize("keys", [(), (OTHER_KEY,)], ids=["no key", "another key"])
async def test_a_login_that_no_key_opens_is_kept_and_the_new_one_lives_in_memory(nursery, autojump_clock, keys):
    store = await stored_with(KEY, Clock.following_trio(START))
    before, seal = await store.get(broker_login("b")), Seal(keys)
    made = make_keeper(nursery, seal=seal, store=store)
    with trio.fail_after(5):
        access = await made.keeper.wait_live()
    assert access.login.tokens == {"t": "token1"}
    assert list(seal.locked) == [broker_login("b")]
    await trio.sleep(3 * 86_400)  # new logins of the mornings too
    assert len(made.codec.logins) > 3
    assert await store.get(broker_login("b")) == before


async def test_a_person_who_asks_for_a_login_gives_the_locked_one_up(nursery, autojump_clock):
    store = await stored_with(KEY, Clock.following_trio(START))
    seal = Seal([OTHER_KEY])
    made = make_keeper(nursery, seal=seal, store=store)
    with trio.fail_after(5):
        await made.keeper.wait_live()
    login = await made.keeper.exchange("")
    assert seal.locked == {}
    assert await StoredLogins(store, Seal([OTHER_KEY])).read("b") == login


async def test_an_assisted_login_over_a_locked_one_must_be_meant(nursery, autojump_clock):
    """Its account is not known, so a stranger's code could take its place."""
    store = await stored_with(KEY, Clock.following_trio(START))
    before, seal = await store.get(broker_login("b")), Seal([OTHER_KEY])
    made = make_keeper(nursery, seal=seal, store=store, login_kind=LoginKind.ASSISTED)
    await trio.testing.wait_all_tasks_blocked()
    assert made.shown[-1][0] is LoginState.NEEDED
    with pytest.raises(ValueError, match="is encrypted and cannot be opened"):
        await made.keeper.exchange("https://a.example/?code=1")
    assert await store.get(broker_login("b")) == before
    login = await made.keeper.exchange("https://a.example/?code=1", other_account=True)
    assert await StoredLogins(store, Seal([OTHER_KEY])).read("b") == login
    assert seal.locked == {}
