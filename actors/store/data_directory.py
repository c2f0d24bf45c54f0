"""The data directory: private, held by one service at a time, with the owner id that names it in the engine's lock."""

import fcntl
import os
import uuid
from pathlib import Path
from types import TracebackType

_LOCK_NAME = "lock"
_OWNER_NAME = "engine-owner"


class DataDirectoryBusy(Exception):
    """Another service holds the data directory; the text names its process if known."""

    def __init__(self, directory: Path, holder: int | None) -> None:
        process = f"process {holder}" if holder is not None else "another process"
        super().__init__(f"the data directory {directory} is in use by {process}")
        self.holder = holder


class DataDirectory:
    """A data directory under an exclusive lock, from construction until `close` (or the process's end).

    Raises DataDirectoryBusy, and OSError when the directory cannot be created or written.
    """

    def __init__(self, path: Path) -> None:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = path.resolve()
        self.path.chmod(0o700)
        # Child processes do not inherit it: an orphaned embedded server must not hold the service's lock.
        self._lock = os.open(self.path / _LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _read_holder(self._lock)
            os.close(self._lock)
            raise DataDirectoryBusy(self.path, holder) from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)

    def close(self) -> None:
        """Release the directory. The lock file stays: if it were removed, two services could each lock a different file of that name."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def __enter__(self) -> "DataDirectory":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def engine_owner(self) -> str:
        """Return the random id of this directory, created at its first use (order-engine 2.4)."""
        path = self.path / _OWNER_NAME
        if path.exists() and (owner := path.read_text(encoding="ascii").strip()):
            return owner
        owner = uuid.uuid4().hex
        write_whole(path, f"{owner}\n".encode())
        return owner


def refuse_held(path: Path) -> None:
    """Raise DataDirectoryBusy when a process holds this directory. Nothing is created, and the directory is not held afterwards. Raises OSError."""
    try:
        lock = os.open(path / _LOCK_NAME, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        raise DataDirectoryBusy(path, _read_holder(lock)) from None
    finally:
        os.close(lock)


def _read_holder(lock: int) -> int | None:
    text = os.pread(lock, 32, 0).strip()
    return int(text) if text.isdigit() else None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file so that after a power loss it is either complete or absent."""
    draft = path.with_name(f"{path.name}.new")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, data)
        os.fsync(file)
    finally:
        os.close(file)
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
