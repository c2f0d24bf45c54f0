"""Tells which clients were refused, as `client.refused` (`config/events.py`): at most once a minute for each reason. No event holds a token, a key
or a name that a client sent."""

from enum import StrEnum

import trio

from onebroker.actors.kernel.events import Events
from onebroker.config.events import ClientRefused
from onebroker.http.listener.minute_log import MinuteLog


class Why(StrEnum):
    """Why a client was refused."""

    TOKEN = "wrong access token"
    CREDENTIALS = "wrong API key or secret"
    METRICS_TOKEN = "wrong metrics token"
    HOST = "host name of another site"
    ORIGIN = "page of another site"
    CONNECTIONS = "too many connections of callers with the token"
    FILES = "the files that are left are the order engine's"
    GAVE_WAY = "a connection without the token gave way to a newer one"


class RefusedClients:
    """Counts refused clients and tells them to `events`. One for a service, because the minute is of the whole service."""

    def __init__(self, events: Events | None = None) -> None:
        self._events = events or Events()
        self.log = MinuteLog(self._tell, now=trio.current_time)

    def note(self, why: Why, address: str) -> None:
        """Count one refusal of a client at `address`, without its port."""
        self.log.note(why.value, address)

    def _tell(self, why: str, count: int, address: str) -> None:
        self._events.tell(ClientRefused(why=why, address=address, count=count))
