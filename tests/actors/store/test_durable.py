"""What every durable store must do, asked of the one in memory and of SQLite; and what only a file can."""

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import attrs
import pytest
import trio

from onebroker.actors.store import durable_sqlite as sqlite_file
from onebroker.actors.store.durable import (
    AccessToken,
    CatalogueFile,
    Durable,
    DurableError,
    EngineCount,
    Halt,
    HaltMode,
)
from onebroker.actors.store.durable_memory import MemoryDurable
from onebroker.actors.store.durable_sql import MIGRATIONS
from onebroker.actors.store.durable_sqlite import SqliteDurable, copy_durable, stored_version
from tests.support.patience import PATIENCE_SECONDS

TOKEN = AccessToken(token="secret", last_login="2026-11-20 08:00:00.000000", expires_at="2026-11-21 07:00:00.000000")
FILE = CatalogueFile(
    mapping_date=date(2026, 11, 20),
    file="2026-11-20.arrow",
    rows=100_000,
    counts={"zerodha": 90_000, "dhan": 80_000},
    content_hash="abc",
    report=b'{"broken":[]}',
)
HALT = Halt(mode=HaltMode.REDUCE_ONLY, reason="ein Grund, der „zählt“ 🛑", since="2026-11-20T10:00:00.000+05:30")


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    return tmp_path / "onebroker.sqlite"


async def test_nothing_is_stored_at_first(durable: Durable) -> None:
    assert await durable.access_token() is None
    assert await durable.documents("users") == ()
    assert await durable.catalogue_files() == ()
    assert await durable.halt() is None


async def test_the_access_token_is_replaced(durable: Durable) -> None:
    await durable.put_access_token(TOKEN)
    newer = attrs.evolve(TOKEN, token="other")
    await durable.put_access_token(newer)
    assert await durable.access_token() == newer
    assert "other" not in repr(newer)


async def test_the_count_of_the_engines_writes_is_replaced(durable: Durable) -> None:
    assert await durable.engine_count() is None
    await durable.put_engine_count(EngineCount(run=1, writes=2))
    newer = EngineCount(run=2, writes=7, lost=True)
    await durable.put_engine_count(newer)
    assert await durable.engine_count() == newer


async def test_a_halt_is_replaced_and_ended(durable: Durable) -> None:
    await durable.put_halt(HALT)
    assert await durable.halt() == HALT
    stricter = attrs.evolve(HALT, mode=HaltMode.NOTHING, reason="x" * 200)
    await durable.put_halt(stricter)
    assert await durable.halt() == stricter
    await durable.put_halt(None)
    assert await durable.halt() is None
    await durable.put_halt(None)
    assert await durable.halt() is None


async def test_messages_of_alerts_are_added_replaced_and_removed_in_one_go(durable: Durable) -> None:
    assert await durable.alert_messages() == ()
    await durable.write_alert_messages({"b": b"two", "a": b"one", "c": b"three"}, ())
    assert await durable.alert_messages() == (b"one", b"two", b"three")
    await durable.write_alert_messages({"a": b"one again", "d": b"four"}, {"b", "c", "nobody"})
    assert await durable.alert_messages() == (b"one again", b"four")
    await durable.write_alert_messages({}, ["a", "d"])
    assert await durable.alert_messages() == ()


async def test_a_collection_is_replaced_whole_and_keeps_its_order_and_others_stay(durable: Durable) -> None:
    await durable.replace_documents("users", [b'{"a":1}', b'{"b":2}', b'{"c":3}'])
    await durable.replace_documents("brokers", [b"{}"])
    await durable.replace_documents("users", [b'{"z":1}', b'{"a":1}'])
    assert await durable.documents("users") == (b'{"z":1}', b'{"a":1}')
    assert await durable.documents("brokers") == (b"{}",)
    await durable.replace_documents("users", [])
    assert await durable.documents("users") == ()


async def test_catalogue_files_come_newest_first_and_a_date_is_replaced(durable: Durable) -> None:
    older = attrs.evolve(FILE, mapping_date=date(2026, 11, 19), rows=1)
    await durable.put_catalogue_file(FILE)
    await durable.put_catalogue_file(older)
    await durable.put_catalogue_file(attrs.evolve(FILE, rows=7))
    assert await durable.catalogue_files() == (attrs.evolve(FILE, rows=7), older)


async def test_the_file_is_private_and_another_process_reads_what_was_written(path: Path) -> None:
    await SqliteDurable(path).put_access_token(TOKEN)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert await SqliteDurable(path).access_token() == TOKEN
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert file.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


async def test_another_process_reads_the_halt(path: Path) -> None:
    await SqliteDurable(path).put_halt(HALT)
    assert await SqliteDurable(path).halt() == HALT


async def test_a_file_of_the_version_before_halts_opens_keeps_its_rows_and_has_no_halt(path: Path) -> None:
    before = next(number for number, script in enumerate(MIGRATIONS) if "CREATE TABLE halt" in script)
    with closing(sqlite3.connect(path)) as file:
        for script in MIGRATIONS[:before]:
            file.executescript(script)
        file.execute("INSERT INTO engine_count VALUES (1, 4, 9, 0)")
        file.execute(f"PRAGMA user_version = {before}")
        file.commit()
    durable = SqliteDurable(path)
    assert await durable.halt() is None
    assert await durable.engine_count() == EngineCount(run=4, writes=9)
    await durable.put_halt(HALT)
    assert await SqliteDurable(path).halt() == HALT
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)


async def test_the_table_holds_one_halt(path: Path) -> None:
    await SqliteDurable(path).put_halt(HALT)
    with closing(sqlite3.connect(path)) as file, pytest.raises(sqlite3.IntegrityError):
        file.execute("INSERT INTO halt (only, mode, reason, since) VALUES (2, 'nothing', 'x', 'x')")


async def test_a_replacement_that_fails_half_way_changes_nothing(path: Path) -> None:
    durable = SqliteDurable(path)
    await durable.replace_documents("users", [b"{}"])
    with pytest.raises(DurableError):
        await durable.replace_documents("users", [b'{"a":1}', None])  # type: ignore[list-item]  # refused by the table
    assert await durable.documents("users") == (b"{}",)


async def test_a_write_waits_for_the_command_line_to_finish_its_own(path: Path) -> None:
    durable = SqliteDurable(path)
    await durable.put_access_token(TOKEN)
    with closing(sqlite3.connect(path, isolation_level=None)) as command_line, trio.fail_after(PATIENCE_SECONDS):
        command_line.execute("BEGIN IMMEDIATE")
        command_line.execute("DELETE FROM access_token")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(durable.put_access_token, attrs.evolve(TOKEN, token="service"))
            assert await durable.access_token() == TOKEN, "readers do not wait for a writer"
            command_line.execute("COMMIT")
    stored = await durable.access_token()
    assert stored is not None
    assert stored.token == "service"


async def test_a_file_of_a_newer_version_is_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    with pytest.raises(DurableError, match="newer version"):
        await SqliteDurable(path).access_token()


async def test_a_damaged_file_is_an_error_that_names_it(path: Path) -> None:
    damaged = path.parent / "damaged.sqlite"
    damage(damaged)
    with pytest.raises(DurableError, match=r"damaged\.sqlite"):
        await SqliteDurable(damaged).access_token()


def damage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


async def test_a_first_start_of_two_processes_makes_the_tables_once(path: Path) -> None:
    stores = [SqliteDurable(path) for _ in range(4)]
    async with trio.open_nursery() as nursery:
        for store in stores:
            nursery.start_soon(store.put_access_token, TOKEN)
    assert await stores[0].access_token() == TOKEN


class RefusedOnce(sqlite3.Connection):
    """A connection whose change to a write-ahead log is refused at once, as SQLite does when two make it at the same time."""

    refusals = 1

    def execute(self, sql: str, *parameters: object) -> sqlite3.Cursor:
        if "journal_mode" in sql and type(self).refusals:
            type(self).refusals -= 1
            busy = sqlite3.OperationalError("database is locked")
            busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
            raise busy
        return super().execute(sql, *parameters)


async def test_a_first_start_that_is_refused_because_of_another_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite_file.sqlite3, "connect", lambda *given, **more: connect(*given, factory=RefusedOnce, **more)
    )
    store = SqliteDurable(path)
    await store.put_access_token(TOKEN)
    assert await store.access_token() == TOKEN
    assert RefusedOnce.refusals == 0


async def test_the_one_in_memory_can_be_away() -> None:
    durable = MemoryDurable()
    durable.fail_with(DurableError("disk I/O error"))
    with pytest.raises(DurableError, match="disk"):
        await durable.access_token()
    with pytest.raises(DurableError, match="disk"):
        await durable.put_halt(HALT)
    with pytest.raises(DurableError, match="disk"):
        await durable.halt()
    durable.come_back()
    assert await durable.halt() is None
    assert await durable.access_token() is None


async def test_a_copy_holds_the_store_of_one_moment_while_it_is_written(path: Path) -> None:
    store = SqliteDurable(path)
    await store.put_access_token(TOKEN)
    await store.put_engine_count(EngineCount(run=1, writes=0))
    done = trio.Event()

    async def write() -> None:
        writes = 0
        while not done.is_set():
            writes += 1
            await store.put_engine_count(EngineCount(run=1, writes=writes))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(write)
        await trio.to_thread.run_sync(copy_durable, path, path.with_name("copy.sqlite"))
        done.set()
    copy = SqliteDurable(path.with_name("copy.sqlite"))
    assert await copy.access_token() == TOKEN
    assert await copy.engine_count() is not None
    assert stored_version(path.with_name("copy.sqlite")) == len(MIGRATIONS)


def test_a_copy_of_a_file_that_is_none_is_an_error_and_nothing_is_made(tmp_path: Path) -> None:
    assert stored_version(tmp_path / "none.sqlite") is None
    with pytest.raises(DurableError, match=r"none\.sqlite"):
        copy_durable(tmp_path / "none.sqlite", tmp_path / "copy.sqlite")
    (tmp_path / "text.sqlite").write_text("no database" * 100)
    with pytest.raises(DurableError, match=r"text\.sqlite"):
        stored_version(tmp_path / "text.sqlite")
    assert [entry.name for entry in tmp_path.iterdir()] == ["text.sqlite"]
