"""`python -m onebroker.http.commands.demo.past_load`: makes the demo's past as files and loads them through the running
demo, as `history load` and `factors load` do. `past.py` starts it; it ends when its standard input is closed.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import date
from functools import partial
from pathlib import Path

import attrs
import msgspec
import trio

from onebroker.actors.history.history_paths import incoming_folder
from onebroker.actors.history.interface import MICROSECONDS
from onebroker.actors.history.row_rules import Rules
from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable
from onebroker.brokers.simulator.__main__ import calendar_of_hours
from onebroker.brokers.simulator.world.past_files import PastFiles, Recipe, write_past
from onebroker.config.calendars import JoinedCalendar, always_open
from onebroker.config.clock import Clock
from onebroker.http.commands.demo.past import LOADED_FILE, LoadedPast
from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, CommandFailed
from onebroker.http.commands.history import command, factors
from onebroker.http.commands.history.file_load import Load, Progress
from onebroker.http.commands.history.row_instruments import Instruments
from onebroker.http.commands.history.store_access import ServiceTaker
from onebroker.http.commands.history.text_tables import open_table
from onebroker.http.control.control_socket import SOCKET_NAME

FOLDER = "past"
_PIPE_BYTES = 4096


@attrs.frozen(kw_only=True)
class Options:
    data_dir: Path
    recipe: Recipe


def main(arguments: Sequence[str] | None = None) -> int:
    """Load the whole past; return the exit code."""
    done = False
    try:
        done = trio.run(_load_or_end, _options(arguments), strict_exception_groups=True)
    except* (CommandFailed, DurableError, OSError) as group:
        sys.stderr.write(f"the demo's past: {_first(group)}\n")
    return DONE if done else NOTHING_REACHABLE


def _options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="demo_past_load")
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--instruments", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--first-day", type=date.fromisoformat, required=True)
    parser.add_argument("--exchange-documents", type=Path, help="where the simulator keeps real hours")
    parsed = parser.parse_args(arguments)
    real = parsed.exchange_documents is not None
    hours = calendar_of_hours("real" if real else "always", parsed.exchange_documents)
    return Options(
        data_dir=parsed.data_dir,
        recipe=Recipe(
            number=parsed.instruments,
            seed=parsed.seed,
            first_day=parsed.first_day,
            calendar=JoinedCalendar(hours, parsed.first_day, hours if real else always_open()),
        ),
    )


async def _load_or_end(options: Options) -> bool:
    """Tell whether the past was loaded before the demo ended."""
    done = False
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_end_with_the_demo, nursery.cancel_scope)
        await _load(options)
        done = True
        nursery.cancel_scope.cancel()
    return done


async def _end_with_the_demo(scope: trio.CancelScope) -> None:
    async with trio.lowlevel.FdStream(os.dup(sys.stdin.fileno())) as pipe:
        while await pipe.receive_some(_PIPE_BYTES):
            pass
    scope.cancel()


async def _load(options: Options) -> None:
    """Raises CommandFailed, DurableError, OSError."""
    folder = options.data_dir / FOLDER
    files = await trio.to_thread.run_sync(write_past, options.recipe, folder, abandon_on_cancel=True)
    loaded = LoadedPast()
    rules = Rules(calendar=options.recipe.calendar, now=round(Clock().epoch() * MICROSECONDS))
    for load in _loads(files, options.data_dir, rules):
        progress = await load.run()
        if progress.refused:
            raise CommandFailed(f"rows were refused: {load.report}", NOTHING_REACHABLE)
        setattr(loaded, load.kind, getattr(loaded, load.kind) + progress.rows)
    draft = options.data_dir / f"{LOADED_FILE}.new"
    draft.write_bytes(msgspec.json.encode(loaded))
    draft.replace(options.data_dir / LOADED_FILE)
    shutil.rmtree(folder)


def _loads(files: PastFiles, data_dir: Path, rules: Rules) -> list[Load]:
    # Load only through the running demo: a load of our own would hold the data directory when the demo starts again.
    taker = ServiceTaker(data_dir / SOCKET_NAME, incoming_folder(data_dir))
    durable = SqliteDurable(data_dir / DURABLE_FILE)
    made = partial(_load_of, data_dir=data_dir, taker=taker, rules=rules)
    known, entered = (Instruments(data_dir, durable, create=create) for create in (False, True))
    return [
        factors.load_of(files.factors, open_table(files.factors), known, taker, data_dir, create=False, tell=_silent),
        made(files.listed, known, create=False),
        made(files.gone, entered, create=True),
        made(files.minutes, known, create=False),
        made(files.ticks, known, create=False),
    ]


def _load_of(
    path: Path, instruments: Instruments, *, create: bool, data_dir: Path, taker: ServiceTaker, rules: Rules
) -> Load:
    table = open_table(path)
    check = command.FileCheck(command.kind_of(path, table), instruments, rules)
    return command.load_of(path, table, check, taker, data_dir, create=create, tell=_silent)


def _silent(_progress: Progress, _share: float) -> None:
    """Print nothing: the demo reports the end of the load."""


def _first(error: BaseException) -> BaseException:
    """Return the first exception inside groups."""
    return _first(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


if __name__ == "__main__":
    sys.exit(main())
