"""5paisa's one socket: market data and order messages as JSON text. A token has one connection: a new connection ends the old connection."""

from collections.abc import Iterable, Mapping

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.fivepaisa import frames
from onebroker.brokers.simulator.dialects.fivepaisa.naming import FivepaisaNames, Name
from onebroker.brokers.simulator.world.model import Market, SimFill, SimOrder, SimStatus

QUOTE, INDICES, DEPTH, OPEN_INTEREST = "MarketFeedV3", "Indices", "MarketDepthService", "GetScripInfoForFuture"
_ALWAYS = ("Exch", "ExchType", "Token", "TickDt", "Time")
"""Quote fields that come with every update. Other fields come only when they changed."""


class ChatSession:
    """One open connection."""

    def __init__(self, account: AccountView, names: FivepaisaNames, socket: Socket) -> None:
        self._account, self._names = account, names
        self.socket = socket
        self._followed: dict[str, set[str]] = {QUOTE: set(), DEPTH: set(), OPEN_INTEREST: set()}
        """Method -> instrument ids."""
        self._sent: dict[str, Row] = {}
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
        found = [self._find(named) for named in listed]
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
            moved = sorted(instrument_ids & followed & by_id.keys())
            self._send(method, [by_id[instrument_id] for instrument_id in moved])

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        before, self._orders[order.order_id] = self._orders.get(order.order_id), order
        name = self._names.by_id[order.new.instrument_id]
        client = self._account.client_id
        if _just_triggered(before, order):
            self._say(frames.trigger_message(order, name, client))
        elif fill is None or before is None:
            self._say(frames.confirmation(order, name, client))
        if fill is not None:
            self._say(frames.fill_message(order, fill, name, client))

    def beat(self) -> None:
        """Does nothing: between messages there are only websocket pings, which the host sends."""

    def _find(self, named: object) -> Name | None:
        return self._names.named(named, "Exch", "ExchType") if isinstance(named, dict) else None

    def _send(self, method: str, names: Iterable[Name]) -> None:
        markets = [(name, self._account.market(name.contract.instrument_id)) for name in names]
        if method == QUOTE:
            rows = [self._quote(name, market) for name, market in markets]
            if rows:
                self._say(rows)
            return
        frame = frames.depth_frame if method == DEPTH else frames.open_interest_frame
        for name, market in markets:
            if not name.contract.is_index and not (method == OPEN_INTEREST and name.is_cash):
                self._say(frame(name, market))

    def _quote(self, name: Name, market: Market) -> Row:
        """Return the fields that changed since the last quote; all fields the first time."""
        instrument_id = name.contract.instrument_id
        whole, before = frames.quote_frame_row(name, market), self._sent.get(instrument_id, {})
        self._sent[instrument_id] = whole
        return {field: value for field, value in whole.items() if field in _ALWAYS or before.get(field) != value}

    def _say(self, message: Mapping[str, object] | list[Row]) -> None:
        self.socket.send(msgspec.json.encode(message).decode())


def _just_triggered(before: SimOrder | None, order: SimOrder) -> bool:
    waited = before is not None and before.status is SimStatus.TRIGGER_PENDING
    same = before is not None and before.modifications == order.modifications
    return waited and same and order.status in (SimStatus.OPEN, SimStatus.COMPLETE)
