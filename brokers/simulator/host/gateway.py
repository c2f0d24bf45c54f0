"""The entrance of one simulated broker: limits and faults around its dialect, the ledger's record of order messages, and its open sockets.

The host (real ports) and the in-process driver both hand requests and frames through here, so both show the same faults.
"""

import logging
from collections.abc import Mapping
from email.utils import formatdate

import attrs
import trio

from onebroker.brokers.requests import WireResponse
from onebroker.brokers.simulator.dialects.dialect import Averages, Dialect, DialectRequest, SocketSession
from onebroker.brokers.simulator.exchange.call_limits import CallLimits, TooManyCalls
from onebroker.brokers.simulator.exchange.exchange import Exchange
from onebroker.brokers.simulator.exchange.faults import FaultKind, Faults
from onebroker.brokers.simulator.exchange.ledger import Action
from onebroker.brokers.simulator.host.odd_rows import without_averages
from onebroker.brokers.simulator.world.model import SimFill, SimOrder

log = logging.getLogger(__name__)

SOCKET_QUEUE = 20_000
"""Frames that a client may leave unread before it is cut off, as brokers do. Enough for ten steps of a dialect that sends a frame per instrument."""
_LEDGER_HEADERS = ("x-algo-name",)
"""Headers of an order message that its ledger row keeps. Other headers hold tokens."""
GARBAGE = b"\x00\xff<<garbled>>\xfe"
_SERVER_ERROR = WireResponse(
    status=500, headers={"content-type": "text/html"}, body=b"<html><body>Internal Server Error</body></html>"
)


@attrs.frozen
class Answer:
    """What the client gets back."""

    response: WireResponse | None
    """None: the connection is cut without an answer."""
    messages: tuple[int, ...] = ()
    """Numbers of the ledger's messages that this response answers."""


@attrs.frozen
class Closing:
    """The end of a socket."""

    code: int
    reason: str


Frame = bytes | str | Closing


class Outbox:
    """The dialect's `Socket`: frames on their way to one client, with the stream faults applied."""

    def __init__(self, broker: str, faults: Faults) -> None:
        self._broker, self._faults = broker, faults
        self._send, self.frames = trio.open_memory_channel[Frame](SOCKET_QUEUE)
        self._closed = False

    @property
    def gone(self) -> bool:
        """Whether the outbox takes no more frames."""
        return self._closed

    def send(self, frame: bytes | str) -> None:
        if self._closed or self._faults.strike(self._broker, FaultKind.STALL_STREAM):
            return
        if self._faults.strike(self._broker, FaultKind.CORRUPT_FRAME):
            frame = _corrupt(frame)
        self._put(frame)

    def close(self, code: int, reason: str) -> None:
        if not self._closed:
            self._put(Closing(code, reason))
            self.abandon()

    def abandon(self) -> None:
        """Take no more frames. Queued frames are still delivered."""
        self._closed = True
        self._send.close()

    def _put(self, frame: Frame) -> None:
        try:
            self._send.send_nowait(frame)
        except trio.WouldBlock:  # the client does not read
            self.abandon()
            self.frames.close()
        except trio.BrokenResourceError:  # the client is gone
            self.abandon()


class Gateway:
    """See the module's docstring."""

    def __init__(self, code: str, dialect: Dialect, exchange: Exchange, faults: Faults, limits: CallLimits) -> None:
        self.code = code
        self.dialect = dialect
        self.limits = limits
        self._exchange, self._faults = exchange, faults
        self._outboxes: dict[Outbox, SocketSession] = {}
        exchange.listen(code, self._order_changed)

    @property
    def refusing(self) -> bool:
        """Whether connections are refused now."""
        return self._faults.find(self.code, FaultKind.REFUSE_CONNECTIONS) is not None

    def refuse_once(self) -> bool:
        """Count one refused connection. Return False if connections are not to be refused."""
        return self._faults.strike(self.code, FaultKind.REFUSE_CONNECTIONS) is not None

    async def handle(self, request: DialectRequest) -> Answer:
        """Answer one request, with faults. The work itself awaits nothing, so it cannot be interrupted halfway."""
        slow = self._faults.strike(self.code, FaultKind.LATENCY)
        if slow is not None:
            await trio.sleep(slow.delay_seconds)
        answer = self._answer(request)
        if answer.response is None:
            return answer
        headers = {**answer.response.headers, "date": self._date()}
        return attrs.evolve(answer, response=attrs.evolve(answer.response, headers=headers))

    def open_socket(self, request: DialectRequest) -> Outbox | WireResponse:
        """Open a socket, or return the dialect's refusal or redirect."""
        if self._faults.strike(self.code, FaultKind.HTTP_500):
            return _SERVER_ERROR
        outbox = Outbox(self.code, self._faults)
        opened = self.dialect.open_socket(request, outbox)
        if isinstance(opened, WireResponse):
            outbox.abandon()
            outbox.frames.close()
            return opened
        self._outboxes[outbox] = opened
        if self._faults.strike(self.code, FaultKind.DROP_STREAM):
            outbox.abandon()
        return outbox

    def received(self, outbox: Outbox, message: bytes | str) -> None:
        """Hand a client's message to the dialect."""
        session = self._outboxes.get(outbox)
        if session is not None:
            session.received(message)

    def closed(self, outbox: Outbox) -> None:
        """Forget a socket whose client is gone."""
        outbox.abandon()
        outbox.frames.close()
        self._outboxes.pop(outbox, None)

    def markets_moved(self, instrument_ids: frozenset[str]) -> None:
        """Tell every open socket which markets moved."""
        stalled = self._faults.instruments(self.code, FaultKind.STALLED_QUOTES)
        if None in stalled:
            return
        account = self._exchange.account(self.code)
        account.ticking = True
        try:
            for session in tuple(self._outboxes.values()):
                session.markets_moved(instrument_ids - stalled if stalled else instrument_ids)
        finally:
            account.ticking = False

    def beat(self) -> None:
        """Let every open socket send its heartbeat."""
        for session in tuple(self._outboxes.values()):
            session.beat()

    def answer_lost(self, answer: Answer) -> None:
        """Record that an answer did not reach its client."""
        if answer.messages:
            self._exchange.answer_lost(answer.messages)

    def expire_session(self) -> None:
        """End the dialect's tokens."""
        self.dialect.expire_session()

    def drop_streams(self) -> None:
        """Cut every open socket without a closing frame, as a lost line does."""
        if self._faults.strike(self.code, FaultKind.DROP_STREAM):
            for outbox in tuple(self._outboxes):
                outbox.abandon()

    def _date(self) -> str:
        wrong = self._faults.strike(self.code, FaultKind.WRONG_DATE)
        return formatdate(self._exchange.clock.epoch() - (0 if wrong is None else wrong.delay_seconds), usegmt=True)

    def _answer(self, request: DialectRequest) -> Answer:
        if self._faults.strike(self.code, FaultKind.HTTP_500):
            return Answer(_SERVER_ERROR)
        if self._faults.strike(self.code, FaultKind.REFUSAL_IN_200):
            return Answer(self.dialect.refusal_in_200())
        with self._exchange.request() as actions:
            response = self._without_averages(self._work(request))
            return self._record(request, response, actions)

    def _work(self, request: DialectRequest) -> WireResponse:
        try:
            # A dialect may name paths of hosts without limits (files that are open to everybody).
            if not request.path.startswith(getattr(self.dialect, "uncounted_paths", ())):
                self.limits.count_call()
            return self.dialect.handle(request)
        except TooManyCalls:
            return self.dialect.rate_limited()
        except Exception:
            log.exception("%s could not answer %s %s", self.code, request.method, request.path)
            return _SERVER_ERROR

    def _without_averages(self, response: WireResponse) -> WireResponse:
        averages: Averages | None = getattr(self.dialect, "averages", None)
        if averages is None or self._faults.find(self.code, FaultKind.NO_AVERAGE) is None:
            return response
        body = without_averages(averages, response.body)
        if body == response.body:
            return response
        self._faults.strike(self.code, FaultKind.NO_AVERAGE)
        return attrs.evolve(response, body=body)

    def _record(self, request: DialectRequest, response: WireResponse, actions: list[Action]) -> Answer:
        garbled = self._faults.strike(self.code, FaultKind.GARBAGE_BODY) is not None
        concerned = [action.instrument_id for action in actions]
        cut = bool(actions) and self._faults.strike(self.code, FaultKind.DROP_AFTER_ACCEPT, concerned) is not None
        sent = self._of_another_order(response, actions)
        numbers = self._exchange.record(
            self.code, actions, raw=_raw(request), answer=_said(response),
            delivered=not (garbled or cut) and sent is response,
        )  # fmt: skip
        if cut:
            return Answer(None, tuple(numbers))
        if garbled:
            return Answer(attrs.evolve(response, status=200, body=GARBAGE), tuple(numbers))
        return Answer(sent, tuple(numbers))

    def _of_another_order(self, response: WireResponse, actions: list[Action]) -> WireResponse:
        """Return the answer. Under the fault ANOTHER_ORDER, the order names in it are changed."""
        concerned = [action.instrument_id for action in actions]
        if self._faults.find(self.code, FaultKind.ANOTHER_ORDER, concerned) is None:
            return response
        changed = response.body
        for name in (name for action in actions for name in self._names(action)):
            changed = changed.replace(name.encode(), _another(name).encode())
        if changed == response.body:
            return response
        self._faults.strike(self.code, FaultKind.ANOTHER_ORDER, concerned)
        return attrs.evolve(response, body=changed)

    def _names(self, action: Action) -> list[str]:
        """Return the names by which an answer to the message refers to its order."""
        if action.verb == "place" or action.order_id is None:
            return [action.tag] if action.tag else []
        known = self._exchange.account(self.code).known(action.order_id)
        number = None if known is None else known.order.exchange_order_id
        return [action.order_id] if number is None else [action.order_id, number]

    def _order_changed(self, order: SimOrder, fill: SimFill | None) -> None:
        for session in tuple(self._outboxes.values()):
            session.order_changed(order, fill)
            if fill is not None and self._faults.strike(self.code, FaultKind.DUPLICATE_FILL_EVENTS):
                session.order_changed(order, fill)


def _corrupt(frame: bytes | str) -> bytes | str:
    """Spoil a frame so that no decoder accepts it: keep half of it and add bytes that do not belong."""
    half = len(frame) // 2
    return frame[:half] + "\x00{" if isinstance(frame, str) else frame[:half] + b"\xff\xff\xff"


def _another(name: str) -> str:
    """Return another name of the same kind: a last digit becomes the next digit, a last letter becomes another letter."""
    last = name[-1]
    if last.isdecimal():
        return f"{name[:-1]}{(int(last) + 1) % 10}"
    return f"{name[:-1]}{'b' if last in 'aA' else 'a'}"


def _raw(request: DialectRequest) -> Mapping[str, str]:
    query = "&".join(f"{name}={value}" for name, value in request.query)
    body = request.body.decode(errors="replace")
    raw = {"method": request.method, "path": request.path, "query": query, "body": body, "source": request.source}
    return raw | {name: request.headers[name] for name in _LEDGER_HEADERS if name in request.headers}


def _said(response: WireResponse) -> Mapping[str, str]:
    return {"status": str(response.status), "body": response.body.decode(errors="replace")}
