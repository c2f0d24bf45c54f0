"""All brokers, in the order of their priority for REST quotes (architecture 13). A new broker is one line here.

A broker's folder is imported when the broker is asked for the first time: a service loads the codecs of its own brokers only.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import TypeVar

from onebroker.brokers.broker import Broker, Registry

T = TypeVar("T")

CODES = (
    "zerodha", "upstox", "dhan", "angelone", "fyers", "kotakneo",  # in service for quotes, in this order
    "fivepaisa", "groww", "icicidirect", "shoonya",
)  # fmt: skip
"""A code is the name of the broker's folder. The folder's `broker.py` holds the broker under that name in capitals."""


class ByCode(Mapping[str, T]):
    """Broker code -> a value that is made when it is asked for the first time."""

    def __init__(self, codes: Sequence[str], make: Callable[[str], T]) -> None:
        self._codes = tuple(codes)
        self._make = make
        self._made: dict[str, T] = {}

    def __getitem__(self, code: str) -> T:
        if code not in self._made:
            if code not in self._codes:
                raise KeyError(code)
            self._made[code] = self._make(code)
        return self._made[code]

    def __contains__(self, code: object) -> bool:
        return code in self._codes

    def __iter__(self) -> Iterator[str]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)


def build_registry() -> Registry:
    """Return every broker by its code."""
    return ByCode(CODES, _load)


def _load(code: str) -> Broker:
    broker: Broker = getattr(import_module(f"onebroker.brokers.{code}.broker"), code.upper())
    return broker
