"""A session counts its reads and its ticks, also over a crash."""

import trio

from onebroker.brokers.simulator.exchange.faults import FaultKind

CODE = "zerodha"


async def test_reads_and_ticks_are_counted(day, autojump_clock):
    async with day.market(), day.service(quotes=True):
        counts = day.sessions[CODE].counts
        share = day.equity(0)
        with day.quotes.follow([share.instrument_id]):
            await day.until(lambda: counts.ticks > 0)
        assert all(counts.good_reads[kind] > 0 for kind in ("orders", "positions", "funds", "holdings", "profile"))
        assert not counts.failed_reads
        good = counts.good_reads["orders"]
        day.simulator.fault(CODE, FaultKind.HTTP_500, seconds=30)
        await day.until(lambda: counts.failed_reads["orders"] > 0)
        await trio.sleep(60)
        assert counts.good_reads["orders"] > good
