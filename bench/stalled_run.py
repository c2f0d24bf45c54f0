"""Run a command while random processes of it are stopped for some seconds, again and again: does a stall change a verdict?

    python -m bench.stalled_run --seed 1 -- .venv/bin/pytest -n 2

A virtual machine whose host takes its cores away stops its processes in the same way. The command and all that it starts are
candidates, each stop takes one of them, and all are let go at the end. The exit code is the command's; the seed, the number of stops
and how many seconds processes were stopped are printed. Linux only: it reads /proc.
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


def parents() -> dict[int, int]:
    """Return the parent of each process of the machine, by process id."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            found[int(entry.name)] = int(fields[1])
    return found


def session_of(pid: int) -> str:
    """Return the word that this run put into the environment of its processes, or nothing."""
    try:
        return next(
            (
                part.decode(errors="replace")
                for part in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                if part.startswith(b"STALLED_RUN=")
            ),
            "",
        )
    except OSError:
        return ""


def members(word: str) -> list[int]:
    """Return the processes of this run, orphans among them, zombies not: a server that outlives its service has no parent of ours."""
    return [pid for pid in parents() if session_of(pid) == word]


def command_of(pid: int) -> str:
    """Return a short name of a process for the table at the end."""
    try:
        parts = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return "gone"
    return " ".join(Path(part).name for part in parts[:4] if part)[:60]


def stop(pid: int, seconds: float, child: "subprocess.Popen[bytes]") -> bool:
    """Stop a process for so long, or until the command has ended; return whether it was there."""
    try:
        os.kill(pid, signal.SIGSTOP)
    except ProcessLookupError:
        return False
    try:
        until = time.monotonic() + seconds
        while time.monotonic() < until and child.poll() is None:
            time.sleep(STEP_SECONDS)
    finally:
        try:
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            return True
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description="Stop random processes of a command for seconds, again and again.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("command", nargs="+")
    given = parser.parse_args()
    chance, word = random.Random(given.seed), f"STALLED_RUN={os.getpid()}"
    stopped: Counter[str] = Counter()
    seconds = 0.0
    child = subprocess.Popen(given.command, env={**os.environ, "STALLED_RUN": str(os.getpid())})
    while child.poll() is None:
        time.sleep(chance.uniform(*PAUSE_SECONDS))
        candidates = members(word)
        if candidates:
            pid, length = chance.choice(candidates), chance.uniform(*STOPPED_SECONDS)
            name = command_of(pid)
            if stop(pid, length, child):
                stopped[name] += 1
                seconds += length
    print(f"seed {given.seed}: {sum(stopped.values())} stops, {seconds:.0f} s; exit code {child.returncode}")
    for name, count in stopped.most_common(20):
        print(f"{count:5} {name}")
    return child.returncode


if __name__ == "__main__":
    sys.exit(main())
