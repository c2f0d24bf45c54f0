"""Over the night: logins end at their hour, a person is needed, and after the new login yesterday's orders are gone."""

from datetime import datetime, timedelta

import trio

from onebroker.actors.sessions.session_view import LoginState
from onebroker.config.calendars import calendar_from_documents
from onebroker.config.clock import IST
from onebroker.config.exchange_documents import exchange_documents

REAL = calendar_from_documents(exchange_documents())
EXPIRY = {"zerodha": (6, 0), "upstox": (3, 30)}


def state(day, code):
    return day.sessions[code].view.value.login


def commodity(day):
    """Return a contract that both brokers list and that trades in the evening."""
    return day.listed("mcx_commodity_futures")[0]


async def until_time(day, hour, minute=0):
    """Let the clock go on to that time of the next day."""
    now = day.clock.now()
    target = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    target += timedelta(days=int(target <= now))
    await trio.sleep((target - now).total_seconds())


async def test_over_the_night_logins_end_at_their_hour_and_yesterdays_orders_go_with_the_new_day(
    day, world, slices, autojump_clock
):
    day.__init__(start=datetime(2026, 11, 23, 23, 20, tzinfo=IST), calendar=REAL)
    async with day.service():
        told = slices(day)
        async with day.market():
            placed = {code: (await world.place(code, contract=commodity(day))).answer.order_id for code in day.codes}
            await trio.sleep(10)
        for code, order_id in placed.items():
            assert order_id in day.sessions[code].view.value.orders
        await until_time(day, 3, 29)
        assert [state(day, code) for code in day.codes] == [LoginState.LIVE] * 2
        await until_time(day, 3, 31)
        assert (state(day, "zerodha"), state(day, "upstox")) == (LoginState.LIVE, LoginState.NEEDED)
        await until_time(day, 6, 1)
        assert [state(day, code) for code in day.codes] == [LoginState.NEEDED] * 2
        since = day.clock.monotonic()
        await until_time(day, 8, 0)
        assert world.calls.count("zerodha", since) == world.calls.count("upstox", since) == 0
        async with day.market():
            await trio.sleep(5)
            for code in day.codes:
                await day.log_in(code)
            await trio.sleep(40)
        for code, order_id in placed.items():
            assert state(day, code) is LoginState.LIVE
            assert order_id not in day.sessions[code].view.value.orders
            assert order_id not in {row.order_id for row in told.last(code, "orders").rows}
            assert order_id not in await day.store.hash_all(f"broker:rows:{code}:orders")
        assert day.crashes.records() == ()
