"""Faults that the control API switches on: which are active for which broker, for how long and how often.

Only the state is here. Host and in-process driver ask for the kinds of the wire, accounts for those of orders and books.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum

import attrs

from onebroker.config.clock import Clock


class FaultKind(StrEnum):
    REFUSE_CONNECTIONS = "refuse_connections"
    LATENCY = "latency"
    """Requests wait `delay_seconds` before they are looked at."""
    HTTP_500 = "http_500"
    """Answered before the request is looked at."""
    GARBAGE_BODY = "garbage_body"
    """The request is worked, its answer replaced by bytes that mean nothing."""
    REFUSAL_IN_200 = "refusal_in_200"
    DROP_AFTER_ACCEPT = "drop_after_accept"
    """Order messages are worked, then the connection is cut."""
    ANOTHER_ORDER = "another_order"
    """Order messages are worked, and their answers name another order: another id, or, of a new order, another tag where the
    broker repeats it."""
    EXPIRE_SESSION = "expire_session"
    """Happens once, when it is switched on."""
    REJECT_ORDERS = "reject_orders"
    REJECT_CANCELS = "reject_cancels"
    STALL_STREAM = "stall_stream"
    """Sockets stay open and carry nothing; what would have been sent is lost."""
    DROP_STREAM = "drop_stream"
    CORRUPT_FRAME = "corrupt_frame"
    DUPLICATE_FILL_EVENTS = "duplicate_fill_events"
    LATE_BOOK = "late_book"
    """Order and trade books show the state of `delay_seconds` ago."""


ALL_BROKERS = "all"
DEFAULT_DELAY_SECONDS = 2.0


@attrs.define(kw_only=True)
class Fault:
    broker: str
    """A broker's code or `all`."""
    kind: FaultKind
    until: float | None
    """Monotonic seconds; None = no end."""
    left: int | None
    """How often it still strikes; None = no limit."""
    delay_seconds: float = DEFAULT_DELAY_SECONDS


class Faults:
    """The active faults."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._active: list[Fault] = []
        self._listeners: list[Callable[[], None]] = []

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever faults are added or healed."""
        self._listeners.append(listener)

    def add(
        self,
        broker: str,
        kind: FaultKind,
        *,
        seconds: float | None = None,
        count: int | None = None,
        delay_seconds: float = DEFAULT_DELAY_SECONDS,
    ) -> None:
        """Switch a fault on, for `seconds`, for `count` strikes, or until it is healed."""
        until = None if seconds is None else self._clock.monotonic() + seconds
        self._active.append(Fault(broker=broker, kind=kind, until=until, left=count, delay_seconds=delay_seconds))
        self._changed()

    def heal(self, broker: str | None = None, kind: FaultKind | None = None) -> int:
        """Switch faults off, all or those of a broker or a kind, and return how many."""
        kept = [
            fault
            for fault in self._live()
            if (broker not in (None, ALL_BROKERS, fault.broker)) or (kind is not None and fault.kind is not kind)
        ]
        healed = len(self._active) - len(kept)
        self._active = kept
        self._changed()
        return healed

    def find(self, broker: str, kind: FaultKind) -> Fault | None:
        """Return an active fault without counting a strike."""
        if not self._active:
            return None
        return next((fault for fault in self._live() if fault.kind is kind and _covers(fault, broker)), None)

    def strike(self, broker: str, kind: FaultKind) -> Fault | None:
        """Return an active fault and count one strike of it."""
        fault = self.find(broker, kind)
        if fault is not None and fault.left is not None:
            fault.left -= 1
        return fault

    def _live(self) -> Iterable[Fault]:
        now = self._clock.monotonic()
        self._active = [
            fault for fault in self._active if (fault.until is None or now < fault.until) and fault.left != 0
        ]
        return self._active

    def _changed(self) -> None:
        for listener in self._listeners:
            listener()


def _covers(fault: Fault, broker: str) -> bool:
    return fault.broker in (ALL_BROKERS, broker)
