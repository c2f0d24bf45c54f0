"""The catalogue's Arrow files: written whole or not at all, read by mapping them into memory."""

import hashlib
import os
from datetime import date
from pathlib import Path

import polars as pl


def file_name(mapping_date: date) -> str:
    """Return the name of a date's file inside the catalogue folder."""
    return f"{mapping_date}.arrow"


def write_frame(frame: pl.DataFrame, path: Path) -> str:
    """Write `frame` to `path` and return its SHA-256; a crash leaves either the old file or the new one.

    Uncompressed, so that it can be mapped. The same frame gives the same bytes.
    """
    temporary = path.with_name(f".{path.name}.writing")
    frame.write_ipc(temporary, compression="uncompressed")
    temporary.chmod(0o600)
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    move_into_place(temporary, path)
    return digest


def move_into_place(written: Path, path: Path) -> None:
    """Rename a whole, synced file, so that the new name survives a power cut."""
    written.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def map_frame(path: Path) -> pl.DataFrame:
    """Map a catalogue file. Raises OSError or polars' PolarsError when it is missing or no such file."""
    return pl.scan_ipc(path, glob=False).collect()
