"""Takes staged files into the store: through the running service's control socket, or in this command itself when no
service holds the data directory. The choice is made once, at the beginning."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import attrs
import msgspec
import trio

from onebroker.actors.history.archive_marks import ArchiveMarks, days_of
from onebroker.actors.history.disk_room import MEGABYTE, DiskRoom, Room
from onebroker.actors.history.earlier_names import take_rename
from onebroker.actors.history.history_paths import incoming_folder, marks_folder
from onebroker.actors.history.interface import HistoryError, HistoryStore
from onebroker.actors.history.open_history import open_history
from onebroker.actors.history.store_check import check_store
from onebroker.actors.kernel.published import Published
from onebroker.actors.store.data_directory import DataDirectoryBusy
from onebroker.actors.store.durable import Durable
from onebroker.actors.store.durable_history import Rename
from onebroker.actors.store.merge_result import Merged
from onebroker.config.sections import HistorySettings, StoreSettings
from onebroker.http.commands.exit_codes import NOTHING_REACHABLE, WRONG_USE, CommandFailed
from onebroker.http.commands.history.row_instruments import Identities
from onebroker.http.commands.stored_formats import open_data_directory
from onebroker.http.control.control_socket import SOCKET_NAME, ControlFailed, NoService, ask_service
from onebroker.http.control.history_commands import (
    CHECK,
    COMMAND,
    RENAME,
    Kind,
    read_factors,
    write_findings,
    write_rename,
)
from onebroker.http.control.socket_path import open_socket

AGAIN = "run the same command again: it goes on where it stopped"


@attrs.frozen
class Places:
    """Where a command works."""

    data_dir: Path
    history: HistorySettings
    store: StoreSettings


@attrs.frozen
class Checked:
    findings: int
    file: str
    """The CSV file with the findings."""
    renames: Sequence[str] = ()
    """The renames in force, as text for people."""


class Taker(Protocol):
    async def take(self, kind: Kind, file: Path) -> Merged:
        """Take a staged file in; it is on disk when this returns. Raises CommandFailed."""

    async def rename(self, rename: Rename, *, forget: bool) -> bool:
        """Store a rename, or remove it; tell whether anything changed. Raises CommandFailed."""

    async def check(self) -> Checked:
        """Search the store for what looks wrong. Raises CommandFailed."""


@attrs.frozen
class ServiceTaker:
    """Hands files to the running service."""

    socket: Path
    folder: Path
    """The folder of staged files, as the service names it."""

    async def take(self, kind: Kind, file: Path) -> Merged:
        return msgspec.convert(
            await self._ask({"command": COMMAND, "kind": kind, "file": str(self.folder / file.name)}), Merged
        )

    async def rename(self, rename: Rename, *, forget: bool) -> bool:
        request = {"command": RENAME, "rename": write_rename(rename), "forget": "yes" if forget else ""}
        return bool((await self._ask(request))["changed"])

    async def check(self) -> Checked:
        return msgspec.convert(await self._ask({"command": CHECK}), Checked)

    async def _ask(self, request: Mapping[str, str]) -> dict[str, Any]:
        try:
            return await ask_service(self.socket, request)
        except ControlFailed as error:
            raise CommandFailed(f"the running service did not do it: {error}", NOTHING_REACHABLE) from None
        except (NoService, msgspec.MsgspecError, trio.BrokenResourceError) as error:
            raise CommandFailed(f"the service ended meanwhile; {AGAIN}", NOTHING_REACHABLE) from error


@attrs.frozen
class OwnTaker:
    """Takes files in by itself, while this command holds the data directory."""

    data_dir: Path
    history: HistoryStore
    durable: Durable
    room: DiskRoom

    async def take(self, kind: Kind, file: Path) -> Merged:
        if kind != "factors" and (refusal := self.room.look().refusal) is not None:
            raise CommandFailed(f"it was not taken in: {refusal}", NOTHING_REACHABLE)
        try:
            if kind == "factors":
                return await self.durable.put_factors(read_factors(file))
            if kind == "candles":
                return await self.history.put_candles(file)
            await ArchiveMarks(marks_folder(self.data_dir)).add(await days_of(file))
            return await self.history.put_ticks(file)
        except HistoryError as error:
            raise CommandFailed(f"it was not taken in: {error}", NOTHING_REACHABLE) from error

    async def rename(self, rename: Rename, *, forget: bool) -> bool:
        try:
            return await take_rename(self.durable, rename, forget=forget)
        except ValueError as error:
            raise CommandFailed(str(error), WRONG_USE) from error

    async def check(self) -> Checked:
        identities = Identities(self.data_dir, self.durable)
        try:
            checked = await check_store(self.history, self.durable, identities.identity_of)
        except HistoryError as error:
            raise CommandFailed(str(error), NOTHING_REACHABLE) from error
        file = write_findings(self.data_dir, checked.findings)
        return Checked(findings=len(checked.findings), file=str(file), renames=list(checked.renames))


@asynccontextmanager
async def open_taker(places: Places, durable: Durable) -> AsyncIterator[Taker]:
    """Yield the taker of files. Raises DataDirectoryBusy if something other than a service holds the data directory, CommandFailed if a newer release has written it."""
    data_dir = places.data_dir
    try:
        directory = open_data_directory(data_dir)
    except DataDirectoryBusy:
        if not await _answers(data_dir / SOCKET_NAME):
            raise
        yield ServiceTaker(data_dir / SOCKET_NAME, incoming_folder(data_dir))
        return
    with directory:
        history = open_history(data_dir, places.history, places.store)
        room = DiskRoom(folder=data_dir, published=Published(Room(reserve=places.history.disk_reserve_mb * MEGABYTE)))
        try:
            yield OwnTaker(data_dir, history, durable, room)
        finally:
            with trio.CancelScope(shield=True):
                await history.close()


async def _answers(socket: Path) -> bool:
    try:
        stream = await open_socket(socket)
    except OSError:
        return False
    await stream.aclose()
    return True
