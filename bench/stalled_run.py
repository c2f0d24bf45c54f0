"""Runs a command while random processes of it are stopped for some seconds, again and again. Does a stall change a verdict?

    python -m bench.stalled_run --seed 1 -- .venv/bin/pytest -n 2

A virtual machine whose host takes its cores away stops its processes in the same way. The command and all processes that it starts are candidates,
including orphans. Most stops take one process; some take all at once. At the end all are continued, even if a signal ends this run. The exit code is
the command's. The seed, the number of stops and the stopped seconds are printed. Linux only: it reads /proc.

A process that is already stopped is left alone: a test holds it, and continuing it would change the test. (If a test stops a process while this run
has it stopped, the test's stop is lost, because signals are not counted. Such a test is run again.)
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

STOPPED_SECONDS = (3.0, 5.0)
PAUSE_SECONDS = (0.2, 1.0)
STEP_SECONDS = 0.05
ALL_AT_ONCE = 0.15
"""The share of stops that take all processes, as a halted machine does."""
_NOT_TO_STOP = frozenset("TtZX")
"""States of processes that are stopped, traced or dead."""


def processes() -> dict[int, tuple[int, str]]:
    """Return the parent and the state of each process of the machine, by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry.name)] = (int(fields[1]), fields[0])
    return found


def is_marked(pid: int, word: bytes) -> bool:
    """Tell whether a process's environment contains the mark that this run put into its command's environment."""
    try:
        return word in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def members(root: int, word: bytes) -> list[int]:
    """Return the processes of this run that can be stopped. These are the descendants of the command, and every process with the mark in its
    environment: a server that outlives its service is no longer a descendant."""
    known = processes()
    ours = {pid for pid in known if is_marked(pid, word)} | ({root} & known.keys())
    while more := {pid for pid, (parent, _) in known.items() if parent in ours} - ours:
        ours |= more
    return sorted(pid for pid in ours if known[pid][1] not in _NOT_TO_STOP)


def command_of(pid: int) -> str:
    """Return a short name of a process for the table at the end."""
    try:
        parts = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "gone"
    return " ".join(Path(part).name for part in parts[:4] if part)[:60]


def send(pid: int, number: int) -> bool:
    """Send a signal. Return whether the process existed."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


def stop(pids: list[int], seconds: float, child: "subprocess.Popen[bytes]") -> list[int]:
    """Stop processes for `seconds`, or until the command has ended. Return the processes that existed."""
    stopped: list[int] = []
    try:
        stopped.extend(pid for pid in pids if send(pid, signal.SIGSTOP))
        until = time.monotonic() + seconds
        while time.monotonic() < until and child.poll() is None:
            time.sleep(STEP_SECONDS)
    finally:
        for pid in stopped:
            send(pid, signal.SIGCONT)
    return stopped


def end(number: int, frame: object) -> None:
    """End this run in order, so that stopped processes are continued."""
    raise SystemExit(128 + number)


def main() -> int:
    parser = argparse.ArgumentParser(description="Stop random processes of a command for seconds, again and again.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    # A shell ignores SIGINT in programs that it starts in the background, and every process of the command would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGHUP, end)
    chance, word = random.Random(given.seed), f"STALLED_RUN={os.getpid()}"
    stopped: Counter[str] = Counter()
    stops, seconds = 0, 0.0
    child = subprocess.Popen(given.command, env={**os.environ, "STALLED_RUN": str(os.getpid())})
    try:
        while child.poll() is None:
            time.sleep(chance.uniform(*PAUSE_SECONDS))
            candidates = members(child.pid, word.encode())
            if candidates:
                chosen = candidates if chance.random() < ALL_AT_ONCE else [chance.choice(candidates)]
                length = chance.uniform(*STOPPED_SECONDS)
                names = {pid: command_of(pid) for pid in chosen}
                gone_through = stop(chosen, length, child)
                stopped.update(names[pid] for pid in gone_through)
                stops += bool(gone_through)
                seconds += length if gone_through else 0.0
    finally:
        if child.poll() is None:
            child.terminate()
            child.wait()
    print(f"seed {given.seed}: {stops} stops, {seconds:.0f} s; exit code {child.returncode}")
    for name, count in stopped.most_common(20):
        print(f"{count:5} {name}")
    return child.returncode


if __name__ == "__main__":
    sys.exit(main())
