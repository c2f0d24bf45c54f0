"""The formats of what a data directory holds. A directory that a newer release has written is refused before anything in it is opened.

`formats.json` in the directory names the format of each store. Each process that holds the directory writes it first. A directory without this file
was written by a release before it; every release opens the directories of older ones. The durable store also has its version in its own file, which
is asked as well, because commands write that file without holding the directory.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from onebroker.actors.audit.chain import FORMAT as AUDIT_FORMAT
from onebroker.actors.catalogue.arrow_files import FORMAT as CATALOGUE_FORMAT
from onebroker.actors.history.tables import FORMAT as HISTORY_FORMAT
from onebroker.actors.store.data_directory import DataDirectory, write_whole
from onebroker.actors.store.durable_sql import MIGRATIONS
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, stored_version
from onebroker.actors.store.server_address import SCHEMA_VERSION
from onebroker.http.commands.exit_codes import WRONG_USE, CommandFailed

FORMATS_FILE = "formats.json"
FORMATS: Mapping[str, int] = {
    "durable": len(MIGRATIONS),
    "redis": int(SCHEMA_VERSION),
    "history": HISTORY_FORMAT,
    "catalogue": CATALOGUE_FORMAT,
    "audit": AUDIT_FORMAT,
}
"""Store -> the format that this release writes. It reads every format up to this one."""

_DECODER = msgspec.json.Decoder(dict[str, int])


def open_data_directory(path: Path) -> DataDirectory:
    """Hold a data directory for this process, and note the formats in it.

    Raises CommandFailed for a directory that a newer release has written, DataDirectoryBusy, DurableError, OSError.
    """
    directory = DataDirectory(path)
    try:
        found = stored_formats(directory.path)
        refuse_newer(found, str(directory.path))
        if found != FORMATS:
            write_formats(directory.path)
    except BaseException:
        directory.close()
        raise
    return directory


def stored_formats(data_dir: Path) -> Mapping[str, int]:
    """Return the formats of the stores in a data directory, as far as they are written down. Raises CommandFailed, DurableError, OSError."""
    try:
        noted = _DECODER.decode((data_dir / FORMATS_FILE).read_bytes())
    except FileNotFoundError:
        noted = {}
    except msgspec.MsgspecError:
        raise CommandFailed(f"{data_dir / FORMATS_FILE} cannot be read as a list of formats", WRONG_USE) from None
    durable = stored_version(data_dir / DURABLE_FILE)
    return noted if durable is None else {**noted, "durable": max(durable, noted.get("durable", 0))}


def refuse_newer(found: Mapping[str, int], where: str) -> None:
    """Raise CommandFailed when one of these formats, or one of these stores, is not known to this release."""
    newer = [f"{store} {number}" for store, number in found.items() if number > FORMATS.get(store, 0)]
    if newer:
        known = ", ".join(f"{store} {number}" for store, number in FORMATS.items())
        raise CommandFailed(
            f"{where} was written by a newer release of onebroker ({', '.join(newer)}); this release reads {known}: "
            "install the newer release again, or restore a backup that this release has made",
            WRONG_USE,
        )


def write_formats(data_dir: Path) -> None:
    """Note the formats of this release. Raises OSError."""
    write_whole(data_dir / FORMATS_FILE, msgspec.json.format(msgspec.json.encode(FORMATS)) + b"\n")
