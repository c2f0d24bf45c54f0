"""SmartAPI's market socket: binary packets out, JSON requests in, text pings."""

from collections.abc import Iterable, Mapping

import msgspec

from onebroker.brokers.simulator.dialects.angelone.naming import EXCHANGE_TYPES, SmartNames
from onebroker.brokers.simulator.dialects.angelone.packets import DEPTH, LTP, QUOTE, SNAP_QUOTE, packet
from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.world.model import SimFill, SimOrder

MOST_SUBSCRIPTIONS = 1000
"""Pairs of token and mode on one socket."""
MOST_DEPTH_TOKENS = 50

SUBSCRIBE, UNSUBSCRIBE = 1, 0
_MODES = (LTP, QUOTE, SNAP_QUOTE, DEPTH)
_BAD_REQUEST = ("E1001", "Invalid Request Payload.")
_FULL = ("E1002", "Invalid Request. Subscription Limit Exceeded")

Subscription = tuple[int, str, int]
"""Exchange type, token, mode."""


class MarketSession:
    """One open market socket."""

    def __init__(self, account: AccountView, names: SmartNames, socket: Socket) -> None:
        self._account, self._names, self.socket = account, names, socket
        self._subscribed: dict[Subscription, None] = {}
        self._sequence = 0

    def received(self, message: bytes | str) -> None:
        """Take pings, subscriptions and unsubscriptions. Unreadable messages are answered with an error."""
        if message in ("ping", b"ping"):
            self.socket.send("pong")
            return
        try:
            request = msgspec.json.decode(message, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._error("", *_BAD_REQUEST)
            return
        correlation = str(request.get("correlationID") or "")[:10]
        wanted = _wanted(request)
        if wanted is None:
            self._error(correlation, *_BAD_REQUEST)
        elif request["action"] == UNSUBSCRIBE:
            for subscription in wanted:
                self._subscribed.pop(subscription, None)
        else:
            self._follow(correlation, wanted)

    def _follow(self, correlation: str, wanted: list[Subscription]) -> None:
        together = self._subscribed | dict.fromkeys(wanted)
        deep = sum(mode == DEPTH for _, _, mode in together)
        if len(together) > MOST_SUBSCRIPTIONS or deep > MOST_DEPTH_TOKENS:
            self._error(correlation, *_FULL)
            return
        self._subscribed = together
        self._send(wanted)

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        names = self._names.by_id
        moved = {names[instrument_id].key for instrument_id in instrument_ids & names.keys()}
        kinds = {(EXCHANGE_TYPES[exchange], token) for exchange, token in moved if exchange in EXCHANGE_TYPES}
        self._send(subscription for subscription in tuple(self._subscribed) if subscription[:2] in kinds)

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Does nothing: orders are on the other socket."""

    def beat(self) -> None:
        """Does nothing: the server answers pings and sends none."""

    def _send(self, wanted: Iterable[Subscription]) -> None:
        """Send one frame for each subscription. An unknown token gets none."""
        by_type = self._names.by_type
        for kind, token, mode in wanted:
            name = by_type.get((kind, token))
            if name is not None:
                self._sequence += 1
                market = self._account.market(name.contract.instrument_id)
                self.socket.send(packet(name, market, mode, self._sequence))

    def _error(self, correlation: str, code: str, message: str) -> None:
        frame = {"correlationID": correlation, "errorCode": code, "errorMessage": message}
        self.socket.send(msgspec.json.encode(frame).decode())


def _wanted(request: Mapping[str, object]) -> list[Subscription] | None:
    """Return the subscriptions that a request names, or None if the request is not as documented."""
    params = request.get("params")
    if request.get("action") not in (SUBSCRIBE, UNSUBSCRIBE) or not isinstance(params, dict):
        return None
    mode, listed = params.get("mode"), params.get("tokenList")
    if not isinstance(mode, int) or mode not in _MODES or not isinstance(listed, list):
        return None
    wanted: list[Subscription] = []
    for row in listed:
        kind, tokens = (row.get("exchangeType"), row.get("tokens")) if isinstance(row, dict) else (None, None)
        if not isinstance(kind, int) or kind not in EXCHANGE_TYPES.values() or not isinstance(tokens, list):
            return None
        if mode == DEPTH and kind != EXCHANGE_TYPES["NSE"]:
            return None
        wanted += [(kind, str(token), mode) for token in tokens]
    return wanted
