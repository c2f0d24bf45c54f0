"""SmartAPI's two sockets: the market socket (binary out, JSON in, text pings) and the order socket (JSON text out)."""

import weakref
from collections.abc import Iterable, Mapping

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.angelone.answers import RECEIVED, Row, order_row, received_row, status_of
from onebroker.brokers.simulator.dialects.angelone.envelopes import not_found
from onebroker.brokers.simulator.dialects.angelone.login import LoginDesk
from onebroker.brokers.simulator.dialects.angelone.naming import EXCHANGE_TYPES, SmartNames
from onebroker.brokers.simulator.dialects.angelone.packets import DEPTH, LTP, QUOTE, SNAP_QUOTE, packet
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession
from onebroker.brokers.simulator.world.model import SimFill, SimOrder, SimStatus

MARKET_SOCKET = "/smart-stream"
ORDER_SOCKET = "/smart-order-update"
MOST_SOCKETS = 3
"""Per client code, for each kind of socket."""
MOST_SUBSCRIPTIONS = 1000
"""Pairs of token and mode on one socket."""
MOST_DEPTH_TOKENS = 50

SUBSCRIBE, UNSUBSCRIBE = 1, 0
_MODES = (LTP, QUOTE, SNAP_QUOTE, DEPTH)
_BAD_REQUEST = ("E1001", "Invalid Request Payload.")
_FULL = ("E1002", "Invalid Request. Subscription Limit Exceeded")

Subscription = tuple[int, str, int]
"""Exchange type, token, mode."""


class SocketDesk:
    """Opens sockets and keeps the open ones."""

    def __init__(self, account: AccountView, names: SmartNames, login: LoginDesk) -> None:
        self._account, self._names, self._login = account, names, login
        self._open: Mapping[str, weakref.WeakSet[MarketSession | OrderSession]] = {
            MARKET_SOCKET: weakref.WeakSet(),
            ORDER_SOCKET: weakref.WeakSet(),
        }

    def open(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a socket if the headers belong to a live login."""
        held = self._open.get(request.path)
        if held is None:
            return not_found(404)
        fault = self._login.socket_fault(request)
        if fault is not None:
            message = f"Invalid Header - Invalid {fault}"
            return WireResponse(status=401, headers={"x-error-message": message, "content-type": "text/plain"})
        if sum(not session.socket.gone for session in held) >= MOST_SOCKETS:
            return WireResponse(status=429, headers={"x-error-message": "Connection Limit Exceeded"})
        session: MarketSession | OrderSession
        if request.path == MARKET_SOCKET:
            session = MarketSession(self._account, self._names, socket)
        else:
            session = OrderSession(self._account, self._names, socket)
        held.add(session)
        return session

    def close_all(self) -> None:
        """End every open socket."""
        for held in self._open.values():
            for session in list(held):
                session.end()
            held.clear()


class MarketSession:
    """One open market socket."""

    def __init__(self, account: AccountView, names: SmartNames, socket: Socket) -> None:
        self._account, self._names, self.socket = account, names, socket
        self._subscribed: dict[Subscription, None] = {}
        self._sequence = 0

    def end(self) -> None:
        self.socket.close(1008, "session expired")

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
            for each in wanted:
                self._subscribed.pop(each, None)
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
        moved = {names[each].key for each in instrument_ids & names.keys()}
        kinds = {(EXCHANGE_TYPES[exchange], token) for exchange, token in moved if exchange in EXCHANGE_TYPES}
        self._send(each for each in tuple(self._subscribed) if each[:2] in kinds)

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
        self.socket.send(_text({"correlationID": correlation, "errorCode": code, "errorMessage": message}))


def _wanted(request: Mapping[str, object]) -> list[Subscription] | None:
    """Return the subscriptions that a request names, or None if the request is not as documented."""
    params = request.get("params")
    if request.get("action") not in (SUBSCRIBE, UNSUBSCRIBE) or not isinstance(params, dict):
        return None
    mode, listed = params.get("mode"), params.get("tokenList")
    if not isinstance(mode, int) or mode not in _MODES or not isinstance(listed, list):
        return None
    wanted: list[Subscription] = []
    for each in listed:
        kind, tokens = (each.get("exchangeType"), each.get("tokens")) if isinstance(each, dict) else (None, None)
        if not isinstance(kind, int) or kind not in EXCHANGE_TYPES.values() or not isinstance(tokens, list):
            return None
        if mode == DEPTH and kind != EXCHANGE_TYPES["NSE"]:
            return None
        wanted += [(kind, str(token), mode) for token in tokens]
    return wanted


class OrderSession:
    """One open order socket. It sends a greeting, then every change of an order."""

    def __init__(self, account: AccountView, names: SmartNames, socket: Socket) -> None:
        self._account, self._names, self.socket = account, names, socket
        self._seen = {order.order_id for order in account.orders()}
        self._update("AB00", {})

    def end(self) -> None:
        self.socket.close(1008, "session expired")

    def received(self, message: bytes | str) -> None:
        """Answer a ping. The socket takes no other message."""
        if message in ("ping", b"ping"):
            self.socket.send("pong")

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        """Does nothing: prices are on the other socket."""

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        name = self._names.by_id[order.new.instrument_id]
        row = order_row(order, name)
        if order.order_id not in self._seen:
            self._seen.add(order.order_id)
            self._update(RECEIVED[0], received_row(row))
        code, _ = status_of(order)
        if order.status is SimStatus.OPEN and order.modifications and fill is None:
            code, row = "AB04", row | {"status": "modified", "orderstatus": "modified"}
        self._update(code, row)

    def beat(self) -> None:
        """Does nothing: the socket sends only updates."""

    def _update(self, code: str, row: Row) -> None:
        frame = {
            "user-id": self._account.client_id,
            "status-code": "200",
            "order-status": code,
            "error-message": "",
            "orderData": row,
        }
        self.socket.send(_text(frame))


def _text(message: Mapping[str, object]) -> str:
    return msgspec.json.encode(message).decode()
