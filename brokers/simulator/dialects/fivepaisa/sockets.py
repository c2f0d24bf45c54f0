"""5paisa's one socket: market data and order messages as JSON text. A token has one connection: a new one ends the old one."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import AccountView, DialectRequest, Socket
from onebroker.brokers.simulator.dialects.fivepaisa import answers
from onebroker.brokers.simulator.dialects.fivepaisa.envelopes import bare
from onebroker.brokers.simulator.dialects.fivepaisa.naming import FivepaisaNames, Name
from onebroker.brokers.simulator.world.model import Market, SimFill, SimOrder, SimStatus

QUOTE, INDICES, DEPTH, OPEN_INTEREST = "MarketFeedV3", "Indices", "MarketDepthService", "GetScripInfoForFuture"
_EVICTED = 1000
_ALWAYS = ("Exch", "ExchType", "Token", "TickDt", "Time")
"""Quote fields that come with every update. Other fields come only when they changed."""


class SocketDesk:
    """Holds the one open connection of the account."""

    def __init__(self, account: AccountView, names: FivepaisaNames, is_live: Callable[[str], bool]) -> None:
        self._account, self._names, self._is_live = account, names, is_live
        self._session: ChatSession | None = None

    def open(self, request: DialectRequest, socket: Socket) -> "ChatSession | WireResponse":
        token, _, client = (request.first("Value1") or "").partition("|")
        if not self._is_live(token) or client != self._account.client_id:
            return bare(401, "Invalid Token")
        self.close_all()
        self._session = ChatSession(self._account, self._names, socket)
        return self._session

    def close_all(self) -> None:
        if self._session is not None:
            self._session.socket.close(_EVICTED, "")
            self._session = None


class ChatSession:
    """One open connection."""

    def __init__(self, account: AccountView, names: FivepaisaNames, socket: Socket) -> None:
        self._account, self._names = account, names
        self.socket = socket
        self._followed: dict[str, set[str]] = {QUOTE: set(), DEPTH: set(), OPEN_INTEREST: set()}
        """Method -> instrument ids."""
        self._sent: dict[str, answers.Row] = {}
        """Instrument id -> the quote last sent."""
        self._orders = {order.order_id: order for order in account.orders()}

    def received(self, message: bytes | str) -> None:
        """Take subscriptions. Unreadable messages are ignored, because there is no error frame."""
        if message in ("PING", b"PING"):
            self.socket.send("PONG")
            return
        try:
            said = msgspec.json.decode(message, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        method = QUOTE if said.get("Method") == INDICES else str(said.get("Method"))
        operation, listed = said.get("Operation"), said.get("MarketFeedData")
        if str(said.get("ClientCode")) != self._account.client_id:
            return
        if method not in self._followed or not isinstance(listed, list):
            return  # order messages need no subscription
        found = [self._find(each) for each in listed]
        names = [name for name in found if name is not None]
        ids = {name.contract.instrument_id for name in names}
        if operation == "Subscribe":
            self._followed[method] |= ids
            if method == QUOTE:
                self._sent = {key: row for key, row in self._sent.items() if key not in ids}
            self._send(method, names)
        elif operation == "Unsubscribe":
            self._followed[method] -= ids

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        by_id = self._names.by_id
        for method, followed in self._followed.items():
            ids = sorted(instrument_ids & followed & by_id.keys())
            self._send(method, [by_id[each] for each in ids])

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        before, self._orders[order.order_id] = self._orders.get(order.order_id), order
        name = self._names.by_id[order.new.instrument_id]
        client = self._account.client_id
        if _just_triggered(before, order):
            self._say(answers.trigger_message(order, name, client))
        elif fill is None or before is None:
            self._say(answers.confirmation(order, name, client))
        if fill is not None:
            self._say(answers.fill_message(order, fill, name, client))

    def beat(self) -> None:
        """Does nothing: between messages there are only websocket pings, which the host sends."""

    def _find(self, each: object) -> Name | None:
        if not isinstance(each, dict):
            return None
        return self._names.find(each.get("Exch"), each.get("ExchType"), each.get("ScripCode"), each.get("ScripData"))

    def _send(self, method: str, names: Iterable[Name]) -> None:
        markets = [(name, self._account.market(name.contract.instrument_id)) for name in names]
        if method == QUOTE:
            rows = [self._quote(name, market) for name, market in markets]
            if rows:
                self._say(rows)
            return
        frame = answers.depth_frame if method == DEPTH else answers.open_interest_frame
        for name, market in markets:
            if not name.contract.is_index and not (method == OPEN_INTEREST and name.is_cash):
                self._say(frame(name, market))

    def _quote(self, name: Name, market: Market) -> answers.Row:
        """Return the fields that changed since the last quote; all fields the first time."""
        instrument_id = name.contract.instrument_id
        whole, before = answers.quote_frame_row(name, market), self._sent.get(instrument_id, {})
        self._sent[instrument_id] = whole
        return {field: value for field, value in whole.items() if field in _ALWAYS or before.get(field) != value}

    def _say(self, message: Mapping[str, object] | list[answers.Row]) -> None:
        self.socket.send(msgspec.json.encode(message).decode())


def _just_triggered(before: SimOrder | None, order: SimOrder) -> bool:
    waited = before is not None and before.status is SimStatus.TRIGGER_PENDING
    same = before is not None and before.modifications == order.modifications
    return waited and same and order.status in (SimStatus.OPEN, SimStatus.COMPLETE)
