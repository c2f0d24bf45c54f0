"""The files of an embedded Redis server as they are at one moment, for a backup. Everything here blocks: call it in a worker thread.

Every write that the server has acknowledged is in its append-only file (`appendfsync always`). The server only appends to these files, so the files
cut off at their present length are a whole store, and copying them disturbs no server: a running one, one that a killed service left, or none.
When the server rewrites its files, it names the new ones in its manifest before it removes the old ones. So files that are open while the manifest
is still the same belong together, and stay readable after they are removed. The last command may be cut in the middle; a server that loads the copy
drops such a command, or the whole transaction that it belongs to (`aof-load-truncated`).
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import attrs

from onebroker.actors.store.embedded import PARTS_FOLDER

REDIS_FOLDER = "redis"
"""Name of the server's folder inside the data directory."""
MANIFEST = "appendonly.aof.manifest"
SINGLE_FILE = "appendonly.aof"
"""The whole append-only file of a server before Redis 7."""
_LOOKS = 20
"""How often the files are looked for again while a server rewrites them."""


class FilesChanging(Exception):
    """The files did not stay the same for long enough to open them all."""


@attrs.frozen(kw_only=True)
class OpenPart:
    """One file, open for reading."""

    name: str
    """Path below the data directory, with slashes."""
    file: BinaryIO
    size: int
    """Bytes that belong to the moment; the file may have more by now."""


@attrs.frozen(kw_only=True)
class AppendOnlyFiles:
    """The files of one moment."""

    manifest: bytes
    """The server's list of its parts; empty for a single file."""
    parts: Sequence[OpenPart]


def open_append_only_files(data_dir: Path, stack: ExitStack) -> AppendOnlyFiles | None:
    """Open the files; `stack` closes them. Return None when no server has kept data in this data directory. Raises OSError, FilesChanging."""
    folder = data_dir / REDIS_FOLDER / PARTS_FOLDER
    for _ in range(_LOOKS):
        manifest = _read(folder / MANIFEST)
        if manifest is None:
            return _open_single_file(data_dir, stack)
        kept = _without_removed(manifest)
        with ExitStack() as opened:
            try:
                parts = [_open(folder / name, f"{REDIS_FOLDER}/{PARTS_FOLDER}/{name}", opened) for name in _names(kept)]
            except FileNotFoundError:
                continue
            if _read(folder / MANIFEST) == manifest:
                stack.push(opened.pop_all())
                return AppendOnlyFiles(manifest=kept, parts=parts)
    raise FilesChanging(f"the files in {folder} change all the time")


def _open_single_file(data_dir: Path, stack: ExitStack) -> AppendOnlyFiles | None:
    try:
        part = _open(data_dir / REDIS_FOLDER / SINGLE_FILE, f"{REDIS_FOLDER}/{SINGLE_FILE}", stack)
    except FileNotFoundError:
        return None
    return AppendOnlyFiles(manifest=b"", parts=[part])


def _open(path: Path, name: str, stack: ExitStack) -> OpenPart:
    file = stack.enter_context(path.open("rb"))
    return OpenPart(name=name, file=file, size=os.fstat(file.fileno()).st_size)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _without_removed(manifest: bytes) -> bytes:
    """Leave out the parts that the server only has to remove (type h)."""
    return b"".join(line for line in manifest.splitlines(keepends=True) if not line.rstrip().endswith(b"type h"))


def _names(manifest: bytes) -> list[str]:
    """Return the names of the parts, in the order in which a server loads them: lines are `file NAME seq NUMBER type TYPE`."""
    return [line.split()[1].decode() for line in manifest.splitlines() if line.startswith(b"file ")]
