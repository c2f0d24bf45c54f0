"""Opens the history store of a data directory: all of it in DuckDB's file, or with the candles in the database of the settings.

`history/candles.database` says that the candles are in a database. A service or a command with other settings is refused, instead of going on
without the candles.
"""

from contextlib import closing
from pathlib import Path

from onebroker.actors.history.disk_room import spill_limit
from onebroker.actors.history.duck import DuckHistory
from onebroker.actors.history.history_paths import history_file
from onebroker.actors.history.late_duckdb import duckdb
from onebroker.actors.history.split_history import SplitHistory
from onebroker.actors.store.data_directory import write_whole
from onebroker.actors.store.open_durable import needs_psycopg
from onebroker.actors.store.server_address import StoreRefused
from onebroker.config.sections import HistorySettings, StoreSettings


def candles_file(data_dir: Path) -> Path:
    """Return the file that says that the candles are in a database."""
    return history_file(data_dir).with_name("candles.database")


def open_history(data_dir: Path, settings: HistorySettings, store: StoreSettings) -> DuckHistory | SplitHistory:
    """Return the store of a data directory that this process holds; no connection is made before the first call. Raises StoreRefused, OSError."""
    duck = open_file(data_dir, settings)
    if store.candles == "files":
        if candles_file(data_dir).exists():
            raise StoreRefused(
                f"the candles of {data_dir} are in a database: give the settings with store.candles (--config), or move them back "
                "with `onebroker store move --to files` (docs/operations/database.md)"
            )
        return duck
    if not candles_file(data_dir).exists():
        if _has_candles(history_file(data_dir)):
            raise StoreRefused(
                f"store.candles is set, but the candles of {data_dir} are in its history file: move them with "
                "`onebroker store move --to database` (docs/operations/database.md)"
            )
        note_candles(data_dir)
    return split_history(duck, store)


def open_file(data_dir: Path, settings: HistorySettings) -> DuckHistory:
    """Return the file of a data directory."""
    return DuckHistory(
        history_file(data_dir), memory_limit=settings.memory_limit, spill_limit=spill_limit(settings.disk_reserve_mb)
    )


def split_history(duck: DuckHistory, store: StoreSettings) -> SplitHistory:
    """Return the store with the candles in the database of the settings. Raises StoreRefused."""
    assert store.database is not None
    with needs_psycopg():
        from onebroker.actors.history.postgres_candles import PostgresCandles, candle_server
    return SplitHistory(duck, PostgresCandles(candle_server(store.database.reveal())))


def note_candles(data_dir: Path) -> None:
    """Note in the data directory that the candles are in a database. Raises OSError."""
    candles_file(data_dir).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    write_whole(candles_file(data_dir), b"the candles are in the database of store.database\n")


def _has_candles(file: Path) -> bool:
    """Tell whether a history file holds candles. Raises StoreRefused when it cannot be read."""
    if not file.exists():
        return False
    try:
        with closing(duckdb.connect(str(file), read_only=True)) as connection:
            return connection.execute("SELECT 1 FROM candles LIMIT 1").fetchone() is not None
    except duckdb.Error as error:
        raise StoreRefused(
            f"{file.name} cannot be read, so it is not known whether it holds candles: {error}"
        ) from error
