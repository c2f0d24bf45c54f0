"""Modules that are imported at their first use: `from onebroker.config.late_modules import pl`.

The import of polars takes as long as that of seventy modules of ours, and a service answers before it needs a table. Modules that use `pl` only inside
functions import it from here; with `from __future__ import annotations` a type in a signature does not count as a use.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


class LateModule(ModuleType):
    """Stands for the module of its name, and imports it at the first use. One thread imports, and others that use it meanwhile wait."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self.__name__), name)
        self.__dict__[name] = value
        return value


class LateSchema(Mapping[str, "pl.DataType"]):
    """Name of a column -> its type, worked out at the first use."""

    def __init__(self, make: "Callable[[], Mapping[str, pl.DataType]]") -> None:
        self._make = make

    @cached_property
    def _types(self) -> "Mapping[str, pl.DataType]":
        return self._make()

    def __getitem__(self, name: str) -> "pl.DataType":
        return self._types[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


if not TYPE_CHECKING:
    pl = LateModule("polars")

__all__ = ["LateModule", "LateSchema", "pl"]
