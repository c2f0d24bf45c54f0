"""A connection of ICICI Direct's Socket.IO hosts, as Engine.IO 4 over a websocket: the handshake, the heartbeat, the rooms."""

from collections.abc import Callable, Iterable

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames
from onebroker.brokers.simulator.world.model import SimFill, SimOrder
from onebroker.config.clock import Clock

PING_INTERVAL, PING_TIMEOUT = 25.0, 20.0
"""Seconds."""

IsUser = Callable[[object, object], bool]
"""(user, session key) -> whether both are live."""


class Stream:
    """One connection: the handshake, the heartbeat, and events after its credentials are accepted."""

    def __init__(self, account: AccountView, names: IciciNames, socket: Socket, clock: Clock, is_user: IsUser) -> None:
        self.socket = socket
        self._account, self._names, self._clock, self._is_user = account, names, clock, is_user
        self._accepted = False
        self._pinged_at = clock.epoch()
        self._ponged = True
        self._sid = f"{id(self):x}"
        opened = {
            "sid": self._sid,
            "upgrades": [],
            "pingInterval": int(PING_INTERVAL * 1000),
            "pingTimeout": int(PING_TIMEOUT * 1000),
        }
        socket.send(f"0{msgspec.json.encode(opened).decode()}")

    def received(self, message: bytes | str) -> None:
        """Take a packet: pong, connect, disconnect or event. Other packets are ignored."""
        if not isinstance(message, str):
            return
        if message == "3":
            self._ponged = True
        elif message.startswith("42"):
            self._event(message[2:])
        elif message.startswith("41"):
            self._accepted = False
        elif message.startswith("40"):
            self._connect(message[2:])
        elif message == "1":
            self.socket.close(1000, "")

    def beat(self) -> None:
        """Ping when it is time. A client that did not answer the last ping is gone."""
        now = self._clock.epoch()
        if not self._ponged and now - self._pinged_at > PING_TIMEOUT:
            self.socket.close(1000, "ping timeout")
        elif self._ponged and now - self._pinged_at >= PING_INTERVAL:
            self._pinged_at, self._ponged = now, False
            self.socket.send("2")

    def end(self) -> None:
        """End the stream, because the login has ended."""
        self.socket.send("41")
        self.socket.close(1000, "")

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        """Does nothing: only the market streams show prices."""

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Does nothing: only the order stream shows orders."""

    def _connect(self, body: str) -> None:
        try:
            given = msgspec.json.decode(body or "{}", type=dict[str, object])
        except (msgspec.DecodeError, UnicodeError):
            given = {}
        if not self._is_user(given.get("user"), given.get("token")):
            self.socket.send('44{"message":"Could not authenticate credentials"}')
            return
        self._accepted = True
        self.socket.send(f'40{{"sid":"{self._sid}c"}}')

    def _event(self, body: str) -> None:
        try:
            name, *arguments = msgspec.json.decode(body.lstrip("0123456789"), type=list[object])
        except (msgspec.DecodeError, UnicodeError, ValueError):
            return
        if self._accepted and name in ("join", "leave") and arguments:
            named = arguments[0] if isinstance(arguments[0], list) else [arguments[0]]
            rooms = [room for room in named if isinstance(room, str)]
            if name == "join":
                self._join(rooms)
            else:
                self._leave(rooms)

    def _join(self, rooms: Iterable[str]) -> None:
        """Does nothing: there is no room to join."""

    def _leave(self, rooms: Iterable[str]) -> None:
        """Does nothing: there is no room to leave."""

    def _emit(self, name: str, argument: object) -> None:
        self.socket.send(f"42{msgspec.json.encode([name, argument]).decode()}")
