"""Opens the durable store where it lives: in a file of the data directory, or in the database of the settings.

A data directory knows where its store is. `durable.sqlite` is there, or `durable.database` says that the store is in a database. So a service or a command
with other settings is refused, instead of going on with an empty store: that would forget the halt, the token and the engine's runs.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import trio

from onebroker.actors.store.data_directory import write_whole
from onebroker.actors.store.durable import Durable
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable
from onebroker.actors.store.server_address import StoreRefused
from onebroker.config.sections import StoreSettings

if TYPE_CHECKING:
    from onebroker.actors.store.durable_postgres import PostgresDurable

ELSEWHERE_FILE = "durable.database"
"""File of a data directory whose durable store is in a database; it names the database for people."""


def in_database(data_dir: Path, settings: StoreSettings) -> bool:
    """Tell whether the store is in a database. Raises StoreRefused when the data directory and the settings disagree, OSError."""
    if settings.database is None:
        if (data_dir / ELSEWHERE_FILE).exists():
            named = (data_dir / ELSEWHERE_FILE).read_text("utf-8").strip()
            raise StoreRefused(
                f"the durable store of {data_dir} is in the database {named}: give the settings with store.database (--config), "
                "or move the store back (docs/operations/database.md)"
            )
        return False
    if (data_dir / DURABLE_FILE).exists():
        raise StoreRefused(
            f"store.database is set, but the durable store of {data_dir} is in its file {DURABLE_FILE}: "
            "move it with `onebroker store move --to database` (docs/operations/database.md)"
        )
    return True


@contextmanager
def open_durable(data_dir: Path, settings: StoreSettings) -> Iterator[Durable]:
    """Yield the durable store of a data directory. Raises StoreRefused, OSError."""
    if not in_database(data_dir, settings):
        yield SqliteDurable(data_dir / DURABLE_FILE)
        return
    durable = database_durable(settings)
    try:
        yield durable
    finally:
        durable.server.close()
        if durable.server.reached and data_dir.is_dir() and not (data_dir / ELSEWHERE_FILE).exists():
            note_database(data_dir, durable.server.shown)


def database_durable(settings: StoreSettings) -> "PostgresDurable":
    """Return the durable store in the database of the settings; the caller closes its server. Raises StoreRefused."""
    assert settings.database is not None
    with needs_psycopg():
        from onebroker.actors.store.durable_postgres import PostgresDurable, durable_server
    return PostgresDurable(durable_server(settings.database.reveal()))


@contextmanager
def needs_psycopg() -> Iterator[None]:
    """Say what to install when the import in the block finds no psycopg. Raises StoreRefused."""
    try:
        yield
    except ImportError as error:
        raise StoreRefused(f"store.database needs psycopg ({error}): pip install 'onebroker[postgres]'") from error


@attrs.frozen(kw_only=True)
class HeldDurable:
    """The durable store of a running service."""

    durable: Durable
    trouble: Callable[[], str | None] = lambda: None
    """Returns why the database cannot be used now; None when it can, and for a file. Candles in a database are in the same one."""


@asynccontextmanager
async def hold_durable(data_dir: Path, settings: StoreSettings) -> AsyncIterator[HeldDurable]:
    """Yield the durable store for a service, which holds its database until the end. Raises StoreRefused, DurableError, DatabaseHeld, OSError; also later,
    in a group, when another service takes the database while it was away."""
    if not in_database(data_dir, settings):
        yield HeldDurable(durable=SqliteDurable(data_dir / DURABLE_FILE))
        return
    durable = database_durable(settings)
    from onebroker.actors.store.database_hold import DatabaseHold

    hold = DatabaseHold(durable.server)
    try:
        await trio.to_thread.run_sync(hold.take)
        if not (data_dir / ELSEWHERE_FILE).exists():
            note_database(data_dir, durable.server.shown)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(hold.keep)
            yield HeldDurable(durable=durable, trouble=lambda: durable.server.trouble)
            nursery.cancel_scope.cancel()
    finally:
        hold.close()
        durable.server.close()


def note_database(data_dir: Path, shown: str) -> None:
    """Note in the data directory that its durable store is in a database. Raises OSError."""
    write_whole(data_dir / ELSEWHERE_FILE, f"{shown}\n".encode())
