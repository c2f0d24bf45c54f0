"""The unchanged service, noting ticks and order messages in a file: `python -m bench.watched_service FILE demo --port P ...`.

One JSON array a line. Its second value is the machine's monotonic seconds, so that lines of several processes can be compared:

    ["received", at, epoch, broker, token, last]                     a tick as its session decoded it
    ["quoted", at, epoch, instrument_id, broker, token, last, bid, offer]
                                                                     a folded tick, and the quote as every reader sees it from then on
    ["sent", at, request]                                            an order message, the moment before its bytes go to the socket

The notes cost about three microseconds a tick. Figures with and without parents both include that.
"""

import sys
import time
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

import msgspec

from onebroker.actors.quotes.book import QuoteBook
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions import actor as session_actor
from onebroker.actors.sessions.messages import TickReceived
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse
from onebroker.brokers.transport import rest
from onebroker.http.__main__ import main

BUFFER_BYTES = 1 << 20
_is_order: ContextVar[bool] = ContextVar("is_order", default=False)


class Notes:
    """Writes the lines. They are on disk once the file is closed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._encoder = file, msgspec.json.Encoder()

    def add(self, event: str, *values: object) -> None:
        self._file.write(self._encoder.encode((event, time.monotonic(), *values)) + b"\n")


def watch(notes: Notes) -> None:
    """Note everything from now on."""
    _watch_received(notes)
    _watch_quoted(notes)
    _watch_sent(notes)


def _watch_received(notes: Notes) -> None:
    def noted(*, broker: str, tick: Tick, received_at: float) -> TickReceived:
        notes.add("received", received_at, broker, tick.broker_token, tick.last_price)
        return TickReceived(broker=broker, tick=tick, received_at=received_at)

    session_actor.TickReceived = noted  # type: ignore[assignment, misc]  # only ever called there


def _watch_quoted(notes: Notes) -> None:
    take = QuoteBook.take

    def noted(self: QuoteBook, instrument_id: str, broker: str, tick: Tick, received_at: float) -> Quote | None:
        quote = take(self, instrument_id, broker, tick, received_at)
        whole = None if quote is None else self.live(instrument_id)
        if whole is not None:
            now = whole.tick
            notes.add(
                "quoted",
                received_at,
                instrument_id,
                broker,
                tick.broker_token,
                now.last_price,
                _best(now.buy),
                _best(now.sell),
            )
        return quote

    QuoteBook.take = noted  # type: ignore[method-assign]


def _best(levels: "tuple[DepthLevel, ...] | None") -> float | None:
    return next((level.price for level in levels or () if level.price > 0 and level.quantity > 0), None)


def _watch_sent(notes: Notes) -> None:
    send, converse = rest.RestTransport.send, rest._converse

    async def send_noting_kind(self: rest.RestTransport, request: WireRequest, timeout_seconds: float) -> WireResponse:
        token = _is_order.set(request.kind is CallKind.ORDER)
        try:
            return await send(self, request, timeout_seconds)
        finally:
            _is_order.reset(token)

    async def noted(connection: object, exchange: object, data: bytes, body_to: object) -> WireResponse:
        if _is_order.get():
            notes.add("sent", data.decode("latin-1"))
        return await converse(connection, exchange, data, body_to)  # type: ignore[arg-type]

    rest.RestTransport.send = send_noting_kind  # type: ignore[method-assign]
    rest._converse = noted  # type: ignore[assignment]


if __name__ == "__main__":
    with Path(sys.argv[1]).open("wb", buffering=BUFFER_BYTES) as file:
        watch(Notes(file))
        code = main(sys.argv[2:])
    sys.exit(code)
