"""What is Fyers' alone, through the real session: a dead session is renewed with the PIN where the settings hold it, and a mute
order socket is opened anew. The contract suite has the rest."""

import attrs
import trio

from onebroker.actors.sessions.session_view import LoginState
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.config.vocabulary import Outcome

CODE = "fyers"


def without_pin(day):
    """Take the optional PIN out of the settings."""
    whole = day.settings

    def settings():
        made = whole()
        own = made.brokers[CODE]
        kept = {name: value for name, value in own.credentials.items() if name != "pin"}
        return attrs.evolve(made, brokers={CODE: attrs.evolve(own, credentials=type(own.credentials)(kept))})

    day.settings = settings


async def test_a_session_that_dies_by_day_is_renewed_with_the_pin_and_without_a_person(
    day, alone, world, autojump_clock
):
    async with day.market(), day.service():
        await alone.until_live()
        await trio.sleep(60)
        first = alone.view.access.login.tokens
        since = day.clock.monotonic()
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION, count=1)
        await day.until(lambda: alone.view.live and alone.view.access.login.tokens != first, 60)
        await alone.until_live(120)
        assert world.calls.logins(CODE, since) == {"/api/v3/validate-refresh-token": 1}
        assert alone.view.access.login.tokens["refresh_token"] == first["refresh_token"]


async def test_without_the_pin_an_expired_session_needs_a_person_and_lives_again_with_one(
    day, alone, world, autojump_clock
):
    without_pin(day)
    async with day.market(), day.service():
        await alone.until_live()
        await trio.sleep(60)
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION, count=1)
        await day.until(lambda: alone.view.login is LoginState.NEEDED, 60)
        silent = world.calls.count(CODE)
        await trio.sleep(600)
        assert world.calls.count(CODE) == silent
        await day.log_in(CODE)
        await alone.until_live()
        sent = await world.place(CODE)
        assert sent.answer.outcome is Outcome.ACCEPTED


async def test_the_server_sees_its_frames_acknowledged(day, alone, listen, autojump_clock):
    async with day.market(), day.service():
        heard = listen(day, CODE)
        await alone.until_live()
        await alone.watch(day.equity())
        await heard.until([day.equity()])
        sessions = list(day.simulator.gateways[CODE].dialect._sockets._sessions)
        await day.until(lambda: any(getattr(session, "acknowledged", 0) for session in sessions), 120)


async def test_a_quiet_order_socket_is_kept_alive_by_pings_and_a_mute_one_is_opened_anew(day, alone, autojump_clock):
    async with day.market(), day.service():
        await alone.until_live()
        await trio.sleep(1800)
        assert alone.view.order_feed.reconnects == 0
        day.simulator.fault(CODE, FaultKind.STALL_STREAM, seconds=120)
        await day.until(lambda: alone.view.order_feed.reconnects >= 1, 400)
