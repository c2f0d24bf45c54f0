"""How clients reach Upstox' two sockets: one-time addresses under a live token. Each address opens one socket once."""

import hashlib
from collections.abc import Callable
from urllib.parse import urlencode

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.base import OpenSockets, stream_base
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket, SocketSession
from onebroker.brokers.simulator.dialects.upstox.envelope import error, not_supported, success
from onebroker.brokers.simulator.dialects.upstox.market_socket import MarketSession
from onebroker.brokers.simulator.dialects.upstox.naming import UpstoxNames
from onebroker.brokers.simulator.dialects.upstox.order_socket import PortfolioSession
from onebroker.config.clock import Clock

MARKET_SOCKET = "/market-data-feeder/v3/upstox-developer-api/feeds"
PORTFOLIO_SOCKET = "/order-updates/feed"
"""Paths of the one-time socket addresses."""
DOCUMENTED = frozenset({"/v3/feed/market-data-feed", "/v2/feed/portfolio-stream-feed"})
"""These paths redirect to a one-time address."""
UPDATE_TYPES = frozenset({"order", "position", "holding", "gtt_order"})


class SocketDesk:
    """Hands out one-time addresses and keeps the sockets opened with them."""

    def __init__(self, account: AccountView, names: UpstoxNames, clock: Clock, secret: str) -> None:
        self._account, self._names, self._clock, self._secret = account, names, clock, secret
        self._sockets: OpenSockets[MarketSession | PortfolioSession] = OpenSockets()
        self._codes: set[str] = set()
        self._count = 0

    def authorize(self, request: DialectRequest) -> WireResponse:
        """Answer with a one-time address, in both spellings."""
        address = self._one_time_address(request)
        return success({"authorized_redirect_uri": address, "authorizedRedirectUri": address})

    def open(
        self, request: DialectRequest, socket: Socket, check: Callable[[DialectRequest], None]
    ) -> SocketSession | WireResponse:
        """Open a socket at a one-time address. A documented address is redirected to one after `check`, which may raise."""
        if request.path in (MARKET_SOCKET, PORTFOLIO_SOCKET):
            return self._open_once(request, socket)
        if request.path not in DOCUMENTED:
            return not_supported()
        check(request)
        return WireResponse(status=302, headers={"location": self._one_time_address(request)})

    def close_all(self) -> None:
        """End every open socket and every unused address."""
        self._codes.clear()
        self._sockets.close_all(1008, "access token expired")

    def _open_once(self, request: DialectRequest, socket: Socket) -> SocketSession | WireResponse:
        code = request.first("code") or ""
        if code not in self._codes:
            return error(401, "UDAPI100050", "Invalid token used to access API")
        self._codes.discard(code)
        if request.path == MARKET_SOCKET:
            return self._sockets.keep(MarketSession(self._account, self._names, socket, self._clock))
        kinds = _update_types(request)
        return self._sockets.keep(PortfolioSession(self._account, self._names, socket, kinds))

    def _one_time_address(self, request: DialectRequest) -> str:
        self._count += 1
        moment = f"{self._clock.epoch()}|{self._count}"
        code = hashlib.sha256(f"{self._secret}|{moment}".encode()).hexdigest()[:36]
        self._codes.add(code)
        query = {"requestId": str(self._count), "code": code}
        path = MARKET_SOCKET
        if "portfolio" in request.path:
            path = PORTFOLIO_SOCKET
            query["update_types"] = ",".join(sorted(_update_types(request)))
        return f"{stream_base(request.base)}{path}?{urlencode(query)}"


def _update_types(request: DialectRequest) -> frozenset[str]:
    """Return the wanted update types; order updates if none is named."""
    named = frozenset((request.first("update_types") or "order").split(","))
    return named & UPDATE_TYPES
