"""One broker's trouble is its own: the other's documents come at their cadence, unchanged and on time."""

import pytest
import trio

from onebroker.actors.sessions.session_view import LoginState
from onebroker.brokers.simulator.exchange.faults import FaultKind
from tests.support.further import each_once

OTHER = {"zerodha": "upstox", "upstox": "zerodha"}


@pytest.mark.parametrize(("kind", "code"), each_once(FaultKind, OTHER))
async def test_a_faulty_broker_never_delays_or_changes_the_others_slices(
    day, world, slices, code, kind, autojump_clock
):
    other = OTHER[code]
    cadence = day.registry[other].cadence
    async with day.market(), day.service():
        told = slices(day)
        await trio.sleep(62)
        day.simulator.fault(code, kind, delay_seconds=9)
        since = day.clock.monotonic()
        for _ in range(60):
            await trio.sleep(1)
            for resource, most in (
                ("orders", cadence.orders),
                ("positions", cadence.positions),
                ("funds", cadence.funds),
            ):
                held = told.last(other, resource)
                assert held.error is None
                assert day.clock.epoch() - held.received_at <= most + 0.1
        view = day.sessions[other].view.value
        assert view.live
        assert view.read_errors == {}
        assert len(told.since(other, "orders", since)) >= 60 / cadence.orders - 1
        assert [call for call in world.calls.calls if call.code == other and call.status != 200] == []
        assert day.crashes.records() == ()
        day.simulator.faults.heal()
        if kind is FaultKind.EXPIRE_SESSION:
            await day.log_in(code)
        await day.until(lambda: day.sessions[code].view.value.login is LoginState.LIVE, 120)
        await trio.sleep(130)
        assert day.sessions[code].view.value.read_errors == {}
        assert all(told.last(code, resource).error is None for resource in ("orders", "trades", "funds", "holdings"))
