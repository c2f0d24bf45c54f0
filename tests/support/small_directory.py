"""A small data directory with something in every store, and what every release must find in it.

`python -m tests.support.small_directory FILE` writes a backup of it, packed: do this for a release that changes a format, and keep the file in
`tests/data/directories/` under the release's name.
"""

import lzma
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import msgspec
import polars as pl
import trio

from onebroker.actors.audit.day_files import FOLDER as AUDIT_FOLDER
from onebroker.actors.audit.open_end import OpenEnd
from onebroker.actors.audit.verify import verify
from onebroker.actors.audit.waiting_events import Told
from onebroker.actors.catalogue.actor import FOLDER as CATALOGUE_FOLDER
from onebroker.actors.catalogue.arrow_files import map_frame, write_frame
from onebroker.actors.catalogue.merge import merge
from onebroker.actors.catalogue.report import BuildReport
from onebroker.actors.catalogue.snapshot import TableSnapshot
from onebroker.actors.engine.orders.parent_records import (
    LegRecord,
    ParentRecord,
    ParentState,
    decode_parent,
    encode_parent,
)
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.history_paths import history_file
from onebroker.actors.history.interface import CANDLE_SCHEMA, TICK_SCHEMA
from onebroker.actors.store import keys
from onebroker.actors.store.durable import AccessToken, CatalogueFile, EngineCount, Halt, HaltMode
from onebroker.actors.store.durable_history import DailyLoad, Factor, Rename
from onebroker.actors.store.durable_sqlite import DURABLE_FILE, SqliteDurable
from onebroker.actors.store.embedded import EmbeddedServer, find_server_binary
from onebroker.actors.store.interface import HashSet, Set, SetAdd
from onebroker.actors.store.redis import RedisStore, RedisStoreActor
from onebroker.brokers.listings.frame import listing_frame
from onebroker.config.events import FeedUp, HaltOff
from onebroker.config.instruments import security
from tests.support.patience import PATIENCE_SECONDS

DAY = date(2026, 11, 23)
AT = 1_795_425_300.0
"""Epoch seconds on that day."""
INFY = security("nse", "equities", "INFY")
OTHER = security("nse", "equities", "TCS")
TOKEN = AccessToken(token="a-token", last_login="2026-11-23 08:00:00.000000", expires_at="2026-11-24 08:00:00.000000")
LEG = LegRecord(
    leg_id="p-1.0", part="entry", token="ob000000000001", broker="zerodha", segment="nse_equities", instrument_token="1",
    tradingsymbol="INFY", transaction_type="BUY", product="CNC", order_type="LIMIT", validity="DAY", quantity=10,
    price=Decimal("100.05"), trigger_price=None, session_day="2026-11-23",
)  # fmt: skip
PARENT = ParentRecord(
    parent_order_id="p-1", synthetic_type="simple", routed_from=None, state=ParentState.WORKING,
    instrument_id=INFY.instrument_id, intent_id="n-1", created_at=AT, updated_at=AT, deadline=AT + 5,
    body={"quantity": 10}, parameters={}, tag="mine", legs=(LEG,),
)  # fmt: skip
COUNT = EngineCount(run=3, writes=2)


async def make(folder: Path) -> None:
    """Make the directory as a service leaves it after an orderly stop."""
    content_hash = await trio.to_thread.run_sync(_write_catalogue, folder / CATALOGUE_FOLDER)
    await _fill_durable(SqliteDurable(folder / DURABLE_FILE), content_hash)
    async with running_redis(folder) as store:
        await store.commit(Set(keys.parent("p-1"), encode_parent(PARENT)), count=keys.ENGINE_WRITES)
        await store.commit(SetAdd(keys.OPEN_PARENTS, "p-1"), count=keys.ENGINE_WRITES)
        await store.write(
            Set(keys.ENGINE_WHOLE, b"3"),
            Set(keys.broker_login("zerodha"), b'{"user_id":"AB1234"}'),
            HashSet(keys.broker_rows("zerodha", "orders"), {"1": b"{}"}),
        )
    await _fill_history(folder)
    await trio.to_thread.run_sync(_write_audit, folder / AUDIT_FOLDER)


async def found(folder: Path) -> dict[str, object]:
    """Return what is in the stores of a directory, as plain values."""
    durable = SqliteDurable(folder / DURABLE_FILE)
    (file,) = await durable.catalogue_files()
    table = await trio.to_thread.run_sync(map_frame, folder / CATALOGUE_FOLDER / file.file)
    snapshot = TableSnapshot(table, file.mapping_date)
    told: dict[str, object] = {
        "token": await durable.access_token(),
        "halt": await durable.halt(),
        "users": await durable.documents("users"),
        "factors": await durable.factors(None),
        "renames": await durable.renames(),
        "loads": await durable.daily_loads(),
        "entered": await durable.history_instrument(OTHER.instrument_id),
        "alerts": await durable.alert_messages(),
        "catalogue": (file.mapping_date, file.rows, snapshot.find(INFY)),
    }
    async with running_redis(folder) as store:
        body = await store.get(keys.parent("p-1"))
        told["parent"] = None if body is None else decode_parent(body)
        told["open"] = await store.members(keys.OPEN_PARENTS)
        told["writes"] = await store.get(keys.ENGINE_WRITES)
        told["login"] = await store.get(keys.broker_login("zerodha"))
        told["rows"] = await store.hash_all(keys.broker_rows("zerodha", "orders"))
    history = DuckHistory(history_file(folder), memory_limit="64MB")
    ends = (0, 2**60)
    told["candles"] = (await history.candles(INFY.instrument_id, 1440, *ends)).rows()
    told["ticks"] = [row async for frame in history.ticks(INFY.instrument_id, *ends) for row in frame.rows()]
    await history.close()
    verdict = await trio.to_thread.run_sync(lambda: verify(folder / AUDIT_FOLDER, running=False))
    told["audit"] = (verdict.fault, verdict.lines, verdict.last)
    return told


async def layout(folder: Path) -> dict[str, object]:
    """Return the forms of the stores' files: whatever differs here is another format."""
    (file,) = await SqliteDurable(folder / DURABLE_FILE).catalogue_files()
    return await trio.to_thread.run_sync(_layout, folder, file.file)


def _layout(folder: Path, mapping: str) -> dict[str, object]:
    with closing(sqlite3.connect(folder / DURABLE_FILE)) as durable:
        tables = durable.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    with duckdb.connect(str(history_file(folder))) as history:
        columns = history.execute(
            "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() ORDER BY 1, column_index"
        ).fetchall()
    days = sorted((folder / AUDIT_FOLDER).iterdir())
    lines = [line for day in days for line in day.read_bytes().splitlines()]
    return {
        "durable": tables,
        "history": columns,
        "catalogue": pl.read_ipc_schema(folder / CATALOGUE_FOLDER / mapping),
        "audit": [list(msgspec.json.decode(line, type=dict[str, object])) for line in lines],
    }


@asynccontextmanager
async def running_redis(folder: Path) -> AsyncIterator[RedisStore]:
    """Run the embedded server of a directory, and end it in order."""
    server = EmbeddedServer(folder, find_server_binary(None))
    store = RedisStore(server.address)
    async with trio.open_nursery() as nursery:
        with trio.fail_after(PATIENCE_SECONDS):
            await nursery.start(RedisStoreActor(store, server).run)
        yield store
        nursery.cancel_scope.cancel()


def _write_catalogue(folder: Path) -> str:
    folder.mkdir(mode=0o700, parents=True)
    rows = [
        {"exchange": "nse", "segment": "equities", "symbol": name, "broker_token": number, "tradingsymbol": name}
        for name, number in (("INFY", "1"), ("TCS", "2"))
    ]
    return write_frame(merge({"zerodha": listing_frame(pl.DataFrame(rows))})[0], folder / f"{DAY}.arrow")


async def _fill_durable(durable: SqliteDurable, content_hash: str) -> None:
    report = BuildReport(rows=2, content_hash=content_hash, brokers={}, built_at=AT)
    await durable.put_catalogue_file(
        CatalogueFile(
            mapping_date=DAY, file=f"{DAY}.arrow", rows=2, counts={"zerodha": 2}, content_hash=content_hash,
            report=msgspec.json.encode(report),
        )
    )  # fmt: skip
    await durable.put_access_token(TOKEN)
    await durable.put_halt(Halt(mode=HaltMode.NOTHING, reason="a reason", since="2026-11-23T10:00:00.000+05:30"))
    await durable.replace_documents("users", [b'{"user_id":"one"}'])
    await durable.put_factors(
        [Factor(instrument_id=INFY.instrument_id, ex_date=DAY, kind="split", price_factor=Decimal("0.2"),
                volume_factor=Decimal(5), source="exchange")]
    )  # fmt: skip
    await durable.put_renames(
        [Rename(old_id=OTHER.instrument_id, new_id=INFY.instrument_id, from_day=DAY, source="exchange")]
    )
    await durable.put_history_instruments([OTHER])
    await durable.put_daily_load(DailyLoad(market="nse equity", last_day=DAY, loaded_at=AT, instruments=2, failed=0))
    await durable.write_alert_messages({"1": b"a message"}, ())
    await durable.put_engine_count(COUNT)


async def _fill_history(folder: Path) -> None:
    history = DuckHistory(history_file(folder), memory_limit="64MB")
    values = {"open": 100.0, "high": 101.0, "low": 99.0, "close": 100.5, "volume": 7, "oi": None}
    candles = [
        {"instrument_id": INFY.instrument_id, "minutes": 1440, "time": day * 86_400_000_000, **values} for day in (1, 2)
    ]
    tick = {
        **dict.fromkeys(TICK_SCHEMA), "instrument_id": INFY.instrument_id, "sequence": 0, "time": 5, "broker": "zerodha",
        "last_price": 100.05, "buy": [{"price": 100.0, "quantity": 5, "orders": 1}],
    }  # fmt: skip
    staged = folder / "staged.parquet"
    pl.DataFrame(candles, schema=dict(CANDLE_SCHEMA), orient="row").write_parquet(staged)
    await history.put_candles(staged)
    pl.DataFrame([tick], schema=dict(TICK_SCHEMA), orient="row").write_parquet(staged)
    await history.put_ticks(staged)
    staged.unlink()
    await history.close()


def _write_audit(folder: Path) -> None:
    end = OpenEnd(folder)
    end.open(AT)
    end.add([Told(AT, FeedUp(broker="zerodha", feed="market")), Told(AT + 86_400, HaltOff())])
    end.push()
    end.sync()
    end.close()


def _main(file: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data, plain = Path(folder, "data"), Path(folder, "backup.tar")
        trio.run(make, data)
        command = [sys.executable, "-m", "onebroker.http", "backup", str(plain), "--data-dir", str(data)]
        subprocess.run(command, check=True)
        file.write_bytes(lzma.compress(plain.read_bytes(), preset=9 | lzma.PRESET_EXTREME))


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
