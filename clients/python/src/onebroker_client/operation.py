"""One operation of the API: where its arguments go, and what answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Operation:
    """A route and a method."""

    name: str
    method: str
    path: str
    access: Literal["open", "token", "credentials"]
    query: dict[str, str]
    """Argument -> name in the query."""
    body: dict[str, str]
    """Argument -> field of the JSON body."""
    structs: tuple[Any, ...]
    """What a success may be; empty: JSON as it is."""
    is_list: bool = False
    """Whether a success is an array of the struct."""
    is_text: bool = False
    changes: bool = False
    """Whether the request can change something, so that a lost answer leaves its outcome unknown."""

    @property
    def is_repeatable(self) -> bool:
        """Whether the request may be sent again when its answer is lost. A connect changes nothing when it is repeated."""
        return self.method == "GET" or self.name == "connect"
