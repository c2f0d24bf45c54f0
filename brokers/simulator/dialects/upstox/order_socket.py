"""Upstox' portfolio socket: changes of orders and positions as JSON text."""

from collections.abc import Set

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.upstox.naming import Name, UpstoxNames
from onebroker.brokers.simulator.dialects.upstox.rows import order_row, position_row, received_row
from onebroker.brokers.simulator.world.model import SimFill, SimOrder


class PortfolioSession:
    """One open portfolio socket. `kinds` are the update types that the client asked for."""

    def __init__(self, account: AccountView, names: UpstoxNames, socket: Socket, kinds: Set[str]) -> None:
        self._account, self._names, self._kinds = account, names, kinds
        self.socket = socket
        self._seen = {order.order_id for order in account.orders()}

    def received(self, message: bytes | str) -> None:
        """Does nothing: the socket takes no messages."""

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        """Does nothing: prices are on the other socket."""

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        name = self._names.by_id[order.new.instrument_id]
        client = self._account.client_id
        if "order" in self._kinds:
            row = order_row(order, name, client)
            if order.order_id not in self._seen:
                self._seen.add(order.order_id)
                self._update("order", received_row(row), name)
            self._update("order", row, name)
        if fill is not None and "position" in self._kinds:
            self._positions(name)

    def beat(self) -> None:
        """Does nothing: between updates there are only websocket pings, which the host sends."""

    def _positions(self, name: Name) -> None:
        instrument_id = name.contract.instrument_id
        for position in self._account.positions():
            if position.instrument_id == instrument_id:
                row = position_row(position, name, self._account.market(instrument_id))
                for absent in ("last_price", "pnl", "unrealised", "realised", "value"):
                    del row[absent]
                self._update("position", row | {"exchange": name.segment}, name)

    def _update(self, kind: str, row: dict[str, object], name: Name) -> None:
        client = self._account.client_id
        head: dict[str, object] = {"update_type": kind, "user_id": client, "userId": client, "instrument_key": name.key}
        self.socket.send(msgspec.json.encode(head | row).decode())
