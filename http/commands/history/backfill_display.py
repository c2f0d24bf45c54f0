"""How `onebroker history backfill` shows its progress: on a terminal a block that is rewritten in place, elsewhere a line at each tenth."""

from collections.abc import Mapping
from typing import Any, TextIO

import msgspec

from onebroker.actors.history.backfill_job import BackfillProgress
from onebroker.http.commands.screen import Bar, MovingBlock, is_terminal


class BackfillDisplay:
    """Shows each progress report of a backfill."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = MovingBlock(out) if is_terminal(out) else None
        self._said = 0
        """Tenths that were already written."""

    def show(self, progress: Mapping[str, Any]) -> None:
        """Show a `BackfillProgress` as the control socket delivers it."""
        step = msgspec.convert(progress, BackfillProgress)
        if self._live is not None:
            self._live.show([Bar(done=step.done, total=step.instruments, text=_figures(step)), *_brokers(step)])
        elif step.instruments and (tenths := 10 * step.done // step.instruments) > self._said:
            self._said = tenths
            self._out.write(f"{_figures(step)}\n")
            self._out.flush()

    def close(self) -> None:
        """Leave the last block on the screen."""
        if self._live is not None:
            self._live.close()
        self._out.flush()


def _figures(step: BackfillProgress) -> str:
    return (
        f"{step.done} of {step.instruments} instruments, {step.rows:,} candles, "
        f"{step.refused:,} refused, {step.unread} not read"
    )


def _brokers(step: BackfillProgress) -> list[str]:
    width = max(map(len, step.brokers), default=0)
    return [
        f"{code.ljust(width)}  {share.instruments:>6} read  {share.rows:>10,} candles  {share.why or ''}".rstrip()
        for code, share in step.brokers.items()
    ]
