"""How long a trio loop is held up, and by what: its own steps, other threads of the process, or other programs.

A task wants to run every millisecond. Its lateness is its *stall*. Linux reports how long the loop's thread was ready to run while something else had
the core (run delay). *Own* is the stall without that delay, so it excludes the time that a busy machine takes. It includes the loop's computing, and
its waiting while another thread of the process has the interpreter (a file opened in a worker thread, the end of a polars call). The longest *step*
of a task and the longest *pause* of the garbage collector are measured by the processor time of the loop's thread, which excludes other programs.

All these clocks go on while the host of a virtual machine takes a core away (it reports that in hundredths of a second). An own stall or a long step
at such a moment proves nothing and is left out.
"""

import gc
import os
import threading
import time
from array import array
from typing import Any

import trio

TICK_SECONDS = 0.001
STALL_SECONDS = 0.01
TELLING_SECONDS = 0.005
"""After an own stall of this length, stolen time is looked at. Otherwise it is looked at now and then, because a look takes a while."""
TICKS_A_LOOK = 20
UNTIL_SAID_SECONDS = 0.03
"""A core reports its stolen time at its next ticks."""
_STEAL = 8
"""Column of a core's line in /proc/stat; hundredths of a second."""


class LoopWatch(trio.abc.Instrument):
    """Watches the loop of the thread in which it was made. Needs `run` to be started, and itself to be among trio's instruments."""

    def __init__(self) -> None:
        self._schedstat = os.open(f"/proc/self/task/{threading.get_native_id()}/schedstat", os.O_RDONLY)
        self._longest_stall = self._longest_own = 0.0
        self._stalls = self._own_stalls = 0
        self._all_stalls, self._all_owns = array("d"), array("d")
        """Of each wish to run since the last lap; no objects that the garbage collector would look through."""
        self._stat = os.open("/proc/stat", os.O_RDONLY)
        self._step_began = self._pause_began = time.thread_time()
        self._longest_step = (0.0, "")
        self._longest_pause = 0.0
        self._steal_seen = self._steal()

    async def run(self) -> None:
        last, waited = time.perf_counter(), self._run_delay()
        while True:
            for _ in range(TICKS_A_LOOK):
                await trio.sleep(TICK_SECONDS)
                now, delay = time.perf_counter(), self._run_delay()
                late = now - last - TICK_SECONDS
                own = late - (delay - waited)
                last, waited = now, delay
                if own > TELLING_SECONDS:
                    await trio.sleep(UNTIL_SAID_SECONDS)
                    own = 0.0 if self._stolen_since_last_look() else own
                    last, waited = time.perf_counter(), self._run_delay()
                self._note(late, own)
            self._steal_seen = self._steal()

    def _note(self, stall: float, own: float) -> None:
        self._longest_stall, self._longest_own = max(self._longest_stall, stall), max(self._longest_own, own)
        self._all_stalls.append(stall)
        self._all_owns.append(own)
        self._stalls += stall > STALL_SECONDS
        self._own_stalls += own > STALL_SECONDS

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._step_began = time.thread_time()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        took = time.thread_time() - self._step_began
        if took > self._longest_step[0] and not (took > TELLING_SECONDS and self._stolen_since_last_look()):
            self._longest_step = (took, task.name.rpartition(".")[2])

    def collecting(self, phase: str, about: dict[str, int]) -> None:
        """Callback for `gc.callbacks`."""
        if phase == "start":
            self._pause_began = time.thread_time()
        else:
            self._longest_pause = max(self._longest_pause, time.thread_time() - self._pause_began)

    def start(self, nursery: trio.Nursery) -> None:
        trio.lowlevel.add_instrument(self)
        gc.callbacks.append(self.collecting)
        nursery.start_soon(self.run)

    def lap(self) -> dict[str, Any]:
        """Return the figures since the last lap, in milliseconds."""
        p99_stall, p99_own = _p99(sorted(self._all_stalls)), _p99(sorted(self._all_owns))
        figures = {
            "p99_stall_ms": _ms(p99_stall),
            "p99_own_ms": _ms(p99_own),
            "longest_stall_ms": _ms(self._longest_stall),
            "longest_own_ms": _ms(self._longest_own),
            "stalls_over_10_ms": self._stalls,
            "own_over_10_ms": self._own_stalls,
            "longest_step_ms": _ms(self._longest_step[0]),
            "longest_step_of": self._longest_step[1],
            "longest_pause_ms": _ms(self._longest_pause),
        }
        self._longest_stall = self._longest_own = self._longest_pause = 0.0
        self._stalls = self._own_stalls = 0
        self._all_stalls, self._all_owns = array("d"), array("d")
        self._longest_step = (0.0, "")
        return figures

    def _run_delay(self) -> float:
        """Return the seconds for which the loop's thread has been ready to run while something else had the core."""
        return int(os.pread(self._schedstat, 100, 0).split()[1]) / 1e9

    def _stolen_since_last_look(self) -> float:
        """Return the most seconds for which a core was taken away since the last look, at most `TICKS_A_LOOK` ticks ago."""
        return max(now - before for now, before in zip(self._steal(), self._steal_seen, strict=True))

    def _steal(self) -> list[float]:
        """Return the seconds for which each core was taken away since the machine's start."""
        lines = os.pread(self._stat, 1 << 14, 0).splitlines()
        return [int(line.split()[_STEAL]) / 100 for line in lines if line.startswith(b"cpu") and line[3:4].isdigit()]


def _p99(ascending: list[float]) -> float:
    return ascending[len(ascending) * 99 // 100] if ascending else 0.0


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 1)
