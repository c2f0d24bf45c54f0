"""`onebroker restore FILE --data-dir NEW`: makes a data directory from a backup.

The directory is built beside its place, under another name, and renamed when it is complete. Every member's hash is checked before. So the new directory
is there whole, or not at all; nothing that exists is changed.

The engine's count in it is marked as that of a store which has lost its last writes (`http.commands.backup.command` says why). It has a new owner
id: it is another directory than the one of the backup.
"""

import argparse
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import trio

from onebroker.actors.engine.context.write_count import count_after_restore
from onebroker.actors.store.data_directory import refuse_held, sync_folder
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable
from onebroker.http.commands.backup.archive import Manifest, megabytes, open_backup
from onebroker.http.commands.exit_codes import DONE, INTERRUPTED, NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import write
from onebroker.http.commands.stored_formats import refuse_newer, write_formats


def run(parsed: argparse.Namespace) -> int:
    file, target = parsed.file.expanduser(), Path(os.path.abspath(parsed.data_dir.expanduser()))
    try:
        _refuse_used(target)
        manifest = _restore(file, target)
    except KeyboardInterrupt:
        raise CommandFailed("nothing was restored: it was interrupted", INTERRUPTED) from None
    except OSError as error:
        raise CommandFailed(f"nothing was restored: {error}", NOTHING_REACHABLE) from None
    write(sys.stdout, list(_said(target, manifest)))
    return DONE


def _said(target: Path, manifest: Manifest) -> Iterable[str]:
    yield (
        f"{target} is restored: {len(manifest.members)} files, {megabytes(manifest)}, "
        f"made at {manifest.made_at} by onebroker {manifest.onebroker}"
    )
    if not manifest.has_redis:
        yield "the backup held no open orders and no logins"
    yield (
        "stop the service of the old directory before you start this one. After the start no open order acts until the books of all "
        "brokers have been read for a minute; onebroker status shows it"
    )


def _refuse_used(target: Path) -> None:
    """Raise CommandFailed for a place that holds something, DataDirectoryBusy for one in which a service runs."""
    if not os.path.lexists(target):
        return
    if target.is_symlink() or not target.is_dir():
        raise CommandFailed(f"{target} is no directory", WRONG_USE)
    refuse_held(target)
    if any(target.iterdir()):
        raise CommandFailed(f"{target} is not empty: give a directory that is empty or not there", WRONG_USE)


def _restore(file: Path, target: Path) -> Manifest:
    with open_backup(file) as backup:
        manifest = backup.manifest
        refuse_newer(manifest.formats, "what it holds")
        if DURABLE_FILE not in {member.name for member in manifest.members}:
            raise CommandFailed(f"it holds no {DURABLE_FILE}: nothing was restored", WRONG_USE)
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_too_large(manifest, target.parent)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            backup.extract(draft)
            trio.run(_mark_as_old_copy, SqliteDurable(draft / DURABLE_FILE), strict_exception_groups=True)
            write_formats(draft)
            sync_folder(draft)
            _put_in_place(draft, target)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    sync_folder(target.parent)
    return manifest


def _refuse_too_large(manifest: Manifest, parent: Path) -> None:
    wanted, free = sum(member.bytes for member in manifest.members), shutil.disk_usage(parent).free
    if wanted > free:
        raise CommandFailed(
            f"it needs {wanted / 1e6:.1f} MB and the disk of {parent} has {free / 1e6:.1f} MB free", NOTHING_REACHABLE
        )


async def _mark_as_old_copy(durable: SqliteDurable) -> None:
    await durable.put_engine_count(count_after_restore(await durable.engine_count()))


def _put_in_place(draft: Path, target: Path) -> None:
    try:
        draft.rename(target)  # over an empty directory too
    except OSError as error:
        if error.errno in (errno.EBUSY, errno.EXDEV):
            raise CommandFailed(
                f"{target} is the root of a file system, which cannot be replaced: give a directory below it", WRONG_USE
            ) from None
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
            raise CommandFailed(f"{target} is not empty any more: nothing was restored", WRONG_USE) from None
        raise
