"""`python -m onebroker.brokers.simulator`: the simulator alone, and the demo's child process.

Prints one JSON line per broker, one line with `control_url`, then `ready`. Exit codes: 0 after a normal end, 2 for wrong use, 3 when the data folder
is in use.
"""

import argparse
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import trio

from onebroker.brokers.simulator.host.lookup import DIALECTS, chosen_dialects
from onebroker.brokers.simulator.host.run import FolderInUse, SimulatorOptions, run_simulator
from onebroker.brokers.simulator.host.simulation import DEFAULT_INSTRUMENTS, DEFAULT_SEED
from onebroker.brokers.simulator.world.universe import SMALLEST
from onebroker.config.calendars import Calendar, always_open, calendar_from_documents
from onebroker.config.clock import Clock
from onebroker.config.converters import StructureError
from onebroker.config.exchange_documents import exchange_documents


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the arguments, run, return the exit code."""
    os.umask(0o077)
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        simulator = read_options(options)
    except ValueError as error:
        parser.error(str(error))
    return run_to_end(simulator)


def run_to_end(simulator: SimulatorOptions) -> int:
    """Run until a signal, or until standard input closes if the options ask for it. Return the exit code."""
    code = 0
    try:
        trio.run(_run, simulator, strict_exception_groups=True)
    except* FolderInUse as group:
        sys.stderr.write(f"{_first(group)}\n")
        code = 3
    return code


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the simulator's options to a parser (`onebroker simulator` uses them too)."""
    parser.add_argument("--brokers", help=f"comma-separated codes of {', '.join(DIALECTS)}; all when not given")
    parser.add_argument("--instruments", type=int, default=DEFAULT_INSTRUMENTS, metavar="N")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, metavar="S")
    parser.add_argument(
        "--port-base", type=int, metavar="P", help="first of consecutive ports; free ones when not given"
    )
    parser.add_argument("--data-dir", type=Path, help="where it keeps its state; a temporary folder when not given")
    parser.add_argument("--market-hours", choices=("real", "always"), default="always")
    parser.add_argument(
        "--exchange-documents",
        type=Path,
        metavar="FILE",
        help="hours and holidays of --market-hours real, a JSON array as `import exchanges` takes it",
    )
    parser.add_argument("--now", metavar="T", help="start at this moment, such as 2026-11-23T09:10:00+05:30")
    parser.add_argument("--day-limits", action="store_true", help="enforce the brokers' day limits too")
    parser.add_argument("--until-stdin-closes", action="store_true", help="end when standard input is closed")


def read_options(parsed: argparse.Namespace) -> SimulatorOptions:
    """Return the options. Raise ValueError with the reason if they are wrong."""
    if parsed.instruments < SMALLEST:
        raise ValueError(f"--instruments must be at least {SMALLEST}")
    calendar = calendar_of_hours(parsed.market_hours, parsed.exchange_documents)
    return SimulatorOptions(
        dialects=chosen_dialects(parsed.brokers.split(",") if parsed.brokers else None),
        calendar=always_open() if parsed.market_hours == "always" else calendar,
        past_calendar=calendar,
        clock=_clock(parsed.now),
        instruments=parsed.instruments,
        seed=parsed.seed,
        port_base=parsed.port_base,
        data_dir=parsed.data_dir,
        day_limits=parsed.day_limits,
        parent_pipe=sys.stdin.fileno() if parsed.until_stdin_closes else None,
    )


def calendar_of_hours(market_hours: str, documents: Path | None) -> Calendar:
    """Return the calendar of real hours. With `--market-hours real` and a file, it comes from the file's documents, else from the documents that come
    with onebroker. A market that never closes uses the latter for the days before its first day. Raises ValueError."""
    if documents is None or market_hours == "always":
        return calendar_from_documents(exchange_documents())
    try:
        return calendar_from_documents(msgspec.json.decode(documents.read_bytes(), type=list[dict[str, Any]]))
    except (OSError, msgspec.MsgspecError, StructureError) as error:
        raise ValueError(f"--exchange-documents: {error}") from None


def _first(error: BaseException) -> BaseException:
    """The exception inside nested groups that hold one exception each."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="onebroker simulator", description="Ten simulated brokers on this machine.")
    add_arguments(parser)
    return parser


def _clock(text: str | None) -> Clock:
    if text is None:
        return Clock()
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("--now needs an offset, such as +05:30")
    return Clock.starting_at(moment)


async def _run(options: SimulatorOptions) -> None:
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_end_on_signal, nursery.cancel_scope)
        await nursery.start(_run_and_end, options, nursery.cancel_scope)
        _say("ready")


async def _run_and_end(
    options: SimulatorOptions, scope: trio.CancelScope, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    await run_simulator(options, announce=_announce, task_status=task_status)
    scope.cancel()


async def _end_on_signal(scope: trio.CancelScope) -> None:
    with trio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()


def _announce(document: Mapping[str, object]) -> None:
    _say(msgspec.json.encode(document).decode())


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
