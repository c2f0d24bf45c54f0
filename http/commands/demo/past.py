"""The demo's past: on the first start a process of low priority makes and loads it, while the demo already answers.

That process is `past_load.py`. When the whole past is in the store, the process writes `past.json` into the data
directory and never starts again. If it is killed before that, the next start runs it again, and it reaches the same
content.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
import trio

from onebroker.http.commands.demo.simulator_child import Made

LOADED_FILE = "past.json"
NICENESS = 10
"""It gets a tenth of the service's share where both want the same core. At 19 it could wait for ever on a busy machine."""
END_SECONDS = 5.0


class LoadedPast(msgspec.Struct):
    """What was loaded, rows by kind; stored in LOADED_FILE."""

    candles: int = 0
    ticks: int = 0
    factors: int = 0


async def keep_past(data_dir: Path, made: Made, documents: Path | None, say: Callable[[str], None]) -> None:
    """Load the simulator's time before its first day, unless it is loaded. `documents`: the exchange documents if the
    demo keeps their hours, else None."""
    if (data_dir / LOADED_FILE).exists():
        return
    say("The past is being loaded in the background: two years of day candles, and some minutes and ticks.")
    command = [
        sys.executable, "-m", "onebroker.http.commands.demo.past_load",
        "--data-dir", str(data_dir),
        "--instruments", str(made.number),
        "--seed", str(made.seed),
        "--first-day", made.first_day.isoformat(),
        *([] if documents is None else ["--exchange-documents", str(documents)]),
    ]  # fmt: skip
    code = await _run_low(command)
    if code == 0:
        loaded = msgspec.json.decode((data_dir / LOADED_FILE).read_bytes(), type=LoadedPast)
        say(f"The past is loaded: {loaded.candles:,} candles, {loaded.ticks:,} ticks, {loaded.factors} factors.")
    else:
        say("The past was not loaded; the next start loads it.")


async def _run_low(command: list[str]) -> int:
    """Run a command at low priority and return its exit code. The command ends itself when our end of its pipe closes."""
    process = await trio.lowlevel.open_process(command, stdin=subprocess.PIPE, start_new_session=True)
    assert process.stdin is not None
    try:
        with suppress(OSError):  # it has already ended
            os.setpriority(os.PRIO_PROCESS, process.pid, NICENESS)
        return await process.wait()
    finally:
        with trio.CancelScope(shield=True), trio.move_on_after(END_SECONDS):
            await process.stdin.aclose()
            await process.wait()
        if process.returncode is None:
            process.kill()
