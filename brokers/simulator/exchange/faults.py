"""Faults that the control API switches on: which faults are active, for which broker, for how long and how often.

This module holds only the state. The host and the in-process driver ask for the faults of the wire, accounts for those of orders and books.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from enum import StrEnum

import attrs

from onebroker.config.clock import Clock
from onebroker.config.vocabulary import OrderType


class FaultKind(StrEnum):
    """`FAULTS` says what each kind does."""

    REFUSE_CONNECTIONS = "refuse_connections"
    LATENCY = "latency"
    HTTP_500 = "http_500"
    GARBAGE_BODY = "garbage_body"
    REFUSAL_IN_200 = "refusal_in_200"
    DROP_AFTER_ACCEPT = "drop_after_accept"
    ANOTHER_ORDER = "another_order"
    EXPIRE_SESSION = "expire_session"
    REJECT_ORDERS = "reject_orders"
    REJECT_CANCELS = "reject_cancels"
    STALL_STREAM = "stall_stream"
    DROP_STREAM = "drop_stream"
    CORRUPT_FRAME = "corrupt_frame"
    DUPLICATE_FILL_EVENTS = "duplicate_fill_events"
    WRONG_DATE = "wrong_date"
    LATE_BOOK = "late_book"
    LATE_POSITIONS = "late_positions"
    PARTIAL_POSITIONS = "partial_positions"
    PARTIAL_HOLDINGS = "partial_holdings"
    PARTIAL_ORDERS = "partial_orders"
    PARTIAL_TRADES = "partial_trades"
    SECOND_SALE_MARGIN = "second_sale_margin"
    NO_AVERAGE = "no_average"
    ODD_QUANTITY = "odd_quantity"
    ODD_VALUE = "odd_value"
    ODD_FUNDS = "odd_funds"
    ODD_VOLUME = "odd_volume"
    STALLED_QUOTES = "stalled_quotes"
    UNLISTED = "unlisted"


FAULTS: Mapping[FaultKind, str] = {
    FaultKind.REFUSE_CONNECTIONS: "connections are refused",
    FaultKind.LATENCY: "requests wait delay_seconds before they are read",
    FaultKind.HTTP_500: "requests are answered with status 500 before they are read",
    FaultKind.GARBAGE_BODY: "the request is worked, but its answer is replaced by meaningless bytes",
    FaultKind.REFUSAL_IN_200: "requests get a refusal in the broker's form, with status 200",
    FaultKind.DROP_AFTER_ACCEPT: "order messages are worked, then the connection is cut",
    FaultKind.ANOTHER_ORDER: "order messages are worked, but their answers name another order (id, or the tag of a new order)",
    FaultKind.EXPIRE_SESSION: "all tokens end, once, at the moment it is switched on",
    FaultKind.REJECT_ORDERS: "new orders of API clients are refused",
    FaultKind.REJECT_CANCELS: "cancels of API clients are refused",
    FaultKind.STALL_STREAM: "sockets stay open and carry nothing; frames of that time are lost",
    FaultKind.DROP_STREAM: "sockets are cut without a closing frame",
    FaultKind.CORRUPT_FRAME: "frames of sockets are spoiled",
    FaultKind.DUPLICATE_FILL_EVENTS: "sockets tell each fill twice",
    FaultKind.WRONG_DATE: "the Date of answers is delay_seconds in the past, below zero in the future",
    FaultKind.LATE_BOOK: "order and trade books show the state of delay_seconds ago",
    FaultKind.LATE_POSITIONS: "positions show the fills of delay_seconds ago, while order book, trade book and order messages are at once right",
    FaultKind.PARTIAL_POSITIONS: "answers with positions lack their newest row, or that of the instrument; count counts such answers",
    FaultKind.PARTIAL_HOLDINGS: "answers with holdings lack a row, as partial_positions",
    FaultKind.PARTIAL_ORDERS: "answers with the whole order book lack a row, as partial_positions",
    FaultKind.PARTIAL_TRADES: "answers with the whole trade book lack a row, as partial_positions",
    FaultKind.SECOND_SALE_MARGIN: "a second sale of the same long option needs the margin of a short one; for orders placed from then on",
    FaultKind.NO_AVERAGE: "answers with orders and positions have null for average prices; count counts such answers",
    FaultKind.ODD_QUANTITY: "answers with positions show a hundred times the units of one row; count counts such answers",
    FaultKind.ODD_VALUE: "answers with positions show a hundred times the cost of one row, so its average and gain are far off",
    FaultKind.ODD_FUNDS: "answers with funds show a hundredth of the cash; count counts such answers",
    FaultKind.ODD_VOLUME: "ticks show a volume of zero; count counts such ticks",
    FaultKind.STALLED_QUOTES: "sockets send no more ticks of the instrument, other ticks go on and quotes over REST are right",
    FaultKind.UNLISTED: "the instrument is missing in the broker's instrument files, everything else knows it",
}
"""Each kind in one sentence, as the control API lists it."""


OF_BOOKS = frozenset(
    {
        FaultKind.PARTIAL_POSITIONS,
        FaultKind.PARTIAL_HOLDINGS,
        FaultKind.PARTIAL_ORDERS,
        FaultKind.PARTIAL_TRADES,
    }
)
"""The faults that leave a row out of a whole book. They may be limited to the rows of one instrument."""
OF_ORDERS = frozenset(
    {FaultKind.REJECT_ORDERS, FaultKind.REJECT_CANCELS, FaultKind.DROP_AFTER_ACCEPT, FaultKind.ANOTHER_ORDER}
)
"""The faults that strike a message about an order. They may be limited to the orders of one instrument."""
OF_QUOTES = frozenset({FaultKind.ODD_VOLUME, FaultKind.STALLED_QUOTES})
"""The faults of ticks. They may be limited to one instrument."""
OF_ONE_INSTRUMENT = OF_ORDERS | OF_BOOKS | OF_QUOTES | {FaultKind.ODD_QUANTITY, FaultKind.ODD_VALUE, FaultKind.UNLISTED}
"""The faults that may be limited to one instrument."""
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
    """How many more times the fault strikes; None = no limit."""
    delay_seconds: float = DEFAULT_DELAY_SECONDS
    instrument_id: str | None = None
    """Only orders, or rows, of this instrument are struck; None = those of any instrument."""
    order_type: OrderType | None = None
    """Only new orders of this type are struck; None = orders of any type."""


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
        instrument_id: str | None = None,
        order_type: OrderType | None = None,
    ) -> None:
        """Switch a fault on for `seconds`, for `count` strikes, or until it is healed."""
        until = None if seconds is None else self._clock.monotonic() + seconds
        self._active.append(
            Fault(
                broker=broker, kind=kind, until=until, left=count, delay_seconds=delay_seconds, instrument_id=instrument_id,
                order_type=order_type,
            )
        )  # fmt: skip
        self._changed()

    def heal(
        self, broker: str | None = None, kind: FaultKind | None = None, instrument_id: str | None = None
    ) -> int:  # fmt: skip
        """Switch faults off: all, or only those of a broker, a kind, or one instrument's orders. Return how many ended."""
        kept = [
            fault
            for fault in self._live()
            if (broker not in (None, ALL_BROKERS, fault.broker))
            or kind not in (None, fault.kind)
            or instrument_id not in (None, fault.instrument_id)
        ]
        healed = len(self._active) - len(kept)
        self._active = kept
        self._changed()
        return healed

    def find(
        self,
        broker: str,
        kind: FaultKind,
        instruments: Collection[str | None] = (),
        order_type: OrderType | None = None,
    ) -> Fault | None:
        """Return an active fault without counting a strike. `instruments` are those that an order message concerns; `order_type` is the type of a new
        order, or of the order that a cancel names."""
        if not self._active:
            return None
        known = (None, *instruments), (None, order_type)
        return next((fault for fault in self._live() if fault.kind is kind and _covers(fault, broker, *known)), None)

    def instruments(self, broker: str, kind: FaultKind) -> frozenset[str | None]:
        """Return the instruments to which the active faults of a kind are limited. None among them: some fault is not limited."""
        if not self._active:
            return frozenset()
        return frozenset(
            fault.instrument_id
            for fault in self._live()
            if fault.kind is kind and fault.broker in (ALL_BROKERS, broker)
        )

    def strike(
        self,
        broker: str,
        kind: FaultKind,
        instruments: Collection[str | None] = (),
        order_type: OrderType | None = None,
    ) -> Fault | None:
        """Return an active fault and count one strike against it."""
        fault = self.find(broker, kind, instruments, order_type)
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


def _covers(
    fault: Fault, broker: str, instruments: Collection[str | None], order_types: Collection[OrderType | None]
) -> bool:
    return (
        fault.broker in (ALL_BROKERS, broker) and fault.instrument_id in instruments and fault.order_type in order_types
    )
