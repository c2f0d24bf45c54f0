"""What is Angel One's alone, through the real session: it renews before it logs in anew, and hears every segment on its socket. The
contract suite has the rest."""

import trio

from onebroker.brokers.angelone import login
from onebroker.brokers.simulator.exchange.faults import FaultKind
from onebroker.brokers.simulator.host.inprocess import InProcessTransport

CODE = "angelone"
BOOK = "/order/v1/getOrderBook"


def logins(world):
    return {path.rpartition("/")[2]: times for path, times in world.calls.logins(CODE).items()}


async def test_a_dead_session_is_renewed_with_the_refresh_token_and_only_then_logged_in_anew(
    day, alone, world, autojump_clock
):
    async with day.market(), day.service():
        await alone.until_live()
        await trio.sleep(120)
        before = alone.view.access.login
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION)
        await day.until(lambda: alone.view.live and alone.view.access.login != before, 120)
        assert logins(world) == {"loginByPassword": 1, "generateTokens": 1}
        assert alone.view.access.login.user_id == before.user_id
        await alone.until_live(120)
        # A refresh token that somebody else used up: the renewal is refused, the PIN goes on.
        await trio.sleep(120)
        access = alone.view.access
        async with InProcessTransport(day.simulator) as elsewhere:
            await elsewhere.send(next(login.renew(access, day.clock.now())), 10)
        day.simulator.fault(CODE, FaultKind.EXPIRE_SESSION)
        await day.until(lambda: alone.view.live and alone.view.access.login != access.login, 180)
        assert logins(world) == {"loginByPassword": 2, "generateTokens": 2}


async def test_every_segment_is_heard_after_it_is_watched_and_the_pings_keep_the_sockets(
    day, alone, world, listen, autojump_clock
):
    async with day.market(), day.service():
        heard = listen(day, CODE)
        segments = (
            "nse_equities", "nse_equity_indices", "bse_equities", "nse_equity_index_options", "nse_currency_futures",
            "mcx_commodity_futures", "ncdex_commodity_futures",
        )  # fmt: skip
        wanted = [day.listed(segment)[0] for segment in segments]
        await alone.watch(*wanted)
        await heard.until(wanted)
        for one in wanted:
            low, high = (float(day.exchange.market(one.instrument_id).last_price) * part for part in (0.9, 1.1))
            assert low < heard.last(one).last_price < high
        opened = len(world.calls.sockets)
        await trio.sleep(300)
        assert len(world.calls.sockets) == opened == 2
        # Other orders' trades aside, nothing asks for the order book beyond its cadence.
        since = day.clock.monotonic() - 60
        assert len([call for call in world.calls.calls if call.path.endswith(BOOK) and call.at > since]) <= 31
