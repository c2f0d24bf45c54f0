"""Kotak Neo's order stream: a greeting, in JSON or not, then one text frame for every change of an order or position."""

import re
from collections.abc import Callable

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.kotakneo.naming import Name, NeoNames
from onebroker.brokers.simulator.dialects.kotakneo.rows import RECEIVED, Stamps, order_row, position_row
from onebroker.brokers.simulator.world.model import SimFill, SimOrder
from onebroker.config.clock import Clock

_RAW = re.compile(r"\{type:cn,Authorization:([^,]*),Sid:([^,]*),src:(\w+)\}")
_ORDER_FIELDS = (
    "nOrdNo", "ordSt", "avgPrc", "qty", "fldQty", "unFldSz", "sym", "trnsTp", "prcTp", "prod", "exSeg", "ordDtTm",
    "exOrdId", "trdSym", "tok", "updRecvTm", "boeSec", "exCfmTm",
)  # fmt: skip
"""The order fields of the documented frames. Price, validity and tag are not among them."""
_POSITION_FIELDS = (
    "actId", "sym", "exSeg", "prod", "flBuyQty", "flSellQty", "buyAmt", "sellAmt", "posFlg", "sqrFlg", "lotSz",
    "multiplier", "hsUpTm",
)  # fmt: skip
_BEFORE = 3
"""Nanoseconds between the states that an order passes through before its present state."""


class OrderSession:
    """One open order socket. It sends nothing until it is greeted."""

    def __init__(
        self,
        account: AccountView,
        names: NeoNames,
        socket: Socket,
        clock: Clock,
        stamps: Stamps,
        is_live: Callable[[str, str], bool],
    ) -> None:
        """`is_live(token, sid)` tells whether a session is live."""
        self._account, self._names, self._clock = account, names, clock
        self._stamps, self._is_live = stamps, is_live
        self.socket = socket
        self._greeted = False
        self._seen: set[str] = set()

    def received(self, message: bytes | str) -> None:
        """Take the greeting in both of its forms. Later messages are not read."""
        if self._greeted:
            return
        if not self._is_live(*_greeting(message)):
            self.socket.close(1008, "invalid session")
            return
        self._greeted = True
        self._send({"ak": "ok", "type": "cn", "task": "cn", "msg": "connected"})
        for order in self._account.orders():
            self._seen.add(order.order_id)
            self._order(order, {})

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        """Does nothing: prices are on the other socket."""

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        if not self._greeted:
            return
        if order.order_id not in self._seen:
            self._seen.add(order.order_id)
            stamp = self._stamps.of(order)
            fresh: Row = {"fldQty": 0, "unFldSz": order.quantity // self._name(order).units, "avgPrc": "0.00"}
            for place, status in enumerate((RECEIVED, "validation pending")):
                self._order(order, {**fresh, "ordSt": status, "exOrdId": "NA", "updRecvTm": stamp - _BEFORE + place})
        self._order(order, {})
        if fill is not None:
            self._positions(self._name(order))

    def beat(self) -> None:
        """Does nothing: between updates there are only websocket pings, which the host sends."""

    def _name(self, order: SimOrder) -> Name:
        return self._names.by_id[order.new.instrument_id]

    def _order(self, order: SimOrder, changed: Row) -> None:
        row = order_row(order, self._name(order), self._stamps) | changed
        self._send({"type": "order", "data": {field: row[field] for field in _ORDER_FIELDS}})

    def _positions(self, name: Name) -> None:
        instrument_id = name.contract.instrument_id
        for position in self._account.positions():
            if position.instrument_id == instrument_id:
                row = position_row(position, name, self._account.market(instrument_id), self._clock.now())
                data = {field: row[field] for field in _POSITION_FIELDS} | {"actId": self._account.client_id}
                self._send({"type": "position", "data": data})

    def _send(self, message: Row) -> None:
        self.socket.send(msgspec.json.encode(message).decode())


def _greeting(message: bytes | str) -> tuple[str, str]:
    """Return token and sid of a greeting; empty texts for any other message."""
    text = message if isinstance(message, str) else message.decode("utf-8", "replace")
    if (raw := _RAW.fullmatch(text)) is not None:
        return raw[1], raw[2]
    try:
        read = msgspec.json.decode(text, type=dict[str, object])
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError):
        return "", ""
    return (str(read.get("Authorization")), str(read.get("Sid"))) if read.get("type") == "cn" else ("", "")
