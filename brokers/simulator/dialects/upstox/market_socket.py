"""Upstox' market socket: protobuf out, JSON in binary frames in."""

from collections.abc import Iterable
from typing import Any

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.upstox import frames
from onebroker.brokers.simulator.dialects.upstox.naming import UpstoxNames
from onebroker.brokers.simulator.world.model import SimFill, SimOrder
from onebroker.config.clock import Clock

MOST_INSTRUMENTS = {"ltpc": 5000, "full": 2000, "option_greeks": 3000, "full_d30": 50}


class MarketSession:
    """One open market socket."""

    def __init__(self, account: AccountView, names: UpstoxNames, socket: Socket, clock: Clock) -> None:
        self._account, self._names, self._clock = account, names, clock
        self.socket = socket
        self._modes: dict[str, str] = {}
        self._greeted = False

    def received(self, message: bytes | str) -> None:
        """Take sub, unsub and change_mode. Upstox reads only binary frames."""
        self._greet()
        if isinstance(message, str):
            return
        try:
            request = msgspec.json.decode(message, type=dict[str, Any])
            method, data = request["method"], request["data"]
            mode = data.get("mode", "ltpc")
            keys = msgspec.convert(data["instrumentKeys"], list[str])
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError, AttributeError, UnicodeError, RecursionError):
            self._error("Invalid request")
            return
        if method not in ("sub", "unsub", "change_mode") or mode not in frames.REQUEST_MODES:
            self._error(f"Invalid method or mode: {method} {mode}")
        elif method == "unsub":
            for key in keys:
                self._modes.pop(key, None)
        else:
            self._follow(keys, mode, only_held=method == "change_mode")

    def _follow(self, keys: list[str], mode: str, *, only_held: bool) -> None:
        known = [key for key in keys if key in self._names.by_key]
        wanted = [key for key in known if not only_held or key in self._modes]
        alike = {key for key, held in self._modes.items() if held == mode} | set(wanted)
        if len(alike) > MOST_INSTRUMENTS[mode]:
            self._error(f"Subscription limit of {MOST_INSTRUMENTS[mode]} instruments exceeded")
            return
        self._modes.update(dict.fromkeys(wanted, mode))
        self._send(frames.INITIAL_FEED, wanted)

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        names = self._names.by_id
        keys = [names[instrument_id].key for instrument_id in sorted(instrument_ids & names.keys())]
        self._send(frames.LIVE_FEED, [key for key in keys if key in self._modes])

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Does nothing: orders are on the other socket."""

    def beat(self) -> None:
        """Send the first frame if it is not sent yet. Between ticks there are only websocket pings, which the host sends."""
        self._greet()

    def _greet(self) -> None:
        if not self._greeted:
            self._greeted = True
            self.socket.send(frames.market_info(self._milliseconds()))

    def _send(self, kind: int, keys: Iterable[str]) -> None:
        by_key = self._names.by_key
        names = [by_key[key] for key in keys if key in by_key]
        if not names:
            return
        self._greet()
        feeds = [
            (name.key, frames.feed(name, self._account.market(name.contract.instrument_id), self._modes[name.key]))
            for name in names
        ]
        self.socket.send(frames.feeds(kind, feeds, self._milliseconds()))

    def _milliseconds(self) -> int:
        return int(self._clock.epoch() * 1000)

    def _error(self, text: str) -> None:
        self.socket.send(msgspec.json.encode({"status": "failed", "error": text}).decode())
