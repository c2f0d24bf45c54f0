"""What the command line asks of the candle collector over the control socket: one backfill, watched until it ends.

If the client disconnects, its backfill stops. Stored candles are kept; the same order resumes after them.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import attrs
import msgspec
import trio

from onebroker.actors.history.backfill_job import BackfillOrder, BackfillProgress, Summary
from onebroker.actors.history.backfill_runner import BackfillRefused
from onebroker.actors.history.candle_run import BROKEN
from onebroker.actors.history.messages import Backfill, CollectorMessage, StopBackfill
from onebroker.actors.history.selection import TooMany
from onebroker.actors.kernel.mailbox import Address
from onebroker.actors.kernel.published import Published

COMMAND = "backfill"
BACKFILL_SECONDS = 14 * 24 * 3600.0
PROGRESS_SECONDS = 0.25
"""Least time between two lines of progress."""
STOP_SECONDS = 5.0

Send = Callable[[Mapping[str, Any]], Awaitable[None]]


async def answer(
    request: Mapping[str, str],
    collector: Address[CollectorMessage],
    progress: Published[BackfillProgress | None],
    stream: trio.abc.ReceiveStream,
    send: Send,
) -> dict[str, Any]:
    """Answer `{"command": "backfill", "order": JSON of a BackfillOrder}`: `done` is a Summary."""
    try:
        order = msgspec.json.decode(request.get("order", ""), type=BackfillOrder)
    except msgspec.MsgspecError as error:
        return {"error": f"order: {error}"}
    result: dict[str, Any] | None = None
    async with trio.open_nursery() as watching:
        watching.start_soon(_watch, stream, watching.cancel_scope)
        watching.start_soon(_tell, progress, send, watching.cancel_scope)
        try:
            result = await _fill(order, collector)
        finally:
            if result is None:
                await _stop(order, collector)
        watching.cancel_scope.cancel()
    return result or {"error": "nobody waits for the backfill any more"}


async def _fill(order: BackfillOrder, collector: Address[CollectorMessage]) -> dict[str, Any]:
    try:
        summary: Summary = await collector.ask(lambda reply: Backfill(order, reply), BACKFILL_SECONDS)
    except (BackfillRefused, TooMany, *BROKEN) as error:
        return {"error": str(error)}
    return {"done": msgspec.to_builtins(summary)}


async def _stop(order: BackfillOrder, collector: Address[CollectorMessage]) -> None:
    with trio.move_on_after(STOP_SECONDS, shield=True):
        await collector.tell(StopBackfill(order))


async def _watch(stream: trio.abc.ReceiveStream, everything: trio.CancelScope) -> None:
    """Wait until the client disconnects; a client sends nothing more after its command."""
    try:
        while await stream.receive_some(1024):
            pass
    except trio.BrokenResourceError:
        pass
    everything.cancel()


async def _tell(progress: Published[BackfillProgress | None], send: Send, everything: trio.CancelScope) -> None:
    try:
        while True:
            version = progress.version
            if progress.value is not None:
                await send({"progress": attrs.asdict(progress.value)})
            await trio.sleep(PROGRESS_SECONDS)
            await progress.wait_newer(version)
    except (trio.BrokenResourceError, trio.TooSlowError):
        everything.cancel()
