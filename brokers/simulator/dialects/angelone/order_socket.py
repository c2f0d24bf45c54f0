"""SmartAPI's order socket: JSON text out, text pings."""

import msgspec

from onebroker.brokers.simulator.dialects.angelone.naming import SmartNames
from onebroker.brokers.simulator.dialects.angelone.rows import RECEIVED, order_row, received_row, status_of
from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.world.model import SimFill, SimOrder, SimStatus


class OrderSession:
    """One open order socket. It sends a greeting, then every change of an order."""

    def __init__(self, account: AccountView, names: SmartNames, socket: Socket) -> None:
        self._account, self._names, self.socket = account, names, socket
        self._seen = {order.order_id for order in account.orders()}
        self._update("AB00", {})

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
        self.socket.send(msgspec.json.encode(frame).decode())
