"""`onebroker history archive`: tries the place of `history.tick_archive`, lists the days that have a file there, and fetches the file of a day
(docs/history.md). It asks the place itself, with and without a running service."""

import argparse
import shutil
import sys
from datetime import date
from functools import partial
from pathlib import Path

import attrs
import trio

from onebroker.actors.history.archive_place import ArchivePlace
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.open_place import open_place
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import write, write_json

NOT_SET = "history.tick_archive is not set: it names a folder, or s3://bucket/folder (docs/history.md)"
MEGABYTE = 1_000_000
NOTHING_FOUND = 1


@attrs.frozen
class ArchivedDay:
    """A day that has a file, as `--json` shows it."""

    day: str
    bytes: int
    ticks: int


def run(parsed: argparse.Namespace) -> int:
    settings = read_settings(parsed.config)
    target: Path | None = parsed.to
    if (parsed.fetch is None) != (target is None):
        raise CommandFailed("--fetch and --to are given together", WRONG_USE)
    place = open_place(Path() if target is None else target.expanduser().resolve().parent, settings)
    if place is None:
        raise CommandFailed(NOT_SET, WRONG_USE)
    try:
        if target is None:
            return trio.run(partial(_list, place, str(settings.history.tick_archive), as_json=parsed.json))
        return trio.run(_fetch, place, parsed.fetch, target.expanduser().resolve())
    except HistoryError as error:
        raise CommandFailed(str(error), NOTHING_REACHABLE) from error
    except OSError as error:
        raise CommandFailed(f"{target} cannot be written: {error.strerror}", NOTHING_REACHABLE) from error


async def _list(place: ArchivePlace, shown: str, *, as_json: bool) -> int:
    await place.try_out()
    days = [
        ArchivedDay(day=day.isoformat(), bytes=size, ticks=await place.rows(day) or 0)
        for day, size in (await place.days()).items()
    ]
    if as_json:
        write_json(sys.stdout, {"archive": shown, "days": [attrs.asdict(day) for day in days]})
        return DONE
    lines = [f"{day.day} {day.ticks:>13,} ticks {day.bytes / MEGABYTE:>10,.1f} MB" for day in days]
    write(sys.stdout, [f"{shown} takes files and gives them back", *(lines or ["no day is archived yet"])])
    return DONE


async def _fetch(place: ArchivePlace, day: date, target: Path) -> int:
    rows = await place.rows(day)
    if rows is None:
        raise CommandFailed(f"the archive has no file of {day}", NOTHING_FOUND)
    async with place.kept(day) as kept:
        await trio.to_thread.run_sync(shutil.copyfile, kept, target)
    write(sys.stdout, [f"{target}: {rows:,} ticks of {day}"])
    return DONE
