"""What only a server can do to a durable store: be away, hang, be held by others. The common contract: test_durable.py, test_durable_history.py."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
import trio

from onebroker.actors.store import database_hold, postgres
from onebroker.actors.store.database_hold import DatabaseHeld, DatabaseHold
from onebroker.actors.store.durable import AccessToken, Durable, DurableBusy, DurableError, EngineCount
from onebroker.actors.store.durable_postgres import PostgresDurable, durable_server
from onebroker.actors.store.durable_sql import MIGRATIONS
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable
from onebroker.actors.store.open_durable import ELSEWHERE_FILE, hold_durable, open_durable
from onebroker.actors.store.postgres import LOCK_SPACE, WRITE_LOCK
from onebroker.actors.store.server_address import StoreRefused
from onebroker.config.converters import SecretUrl
from onebroker.config.sections import StoreSettings
from tests.support.postgres_server import PostgresTestServer

TOKEN = AccessToken(token="secret", last_login="2026-11-20 08:00:00.000000", expires_at="2026-11-21 07:00:00.000000")
COUNT = EngineCount(run=3, writes=12, lost=True)


@pytest.fixture
def second(postgres_durable: PostgresDurable, postgres_server: PostgresTestServer) -> Iterator[PostgresDurable]:
    """The same store, opened by another process."""
    durable = PostgresDurable(durable_server(postgres_server.url))
    yield durable
    durable.server.close()


@pytest.fixture
def restarted(postgres_server: PostgresTestServer) -> Iterator[PostgresTestServer]:
    """The server, which runs again after a test that has stopped it."""
    yield postgres_server
    postgres_server.stop()
    postgres_server.start()


@pytest.fixture
def hold(postgres_durable: PostgresDurable) -> Iterator[DatabaseHold]:
    hold = DatabaseHold(postgres_durable.server)
    yield hold
    hold.close()


@pytest.fixture
def settings(postgres_server: PostgresTestServer) -> StoreSettings:
    return StoreSettings(database=SecretUrl(postgres_server.url))


def ask(server: PostgresTestServer, sql: str) -> list[tuple[object, ...]]:
    """Ask as the tests' role, beside the store."""
    with closing(psycopg.connect(server.url, autocommit=True)) as connection:
        return connection.execute(sql.encode()).fetchall()


async def test_a_plain_role_without_extensions_suffices(
    postgres_durable: PostgresDurable, postgres_server: PostgresTestServer
) -> None:
    await postgres_durable.put_engine_count(COUNT)
    assert ask(postgres_server, "SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user") == [
        (False, False)
    ]
    assert ask(postgres_server, "SELECT extname FROM pg_extension") == [("plpgsql",)]
    schemas = "SELECT DISTINCT table_schema FROM information_schema.tables WHERE table_schema NOT LIKE 'pg_%'"
    assert set(ask(postgres_server, schemas)) <= {("onebroker",), ("information_schema",)}


async def test_another_process_reads_what_was_written(
    postgres_durable: PostgresDurable, second: PostgresDurable
) -> None:
    await postgres_durable.put_access_token(TOKEN)
    assert await second.access_token() == TOKEN


async def test_a_server_that_is_away_is_an_error_and_a_later_call_reconnects(
    postgres_durable: PostgresDurable, restarted: PostgresTestServer
) -> None:
    await postgres_durable.put_access_token(TOKEN)
    restarted.stop()
    for _ in range(2):
        with pytest.raises(DurableError, match=r"^PostgreSQL: no connection \(") as failed:
            await postgres_durable.access_token()
        assert postgres_durable.server.trouble == str(failed.value)
    restarted.start()
    assert await postgres_durable.access_token() == TOKEN
    assert postgres_durable.server.trouble is None


async def test_a_server_that_was_restarted_between_two_calls_is_no_error(
    postgres_durable: PostgresDurable, restarted: PostgresTestServer
) -> None:
    await postgres_durable.put_access_token(TOKEN)
    restarted.stop()
    restarted.start()
    await postgres_durable.put_engine_count(COUNT)
    assert await postgres_durable.access_token() == TOKEN


async def test_a_server_that_hangs_is_given_up(
    postgres_durable: PostgresDurable, postgres_server: PostgresTestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await postgres_durable.put_access_token(TOKEN)
    ((process,),) = ask(
        postgres_server,
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'onebroker' AND pid <> pg_backend_pid()",
    )
    assert isinstance(process, int)
    monkeypatch.setattr(postgres, "CUT_SECONDS", 0.2)
    os.kill(process, signal.SIGSTOP)
    try:
        with pytest.raises(DurableError, match="PostgreSQL"):
            await postgres_durable.server.write(lambda connection: _hanging(connection, process))
    finally:
        os.kill(process, signal.SIGCONT)
    monkeypatch.undo()
    assert await postgres_durable.access_token() == TOKEN


def _hanging(connection: postgres.Connection, process: int) -> None:
    """The stopped session is found broken at its first statement and replaced. Then the new one is stopped, in the middle of its work."""
    own = connection.info.backend_pid
    assert own != process
    os.kill(own, signal.SIGSTOP)
    try:
        with postgres.answered(connection):
            connection.execute("SELECT 1")
    finally:
        os.kill(own, signal.SIGCONT)


async def test_a_store_that_another_process_writes_for_too_long_is_busy_and_readers_do_not_wait(
    postgres_durable: PostgresDurable, postgres_server: PostgresTestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    await postgres_durable.put_access_token(TOKEN)
    postgres_durable.server.close()
    monkeypatch.setattr(postgres, "LOCK_SECONDS", 0.05)
    with closing(psycopg.connect(postgres_server.url)) as other:
        other.execute("SELECT pg_advisory_xact_lock(%s, %s)", (LOCK_SPACE, WRITE_LOCK))
        with pytest.raises(DurableBusy, match="another process"):
            await postgres_durable.put_engine_count(COUNT)
        assert postgres_durable.server.trouble is None, "it answers"
        assert await postgres_durable.access_token() == TOKEN
    await postgres_durable.put_engine_count(COUNT)


async def test_a_statement_that_takes_too_long_is_ended_by_the_server(
    postgres_durable: PostgresDurable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "STATEMENT_SECONDS", 0.05)
    with pytest.raises(DurableError, match="no answer to a statement"):
        await postgres_durable.server.read(lambda connection: connection.execute("SELECT pg_sleep(100)"))


async def test_two_processes_number_the_parts_of_a_backfill_without_a_gap(
    postgres_durable: PostgresDurable, second: PostgresDurable
) -> None:
    async with trio.open_nursery() as nursery:
        for number in range(10):
            for durable in (postgres_durable, second):
                nursery.start_soon(durable.add_backfill_part, "a", 1.0, bytes([number]))
    assert sorted(await second.backfill_parts("a")) == sorted(bytes([number]) for number in range(10) for _ in "ab")


async def test_a_first_start_of_several_processes_makes_the_tables_once(postgres_server: PostgresTestServer) -> None:
    postgres_server.empty()
    stores = [PostgresDurable(durable_server(postgres_server.url)) for _ in range(4)]
    async with trio.open_nursery() as nursery:
        for store in stores:
            nursery.start_soon(store.put_access_token, TOKEN)
    assert await stores[0].access_token() == TOKEN
    for store in stores:
        store.server.close()
    assert ask(postgres_server, "SELECT version FROM onebroker.durable_version") == [(len(MIGRATIONS),)]


async def test_a_database_of_a_newer_version_is_left_alone(
    postgres_durable: PostgresDurable, second: PostgresDurable, postgres_server: PostgresTestServer
) -> None:
    await second.put_access_token(TOKEN)
    ask(postgres_server, f"UPDATE onebroker.durable_version SET version = {len(MIGRATIONS) + 1} RETURNING 1")
    with pytest.raises(DurableError, match="newer version"):
        await postgres_durable.access_token()


async def test_a_replacement_that_fails_half_way_changes_nothing(postgres_durable: PostgresDurable) -> None:
    await postgres_durable.replace_documents("users", [b"{}"])
    with pytest.raises(DurableError, match="null value"):
        await postgres_durable.replace_documents("users", [b'{"a":1}', None])  # type: ignore[list-item]  # refused by the table
    assert await postgres_durable.documents("users") == (b"{}",)
    assert postgres_durable.server.trouble is None, "it answers"


async def test_text_is_ordered_by_its_bytes_as_in_a_file(postgres_durable: Durable, tmp_path: Path) -> None:
    names = ["b", "B", "a", "Z", "ä", "_", "zz"]
    file = SqliteDurable(tmp_path / DURABLE_FILE)
    for store in (postgres_durable, file):
        await store.write_alert_messages({name: name.encode() for name in names}, ())
    assert await postgres_durable.alert_messages() == await file.alert_messages()


async def test_a_wrong_url_is_refused_and_never_quoted() -> None:
    with pytest.raises(StoreRefused, match="cannot be read") as refused:
        durable_server("postgresql://user:hidden@host:port/x?nonsense=1")
    assert "hidden" not in str(refused.value)
    assert durable_server("postgresql://me:hidden@db.example:5433/orders").shown == "orders at db.example:5433"


async def test_without_psycopg_the_sentence_says_what_to_install(
    settings: StoreSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onebroker.actors.store.durable_postgres", None)
    with pytest.raises(StoreRefused, match=r"pip install 'onebroker\[postgres\]'"), open_durable(tmp_path, settings):
        pass


# The hold of a service


async def test_a_second_service_is_refused_until_the_first_one_ends(
    hold: DatabaseHold, second: PostgresDurable, eventually: Callable[..., object]
) -> None:
    hold.take()
    other = DatabaseHold(second.server)
    with pytest.raises(DatabaseHeld, match="in use by another service"):
        other.take()
    hold.close()
    _take_soon(other)
    other.close()


def _take_soon(hold: DatabaseHold) -> None:
    """The server notices the end of a session a moment later."""
    while True:
        try:
            hold.take()
        except DatabaseHeld:
            continue
        return


async def test_a_service_whose_session_is_lost_takes_the_hold_again(
    hold: DatabaseHold, restarted: PostgresTestServer, postgres_durable: PostgresDurable
) -> None:
    hold.take()
    restarted.stop()
    with pytest.raises(DurableError, match="no connection"):
        hold.look()
    restarted.start()
    hold.look()
    with pytest.raises(DatabaseHeld):
        DatabaseHold(postgres_durable.server).take()


async def test_a_session_that_only_the_server_believes_in_does_not_keep_its_own_service_out(
    hold: DatabaseHold, postgres_server: PostgresTestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold.take()
    assert hold._connection is not None
    lost = hold._connection
    hold._connection = None  # the network has cut it, and the server has not noticed
    hold.look()
    assert hold._connection.info.backend_pid != lost.info.backend_pid
    lost.close()


async def test_another_session_that_got_the_number_of_ours_is_not_ended(
    hold: DatabaseHold, second: PostgresDurable
) -> None:
    other = DatabaseHold(second.server)
    other.take()
    assert other._connection is not None
    hold._session = (other._connection.info.backend_pid, datetime(2026, 11, 27, tzinfo=UTC))  # ours ended long ago
    with pytest.raises(DatabaseHeld):
        hold.take()
    other.look()
    other.close()


async def test_a_service_ends_when_another_has_taken_its_database(
    settings: StoreSettings,
    restarted: PostgresTestServer,
    second: PostgresDurable,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(database_hold, "LOOK_SECONDS", 0.01)
    other = DatabaseHold(second.server)

    async def serve() -> None:
        async with hold_durable(tmp_path, settings):
            with monkeypatch.context() as blind:
                blind.setattr(DatabaseHold, "look", lambda hold: None)
                restarted.stop()
                restarted.start()
                other.take()
            await trio.sleep_forever()

    with pytest.raises(BaseExceptionGroup) as ended:
        await serve()
    assert ended.value.split(DatabaseHeld)[1] is None
    other.close()


# Where the store of a data directory is


async def test_a_service_notes_in_its_data_directory_where_its_store_is(
    settings: StoreSettings, postgres_durable: PostgresDurable, tmp_path: Path
) -> None:
    async with hold_durable(tmp_path, settings) as held:
        await held.durable.put_renames([])
    assert "hidden" not in (tmp_path / ELSEWHERE_FILE).read_text()
    with (
        pytest.raises(StoreRefused, match="give the settings with"),
        open_durable(tmp_path, StoreSettings()),
    ):
        pass
    with open_durable(tmp_path, settings) as durable:
        assert await durable.renames() == ()


async def test_a_command_notes_the_place_too_once_the_database_has_answered(
    settings: StoreSettings, postgres_durable: PostgresDurable, tmp_path: Path
) -> None:
    with open_durable(tmp_path, settings):
        pass
    assert not (tmp_path / ELSEWHERE_FILE).exists()
    with open_durable(tmp_path, settings) as durable:
        await durable.put_renames([])
    assert (tmp_path / ELSEWHERE_FILE).exists()


async def test_a_store_in_a_file_is_not_left_behind(settings: StoreSettings, tmp_path: Path) -> None:
    with open_durable(tmp_path, StoreSettings()) as durable:
        await durable.put_renames([])
    with pytest.raises(StoreRefused, match="onebroker store move --to database"), open_durable(tmp_path, settings):
        pass
