"""Instrument files of brokers that have several: a file that is missing or unreadable costs only its own content.

`MISSING` takes the place of a missing body among the bodies given to `InstrumentCodec.read_files`. A codec reads its
files with `read_each`, which skips missing bodies and reports all unreadable files at once (`BadFiles`). The caller then
puts `MISSING` in their places and asks again.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from onebroker.brokers.codec.contained import contained
from onebroker.brokers.requests import BadAnswer

T = TypeVar("T")


class Missing(bytes):
    """The empty body in the place of a file that did not come. An empty body of another type belongs to a file that came and is empty."""


MISSING = Missing()


class BadFiles(BadAnswer):
    """Some of several instrument files cannot be read; the others can be read without them."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        super().__init__(next(iter(reasons.values())))
        self.reasons = reasons
        """Place among the bodies -> why."""


def is_missing(body: bytes) -> bool:
    """Tell whether this body stands for a file that did not come."""
    return isinstance(body, Missing)


def read_each(bodies: Sequence[bytes], read: Callable[[bytes], T], first: int = 0) -> list[T]:
    """Read every file that came, in order; `first` is the place of the first of `bodies` among all the broker's bodies.

    Raises `BadFiles` when `read` could not read some files, and `BadAnswer` when no file came.
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
