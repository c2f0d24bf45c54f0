"""Reads one broker's downloaded files in the worker. Unreadable files are left out and named; then the others are read again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onebroker.brokers.broker import Broker
from onebroker.brokers.codec.instrument_files import MISSING, BadFiles, is_missing
from onebroker.brokers.requests import BrokerError
from onebroker.config.late_modules import pl


def unreadable() -> tuple[type[Exception], ...]:
    """Return the errors that an invalid file can raise: its content is lost, the build never is."""
    return (
        BrokerError, pl.exceptions.PolarsError, ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RecursionError, TypeError,
        ValueError,
    )  # fmt: skip


def read_broker(
    broker: Broker, bodies: Sequence[bytes], names: Sequence[str] = ()
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return the normalized frame and, by file name, why some files gave nothing; `names` are the names of the bodies.

    Raises the errors in `unreadable` when nothing can be read.
    """
    if not any(bodies):  # one file of several may be: Fyers' have no header, so a segment without contracts is empty
        raise ValueError("its file is empty")
    readable = list(bodies)
    missing: dict[str, str] = {}
    while True:
        try:
            return broker.instruments.read_files(readable), missing
        except BadFiles as bad:
            again = False
            for place, why in bad.reasons.items():
                missing[file_name_of(names, place)] = why
                again |= not is_missing(readable[place])
                readable[place] = MISSING
            if not again or not any(readable):
                raise ValueError(told(missing)) from bad


def file_name_of(names: Sequence[str], place: int) -> str:
    """Return the name of the file at this place among a broker's files."""
    return names[place] if place < len(names) else f"file {place + 1}"


def told(missing: Mapping[str, str]) -> str:
    """Return missing files with their reasons as one line."""
    return "; ".join(f"{name}: {why}" for name, why in missing.items())
