"""Packs the audit's files once their day is over for a while, and removes files that are older than they are kept. It blocks: call it in a worker
thread. It never touches the file that is written."""

import gzip
import logging
import os
import shutil
from datetime import date, timedelta
from pathlib import Path

from onebroker.actors.audit.day_files import days_of, packed, plain
from onebroker.actors.store.data_directory import sync_folder

_log = logging.getLogger("onebroker.audit")

PLAIN_DAYS = 1
"""Days before today whose files stay plain, for programs that follow them."""
_CHUNK_BYTES = 1024 * 1024
_NEW = ".new"


def keep_up(folder: Path, today: date, keep_days: int) -> None:
    """Pack and remove what is due. Raises OSError; a later call goes on."""
    for draft in folder.glob(f"*.gz{_NEW}"):  # left by a kill
        draft.unlink()
    days = days_of(folder)
    for day in days[:-1]:  # the last file is the one that is written
        age = today - date.fromisoformat(day)
        if age > timedelta(days=keep_days):
            plain(folder, day).unlink(missing_ok=True)
            packed(folder, day).unlink(missing_ok=True)
        elif age > timedelta(days=PLAIN_DAYS) and plain(folder, day).exists():
            _pack(folder, day)


def _pack(folder: Path, day: str) -> None:
    """Write the packed file beside the plain one; the plain one goes only when the packed one was read back and is the same."""
    source, target = plain(folder, day), packed(folder, day)
    draft = target.with_name(f"{target.name}{_NEW}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as raw, source.open("rb") as lines:
        with gzip.GzipFile(filename=source.name, fileobj=raw, mode="wb", mtime=0) as file:
            shutil.copyfileobj(lines, file, _CHUNK_BYTES)
        raw.flush()
        os.fsync(raw.fileno())
    if not _same(source, draft):
        draft.unlink()
        raise OSError(f"{source.name} could not be packed: what was read back is not the same")
    draft.replace(target)
    sync_folder(folder)
    source.unlink()
    sync_folder(folder)
    _log.info("the audit of %s is packed", day)


def _same(source: Path, pack: Path) -> bool:
    with source.open("rb") as one, gzip.open(pack, "rb") as other:
        while True:
            first, second = one.read(_CHUNK_BYTES), other.read(_CHUNK_BYTES)
            if first != second:
                return False
            if not first:
                return True
