"""A connection for the next order is kept while orders may leave, and costs the broker no request."""

import trio

from onebroker.actors.sessions.warm_connection import AGAIN_SECONDS, WarmConnection
from onebroker.brokers.requests import NotSent


class Transport:
    def __init__(self):
        self.warmed = []
        self.fails = False

    async def warm(self, url, timeout_seconds):
        self.warmed.append((trio.current_time(), url))
        if self.fails:
            raise NotSent("no connection")


async def test_it_is_kept_warm_only_while_orders_may_leave_and_where_they_leave(autojump_clock, nursery):
    transport, wanted, urls = Transport(), [True], ["https://first"]
    nursery.start_soon(WarmConnection(transport, lambda: wanted[-1], lambda: urls[-1]).run)
    await trio.sleep(4.5)
    assert [url for _, url in transport.warmed] == ["https://first"] * 5
    urls.append("https://second")
    await trio.sleep(1)
    assert transport.warmed[-1][1] == "https://second"
    wanted.append(False)
    count = len(transport.warmed)
    await trio.sleep(60)
    assert len(transport.warmed) == count


async def test_a_host_that_is_away_is_tried_again_at_a_slow_pace(autojump_clock, nursery):
    transport = Transport()
    transport.fails = True
    nursery.start_soon(WarmConnection(transport, lambda: True, lambda: "https://away").run)
    await trio.sleep(2 * AGAIN_SECONDS + 1)
    assert [at - transport.warmed[0][0] for at, _ in transport.warmed] == [0, AGAIN_SECONDS, 2 * AGAIN_SECONDS]


async def test_a_transport_without_connections_is_left_alone(autojump_clock):
    with trio.fail_after(1):
        await WarmConnection(object(), lambda: True, lambda: "https://x").run()
