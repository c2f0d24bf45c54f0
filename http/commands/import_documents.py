"""`onebroker import users|brokers|exchanges FILE`: replaces a whole collection of reference documents, or nothing
(architecture 11).

The command itself writes the durable store, in one transaction, whether a service runs or not. It then tells a running
service over its control socket, and the service serves the new documents at once. (Otherwise the service would find
them within a minute.)
"""

import argparse
import sys
from pathlib import Path
from typing import BinaryIO

import msgspec
import trio

from onebroker.actors.reference.import_checks import MOST_FILE_BYTES, Document, encode, prepare
from onebroker.actors.store.durable import Collection, DurableBusy, DurableError
from onebroker.actors.store.open_durable import open_durable
from onebroker.brokers.codec.display_names import display_names
from onebroker.brokers.registry import build_registry
from onebroker.config.clock import Clock
from onebroker.config.converters import StructureError
from onebroker.config.settings import StoreSettings
from onebroker.config.timetables import CALENDARS_OF_EXCHANGE
from onebroker.http.commands.command_settings import place_of
from onebroker.http.commands.exit_codes import DONE, NOTHING_REACHABLE, STORE_BUSY, WRONG_USE, CommandFailed
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service

SERVICE_SECONDS = 30.0
"""How long the running service may take to read what was imported."""

_SERVED = "the running service serves them now"
_NO_SERVICE = "no service is running on this data directory; its next start serves them"
_LATER = "the running service did not take them up at once and will within a minute"


def run(parsed: argparse.Namespace) -> int:
    data_dir, store = place_of(parsed)
    names = display_names(build_registry())
    try:
        documents = prepare(parsed.collection, _read(parsed.file), codes_by_name=names, now=Clock().now())
        encoded = encode(documents)
    except StructureError as error:
        raise CommandFailed(f"nothing was imported:\n{error}", WRONG_USE) from None
    _write(data_dir, store, parsed.collection, encoded)
    service = trio.run(_tell_service, data_dir / SOCKET_NAME, strict_exception_groups=True)
    done = {
        "collection": parsed.collection,
        "documents": len(documents),
        "data_dir": str(data_dir),
        "service": service,
        "notes": _notes(parsed.collection, documents),
    }
    if parsed.json:
        _say(msgspec.json.encode(done).decode())
    else:
        _say(f"imported {len(documents)} documents of {parsed.collection}; {service}")
        for note in _notes(parsed.collection, documents):
            _say(note)
    return DONE


def _read(file: str) -> bytes:
    """Return the file's bytes, at most one byte more than the limit."""
    try:
        if file == "-":
            return _most(sys.stdin.buffer)
        with Path(file).open("rb") as opened:
            return _most(opened)
    except OSError as error:
        raise CommandFailed(f"{file} cannot be read: {error.strerror}", WRONG_USE) from None


def _most(opened: BinaryIO) -> bytes:
    return opened.read(MOST_FILE_BYTES + 1)


def _write(data_dir: Path, store: StoreSettings, collection: Collection, documents: tuple[bytes, ...]) -> None:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise CommandFailed(f"{data_dir} cannot be made: {error.strerror}", WRONG_USE) from None
    try:
        with open_durable(data_dir, store) as durable:
            trio.run(durable.replace_documents, collection, documents, strict_exception_groups=True)
    except DurableBusy as error:
        raise CommandFailed(f"nothing was imported: {error}", STORE_BUSY) from None
    except DurableError as error:
        raise CommandFailed(f"nothing was imported: {error}", NOTHING_REACHABLE) from None


async def _tell_service(socket: Path) -> str:
    try:
        with trio.fail_after(SERVICE_SECONDS):
            await ask_service(socket, {"command": "reload"})
    except NoService:
        return _NO_SERVICE
    except (ControlFailed, msgspec.MsgspecError, trio.BrokenResourceError, trio.TooSlowError):
        return _LATER
    return _SERVED


def _notes(collection: Collection, documents: tuple[Document, ...]) -> list[str]:
    """Return notes on what the person may not have intended."""
    if collection != "exchanges" or not documents:
        return []
    given = {document["exchange"] for document in documents}
    absent = [exchange for exchange in CALENDARS_OF_EXCHANGE if exchange not in given]
    return [f"there is no document of {', '.join(absent)}: it counts as closed"] if absent else []


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
