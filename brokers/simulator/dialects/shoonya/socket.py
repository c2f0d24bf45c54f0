"""Shoonya's one socket: JSON text frames of market data and order updates. Nothing is delivered before the login frame."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.facts import Row
from onebroker.brokers.simulator.dialects.shoonya.naming import Name, ShoonyaNames
from onebroker.brokers.simulator.dialects.shoonya.rows import depth, order_update, received, touchline
from onebroker.brokers.simulator.world.model import SimFill, SimOrder

MOST_SCRIPS = 100
"""Most scrips of a socket. More are dropped without notice, as a user's log shows."""

_KINDS: Mapping[str, tuple[str, str, Callable[..., Row]]] = {
    "t": ("tk", "tf", touchline),
    "d": ("dk", "df", depth),
}
"""Kind of subscription -> its full frame, its frame of changes, the function that makes its content."""
_ENDS = {"u": ("t", "uk"), "ud": ("d", "udk")}


class NorenSession:
    """One open socket."""

    def __init__(
        self, account: AccountView, names: ShoonyaNames, socket: Socket, is_live: Callable[[str, str], bool]
    ) -> None:
        self._account, self._names, self.socket = account, names, socket
        self._is_live = is_live
        self._connected = False
        self._wants_orders = False
        self._told: dict[str, dict[str, Row]] = {kind: {} for kind in _KINDS}
        """Kind of subscription -> scrip -> the fields last sent to the client."""
        self._seen = {order.order_id for order in account.orders()}

    def received(self, message: bytes | str) -> None:
        """Take one frame. A message that is not a frame gets no answer."""
        try:
            frame = msgspec.json.decode(message, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        fields = {name: value for name, value in frame.items() if isinstance(value, str)}
        kind = fields.get("t", "")
        if kind in ("a", "c"):
            self._connect(kind, fields)
        elif not self._connected:
            return
        elif kind in _KINDS:
            self._follow(kind, fields.get("k", "").split("#"))
        elif kind in _ENDS:
            self._leave(kind, fields.get("k", ""))
        elif kind == "o":
            self._wants_orders = True
            self._send({"t": "ok"})
        elif kind == "uo":
            self._wants_orders = False
            self._send({"t": "uok"})
        elif kind == "h":
            self._send({"t": "h"})

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        names = self._names.by_scrip
        for kind, told in self._told.items():
            _, changed_frame, content = _KINDS[kind]
            for scrip, known in told.items():
                name = names.get(scrip)
                if name is None or name.contract.instrument_id not in instrument_ids:
                    continue
                now = self._content(name, content)
                # A level that no longer exists is sent as zero.
                gone = dict.fromkeys(known.keys() - now.keys(), "0")
                changes = {field: value for field, value in {**now, **gone}.items() if known.get(field) != value}
                told[scrip] = {**now, **gone}
                if changes:
                    self._send({"t": changed_frame, "e": name.exchange, "tk": name.token, **changes})

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        """Send a change. A new order is first sent as received, then in its present state."""
        new = order.order_id not in self._seen
        self._seen.add(order.order_id)
        if not (self._connected and self._wants_orders):
            return
        update = order_update(order, fill, self._names.by_id[order.new.instrument_id], self._account.client_id)
        if new:
            self._send(received(update))
        self._send(update)

    def beat(self) -> None:
        """Does nothing: the server sends nothing on its own. Heartbeats come from the client and are echoed."""

    def _connect(self, kind: str, fields: Mapping[str, str]) -> None:
        """Take a login frame. The documents call the token `usertoken`, the official client calls it `accesstoken`. A frame of the former generation
        gets that generation's answer."""
        token = fields.get("accesstoken") or fields.get("usertoken") or fields.get("susertoken") or ""
        uid = fields.get("uid", "")
        self._connected = self._is_live(uid, token)
        self._send({"t": f"{kind}k", "s": "OK" if self._connected else "Not_Ok", "uid": uid})

    def _follow(self, kind: str, scrips: Iterable[str]) -> None:
        whole_frame, _, content = _KINDS[kind]
        for scrip in scrips:
            name = self._names.by_scrip.get(scrip)
            held = set().union(*self._told.values())
            if name is None or (scrip not in held and len(held) >= MOST_SCRIPS):
                continue
            now = self._content(name, content)
            self._told[kind][scrip] = now
            head = {"t": whole_frame, "e": name.exchange, "tk": name.token, "ts": name.tradingsymbol}
            sizes = {"pp": str(name.places), "ls": str(name.lot), "ti": name.price(name.contract.tick_size)}
            self._send({**head, **sizes, **now})

    def _leave(self, kind: str, scrips: str) -> None:
        subscription, answer = _ENDS[kind]
        for scrip in scrips.split("#"):
            self._told[subscription].pop(scrip, None)
        self._send({"t": answer, "k": scrips})

    def _content(self, name: Name, content: Callable[..., Row]) -> Row:
        market = self._account.market(name.contract.instrument_id)
        return content(name, market) | {"ft": str(int(market.exchange_time))}

    def _send(self, frame: Mapping[str, object]) -> None:
        self.socket.send(msgspec.json.encode(frame).decode())
