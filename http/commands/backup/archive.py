"""The file of a backup: a tar with the stores' files as they lie in a data directory, and `manifest.json` as its last member.

The manifest names the release, the formats of the stores, the time, and of every other member its bytes and its SHA-256. A file without it was not
written to its end. The hashes find damage. They do not tell who made the file: keep it where nobody else can write.
"""

import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, cast

import msgspec

from onebroker.actors.store.data_directory import sync_folder
from onebroker.config.clock import Clock, from_epoch
from onebroker.http.commands.exit_codes import WRONG_USE, CommandFailed

MANIFEST = "manifest.json"
FORMAT = 1
"""Of the archive itself; raised when an older release could not restore it."""
_MOST_MANIFEST_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 1024 * 1024
_PLACES = re.compile(
    r"durable\.sqlite|redis/(appendonly\.aof|appendonlydir/[A-Za-z0-9][A-Za-z0-9._-]*)|catalogue/[A-Za-z0-9][A-Za-z0-9._-]*\.arrow"
    r"|history/history\.duckdb(\.wal)?|audit/[0-9]{4}-[0-9]{2}-[0-9]{2}\.jsonl(\.gz)?",
    re.ASCII,
)
"""The paths that a member may have. A path with `..`, or from the root, is none of them."""
_DAMAGED = (tarfile.TarError, gzip.BadGzipFile, EOFError, zlib.error, lzma.LZMAError, UnicodeDecodeError)


class Member(msgspec.Struct, frozen=True):
    """A file of the data directory."""

    name: str
    """Path below the data directory, with slashes."""
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    format: int
    onebroker: str
    """The release that made the backup."""
    made_at: str
    """ISO 8601, IST: when the backup was complete."""
    service_ran: bool
    """Whether a service ran on the data directory meanwhile."""
    has_redis: bool
    """Whether the state of an embedded Redis server is in it."""
    formats: dict[str, int]
    """Store -> its format (`http.commands.stored_formats`)."""
    members: list[Member]


class BackupWriter:
    """Writes a backup beside its place, and puts it in place when it is complete. Leaving the block early leaves nothing behind.

    Everything here blocks. Raises OSError.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> "BackupWriter":
        self._members: list[Member] = []
        self.folder = Path(tempfile.mkdtemp(prefix=f".{self._file.name}.", dir=self._file.parent))
        """A private folder beside the file, for drafts; it is removed at the end."""
        self._draft = self.folder / "draft.tar"
        try:
            handle = os.open(self._draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            self._opened = os.fdopen(handle, "wb")
            self._tar = tarfile.open(fileobj=self._opened, mode="w")  # closed by `finish` or `__exit__`
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def add(self, name: str, file: BinaryIO, size: int) -> None:
        """Add the next `size` bytes of a file. Raises OSError when the file has fewer."""
        hashed = _Hashing(file)
        self._tar.addfile(_entry(name, size), cast("BinaryIO", hashed))
        self._members.append(Member(name=name, bytes=size, sha256=hashed.digest()))

    def finish(self, *, service_ran: bool, has_redis: bool, formats: Mapping[str, int]) -> Manifest:
        """Add the manifest and put the file in place, on disk."""
        manifest = Manifest(
            format=FORMAT,
            onebroker=version("onebroker"),
            made_at=from_epoch(Clock().epoch()).isoformat(timespec="milliseconds"),
            service_ran=service_ran,
            has_redis=has_redis,
            formats=dict(formats),
            members=self._members,
        )
        body = msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"
        self._tar.addfile(_entry(MANIFEST, len(body)), io.BytesIO(body))
        self._tar.close()
        self._opened.flush()
        os.fsync(self._opened.fileno())
        self._draft.replace(self._file)
        sync_folder(self._file.parent)
        return manifest


def _entry(name: str, size: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode, entry.mtime = size, 0o600, Clock().epoch()
    return entry


class _Hashing:
    """Reads a file and hashes what is read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def read(self, size: int) -> bytes:
        data = self._file.read(size)
        self._hash.update(data)
        return data

    def digest(self) -> str:
        return self._hash.hexdigest()


class BackupReader:
    """Reads a backup, packed by gzip, xz or bzip2 too. Everything here blocks; made by `open_backup`."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._entries = self._checked_entries()
        self.manifest = self._read_manifest()

    def _checked_entries(self) -> dict[str, tarfile.TarInfo]:
        entries: dict[str, tarfile.TarInfo] = {}
        for entry in self._tar:
            if not (entry.isreg() and (entry.name == MANIFEST or _PLACES.fullmatch(entry.name))):
                raise CommandFailed(
                    f"it has a member that no backup has, {entry.name!r}: nothing was restored", WRONG_USE
                )
            if entry.name in entries:
                raise CommandFailed(f"it has two members {entry.name}: nothing was restored", WRONG_USE)
            entries[entry.name] = entry
        return entries

    def _read_manifest(self) -> Manifest:
        entry = self._entries.pop(MANIFEST, None)
        if entry is None:
            raise CommandFailed("it has no manifest, so it is no whole backup: nothing was restored", WRONG_USE)
        try:
            if entry.size > _MOST_MANIFEST_BYTES:
                raise ValueError
            body = self._open(entry).read()
            made = msgspec.json.decode(body, type=_MadeFor).format
            if made > FORMAT:
                raise CommandFailed(
                    f"a newer release of onebroker has made it (format {made}; this release reads {FORMAT})", WRONG_USE
                )
            manifest = msgspec.json.decode(body, type=Manifest)
        except ValueError:
            raise CommandFailed("its manifest cannot be read: nothing was restored", WRONG_USE) from None
        if (named := sorted(member.name for member in manifest.members)) != sorted(self._entries):
            odd = sorted(set(named) ^ set(self._entries))
            raise CommandFailed(f"its manifest names other members than it has: {', '.join(odd)}", WRONG_USE)
        for member in manifest.members:
            if self._entries[member.name].size != member.bytes:
                raise CommandFailed(f"{member.name} in it is damaged: nothing was restored", WRONG_USE)
        return manifest

    def extract(self, folder: Path) -> None:
        """Write all members below an empty folder, on disk. Raises CommandFailed for a member that is not as the manifest says, OSError."""
        for member in self.manifest.members:
            target = folder / member.name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(handle, "wb") as file:
                source = _Hashing(self._open(self._entries[member.name]))
                shutil.copyfileobj(cast("BinaryIO", source), file, _CHUNK_BYTES)
                file.flush()
                os.fsync(file.fileno())
            if source.digest() != member.sha256:
                raise CommandFailed(f"{member.name} in it is damaged: nothing was restored", WRONG_USE)
        for parent in {(folder / member.name).parent for member in self.manifest.members}:
            sync_folder(parent)

    def _open(self, entry: tarfile.TarInfo) -> BinaryIO:
        opened = self._tar.extractfile(entry)
        assert opened is not None, "only plain files have passed"
        return cast("BinaryIO", opened)


class _MadeFor(msgspec.Struct):
    format: int


@contextmanager
def open_backup(file: Path) -> Iterator[BackupReader]:
    """Open a backup and check its members' names and its manifest. Raises CommandFailed, each sentence with the file's name."""
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            raise CommandFailed("it is no file", WRONG_USE)
        with tarfile.open(file, "r:*") as tar:
            yield BackupReader(tar)
    except CommandFailed as error:
        raise CommandFailed(f"{file}: {error}", error.code) from None
    except _DAMAGED as error:
        raise CommandFailed(f"{file} is damaged, or no backup", WRONG_USE) from error
    except FileNotFoundError as error:
        if error.filename != str(file):
            raise
        raise CommandFailed(f"{file} is not there", WRONG_USE) from None


def megabytes(manifest: Manifest) -> str:
    """Return the size of the members for people."""
    return f"{sum(member.bytes for member in manifest.members) / 1e6:.1f} MB"
