"""The catalogue's Arrow files: written whole or not at all; read whole or by columns (single cells: `arrow_cells`)."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import BinaryIO

from onebroker.config.late_modules import pl

FORMAT = 1
"""Raised with every change of the files that an older release cannot read (`http.commands.stored_formats`)."""


def file_name(mapping_date: date) -> str:
    """Return the name of a date's file inside the catalogue folder."""
    return f"{mapping_date}.arrow"


def write_frame(frame: pl.DataFrame, path: Path) -> str:
    """Write `frame` to `path` and return its SHA-256; a crash leaves either the old file or the new file.

    The same frame gives the same bytes.
    """
    temporary = path.with_name(f".{path.name}.writing")
    write_ipc(frame, temporary)
    temporary.chmod(0o600)
    with temporary.open("rb") as written:
        os.fsync(written.fileno())
        digest = hashlib.file_digest(written, "sha256").hexdigest()
    move_into_place(temporary, path)
    return digest


def write_ipc(frame: pl.DataFrame, target: Path | BinaryIO) -> None:
    """Write a frame in the form that `arrow_cells` can read in place: uncompressed, in one batch, with 64-bit offsets."""
    frame.write_ipc(
        target, compression="uncompressed", compat_level=pl.CompatLevel.oldest(), record_batch_size=max(frame.height, 1)
    )


def move_into_place(written: Path, path: Path) -> None:
    """Rename a complete, synced file so that the new name survives a power cut."""
    written.replace(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def map_frame(path: Path) -> pl.DataFrame:
    """Read a catalogue file, every column into memory. Raises OSError or polars' PolarsError when it is missing or not a catalogue file."""
    return pl.scan_ipc(path, glob=False).collect()


def map_columns(path: Path, columns: Sequence[str]) -> pl.DataFrame:
    """Read some columns of a catalogue file into memory. Raises like `map_frame`, and PolarsError when a column does not exist."""
    return pl.scan_ipc(path, glob=False).select(columns).collect()


def content_hash_of(path: Path) -> str:
    """Return the SHA-256 of a file, in the form `write_frame` returns; empty when the file cannot be read."""
    try:
        with path.open("rb") as written:
            return hashlib.file_digest(written, "sha256").hexdigest()
    except OSError:
        return ""
