"""ICICI Direct's candle host: the running candles of rooms."""

from collections.abc import Iterable

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.icicidirect.envelope import day_text
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames, Name
from onebroker.brokers.simulator.dialects.icicidirect.socket import IsUser, Stream
from onebroker.config.clock import Clock, from_epoch
from onebroker.config.instruments import strike_text

_INTERVALS = {"1minute": "1MIN", "5minute": "5MIN", "30minute": "30MIN"}
"""Interval of the exchange's candles -> the channel."""


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
