"""Assisted logins: stored before use, proved by the profile call, repaired once, awaited without a storm of requests."""

import attrs
import msgspec
import pytest
import trio

from onebroker.actors.sessions.messages import ExchangeRedirect, FetchQuotes, LoginNeeded, LoginStored
from onebroker.actors.sessions.session_view import LoginState
from onebroker.actors.sessions.stored_logins import decode_login, encode_login, refuse_other_account
from onebroker.actors.store import keys
from onebroker.actors.store.interface import Set, StoreError
from onebroker.brokers.broker import Login
from onebroker.brokers.requests import BrokerError, CallKind
from onebroker.brokers.simulator.exchange.faults import FaultKind

CODES = ["zerodha", "upstox"]


async def stored_login(day, code):
    body = await day.store.get(keys.broker_login(code))
    return None if body is None else decode_login(body)


def state(day, code):
    return day.sessions[code].view.value.login


@pytest.mark.parametrize("code", CODES)
async def test_a_redirect_is_exchanged_and_the_login_stored_before_it_is_used(day, world, code, autojump_clock):
    async with day.market(), day.service(log_in=False):
        await trio.sleep(1)
        assert state(day, code) is LoginState.NEEDED
        assert world.calls.count(code) == 0
        login = await day.log_in(code)
        assert await stored_login(day, code) == login
        await day.until(lambda: day.has_read(code))
        view = day.sessions[code].view.value
        assert view.access.login == login
        assert [world.calls.resource(call) for call in world.calls.calls if call.code == code][:2] == [None, "profile"]
        assert msgspec.json.decode(await day.store.get(keys.broker_profile(code)))


async def test_a_stored_login_survives_a_restart_and_is_proved_by_the_profile(day, world, autojump_clock):
    async with day.market():
        async with day.service():
            pass
        async with day.service(log_in=False):
            await day.until(lambda: all(day.has_read(code) for code in CODES))
            for code in CODES:
                calls = [call for call in world.calls.calls if call.code == code]
                assert world.calls.resource(calls[0]) == "profile"
                assert not [call for call in calls if call.kind is CallKind.LOGIN]


async def test_a_stored_login_that_died_is_needed_stops_the_reads_and_wakes_with_a_new_redirect(
    day, world, autojump_clock
):
    async with day.market():
        async with day.service():
            pass
        day.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION)
        async with day.service(log_in=False):
            await day.until(lambda: state(day, "zerodha") is LoginState.NEEDED and day.has_read("upstox"))
            await trio.sleep(3600)
            assert world.calls.count("zerodha") == 1  # the profile, once
            assert not [socket for socket in world.calls.sockets if socket[1] == "zerodha"]
            with pytest.raises(LoginNeeded):
                await world.permit("zerodha")
            with pytest.raises(LoginNeeded):
                await quote(day, "zerodha")
            await day.log_in("zerodha")
            await day.until(lambda: day.has_read("zerodha"), 5)


async def quote(day, code):
    listings = (day.equity().listings[code],)
    return await day.sessions[code].address.ask(lambda reply: FetchQuotes(listings=listings, reply=reply), 30)


@pytest.mark.parametrize("told", [True, False])
async def test_a_login_written_to_the_store_wakes_a_broker_that_needs_one(day, world, told, autojump_clock):
    async with day.market(), day.service():
        access = day.sessions["upstox"].view.value.access
        day.simulator.fault("upstox", FaultKind.EXPIRE_SESSION)
        await day.until(lambda: state(day, "upstox") is LoginState.NEEDED)
        login = await world.store_login("upstox", access)
        if told:
            await day.sessions["upstox"].address.tell(LoginStored())
        await day.until(lambda: state(day, "upstox") is LoginState.LIVE, 1 if told else 16)
        assert day.sessions["upstox"].view.value.access.login == login


@pytest.mark.parametrize("code", CODES)
async def test_a_session_that_dies_is_found_out_by_reads_and_asked_for_without_a_storm(
    day, world, code, autojump_clock
):
    async with day.market(), day.service():
        await trio.sleep(20)
        since = day.clock.monotonic()
        day.simulator.fault(code, FaultKind.EXPIRE_SESSION)
        await day.until(lambda: state(day, code) is LoginState.NEEDED, 10)
        await trio.sleep(1800)
        assert world.calls.count(code, since) <= 12  # reads in flight, one proof
        assert len([1 for at, which, _ in world.calls.sockets if which == code and at >= since]) <= 2
        old = {socket[2] for socket in world.calls.sockets if socket[1] == code}
        await day.log_in(code)
        await day.until(lambda: feed_up(day, code) and day.has_read(code), 120)
        assert {socket[2] for socket in world.calls.sockets if socket[1] == code} - old  # with the new token


def feed_up(day, code):
    view = day.sessions[code].view.value
    return view.market_feed.connected if day.services[code].broker.feed_carries_orders else view.order_feed.connected


@pytest.mark.parametrize("code", CODES)
async def test_a_login_renewed_by_somebody_else_repairs_a_dead_session_once(day, world, code, autojump_clock):
    async with day.market(), day.service():
        access = day.sessions[code].view.value.access
        day.simulator.fault(code, FaultKind.EXPIRE_SESSION)
        login = await world.store_login(code, access)
        since = day.clock.monotonic()
        await day.until(lambda: getattr(day.sessions[code].view.value.access, "login", None) == login, 10)
        await trio.sleep(10)
        assert state(day, code) is LoginState.LIVE
        dead = [call for call in world.calls.calls if call.code == code and call.at >= since and call.status != 200]
        assert len(dead) <= 8
        assert day.sessions[code].view.value.read_errors == {}


@pytest.mark.parametrize("code", CODES)
async def test_an_order_into_a_dead_session_is_rejected_once_and_never_repeated(day, world, code, autojump_clock):
    async with day.market(), day.service():
        request, place = world.place_request(code), await world.permit(code)
        day.simulator.fault(code, FaultKind.EXPIRE_SESSION)
        sent = await world.send(code, request, permit=place)
        assert (sent.answer.outcome.value, sent.answer.session_dead, sent.reached) == ("rejected", True, True)
        await day.until(lambda: state(day, code) is LoginState.NEEDED, 10)
        await day.log_in(code)
        await trio.sleep(60)
        assert len([call for call in world.calls.calls if call.kind is CallKind.ORDER]) == 1
        assert day.messages("place") == []


async def test_an_unreachable_broker_says_nothing_about_the_login_and_a_new_login_is_heard_meanwhile(
    day, world, autojump_clock
):
    async with day.market():
        async with day.service():
            pass
        day.simulator.fault("zerodha", FaultKind.HTTP_500)
        async with day.service(log_in=False):
            await trio.sleep(600)
            assert state(day, "zerodha") is LoginState.STARTING
            assert world.calls.count("zerodha") <= 20
            day.simulator.faults.heal("zerodha")
            await day.until(lambda: state(day, "zerodha") is LoginState.LIVE, 90)
            day.simulator.fault("zerodha", FaultKind.HTTP_500)
        async with day.service(log_in=False):
            await trio.sleep(600)
            day.simulator.faults.heal("zerodha")
            login = await day.log_in("zerodha")
            await day.until(lambda: state(day, "zerodha") is LoginState.LIVE, 2)
            assert day.sessions["zerodha"].view.value.access.login == login


async def test_a_redirect_without_a_code_is_refused_and_changes_nothing(day, autojump_clock):
    async with day.market(), day.service():
        for redirect, kind in [("http://127.0.0.1/?status=success", ValueError),
                               ("http://127.0.0.1/?request_token=wrong&status=success", BrokerError)]:  # fmt: skip
            with pytest.raises(kind):
                await day.sessions["zerodha"].address.ask(
                    lambda reply, redirect=redirect: ExchangeRedirect(redirect=redirect, reply=reply), 10
                )
        assert state(day, "zerodha") is LoginState.LIVE
        assert day.crashes.records() == ()


async def test_a_login_made_while_the_store_is_away_is_used_and_written_when_it_is_back(day, autojump_clock):
    async with day.market(), day.service():
        day.store.fail_with(StoreError("not sent: away"))
        login = await day.log_in("zerodha")
        await day.until(lambda: day.sessions["zerodha"].view.value.access.login == login, 5)
        day.store.come_back()
        await trio.sleep(1)
        assert await stored_login(day, "zerodha") == login


async def test_the_profile_is_read_once_a_minute(day, world, autojump_clock):
    async with day.market(), day.service():
        since = day.clock.monotonic()
        await trio.sleep(600)
        for code in CODES:
            assert len(world.calls.times(code, "profile", since)) == 10


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"tokens":{}}', b'{"tokens":{"a":1},"user_id":"","logged_in_at":1,"expires_at":1}'])  # fmt: skip
def test_a_stored_login_that_cannot_be_read_is_none(body):
    assert decode_login(body) is None


async def test_a_stored_login_is_read_back_as_it_was(day, autojump_clock):
    async with day.market(), day.service():
        login = day.sessions["zerodha"].view.value.access.login
        assert decode_login(encode_login(login)) == login
        with trio.fail_after(1):
            assert (await stored_login(day, "zerodha")) == login


async def test_a_login_of_another_account_is_refused_unless_it_is_meant(day, autojump_clock):
    async with day.market():
        async with day.service():
            pass
        mine = await stored_login(day, "zerodha")
        theirs = attrs.evolve(mine, user_id="ZZ9999", expires_at=0.0)  # of yesterday
        await day.store.write(Set(keys.broker_login("zerodha"), encode_login(theirs)))
        async with day.service(log_in=False):
            await trio.sleep(1)
            with pytest.raises(
                ValueError, match=f"is of account {mine.user_id}, and zerodha was logged in to as ZZ9999"
            ):
                await day.log_in("zerodha")
            assert state(day, "zerodha") is LoginState.NEEDED
            assert await stored_login(day, "zerodha") == theirs
            login = await day.log_in("zerodha", other_account=True)
            assert login.user_id == mine.user_id
            await day.until(lambda: state(day, "zerodha") is LoginState.LIVE, 5)
            assert await day.log_in("zerodha")  # the account is this one now


@pytest.mark.parametrize(("known", "user_id"), [(None, "AB1"), ("", "AB1"), ("AB1", "AB1"), (" ab1", "AB1 ")])
def test_the_same_account_and_one_that_nobody_knows_are_taken(known, user_id):
    one = Login(tokens={}, user_id=user_id, logged_in_at=1.0, expires_at=2.0)
    refuse_other_account("zerodha", None if known is None else attrs.evolve(one, user_id=known), one)
