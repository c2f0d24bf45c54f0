"""Instrument files of brokers that give several: a file that did not come, or is not what it should be, costs only what it holds.

A body that did not come stands as `MISSING` in its place among the bodies given to `InstrumentCodec.read_files`. A codec reads
its files with `read_each`, which passes over those, and says of all others at once which cannot be read (`BadFiles`); whoever
asked puts `MISSING` in their places and asks again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from onebroker.brokers.codec.contained import contained
from onebroker.brokers.requests import BadAnswer

T = TypeVar("T")


class Missing(bytes):
    """The empty body in the place of a file that did not come; an empty body of another type did come, and is empty."""


MISSING = Missing()


class BadFiles(BadAnswer):
    """Some of several instrument files cannot be read; without them the others can."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons
        """Place among the bodies -> why."""


def is_missing(body: bytes) -> bool:
    """Tell whether this is the body of a file that did not come."""
    return isinstance(body, Missing)


def read_each(bodies: Sequence[bytes], read: Callable[[bytes], T], first: int = 0) -> list[T]:
    """Read every file that came, in order; `first` is the place of the first of these among all the broker's bodies.

    Raises `BadFiles` when `read` could not read some, and `BadAnswer` when none came.
    """
    found: list[T] = []
    reasons: dict[int, str] = {}
    for place, body in enumerate(bodies, first):
        if is_missing(body):
            continue
        try:
            with contained():
                found.append(read(body))
        except BadAnswer as error:
            reasons[place] = str(error)
    if reasons:
        raise BadFiles(reasons)
    if not found:
        raise BadAnswer("none of its instrument files can be read")
    return found
