"""ICICI Direct's order host: order messages."""

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.icicidirect import arrays
from onebroker.brokers.simulator.dialects.icicidirect.naming import IciciNames
from onebroker.brokers.simulator.dialects.icicidirect.socket import IsUser, Stream
from onebroker.brokers.simulator.world.model import SimFill, SimOrder
from onebroker.config.clock import Clock


class OrderStream(Stream):
    """Sends every change of an order to every connected client."""

    def __init__(self, account: AccountView, names: IciciNames, socket: Socket, clock: Clock, is_user: IsUser) -> None:
        super().__init__(account, names, socket, clock, is_user)
        self._sequence = 0

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        name = self._names.by_id.get(order.new.instrument_id)
        if self._accepted and name is not None:
            self._sequence += 1
            self._emit("order", arrays.order_array(order, name, self._account.client_id, self._sequence))
