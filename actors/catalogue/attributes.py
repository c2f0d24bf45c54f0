"""The other columns of a broker's file for a listing (rules 1.4.6 additional_details), as one text per listing.

The names of a broker's columns are stored once (`names_text`). Each listing stores only its values, in the same order, between control
characters that were never seen in a file. If a value does contain one, all values of that broker are escaped. JSON objects would be
four times as long, and the largest part of the catalogue file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from onebroker.brokers.listings.raw_columns import RAW_PREFIX
from onebroker.config.late_modules import pl

ESCAPE, ABSENT, SEPARATOR = "\x1b", "\x1e", "\x1f"
_ESCAPES = {character: f"{ESCAPE}{letter}" for character, letter in ((ESCAPE, "e"), (ABSENT, "a"), (SEPARATOR, "s"))}
_ANY = f"[{ESCAPE}{ABSENT}{SEPARATOR}]"


def attribute_names(frame: pl.DataFrame) -> list[str]:
    """Return the names of the broker's columns that no other field carries."""
    return [name.removeprefix(RAW_PREFIX) for name in frame.columns if name.startswith(RAW_PREFIX)]


def joined_values(frame: pl.DataFrame) -> pl.Series:
    """Return the values of these columns as one text per row; null if there are no such columns."""
    columns = frame.select(pl.col(f"{RAW_PREFIX}{name}") for name in attribute_names(frame))
    if not columns.width:
        return pl.repeat(None, frame.height, dtype=pl.String, eager=True).alias("attributes")
    joined = _joined(columns)
    separators = (columns.width - 1) * columns.height
    absent = sum(columns.null_count().row(0))
    if joined.str.count_matches(_ANY).sum() != separators + absent:
        escaped = pl.all().str.replace_many(list(_ESCAPES), list(_ESCAPES.values()))
        joined = _joined(columns.select(escaped))
    return joined


def _joined(columns: pl.DataFrame) -> pl.Series:
    values = (pl.coalesce(name, pl.lit(ABSENT)) for name in columns.columns)
    return columns.select(attributes=pl.concat_str(*values, separator=SEPARATOR)).to_series()


def names_text(names: Mapping[str, Sequence[str]]) -> str:
    """Return the column names of every broker, by its code, as a text."""
    return msgspec.json.encode(names).decode()


def read_names(text: str | None) -> Mapping[str, Sequence[str]]:
    """Return the names by broker code. Raises ValueError for a text that `names_text` did not make."""
    try:
        return {} if text is None else msgspec.json.decode(text, type=dict[str, list[str]])
    except msgspec.DecodeError as error:
        raise ValueError(f"not a catalogue file: {error}") from error


def read_values(names: Sequence[str], text: str | None) -> dict[str, str]:
    """Return a listing's values by column name, in the columns' order; absent values are left out."""
    if text is None:
        return {}
    values = zip(names, text.split(SEPARATOR), strict=True)
    found = {name: value for name, value in values if value != ABSENT}
    return found if ESCAPE not in text else {name: _plain(value) for name, value in found.items()}


def _plain(value: str) -> str:
    first, *rest = value.split(ESCAPE)
    letters = {escaped[-1]: character for character, escaped in _ESCAPES.items()}
    return first + "".join(letters[part[0]] + part[1:] for part in rest)
