"""`onebroker backup FILE`: everything that a data directory must not lose, in one file. It works while the service runs and while it does not.

The parts are copied one after the other while the service goes on, so each is of another moment. What one part promises about another decides the
order. After a restore no order may be forgotten, and none may be sent twice.

1. **The embedded Redis server**: parents, legs, intents, logins. The engine writes a leg as `sending` before its order leaves, and the server has each
   write on disk before the engine goes on. So the copy holds every order that had left by its moment, and perhaps one that never left; such a leg is
   looked for in the books and never sent again.
2. **The durable store, after Redis.** It follows Redis: it counts the engine's writes a moment after Redis has them. Copied second, it knows of at least
   as many writes as the copy of Redis holds, and never takes that copy for newer than itself. A halt that is stored between the two copies
   is in it. The other way round a halt would be missing whose effects on the parents are in Redis.
3. **The catalogue, after the durable store**, whose rows name its files. Files are never changed; a replaced one is removed. So the copied rows are
   read, their files are opened, and if one has just been removed the rows are copied again.
4. **The history, after the durable store**, which says up to which day candles are loaded. Rows that come in between are in the history, and are only
   loaded again. The other way round a day could count as loaded that is not there, for ever. The service writes nothing to the file meanwhile.
5. **The audit, last**: it tells of everything that is in the other parts. The service writes its lines up to half a second late. So the command waits
   until the line is written by which the service tells that it was asked to keep the history still.

The order of the copies is not enough, because the service goes on after the last of them: any backup is an old copy when it is restored. Orders that left
after it are in no part. So `restore` marks the copy as a store that has lost its last writes (order-engine 2.5, K19): the engine then reads the books
of all brokers for a minute before an open order acts, takes up the orders in them that carry tokens of its parents, and makes no token again that a run after
the backup may have handed out.

What is not in it: the settings file, the lock and the owner id of the directory (two directories must not pass for one), files of loads that are under
way, reports, and the demo's simulated exchange, which is no part of the service. Of a server at `redis.url` nothing is in it either; that server has a backup
of its own. A durable store in a database (`store.database`) is in it, as the file `durable.sqlite` that it would be.
"""

import argparse
import io
import os
import sys
import uuid
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, ExitStack, asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import BinaryIO

import attrs
import trio

from onebroker.actors.audit.copying import end_of, is_told, open_days
from onebroker.actors.audit.day_files import FOLDER as AUDIT_FOLDER
from onebroker.actors.audit.reading import Place
from onebroker.actors.catalogue.actor import FOLDER as CATALOGUE_FOLDER
from onebroker.actors.catalogue.archive import stored_report
from onebroker.actors.history.history_paths import history_file, history_log
from onebroker.actors.history.open_history import candles_file
from onebroker.actors.store.append_only_files import (
    MANIFEST,
    REDIS_FOLDER,
    FilesChanging,
    open_append_only_files,
)
from onebroker.actors.store.data_directory import DataDirectoryBusy
from onebroker.actors.store.durable_copy import copy_moment
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable, copy_durable, stored_version
from onebroker.actors.store.embedded import PARTS_FOLDER
from onebroker.actors.store.open_durable import ELSEWHERE_FILE, database_durable, in_database
from onebroker.config.settings import StoreSettings
from onebroker.http.commands.backup.archive import BackupWriter, Manifest, megabytes
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, INTERRUPTED, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import write
from onebroker.http.commands.stored_formats import FORMATS, open_data_directory, refuse_newer, stored_formats
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, history_held

_LOOKS = 3
"""How often the durable store is copied while the catalogue replaces files that it names."""
_AUDIT_SECONDS = 20.0
_AUDIT_STEP_SECONDS = 0.05
_HELD_OPEN = 32
"""Newest files of the catalogue that are opened before anything is copied. Only the newest day's files are ever replaced."""


@attrs.frozen(kw_only=True)
class _Source:
    """What is copied."""

    data_dir: Path
    redis_elsewhere: bool = False
    """Whether the settings name a Redis server with `redis.url`."""
    store: StoreSettings = attrs.field(factory=StoreSettings)
    """The settings of the durable store."""
    in_database: bool
    """Whether the durable store is in the database of `store`."""


def run(parsed: argparse.Namespace) -> int:
    file = Path(os.path.abspath(parsed.file.expanduser()))
    source = _source(parsed)
    if os.path.lexists(file):
        raise CommandFailed(f"{file} is there already and was not changed", WRONG_USE)
    if not (source.data_dir / (ELSEWHERE_FILE if source.in_database else DURABLE_FILE)).exists():
        raise CommandFailed(f"{source.data_dir} holds nothing of onebroker", WRONG_USE)
    try:
        manifest, lacking = trio.run(_back_up, source, file, strict_exception_groups=True)
    except KeyboardInterrupt:
        raise CommandFailed("no backup was made: it was interrupted", INTERRUPTED) from None
    except (ControlFailed, NoService, FilesChanging, OSError) as error:
        raise CommandFailed(f"no backup was made: {error}", NOTHING_REACHABLE) from None
    write(sys.stdout, list(_said(file, manifest, lacking)))
    return DONE


def _source(parsed: argparse.Namespace) -> _Source:
    """Return what to copy. The settings are read when they are given, or needed for the data directory. Raises SettingsError."""
    given: Path | None = parsed.data_dir
    if given is not None and parsed.config is None:
        return _Source(data_dir=given.expanduser(), in_database=in_database(given.expanduser(), StoreSettings()))
    settings = read_settings(parsed.config)
    data_dir = settings.service.data_dir if given is None else given.expanduser()
    return _Source(
        data_dir=data_dir,
        redis_elsewhere=settings.redis.url is not None,
        store=settings.store,
        in_database=in_database(data_dir, settings.store),
    )


def _said(file: Path, manifest: Manifest, lacking: Sequence[str]) -> Iterable[str]:
    yield f"{file} is written: {len(manifest.members)} files, {megabytes(manifest)}; it holds logins and the access token"
    yield from lacking
    if not manifest.has_redis:
        yield "it holds no open orders and no logins: no Redis server has kept them in this data directory"


async def _back_up(source: _Source, file: Path) -> tuple[Manifest, Sequence[str]]:
    """Write the file. Return its manifest, and sentences about what it lacks."""
    data_dir = source.data_dir
    off_loop = trio.to_thread.run_sync
    async with _quiet(data_dir) as hold, AsyncExitStack() as stack:
        archive = await off_loop(BackupWriter(file).__enter__)
        stack.push(archive.__exit__)
        files = stack.enter_context(ExitStack())

        redis = None if source.redis_elsewhere else await off_loop(open_append_only_files, data_dir, files)
        durable, catalogue = await _durable_and_catalogue(archive.folder, source, files)
        if redis is not None:
            for part in redis.parts:
                await off_loop(archive.add, part.name, part.file, part.size)
            if redis.manifest:
                listed = io.BytesIO(redis.manifest)
                await off_loop(archive.add, f"{REDIS_FOLDER}/{PARTS_FOLDER}/{MANIFEST}", listed, len(redis.manifest))
        await off_loop(_add_file, archive, DURABLE_FILE, durable)
        missing = await off_loop(_add_catalogue, archive, data_dir / CATALOGUE_FOLDER, catalogue)
        lacking = [f"the catalogue names {name}, which is not there: the backup is without it" for name in missing]
        before = await off_loop(end_of, data_dir / AUDIT_FOLDER)
        async with hold.history:
            for path in (history_file(data_dir), history_log(data_dir)):
                await off_loop(_add_still, archive, path.relative_to(data_dir).as_posix(), path)
        if candles_file(data_dir).exists():
            lacking.append(
                "the candles are in the database and not in this file: back the database up with its own tools"
            )
        if hold.service_runs and not await _is_told(data_dir / AUDIT_FOLDER, before, hold.name):
            lacking.append("the audit in it lacks the last events: the service does not write its audit now")
        await off_loop(_add_audit, archive, data_dir / AUDIT_FOLDER)
        version = await off_loop(stored_version, durable)
        manifest = await off_loop(
            partial(
                archive.finish,
                service_ran=hold.service_runs,
                has_redis=redis is not None,
                formats={**FORMATS, "durable": version or 0},
            )
        )
    return manifest, lacking


@attrs.frozen(kw_only=True)
class _Quiet:
    """How the history is kept still."""

    service_runs: bool
    name: str
    """The word by which the audit tells of it."""
    history: AbstractAsyncContextManager[None]


@asynccontextmanager
async def _quiet(data_dir: Path) -> AsyncIterator[_Quiet]:
    """Hold the data directory, or reach the service that holds it. Raises CommandFailed, DataDirectoryBusy."""
    try:
        directory = await trio.to_thread.run_sync(open_data_directory, data_dir)
    except DataDirectoryBusy as busy:
        refuse_newer(await trio.to_thread.run_sync(stored_formats, data_dir), str(data_dir))
        name = f"backup {uuid.uuid4().hex}"
        try:
            yield _Quiet(service_runs=True, name=name, history=history_held(data_dir / SOCKET_NAME, name))
        except NoService:  # another command holds the directory
            raise busy from None
        return
    with directory:
        yield _Quiet(service_runs=False, name="", history=nullcontext())


async def _is_told(folder: Path, since: Place, word: str) -> bool:
    """Wait until the audit has a word; tell whether it has it in time."""
    with trio.move_on_after(_AUDIT_SECONDS):
        while True:
            if await trio.to_thread.run_sync(is_told, folder, since, word):
                return True
            await trio.sleep(_AUDIT_STEP_SECONDS)
    return False


@attrs.frozen(kw_only=True)
class _Catalogue:
    """The files that the rows of the copied durable store name."""

    opened: dict[str, BinaryIO]
    older: Sequence[str]
    """Names of files that nothing removes."""
    missing: Sequence[str]


async def _copy_durable(source: _Source, copy: Path) -> None:
    if not source.in_database:
        await trio.to_thread.run_sync(copy_durable, source.data_dir / DURABLE_FILE, copy)
        return
    durable = database_durable(source.store)
    try:
        await copy_moment(durable.engine, copy)
    finally:
        durable.server.close()


async def _durable_and_catalogue(folder: Path, source: _Source, files: ExitStack) -> tuple[Path, _Catalogue]:
    """Copy the durable store into `folder`, and open the files of the catalogue that the copy names; `files` closes them."""
    look = 0
    while True:
        look += 1
        copy = folder / f"{look}.{DURABLE_FILE}"
        await _copy_durable(source, copy)
        rows = await SqliteDurable(copy).catalogue_files()
        unlisted = [stored_report(row).unlisted_file for row in rows[:1]]
        names = list(dict.fromkeys(name for name in (*unlisted, *(row.file for row in rows)) if name))
        with ExitStack() as opened:
            found = await trio.to_thread.run_sync(
                _open_all, source.data_dir / CATALOGUE_FOLDER, names[:_HELD_OPEN], opened
            )
            missing = [name for name in names[:_HELD_OPEN] if name not in found]
            if not missing or look == _LOOKS:
                files.push(opened.pop_all())
                return copy, _Catalogue(opened=found, older=names[_HELD_OPEN:], missing=missing)


def _open_all(folder: Path, names: Sequence[str], stack: ExitStack) -> dict[str, BinaryIO]:
    opened: dict[str, BinaryIO] = {}
    for name in names:
        try:
            opened[name] = stack.enter_context((folder / name).open("rb"))
        except FileNotFoundError:
            continue
    return opened


def _add_catalogue(archive: BackupWriter, folder: Path, catalogue: _Catalogue) -> Sequence[str]:
    """Add the files; return the names of those that are not there."""
    missing = list(catalogue.missing)
    for name, file in catalogue.opened.items():
        archive.add(f"{CATALOGUE_FOLDER}/{name}", file, os.fstat(file.fileno()).st_size)
    for name in catalogue.older:
        try:
            _add_file(archive, f"{CATALOGUE_FOLDER}/{name}", folder / name)
        except FileNotFoundError:
            missing.append(name)
    return missing


def _add_still(archive: BackupWriter, name: str, path: Path) -> None:
    """Add a file that nobody writes meanwhile, if there is one."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        before = os.fstat(file.fileno())
        archive.add(name, file, before.st_size)
        after = os.fstat(file.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise CommandFailed(f"no backup was made: {name} was written while it was copied", NOTHING_REACHABLE)


def _add_file(archive: BackupWriter, name: str, path: Path) -> None:
    with path.open("rb") as file:
        archive.add(name, file, os.fstat(file.fileno()).st_size)


def _add_audit(archive: BackupWriter, folder: Path) -> None:
    for day in open_days(folder):
        archive.add(f"{AUDIT_FOLDER}/{day.name}", day.file, day.size)
