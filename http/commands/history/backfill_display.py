"""How `onebroker history backfill` shows its progress: on a terminal a block that is rewritten in place, elsewhere a line at each tenth."""

import shutil
from collections.abc import Mapping
from typing import Any, TextIO

import msgspec

from onebroker.actors.history.backfill_job import BackfillProgress

_UP_AND_CLEAR = "\x1b[1A\x1b[2K"
"""Move one line up and empty it."""
_BAR = 30


class BackfillDisplay:
    """Shows each progress report of a backfill."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._live = out.isatty()
        self._drawn = 0
        """Lines of the block on the terminal."""
        self._said = 0
        """Tenths that were already written."""

    def show(self, progress: Mapping[str, Any]) -> None:
        """Show a `BackfillProgress` as the control socket delivers it."""
        step = msgspec.convert(progress, BackfillProgress)
        if self._live:
            self._redraw([_bar(step), *_brokers(step)])
        elif step.instruments and (tenths := 10 * step.done // step.instruments) > self._said:
            self._said = tenths
            self._out.write(f"{_figures(step)}\n")
            self._out.flush()

    def close(self) -> None:
        """Leave the last block on the screen."""
        self._drawn = 0
        self._out.flush()

    def _redraw(self, lines: list[str]) -> None:
        width = shutil.get_terminal_size().columns - 1  # a line that wraps would need two steps up
        self._out.write(_UP_AND_CLEAR * self._drawn + "".join(f"{line[:width]}\n" for line in lines))
        self._drawn = len(lines)
        self._out.flush()


def _bar(step: BackfillProgress) -> str:
    share = step.done / step.instruments if step.instruments else 0.0
    return f"[{'#' * int(share * _BAR):<{_BAR}}] {share:4.0%} {_figures(step)}"


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
