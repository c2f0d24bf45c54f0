"""Keeps a connection to the broker's order host ready, so that no order waits for TCP and TLS: two or three round trips over the internet.

An order message never uses a connection that was idle for more than five seconds (`brokers/transport/rest.py`). Most brokers are read more
often than that at the host of their orders, so there is a connection anyway. For the others one is opened ahead of need, without a request:
that takes nothing from the broker's rate budget. Only while the login lives and a market of the broker is open.
"""

from collections.abc import Callable

import trio

from onebroker.brokers.requests import BrokerError
from onebroker.brokers.transport.interface import Transport, WarmTransport

LOOK_SECONDS = 1.0
TIMEOUT_SECONDS = 3.0
AGAIN_SECONDS = 10.0
"""The pause after a connection that could not be opened. The transport's log names the host."""


class WarmConnection:
    """The connection for the next order message of one broker. Child-task code of the session actor."""

    def __init__(self, transport: Transport, wanted: Callable[[], bool], order_url: Callable[[], str]) -> None:
        """`wanted`: whether orders may leave now. `order_url`: where they go."""
        self._transport = transport
        self._wanted = wanted
        self._order_url = order_url

    async def run(self) -> None:
        """Keep a connection ready; end at once where the transport cannot (in one process there are no connections)."""
        if not isinstance(self._transport, WarmTransport):
            return
        while True:
            pause = LOOK_SECONDS
            if self._wanted():
                try:
                    await self._transport.warm(self._order_url(), TIMEOUT_SECONDS)
                except BrokerError:
                    pause = AGAIN_SECONDS
            await trio.sleep(pause)
