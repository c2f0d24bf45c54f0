"""`onebroker store move`: there and back, cut off in between, refused where somebody else has the store."""

import json
from datetime import date
from decimal import Decimal

import polars as pl
import pytest
import trio

from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.history_paths import history_file
from onebroker.actors.history.interface import CANDLE_SCHEMA
from onebroker.actors.store import durable_copy
from onebroker.actors.store.data_directory import DataDirectory
from onebroker.actors.store.database_hold import DatabaseHold
from onebroker.actors.store.durable import AccessToken, CatalogueFile, EngineCount, Halt, HaltMode
from onebroker.actors.store.durable_copy import engine_contents
from onebroker.actors.store.durable_history import DailyLoad, Factor, Rename
from onebroker.actors.store.durable_postgres import PostgresDurable, durable_server
from onebroker.actors.store.durable_sql import TABLES
from onebroker.actors.store.durable_sqlite import SqliteDurable
from onebroker.config.instruments import security
from tests.support.command_lines import run_line

SHARE = security("nse", "equities", "ONE")
FACTORS = [
    Factor(instrument_id=f"{number:05}", ex_date=date(2020, 1, 2), kind="split", price_factor=Decimal("0.20"),
           volume_factor=Decimal(5), source="ß ₹")
    for number in range(1200)
]  # fmt: skip


async def fill(durable):
    """Put something into every table."""
    await durable.put_access_token(AccessToken(token="t", last_login="x", expires_at=None))
    await durable.replace_documents("users", [b'{"a":"\xc3\xa4"}', b"{}"])
    await durable.put_catalogue_file(
        CatalogueFile(mapping_date=date(2026, 1, 1), file="f", rows=1, counts={}, content_hash="h", report=b"\x00\xff")
    )
    await durable.put_factors(FACTORS)
    await durable.put_history_instruments([SHARE])
    await durable.put_daily_load(
        DailyLoad(market="nse equity", last_day=date(2026, 1, 1), loaded_at=0.1 + 0.2, instruments=1, failed=0)
    )
    await durable.add_backfill_part("b", 1e9 / 3, b"body")
    await durable.put_renames([Rename(old_id="o", new_id="n", from_day=date(2026, 1, 1), source="s")])
    await durable.put_engine_count(EngineCount(run=1, writes=2**40, lost=True))
    await durable.put_halt(Halt(mode=HaltMode.NOTHING, reason="🛑", since="2026-11-20T10:00:00.000+05:30"))
    await durable.write_alert_messages({"Z": b"1", "a": b"2", "ä": b"3"}, ())


@pytest.fixture
def data_dir(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    trio.run(fill, SqliteDurable(folder / "durable.sqlite"))
    return folder


@pytest.fixture
def database(postgres_server):
    postgres_server.empty()
    durable = PostgresDurable(durable_server(postgres_server.url))
    yield durable
    durable.server.close()


@pytest.fixture
def config(tmp_path, data_dir, database, postgres_server):
    file = tmp_path / "onebroker.toml"
    file.write_text(f'[service]\ndata_dir = "{data_dir}"\n[store]\ndatabase = "{postgres_server.url}"\n')
    file.chmod(0o600)
    return file


def contents(durable):
    async def read():
        return {table.name: await engine_contents(durable.engine, table) for table in TABLES}

    return trio.run(read)


def test_there_and_back_every_row_is_the_same(config, data_dir, database, capsys):
    before = contents(SqliteDurable(data_dir / "durable.sqlite"))
    assert all(each.rows for each in before.values()), "the test fills every table"
    assert run_line("store", "move", "--to", "database", "--config", config, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert {name: (table["rows"], table["sha256"]) for name, table in told["tables"].items()} == {
        name: (each.rows, each.sha256) for name, each in before.items()
    }
    assert contents(database) == before
    names = {path.name for path in data_dir.iterdir()}
    assert "durable.sqlite" not in names
    assert {"durable.database", "durable.moved.sqlite"} <= names
    assert run_line("store", "move", "--to", "database", "--config", config) == 2
    assert "is in a database already" in capsys.readouterr().err

    assert run_line("store", "move", "--to", "files", "--config", config) == 0
    assert "remove the section [store] from the settings" in capsys.readouterr().out
    assert contents(SqliteDurable(data_dir / "durable.sqlite")) == before
    assert not (data_dir / "durable.database").exists()


def test_the_tables_of_the_copy_are_all_tables(database, data_dir):
    def columns(connection):
        rows = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'onebroker'"
        )
        return set(rows)

    trio.run(database.engine_count)
    listed = {(table.name, column.strip('"')) for table in TABLES for column in table.columns}
    assert trio.run(database.server.read, columns) - listed == {("durable_version", "version")}
    assert listed <= trio.run(database.server.read, columns)


def test_a_move_that_was_cut_off_goes_on(config, data_dir, database, monkeypatch, capsys):
    before, put, batches = contents(SqliteDurable(data_dir / "durable.sqlite")), durable_copy._put, []

    def cut(sql, batch, connection):
        batches.append((sql, len(batch)))
        if len(batches) == 5:
            raise KeyboardInterrupt
        put(sql, batch, connection)

    monkeypatch.setattr(durable_copy, "_put", cut)
    assert run_line("store", "move", "--to", "database", "--config", config) == 130
    assert "the store is where it was; run the same command again" in capsys.readouterr().err
    assert (data_dir / "durable.sqlite").exists()
    assert not (data_dir / "durable.database").exists()
    (sql, rows) = batches[-1]
    assert (sql.split()[2], rows) == ("factors", 500), "in the middle of a table"
    batches.clear()
    monkeypatch.setattr(durable_copy, "_put", lambda *given: (batches.append((given[0].split()[2], len(given[1]))), put(*given)))  # fmt: skip
    assert run_line("store", "move", "--to", "database", "--config", config) == 0
    assert batches[:2] == [("factors", 500), ("factors", 200)]
    assert contents(database) == before


def test_a_database_that_holds_another_store_is_not_replaced_without_a_word(config, database, data_dir, capsys):
    trio.run(database.put_halt, Halt(mode=HaltMode.NOTHING, reason="other", since="x"))
    assert run_line("store", "move", "--to", "database", "--config", config) == 2
    assert "holds a store already (1 rows)" in capsys.readouterr().err
    assert trio.run(database.halt).reason == "other"
    before = contents(SqliteDurable(data_dir / "durable.sqlite"))
    assert run_line("store", "move", "--to", "database", "--replace", "--config", config) == 0
    assert contents(database) == before


def test_a_move_is_refused_while_somebody_has_the_directory_or_the_database(config, database, data_dir, capsys):
    with DataDirectory(data_dir):
        assert run_line("store", "move", "--to", "database", "--config", config) == 3
    hold = DatabaseHold(database.server)
    hold.take()
    assert run_line("store", "move", "--to", "database", "--config", config) == 3
    hold.close()
    assert "in use by another service" in capsys.readouterr().err


def test_what_is_written_meanwhile_is_found_by_the_comparison(config, data_dir, database, monkeypatch, capsys):
    put = durable_copy._put
    source = SqliteDurable(data_dir / "durable.sqlite")

    def late(sql, batch, connection):
        put(sql, batch, connection)
        if "alert_messages" in sql:
            source.engine.write_now(lambda file: file.execute("UPDATE halt SET reason = 'late'"))

    monkeypatch.setattr(durable_copy, "_put", late)
    assert run_line("store", "move", "--to", "database", "--config", config) == 4
    assert "not equal on both sides: halt" in capsys.readouterr().err
    monkeypatch.undo()
    assert run_line("store", "move", "--to", "database", "--config", config) == 0
    assert trio.run(database.halt).reason == "late"


def test_without_a_database_in_the_settings_there_is_nothing_to_move(tmp_path, data_dir, capsys):
    file = tmp_path / "plain.toml"
    file.write_text(f'[service]\ndata_dir = "{data_dir}"\n')
    assert run_line("store", "move", "--to", "files", "--config", file) == 2
    assert "store.database is not set" in capsys.readouterr().err


def test_a_backup_holds_a_store_that_is_in_a_database(config, data_dir, tmp_path, capsys):
    assert run_line("store", "move", "--to", "database", "--config", config) == 0
    assert run_line("backup", tmp_path / "b.tar", "--data-dir", data_dir) == 2
    assert "give the settings with store.database" in capsys.readouterr().err
    assert run_line("backup", tmp_path / "b.tar", "--config", config) == 0
    assert run_line("restore", tmp_path / "b.tar", "--data-dir", tmp_path / "restored") == 0
    restored = SqliteDurable(tmp_path / "restored" / "durable.sqlite")
    assert trio.run(restored.factors, None) == tuple(FACTORS)
    assert trio.run(restored.halt).reason == "🛑"
    assert trio.run(restored.engine_count).lost


def test_candles_move_too_and_their_place_in_the_file_is_freed(config, data_dir, tmp_path, database, capsys):
    config.write_text(config.read_text() + 'candles = "database"\n')
    times = [day * 86_400_000_000 for day in range(20_000, 20_050)]
    frame = pl.DataFrame(
        [(SHARE.instrument_id, 1440, time, 1.0, 2.0, 0.5, 1.5, 10, None) for time in times],
        schema=CANDLE_SCHEMA,
        orient="row",
    )
    frame.write_parquet(tmp_path / "candles.parquet")
    duck = DuckHistory(history_file(data_dir), memory_limit="64MB")

    async def put():
        await duck.put_candles(tmp_path / "candles.parquet")
        await duck.close()

    async def left():
        days = await duck.candle_days()
        await duck.close()
        return sum(days.values())

    trio.run(put)
    assert run_line("store", "move", "--to", "database", "--config", config, "--json") == 0
    told = json.loads(capsys.readouterr().out)["tables"]
    assert told["candles"]["rows"] == 50
    assert trio.run(left) == 0
    assert run_line("backup", tmp_path / "b.tar", "--config", config) == 0
    assert "the candles are in the database and not in this file" in capsys.readouterr().out
    assert run_line("store", "move", "--to", "files", "--config", config, "--json") == 0
    assert json.loads(capsys.readouterr().out)["tables"]["candles"] == told["candles"]
    assert trio.run(left) == 50
