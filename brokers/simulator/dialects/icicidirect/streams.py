"""ICICI Direct's three Socket.IO hosts, as Engine.IO 4 over a websocket: quotes and depth, orders, candles."""

import weakref
from collections.abc import Callable, Iterable

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession
from onebroker.brokers.simulator.dialects.icicidirect import arrays
from onebroker.brokers.simulator.dialects.icicidirect.envelopes import day_text
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames, Name
from onebroker.brokers.simulator.dialects.rest import as_json
from onebroker.brokers.simulator.world.model import SimFill, SimOrder
from onebroker.config.clock import Clock, from_epoch
from onebroker.config.instruments import strike_text

MARKET, ORDERS, CANDLES = "/livestream/socket.io/", "/livefeeds/socket.io/", "/ohlc/ohlcvstream/"
PING_INTERVAL, PING_TIMEOUT = 25.0, 20.0
_INTERVALS = {"1minute": "1MIN", "5minute": "5MIN", "30minute": "30MIN"}
_MOST_ROOMS = 2000

IsUser = Callable[[object, object], bool]


class StreamDesk:
    """Opens streams and keeps the open ones."""

    def __init__(self, account: AccountView, names: IciciNames, clock: Clock, is_user: IsUser) -> None:
        self._account, self._names, self._clock, self._is_user = account, names, clock, is_user
        self._sessions: weakref.WeakSet[Stream] = weakref.WeakSet()

    def open(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a stream for a websocket client of Engine.IO 4. There is no polling here."""
        kinds: dict[str, type[Stream]] = {MARKET: MarketStream, ORDERS: OrderStream, CANDLES: CandleStream}
        path = request.path if request.path.endswith("/") else f"{request.path}/"
        kind = kinds.get(path)
        if kind is None:
            return as_json(404, {"code": 0, "message": "Not found"})
        if request.first("EIO") != "4" or request.first("transport") != "websocket":
            return as_json(400, {"code": 5, "message": "Unsupported protocol version"})
        session = kind(self._account, self._names, socket, self._clock, self._is_user)
        self._sessions.add(session)
        return session

    def close_all(self) -> None:
        """End every stream, as when the session ends."""
        for session in list(self._sessions):
            session.socket.send("41")
            session.socket.close(1000, "")
        self._sessions.clear()


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


class MarketStream(Stream):
    """Rooms `X.1!token` (quotes) and `X.2!token` (depth)."""

    def __init__(self, account: AccountView, names: IciciNames, socket: Socket, clock: Clock, is_user: IsUser) -> None:
        super().__init__(account, names, socket, clock, is_user)
        self._rooms: dict[str, None] = {}

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        if not self._accepted:
            return
        for room in self._rooms:
            name, level = self._find(room)
            if name is not None and name.contract.instrument_id in instrument_ids:
                self._show(name, level)

    def _join(self, rooms: Iterable[str]) -> None:
        for room in rooms:
            name, level = self._find(room)
            if name is None or len(self._rooms) >= _MOST_ROOMS:
                continue
            self._rooms[room] = None
            self._show(name, level)

    def _leave(self, rooms: Iterable[str]) -> None:
        for room in rooms:
            self._rooms.pop(room, None)

    def _find(self, room: str) -> tuple[Name | None, str]:
        head, _, token = room.partition("!")
        exchange, _, level = head.partition(".")
        name = self._names.by_room.get(f"{exchange}!{token}") if level in ("1", "2") else None
        return name, level

    def _show(self, name: Name, level: str) -> None:
        market = self._account.market(name.contract.instrument_id)
        if level == "1":
            self._emit("stock", arrays.quote_array(name, market))
        elif not name.contract.is_index and name.exchange != "MCX":
            self._emit("stock", arrays.depth_array(name, market))


class OrderStream(Stream):
    """Sends every change of an order to every connected client."""

    def __init__(self, account: AccountView, names: IciciNames, socket: Socket, clock: Clock, is_user: IsUser) -> None:
        super().__init__(account, names, socket, clock, is_user)
        self._sequence = 0

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        name = self._names.by_id.get(order.new.instrument_id)
        if self._accepted and name is not None:
            self._sequence += 1
            self._emit("order", arrays.order_array(order, name, self._account.client_id, self._sequence))


class CandleStream(Stream):
    """Rooms as for quotes (BFO under 2). Sends the running candle as a text, in an event named after its interval."""

    def __init__(self, account: AccountView, names: IciciNames, socket: Socket, clock: Clock, is_user: IsUser) -> None:
        super().__init__(account, names, socket, clock, is_user)
        self._rooms: dict[str, Name] = {}

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        if not self._accepted:
            return
        for name in self._rooms.values():
            if name.contract.instrument_id in instrument_ids:
                self._show(name)

    def _join(self, rooms: Iterable[str]) -> None:
        for room in rooms:
            exchange, _, token = room.replace(".1!", "!", 1).partition("!")
            name = self._names.by_room.get(f"{'8' if exchange == '2' else exchange}!{token}")
            if name is not None:
                self._rooms[room] = name
                self._show(name)

    def _leave(self, rooms: Iterable[str]) -> None:
        for room in rooms:
            self._rooms.pop(room, None)

    def _show(self, name: Name) -> None:
        today = self._clock.today()
        for interval, channel in _INTERVALS.items():
            candles = self._account.candles(name.contract.instrument_id, interval, today, today)
            if candles:
                self._emit(channel, _candle_text(name, candles[-1], channel))


def _candle_text(name: Name, candle: tuple[float, float, float, float, float, int, int], channel: str) -> str:
    """Return a candle as text. Low and high come before open and close."""
    start, open_, high, low, close, volume, interest = candle
    fields: list[object] = [name.exchange, name.stock_code]
    if name.expiry is not None:
        fields.append(day_text(name.expiry))
    if name.kind == "options":
        fields += [strike_text(name.strike), name.contract.identity.option_type]
    fields += [low, high, open_, close, volume]
    if name.expiry is not None:
        fields.append(interest)
    return ",".join(map(str, [*fields, f"{from_epoch(start):%Y-%m-%d %H:%M:%S}", channel]))
