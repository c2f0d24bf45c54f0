"""Groww's stream: a NATS server with one user, in binary websocket frames."""

from collections.abc import Callable, Mapping

import attrs
import msgspec

from onebroker.brokers.simulator.dialects.dialect import AccountView, Socket
from onebroker.brokers.simulator.dialects.groww import payloads
from onebroker.brokers.simulator.dialects.groww.naming import GrowwNames, Name, stream_place
from onebroker.brokers.simulator.dialects.groww.nkeys import signed
from onebroker.brokers.simulator.world.model import Market, SimFill, SimOrder

MOST_SUBSCRIPTIONS = 1000
PING_BEATS = 120
MOST_UNANSWERED = 2
_LARGEST_LINE = 65_536
_END = b"\r\n"

_ORDERS = {"CASH": "stocks/order/updates.apex.", "FNO": "stocks_fo/order/updates.apex."}
_POSITIONS = "stocks_fo/position/updates.apex."

_SUBJECTS: Mapping[str, Callable[[Name, Market], bytes]] = {
    "price": payloads.price,
    "price_detailed": payloads.detailed,
    "book": payloads.book,
}


@attrs.frozen
class Pass:
    """A socket token: the public key that it is for, the subscription whose orders it shows, and the login under which it was made."""

    key: bytes
    subscription_id: str
    login: str


class NatsSession:
    """One open socket."""

    def __init__(
        self,
        account: AccountView,
        names: GrowwNames,
        socket: Socket,
        nonce: str,
        pass_of: Callable[[object], Pass | None],
    ) -> None:
        """The client signs `nonce`. `pass_of(jwt)` returns the socket token of a live login."""
        self._account, self._names, self._nonce, self._pass_of = account, names, nonce, pass_of
        self.socket = socket
        self._held = b""
        self._pass: Pass | None = None
        self._verbose = False
        self._subscriptions: dict[str, str] = {}
        """sid -> subject."""
        self._beats = self._unanswered = 0
        self._ended = False
        info = {
            "server_id": "NSIMULATED", "server_name": "simulated", "version": "2.10.22", "proto": 1, "go": "go1.22",
            "host": "0.0.0.0", "port": 8080, "headers": True, "auth_required": True, "max_payload": 1_048_576,
            "client_id": 7, "nonce": nonce,
        }  # fmt: skip
        socket.send(b"INFO " + msgspec.json.encode(info) + b" " + _END)

    # what the client says -------------------------------------------------------------------------------------------

    def received(self, message: bytes | str) -> None:
        """Take protocol lines, which may be cut anywhere."""
        self._held += message.encode() if isinstance(message, str) else message
        while not self._ended and _END in self._held:
            line, self._held = self._held.split(_END, 1)
            if line.strip():
                self._line(line.decode("utf-8", "replace"))
        if len(self._held) > _LARGEST_LINE:
            self.end("Maximum Control Line Exceeded")

    def _line(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        word = word.upper()
        if word == "CONNECT":
            self._connect(rest)
        elif self._pass is None:
            self.end("Authorization Violation")
        elif word == "PING":
            self._send(b"PONG\r\n")
        elif word == "PONG":
            self._unanswered = 0
        elif word in ("SUB", "UNSUB"):
            self._change(word, rest.split())
        else:
            self.end("Unknown Protocol Operation")

    def _connect(self, text: str) -> None:
        try:
            options = msgspec.json.decode(text, type=dict[str, object])
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            self.end("Unknown Protocol Operation")
            return
        found = self._pass_of(options.get("jwt"))
        if found is None or not signed(found.key, self._nonce, options.get("sig")):
            self.end("Authorization Violation")
            return
        self._pass = found
        self._verbose = options.get("verbose") is True
        self._okay()

    def _change(self, word: str, arguments: list[str]) -> None:
        if word == "UNSUB" and 1 <= len(arguments) <= 2:
            self._subscriptions.pop(arguments[0], None)
            self._okay()
        elif word == "SUB" and 2 <= len(arguments) <= 3:
            self._subscribe(arguments[0], arguments[-1])
        else:
            self.end("Unknown Protocol Operation")

    def _subscribe(self, subject: str, sid: str) -> None:
        if not self._allowed(subject):
            self._error(f'Permissions Violation for Subscription to "{subject}"')
        elif len(self._subscriptions) >= MOST_SUBSCRIPTIONS and sid not in self._subscriptions:
            self._error("maximum subscriptions exceeded")
        else:
            self._subscriptions[sid] = subject
            self._okay()

    def _allowed(self, subject: str) -> bool:
        """Tell whether a subject may be subscribed. Market data is open to all, orders and positions only to their owner. There are no wildcards."""
        if subject.startswith("/ld/"):
            return "*" not in subject and ">" not in subject
        assert self._pass is not None
        own = (*_ORDERS.values(), _POSITIONS)
        return subject in {f"{start}{self._pass.subscription_id}" for start in own}

    # what the exchange says -----------------------------------------------------------------------------------------

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        names = self._names.by_id
        moved = {
            place: name
            for instrument_id in sorted(instrument_ids & names.keys())
            if (place := stream_place(name := names[instrument_id])) is not None
        }
        out = [
            part
            for sid, subject in self._subscriptions.items()
            if (part := self._market_message(subject, sid, moved)) is not None
        ]
        if out:
            self._send(b"".join(out))

    def _market_message(self, subject: str, sid: str, moved: Mapping[str, Name]) -> bytes | None:
        folder, _, last = subject.removeprefix("/ld/").rpartition("/")
        kind, _, token = last.partition(".")
        name = moved.get(f"{folder}/{token}")
        if name is None:
            return None
        write = payloads.index if name.contract.is_index else _SUBJECTS.get(kind)
        if write is None:
            return None
        return _message(subject, sid, write(name, self._account.market(name.contract.instrument_id)))

    def order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        name = self._names.by_id.get(order.new.instrument_id)
        if name is None or self._pass is None or name.segment not in _ORDERS:
            return
        own = self._pass.subscription_id
        self._publish(f"{_ORDERS[name.segment]}{own}", payloads.order(order, name))
        if fill is not None and name.segment == "FNO":
            for position in self._account.positions():
                if position.instrument_id == order.new.instrument_id:
                    self._publish(f"{_POSITIONS}{own}", payloads.position(position, name, fill))

    def _publish(self, subject: str, payload: bytes) -> None:
        for sid, subscribed in self._subscriptions.items():
            if subscribed == subject:
                self._send(_message(subject, sid, payload))

    def beat(self) -> None:
        """Ping the client every two minutes. Without answers the connection is stale."""
        self._beats += 1
        if self._pass is None or self._beats % PING_BEATS:
            return
        if self._unanswered >= MOST_UNANSWERED:
            self.end("Stale Connection")
            return
        self._unanswered += 1
        self._send(b"PING\r\n")

    # out ------------------------------------------------------------------------------------------------------------

    def end(self, why: str) -> None:
        """Send the reason and close."""
        if not self._ended:
            self._error(why)
            self._ended = True
            self.socket.close(1000, why)

    def _okay(self) -> None:
        if self._verbose:
            self._send(b"+OK\r\n")

    def _error(self, text: str) -> None:
        self._send(f"-ERR '{text}'\r\n".encode())

    def _send(self, data: bytes) -> None:
        if not self._ended:
            self.socket.send(data)


def _message(subject: str, sid: str, payload: bytes) -> bytes:
    return f"MSG {subject} {sid} {len(payload)}\r\n".encode() + payload + _END
