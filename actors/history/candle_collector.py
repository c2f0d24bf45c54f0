"""The candle collector: reads candles from brokers, on a person's order (`history backfill`) and by itself each day after the close.

It never writes to the history store itself; the history actor does. A crash ends the current run; the next run begins with the
jobs that are not done.
"""

from typing import assert_never

import trio

from onebroker.actors.history.backfill_job import BackfillOrder
from onebroker.actors.history.backfill_runner import Backfiller, BackfillRefused
from onebroker.actors.history.candle_run import BROKEN, remove_left_behind
from onebroker.actors.history.daily_loader import DailyLoader
from onebroker.actors.history.messages import Backfill, CollectorMessage, StopBackfill
from onebroker.actors.history.selection import TooMany
from onebroker.actors.kernel.mailbox import Mailbox


class CandleCollector:
    """Takes `CollectorMessage`s."""

    def __init__(self, *, mailbox: Mailbox[CollectorMessage], backfiller: Backfiller, loader: DailyLoader) -> None:
        self._mailbox = mailbox
        self._backfiller = backfiller
        self._loader = loader
        self._running: tuple[BackfillOrder, trio.CancelScope] | None = None

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        remove_left_behind(self._backfiller.context.staging)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._loader.run)
            task_status.started()
            async for message in self._mailbox:
                match message:
                    case Backfill():
                        self._start(message, nursery)
                    case StopBackfill():
                        # Compare by identity, not equality: a late stop must not end a backfill that another client has started since.
                        if self._running is not None and self._running[0] is message.order:
                            self._running[1].cancel()
                    case _:
                        assert_never(message)

    def _start(self, message: Backfill, nursery: trio.Nursery) -> None:
        """Start a backfill; only one runs at a time, so that the published progress is its own."""
        if self._running is not None:
            message.reply.refuse(BackfillRefused("a backfill is running already; wait for its end"))
            return
        scope = trio.CancelScope()
        self._running = (message.order, scope)
        nursery.start_soon(self._fill, message, scope)

    async def _fill(self, message: Backfill, scope: trio.CancelScope) -> None:
        try:
            with scope:
                message.reply.answer(await self._backfiller.run(message.order))
        except (BackfillRefused, TooMany, *BROKEN) as error:
            message.reply.refuse(error)
        finally:
            self._running = None
