"""Where the history stands in the data directory."""

from pathlib import Path

HISTORY_FOLDER = "history"
"""The store's file, what is being loaded, and reports of refused rows."""


def history_file(data_dir: Path) -> Path:
    return data_dir / HISTORY_FOLDER / "history.duckdb"


def incoming_folder(data_dir: Path) -> Path:
    """Return where files wait to be taken in."""
    return (data_dir / HISTORY_FOLDER / "incoming").resolve()


def loads_folder(data_dir: Path) -> Path:
    """Return where it stands how far loads have come."""
    return data_dir / HISTORY_FOLDER / "loads"


def refused_folder(data_dir: Path) -> Path:
    """Return where the rows stand that were refused."""
    return data_dir / HISTORY_FOLDER / "refused"


def checked_file(data_dir: Path) -> Path:
    """Return where the findings of the last check stand."""
    return data_dir / HISTORY_FOLDER / "check.csv"
