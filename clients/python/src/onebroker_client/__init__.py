"""A Python client of onebroker: ten Indian broker accounts as one account.

    from onebroker_client import Client

    with Client(api_key="...", api_secret="...") as client:
        print(client.get_funds().summary)

`Client` is sync, `AsyncClient` is for asyncio and trio; both have the same methods. The modules with types are `answers`, `requests`,
`messages`, `subscriptions` and `words`. Exceptions are in `errors`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from onebroker_client import answers as answers
    from onebroker_client import errors as errors
    from onebroker_client import messages as messages
    from onebroker_client import requests as requests
    from onebroker_client import subscriptions as subscriptions
    from onebroker_client import words as words
    from onebroker_client.async_client import AsyncClient, AsyncStream
    from onebroker_client.settling import Settled
    from onebroker_client.stream_state import Gap, StreamFault, StreamTaken
    from onebroker_client.sync_client import Client, Stream

_HOMES = {
    "AsyncClient": "async_client",
    "AsyncStream": "async_client",
    "Client": "sync_client",
    "Gap": "stream_state",
    "Settled": "settling",
    "Stream": "sync_client",
    "StreamFault": "stream_state",
    "StreamTaken": "stream_state",
}
_MODULES = frozenset({"answers", "errors", "messages", "requests", "subscriptions", "words"})

__all__ = [
    "AsyncClient",
    "AsyncStream",
    "Client",
    "Gap",
    "Settled",
    "Stream",
    "StreamFault",
    "StreamTaken",
    "answers",
    "errors",
    "messages",
    "requests",
    "subscriptions",
    "words",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is: httpx and the types of 55 order types take most of the time."""
    if name in _MODULES:
        return import_module(f"onebroker_client.{name}")
    if name in _HOMES:
        return getattr(import_module(f"onebroker_client.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
