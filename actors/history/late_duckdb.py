"""duckdb, imported when the store is opened: `from onebroker.actors.history.late_duckdb import duckdb` (`config/late_modules.py`)."""

from typing import TYPE_CHECKING

from onebroker.config.late_modules import LateModule

if TYPE_CHECKING:
    import duckdb
else:
    duckdb = LateModule("duckdb")

__all__ = ["duckdb"]
