"""What is ICICI Direct's alone, through the real session: orders and reads share 100 calls a minute, and the server pings. The
contract suite has the rest."""

import trio

from onebroker.config.vocabulary import Outcome

CODE = "icicidirect"


async def test_reads_keep_to_the_cadence_and_trades_are_read_on_a_fill_only(day, alone, slices, world, autojump_clock):
    async with day.market(), day.service():
        read = slices(day)
        await alone.until_live()
        await trio.sleep(75)  # the order stream's connecting asks for one more read, and that has one in its wake
        since = day.clock.monotonic()
        await trio.sleep(600)
        # 11 turns of 6 calls, 4 of holdings' 2 calls; the trade book is not read again while nothing happens.
        assert 65 <= world.calls.count(CODE, since) <= 80
        assert not any("trades" in call.path for call in world.calls.calls if call.at >= since)
        assert read.last(CODE, "trades").received_at > day.clock.epoch() - 60  # the order stream's pings vouch for it


async def test_a_fill_that_the_stream_tells_of_has_the_trades_read_at_once(day, alone, world, slices, autojump_clock):
    async with day.market(), day.service():
        read = slices(day)
        await alone.until_live()
        share = day.equity()
        order_id = (await world.place(CODE)).answer.order_id
        await trio.sleep(80)
        day.simulator.set_price(share.instrument_id, world.low(share) - 5)
        await day.until(lambda: any(row.order_id == order_id for row in read.last(CODE, "trades").rows), 15)


async def test_the_servers_pings_keep_the_market_stream(day, alone, listen, autojump_clock):
    async with day.market(), day.service():
        heard = listen(day, CODE)
        await alone.until_live()
        await alone.watch(day.equity())
        await heard.until([day.equity()])
        await trio.sleep(120)
        assert alone.view.market_feed.connected
        assert alone.view.market_feed.reconnects == 0


async def test_a_burst_of_entries_is_not_starved_by_the_reads_in_its_wake(day, alone, slices, world, autojump_clock):
    """Orders and reads share 100 calls a minute: eight entries in a minute, and each finds room within its five seconds."""
    async with day.market(), day.service():
        slices(day)
        await alone.until_live()
        await trio.sleep(120)
        for number in range(16):
            sent = await world.place(CODE, number=number % 8)
            assert sent.answer.outcome is Outcome.ACCEPTED
            await trio.sleep(7)
        assert len(day.messages("place")) == 16
