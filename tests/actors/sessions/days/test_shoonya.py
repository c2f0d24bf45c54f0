"""What is Shoonya's alone, through the real session: its one socket lives on heartbeats of ours. The contract suite has the rest."""

import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind

CODE = "shoonya"


async def test_a_quiet_socket_is_kept_alive_by_heartbeats(day, alone, world, autojump_clock):
    async with day.market(), day.service():
        await alone.until_live()
        await trio.sleep(1800)
        assert alone.view.market_feed.reconnects == 0
        assert len([url for _, code, url in world.calls.sockets if code == CODE]) == 1
        day.simulator.fault(CODE, FaultKind.STALL_STREAM, seconds=300)
        await day.until(lambda: alone.view.market_feed.reconnects == 1, 400)
