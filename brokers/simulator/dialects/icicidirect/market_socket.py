"""ICICI Direct's market host: quotes and depth in rooms."""

from collections.abc import Iterable

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.icicidirect import arrays
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames, Name
from onebroker.brokers.simulator.dialects.icicidirect.socket import IsUser, Stream
from onebroker.config.clock import Clock

_MOST_ROOMS = 2000


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
