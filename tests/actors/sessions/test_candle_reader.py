"""Candles over a session: cut into the broker's spans, behind everything else in its budget, over a login that dies in the middle,
a limit, a lost connection; judged on what the broker saw."""

from datetime import date, timedelta
from itertools import pairwise

import pytest
import trio

from onebroker.actors.sessions.messages import LoginNeeded, NotOffered, ReadCandles
from onebroker.actors.sessions.session_view import LoginState
from onebroker.brokers.codec.candle_rows import spans
from onebroker.brokers.requests import (
    BrokerRefusal,
    CallKind,
    OutcomeUnknown,
    RefusalKind,
    WireResponse,
)
from onebroker.brokers.simulator.exchange.faults import FaultKind

FIRST, LAST = date(2026, 10, 1), date(2026, 11, 20)


class Between:
    """Stands between the service and its transport: `before(number)` is called before each call for candles, and may raise or
    answer in the broker's stead."""

    def __init__(self, day, before):
        self._before, self._open = before, day.open_transport
        self.seen = []
        self.others = []
        self._day = day
        day.open_transport = self.open_transport

    def open_transport(self):
        self._inner = self._open()
        return self

    async def send(self, request, timeout_seconds):
        now = self._day.clock.monotonic()
        if request.kind is not CallKind.HISTORY:
            self.others.append((now, request.kind))
            return await self._inner.send(request, timeout_seconds)
        self.seen.append((now, request.url, request.body))
        answer = self._before(len(self.seen))
        return answer or await self._inner.send(request, timeout_seconds)

    async def connect(self, address, timeout_seconds):
        return await self._inner.connect(address, timeout_seconds)

    async def __aenter__(self):
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *details):
        await self._inner.__aexit__(*details)


async def read(day, code, *, interval="day", first=FIRST, last=LAST, share=None):
    listing = (share or day.equity()).listings[code]
    return await day.sessions[code].address.ask(
        lambda reply: ReadCandles(listing=listing, interval=interval, first=first, last=last, reply=reply), 3000
    )


@pytest.fixture
def between(day):
    return lambda before=lambda number: None: Between(day, before)


async def test_a_long_range_is_read_in_the_broker_s_spans_and_each_moment_comes_once(day, between, autojump_clock):
    day.__init__(brokers=("kotakneo",))
    calls, first = between(), LAST - timedelta(days=400)
    async with day.market(), day.service():
        candles = await read(day, "kotakneo", first=first)
        assert len(calls.seen) == len(spans(first, LAST, 180)) == 3
        starts = [candle.start for candle in candles]
        assert starts == sorted(set(starts))
        with pytest.raises(NotOffered, match="kotakneo has no candles of 25minute"):
            await read(day, "kotakneo", interval="25minute")
        assert len(calls.seen) == 3


async def test_a_login_that_dies_in_the_middle_is_repaired_once_and_the_read_goes_on_where_it_was(
    day, between, autojump_clock
):
    day.__init__(brokers=("groww",))

    def before(number):
        if number == 2:
            day.simulator.fault("groww", FaultKind.EXPIRE_SESSION)

    calls = between(before)
    first = LAST - timedelta(days=300)
    async with day.market(), day.service():
        logins = sum(kind is CallKind.LOGIN for _, kind in calls.others)
        candles = await read(day, "groww", first=first)
        assert len(candles) > 0
        asked = [(url, body) for _, url, body in calls.seen]
        assert len(asked) == len(spans(first, LAST, 180)) + 1 == 3
        assert asked[1] == asked[2]  # the call that found it dead, and no other, is made again
        assert len(set(asked)) == len(asked) - 1
        assert sum(kind is CallKind.LOGIN for _, kind in calls.others) > logins
        calls.seen.clear()
        clean = await read(day, "groww", first=first)
        assert [one.start for one in clean] == [one.start for one in candles]


async def test_a_login_that_needs_a_person_ends_the_read(day, between, autojump_clock):
    calls = between(lambda number: day.simulator.fault("zerodha", FaultKind.EXPIRE_SESSION) if number == 1 else None)
    async with day.market(), day.service():
        with pytest.raises(LoginNeeded):
            await read(day, "zerodha", first=FIRST)
        assert len(calls.seen) == 1
        await day.until(lambda: day.sessions["zerodha"].view.value.login is LoginState.NEEDED)
        with pytest.raises(LoginNeeded):
            await read(day, "zerodha")
        assert len(calls.seen) == 1


async def test_a_lost_connection_is_tried_once_more_and_too_many_calls_close_the_budget(day, between, autojump_clock):
    def before(number):
        if number in (1, 3, 4):
            raise OutcomeUnknown("cut off")
        if number == 5:
            return WireResponse(
                status=429, body=b'{"status":"error","error_type":"NetworkException","message":"Too many requests"}'
            )
        return None

    calls = between(before)
    async with day.market(), day.service():
        assert await read(day, "zerodha")
        assert len(calls.seen) == 2
        with pytest.raises(OutcomeUnknown):
            await read(day, "zerodha")
        assert len(calls.seen) == 4
        with pytest.raises(BrokerRefusal) as caught:
            await read(day, "zerodha")
        assert caught.value.kind is RefusalKind.RATE_LIMITED
        limited_at = day.clock.monotonic()
        assert await read(day, "zerodha")
        assert calls.seen[-1][0] >= limited_at + 1.0


async def test_candles_never_hold_up_the_books_or_an_order(day, world, between, autojump_clock):
    calls = between()
    async with day.market(), day.service():
        shares = day.listed("nse_equities")
        began = day.clock.monotonic()
        async with trio.open_nursery() as nursery:
            for share in shares * 2:
                nursery.start_soon(read_quietly, day, share)
            await trio.sleep(5)
            asked = day.clock.monotonic()
            await world.permit("upstox")
            assert day.clock.monotonic() - asked < 0.05
            slowest = max(gaps([at for at, kind in calls.others if kind is CallKind.READ and at > began], asked))
            assert slowest < 5.0
            nursery.cancel_scope.cancel()
        per_second = [sum(at <= other < at + 1.0 for other, _, _ in calls.seen) for at, _, _ in calls.seen]
        assert len(calls.seen) > 10
        assert max(per_second) <= 3  # of ten a second two are kept for exits, five for everybody else


async def read_quietly(day, share):
    await read(day, "upstox", interval="day", first=LAST - timedelta(days=5), share=share)


def gaps(times, until):
    moments = [*times, until]
    return [later - earlier for earlier, later in pairwise(moments)]
