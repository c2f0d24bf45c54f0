"""What an archived file has and the store has not: compared by keys, in a DuckDB of its own with little memory, which spills beside the files."""

from pathlib import Path

import trio

from onebroker.actors.history.interface import TICK_KEY, HistoryError
from onebroker.actors.history.late_duckdb import duckdb
from onebroker.actors.history.staged_merge import sql_text

MEMORY = "256MB"
_KEY = ", ".join(TICK_KEY)


async def write_missing(archived: Path, present: Path, missing: Path) -> int:
    """Write the ticks of one Parquet file of TICK_SCHEMA whose keys another one has not into a new file, and return their number. Raises HistoryError."""
    try:
        return await trio.to_thread.run_sync(_write, archived, present, missing)
    except duckdb.Error as error:
        raise HistoryError(f"{archived} cannot be compared with the store: {error}") from error


def _write(archived: Path, present: Path, missing: Path) -> int:
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": 1,
        "memory_limit": MEMORY,
        "temp_directory": str(missing.with_name(f"{missing.name}.spill")),
    }
    files = {
        name: f"read_parquet({sql_text(str(file))}, hive_partitioning = false)"
        for name, file in (("archived", archived), ("present", present))
    }
    query = f"SELECT * FROM {files['archived']} ANTI JOIN (SELECT {_KEY} FROM {files['present']}) USING ({_KEY})"
    with duckdb.connect(":memory:", config=config) as connection:
        row = connection.execute(
            f"COPY ({query}) TO {sql_text(str(missing))} (FORMAT parquet, COMPRESSION zstd)"
        ).fetchone()
    return int(row[0]) if row is not None else 0
