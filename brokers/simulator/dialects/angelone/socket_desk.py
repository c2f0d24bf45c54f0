"""How clients reach SmartAPI's two sockets: by the headers of a live login, and a few at a time."""

from collections.abc import Mapping

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.angelone.envelope import not_found
from onebroker.brokers.simulator.dialects.angelone.login import LoginDesk
from onebroker.brokers.simulator.dialects.angelone.market_socket import MarketSession
from onebroker.brokers.simulator.dialects.angelone.naming import SmartNames
from onebroker.brokers.simulator.dialects.angelone.order_socket import OrderSession
from onebroker.brokers.simulator.dialects.base import OpenSockets
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession

MARKET_SOCKET = "/smart-stream"
ORDER_SOCKET = "/smart-order-update"
MOST_SOCKETS = 3
"""Most sockets of a kind, for each client code."""


class SocketDesk:
    """Opens sockets and keeps the open sockets."""

    def __init__(self, account: AccountView, names: SmartNames, login: LoginDesk) -> None:
        self._account, self._names, self._login = account, names, login
        self._open: Mapping[str, OpenSockets[MarketSession | OrderSession]] = {
            MARKET_SOCKET: OpenSockets(),
            ORDER_SOCKET: OpenSockets(),
        }

    def open(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        """Open a socket if the headers belong to a live login."""
        sockets = self._open.get(request.path)
        if sockets is None:
            return not_found(404)
        fault = self._login.socket_fault(request)
        if fault is not None:
            message = f"Invalid Header - Invalid {fault}"
            return WireResponse(status=401, headers={"x-error-message": message, "content-type": "text/plain"})
        if sockets.connected() >= MOST_SOCKETS:
            return WireResponse(status=429, headers={"x-error-message": "Connection Limit Exceeded"})
        session_of = MarketSession if request.path == MARKET_SOCKET else OrderSession
        return sockets.keep(session_of(self._account, self._names, socket))

    def close_all(self) -> None:
        """End every open socket."""
        for sockets in self._open.values():
            sockets.close_all(1008, "session expired")
