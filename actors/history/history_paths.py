"""The places of the history files in the data directory."""

from pathlib import Path

HISTORY_FOLDER = "history"
"""Holds the store's file, the files being loaded, and the reports of refused rows."""


def history_file(data_dir: Path) -> Path:
    return data_dir / HISTORY_FOLDER / "history.duckdb"


def history_log(data_dir: Path) -> Path:
    """Return DuckDB's write-ahead log of the file; it is there only while it holds something."""
    return data_dir / HISTORY_FOLDER / "history.duckdb.wal"


def incoming_folder(data_dir: Path) -> Path:
    """Return the folder where files wait to be loaded."""
    return (data_dir / HISTORY_FOLDER / "incoming").resolve()


def marks_folder(data_dir: Path) -> Path:
    """Return the folder of the days that are to be archived again (`archive_marks`)."""
    return data_dir / HISTORY_FOLDER / "archive-again"


def loads_folder(data_dir: Path) -> Path:
    """Return the folder that records the progress of loads."""
    return data_dir / HISTORY_FOLDER / "loads"


def refused_folder(data_dir: Path) -> Path:
    """Return the folder of the refused rows."""
    return data_dir / HISTORY_FOLDER / "refused"


def checked_file(data_dir: Path) -> Path:
    """Return the file with the findings of the last check."""
    return data_dir / HISTORY_FOLDER / "check.csv"
