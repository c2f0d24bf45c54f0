"""`onebroker support-bundle`: one tar.gz file with what a helper needs, and without secrets.

It holds the health (of a running service), versions, the settings that differ from their defaults, the log's last lines, the durable store's version
and the sizes of the data directory's files. Each text is searched for the secrets of the settings and for the access token, which become `***`.
"""

import argparse
import io
import os
import platform
import re
import sqlite3
import sys
import tarfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from importlib.metadata import distributions
from pathlib import Path

import msgspec
import trio

from onebroker.actors.store.durable import DurableError
from onebroker.actors.store.durable_sql import MIGRATIONS
from onebroker.actors.store.durable_sqlite import DURABLE_FILE
from onebroker.actors.store.open_durable import open_durable
from onebroker.actors.store.sealing import Seal, SealLocked
from onebroker.actors.store.server_address import StoreRefused
from onebroker.actors.token.actor import DURABLE_TOKEN
from onebroker.config.clock import Clock
from onebroker.config.settings import Settings
from onebroker.config.shown_settings import HIDDEN, secret_texts, shown_settings
from onebroker.http.commands.command_settings import read_settings
from onebroker.http.commands.exit_codes import DONE, WRONG_USE, CommandFailed
from onebroker.http.commands.screen import write
from onebroker.http.commands.service_process import seal_of
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service
from onebroker.http.control.reading_commands import HEALTH

MOST_LOG_BYTES = 2_000_000
ASK_SECONDS = 10.0
LEAST_INSIDE = 8
NO_LOG = "No log file was given (--service-log FILE). The service writes its log to standard error: under systemd `journalctl -u UNIT` shows it.\n"


def run(parsed: argparse.Namespace) -> int:
    settings = read_settings(parsed.config)
    data_dir = settings.service.data_dir if parsed.data_dir is None else parsed.data_dir.expanduser()
    version, tokens = _durable(settings, data_dir)
    parts = {
        "health.json": trio.run(_health, data_dir, strict_exception_groups=True),
        "versions.txt": _versions(),
        "settings.txt": _settings(settings),
        "log.txt": NO_LOG if parsed.service_log is None else _last_lines(parsed.service_log),
        "store.txt": version,
        "files.txt": _sizes(data_dir),
    }
    secrets = [*secret_texts(settings), *tokens]
    _pack(parsed.file, {name: without(secrets, text) for name, text in parts.items()})
    write(sys.stdout, [f"{parsed.file} is written: {', '.join(parts)}", "read it before you send it"])
    return DONE


def without(secrets: Sequence[str], text: str) -> str:
    """Return the text with `***` in place of each secret, also where JSON has written it in its own way.

    A secret of fewer than `LEAST_INSIDE` characters, such as a PIN, is found as a whole word only: inside of words and numbers it would be found
    by chance, everywhere.
    """
    spellings = {spelling for secret in secrets for spelling in (secret, msgspec.json.encode(secret).decode()[1:-1])}
    for spelling in sorted(spellings, key=len, reverse=True):  # a secret may be a part of another secret
        if len(spelling) < LEAST_INSIDE:
            text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(spelling)}(?![A-Za-z0-9])", HIDDEN, text)
        else:
            text = text.replace(spelling, HIDDEN)
    return text


async def _health(data_dir: Path) -> str:
    """Return the health document with its crashes, or the sentence why there is none."""
    try:
        with trio.fail_after(ASK_SECONDS):
            health = await ask_service(data_dir / SOCKET_NAME, {"command": HEALTH})
    except (NoService, ControlFailed, trio.TooSlowError) as error:
        health = {"error": str(error) or f"the service did not answer within {ASK_SECONDS:g} s"}
    return msgspec.json.format(msgspec.json.encode(health)).decode() + "\n"


def _versions() -> str:
    packages = sorted({f"{found.name} {found.version}" for found in distributions()}, key=str.lower)
    machine = [f"made {Clock().now().isoformat(timespec='seconds')}", f"python {sys.version}", platform.platform()]
    return "\n".join([*machine, "", *packages]) + "\n"


def _settings(settings: Settings) -> str:
    return "".join(f"{name} = {text}\n" for name, text in shown_settings(settings))


def _last_lines(log: Path) -> str:
    """Return the end of a log, from the beginning of a line on. Raises CommandFailed."""
    try:
        with log.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END)
            opened.seek(max(size - MOST_LOG_BYTES, 0))
            text = opened.read().decode(errors="replace")
    except OSError as error:
        raise CommandFailed(f"{log} cannot be read: {error.strerror}", WRONG_USE) from None
    return text if size <= MOST_LOG_BYTES else text.partition("\n")[2]


def _durable(settings: Settings, data_dir: Path) -> tuple[str, list[str]]:
    """Return what is told of the durable store, and the access token in it, so that it can be left out."""
    file = data_dir / DURABLE_FILE
    if settings.store.database is None or file.exists():
        return _durable_version(file), _access_token(file, seal_of(settings))
    try:
        with open_durable(data_dir, settings.store) as durable:
            stored = trio.run(durable.access_token, strict_exception_groups=True)
        token = [] if stored is None or stored.token is None else [stored.token]
        return "the durable store is in a database, which answers\n", _opened(token, seal_of(settings))
    except (DurableError, StoreRefused) as error:
        return f"the durable store is in a database: {error}\n", []


def _durable_version(file: Path) -> str:
    known = f"this version of onebroker knows {len(MIGRATIONS)}"
    try:
        with closing(_open(file)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error as error:
        return f"{file.name}: {error}; {known}\n"
    return f"{file.name}: version {version}; {known}\n"


def _access_token(file: Path, seal: Seal) -> list[str]:
    """Return the access token, so that it can be left out; nothing where there is none, or where no key opens it."""
    try:
        with closing(_open(file)) as connection:
            stored = [row[0] for row in connection.execute("SELECT token FROM access_token") if row[0]]
    except sqlite3.Error:  # there is no store, or it has never been written
        return []
    return _opened(stored, seal)


def _opened(stored: Sequence[str], seal: Seal) -> list[str]:
    try:
        return [seal.open(DURABLE_TOKEN, token.encode()).decode() for token in stored]
    except SealLocked:
        return []


def _open(file: Path) -> sqlite3.Connection:
    """Open the durable store for reading; it is never made and never migrated."""
    return sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5.0)


def _sizes(data_dir: Path) -> str:
    lines = []
    for folder, _, names in os.walk(data_dir):
        for name in names:
            path = Path(folder) / name
            try:
                lines.append(f"{path.lstat().st_size:>14,}  {path.relative_to(data_dir)}")
            except OSError:  # removed meanwhile
                continue
    return "\n".join([f"bytes of the files in {data_dir}", *sorted(lines, key=lambda line: line[16:])]) + "\n"


def _pack(file: Path, parts: Mapping[str, str]) -> None:
    """Write the file, for its owner only. Raises CommandFailed, also for a file that is there already."""
    try:
        with file.open("xb") as opened, tarfile.open(fileobj=opened, mode="w:gz") as bundle:
            for name, text in parts.items():
                body = text.encode(errors="replace")
                entry = tarfile.TarInfo(f"onebroker-support/{name}")
                entry.size, entry.mode, entry.mtime = len(body), 0o600, Clock().epoch()
                bundle.addfile(entry, io.BytesIO(body))
    except FileExistsError:
        raise CommandFailed(f"{file} is there already and was not changed", WRONG_USE) from None
    except OSError as error:
        raise CommandFailed(f"{file} cannot be written: {error.strerror}", WRONG_USE) from None
