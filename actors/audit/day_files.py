"""The files of the audit: `<data_dir>/audit/YYYY-MM-DD.jsonl`, one a day in India, and `.jsonl.gz` once the day is over for a while."""

import gzip
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import BinaryIO, cast

FOLDER = "audit"
"""Below the data directory."""

_NAME = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.jsonl(\.gz)?")


def plain(folder: Path, day: str) -> Path:
    return folder / f"{day}.jsonl"


def packed(folder: Path, day: str) -> Path:
    return folder / f"{day}.jsonl.gz"


def days_of(folder: Path) -> list[str]:
    """Return the days that have a file, oldest first; none if there is no folder."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted({found[1] for name in names if (found := _NAME.fullmatch(name)) and _is_day(found[1])})


def _is_day(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


@contextmanager
def open_day(folder: Path, day: str) -> Iterator[BinaryIO]:
    """Open a day's file for reading, packed or not. Raises FileNotFoundError if it was removed, OSError and EOFError while a damaged packed file is read."""
    try:
        file: BinaryIO = plain(folder, day).open("rb")
    except FileNotFoundError:  # it may have been packed since it was listed
        file = cast("BinaryIO", gzip.open(packed(folder, day), "rb"))  # noqa: SIM115  # closed below
    with file:
        yield file


def file_of(folder: Path, day: str) -> Path:
    """Return the day's file as it is now."""
    path = plain(folder, day)
    return path if path.exists() else packed(folder, day)
