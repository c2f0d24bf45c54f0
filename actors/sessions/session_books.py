"""What one session knows of its broker's books and portfolio: the orders folded from reads and the order stream, the last rows of
every other resource, and the time since which no event can have been missed.

Every step is synchronous. The rows go to the document actors as slices, and to the store row by row. The pollers learn which books to
read at once (`read_soon`).
"""

import logging
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import attrs
import msgspec

from onebroker.actors.kernel.events import Events
from onebroker.actors.kernel.mailbox import Address
from onebroker.actors.sessions.acknowledged_changes import (
    Acknowledged,
    Report,
    WhenAccepted,
    decode_known,
    encode_known,
)
from onebroker.actors.sessions.covered_rows import marked
from onebroker.actors.sessions.order_fold import Channel, OrderFold
from onebroker.actors.sessions.pollers import ReadDone
from onebroker.actors.sessions.session_view import OddOrder, PartlyRead, ReadablePositions
from onebroker.actors.sessions.slices import DocumentMessage, Rows, Slice
from onebroker.actors.sessions.stored_rows import changes, stored_slice, with_known_objects
from onebroker.actors.sessions.taken_back import TakenBack
from onebroker.actors.store import keys
from onebroker.actors.store.interface import HashSet, Set, Store
from onebroker.actors.store.keys import Resource
from onebroker.brokers.broker import OrderAnswer
from onebroker.brokers.codec.contained import OddName
from onebroker.brokers.events import BooksMoved, BrokerEvent, OrderUpdate, TradeUpdate, corrupt
from onebroker.brokers.records import HoldingRow, OrderRow, PositionRow, TradeRow
from onebroker.config.clock import Clock, latest_boundary
from onebroker.config.events import OrderTakenBack

_log = logging.getLogger("onebroker.sessions")

LIFE_SECONDS = 1.0
"""A living order stream renews the books' `received_at` at this interval."""

MOVED_BY_ORDERS: tuple[Resource, ...] = ("orders", "funds")
MOVED_BY_FILLS: tuple[Resource, ...] = ("orders", "trades", "positions", "funds")
_BY_STREAM: tuple[Resource, ...] = ("orders", "trades")


class Books:
    """The books and portfolio of one broker. Begins empty, or with the rows that `restore` finds."""

    def __init__(
        self,
        code: str,
        *,
        store: Store,
        documents: Mapping[Resource, Address[DocumentMessage]],
        clock: Clock,
        read_soon: Callable[[tuple[Resource, ...]], None],
        events: Events,
    ) -> None:
        self._code = code
        self._store = store
        self._documents = documents
        self._clock = clock
        self._read_soon = read_soon
        self._events = events
        self._fold = OrderFold()
        self._taken_back = TakenBack()
        self._corrected: Mapping[str, int] = {}
        """Order id -> the filled units of an order of which the broker has taken units back, on the broking day `_corrected_day`."""
        self._corrected_day = -math.inf
        self._acknowledged = Acknowledged()
        self._slices: dict[Resource, Slice] = {}
        """Resource -> the broker's last slice. The store holds it, and the documents got it last; to the order document, acknowledged
        changes are added."""
        self._told: tuple[OrderRow, ...] = ()
        """The orders last sent to the order document with acknowledged changes laid over them."""
        self._read_began: dict[Resource, float] = {}
        """Monotonic seconds at which the last good read of each resource began."""
        self._errors: dict[Resource, str] = {}
        """Resource -> why its last read failed; only resources whose last read failed."""
        self._failing_since: dict[Resource, float] = {}
        """Resource -> epoch seconds of the first failed read since the last good read; the keys of `_errors`."""
        self._partly: PartlyRead | None = None
        """The last answer about orders, as long as some of its rows cannot be read."""
        self._odd_since: dict[str, float] = {}
        """Order id -> monotonic seconds at which an unreadable row of the order was first seen on the broking day `_odd_day`."""
        self._odd_day = -math.inf
        self._positions: tuple[PositionRow, ...] = ()
        self._readable_positions: ReadablePositions | None = None
        self._holdings: tuple[HoldingRow, ...] = ()
        self._trades: tuple[TradeRow, ...] = ()
        self._fills_moved_at: float | None = None
        self._stream_since = math.inf
        """Monotonic seconds since which the order stream has been alive without a gap; infinity while it is not alive."""
        self._life_shown = 0.0

    def shown(self) -> dict[str, Any]:
        """Return the fields of `SessionView` that show the books and the portfolio."""
        return {
            "orders": self._fold.rows,
            "unseen": self._acknowledged.unseen(self._fold.rows),
            "contradictions": self._fold.contradictions,
            "broken_acknowledgments": self._acknowledged.contradictions,
            "orders_read_started": self._read_began.get("orders"),
            "fills_moved_at": self._fills_moved_at,
            "orders_partly": self._partly,
            "positions": self._positions,
            "readable_positions": self._readable_positions,
            "holdings": self._holdings,
            "trades": self._trades,
            "corrected_fills": self._corrected,
            "positions_read_started": self._read_began.get("positions"),
            "holdings_read_started": self._read_began.get("holdings"),
            "read_errors": dict(self._errors),
            "reads_failing_since": dict(self._failing_since),
        }

    # --- reads ------------------------------------------------------------------------------------------------------

    def read_done(self, read: ReadDone) -> None:
        """Take in one read, good or bad."""
        if read.resource == "positions" and (read.rows is not None or read.unreadable):
            part = _readable_positions(read)
            self._readable_positions = part and attrs.evolve(part, rows=marked(part.rows, self._known_holdings()))
        if read.rows is None:
            self._errors[read.resource] = read.error or ""
            self._failing_since.setdefault(read.resource, read.finished_epoch)
            self._heed_readable(read)
            if read.unreadable:
                self._keep(read.resource, None, read.finished_epoch, read.error)
            return
        if read.resource == "orders":
            self._partly = None
        if read.resource == "orders":
            rows = self._folded(read, read.rows)
        elif read.resource == "positions":
            rows = with_known_objects(self._rows_of("positions"), self._marked(read.rows))
        else:
            rows = with_known_objects(self._rows_of(read.resource), read.rows)
        self._note_portfolio(read.resource, rows)
        self._read_began[read.resource] = read.began_monotonic
        if read.resource in ("orders", "positions") and self._believe_taken_back(read.finished_epoch):
            rows = self._order_rows() if read.resource == "orders" else rows
        self._keep(read.resource, rows, read.finished_epoch)
        self._failing_since.pop(read.resource, None)
        if self._errors.pop(read.resource, None) is not None:
            # The broker answers again, so the other failed resources need not wait for their turn.
            self._read_soon(tuple(self._errors))
        if read.resource == "holdings":
            self._mark_again()

    def _known_holdings(self) -> tuple[HoldingRow, ...]:
        """Return the holdings of the last read; none when it failed, or before the first."""
        return self._holdings if "holdings" in self._read_began and "holdings" not in self._errors else ()

    def _marked(self, rows: Rows) -> Rows:
        """Return the positions with the mark of their holdings; the same tuple when no mark changes: nothing is built again."""
        assert isinstance(rows, tuple)
        plain = tuple(row for row in rows if isinstance(row, PositionRow))
        again = marked(plain, self._known_holdings())
        return rows if again is plain else again

    def _mark_again(self) -> None:
        """Mark the positions again after the holdings were read."""
        held = self._slices.get("positions")
        if held is None or held.rows is None:
            return
        rows = with_known_objects(held.rows, self._marked(held.rows))
        if rows is not held.rows:
            self._note_portfolio("positions", rows)
            self._keep("positions", rows, held.received_at, held.error)

    def _heed_readable(self, read: ReadDone) -> None:
        """Fold the readable orders of a partly unreadable book: a fill counts even when another row cannot be read."""
        orders = [row for row in read.readable or () if isinstance(row, OrderRow)]
        before, day_start = self._fold, self._day_start()
        for row in orders:
            self._fold = self._fold.event(row, at=read.finished_epoch, day_start=day_start, channel=Channel.BOOK)
        self._heard_of(orders, read.began_monotonic, whole_book=False)
        if read.resource == "orders" and read.readable is not None:
            shown = frozenset(row.order_id for row in orders)
            odd = tuple(self._odd_order(name) for name in read.odd)
            self._partly = PartlyRead(read_started=read.began_monotonic, shown=shown, odd=odd)
        if self._filled_further(before, orders):
            self._read_soon(MOVED_BY_FILLS)

    def _odd_order(self, name: OddName) -> OddOrder:
        """Note when an order with an unreadable row was first seen. Each day starts empty, because brokers reuse order ids on another day."""
        if self._odd_day != self._day_start():
            self._odd_day, self._odd_since = self._day_start(), {}
        now = self._clock.monotonic()
        since = now if name.order_id is None else self._odd_since.setdefault(name.order_id, now)
        return OddOrder(order_id=name.order_id, tag=name.tag, since=since)

    def _filled_further(self, before: OrderFold, reported: list[OrderRow]) -> bool:
        """Tell whether any of the orders just reported has filled further than in `before`, and note the time."""
        moved = self._fold.fills_beyond(before, reported, day_start=self._day_start())
        if moved:
            self._fills_moved_at = self._clock.monotonic()
        return moved

    def _folded(self, read: ReadDone, rows: Rows) -> Rows:
        assert isinstance(rows, tuple)
        orders = [row for row in rows if isinstance(row, OrderRow)]
        before, day_start = self._fold, self._day_start()
        self._fold = before.read(orders, began=read.began_epoch, at=read.finished_epoch, day_start=day_start)
        self._taken_back.book(orders, self._fold.rows, read.began_monotonic)
        self._heard_of(orders, read.began_monotonic, whole_book=True)
        if self._filled_further(before, orders) and "orders" in self._read_began:
            self._read_soon(MOVED_BY_FILLS)
        return self._order_rows()

    def _believe_taken_back(self, at: float) -> bool:
        """Take over lower fills on which two whole books and the positions agree. Return whether there was one."""
        rows = self._taken_back.agreed(self._fold.rows, self._positions, self._read_began.get("positions"))
        if self._corrected_day != self._day_start():
            self._corrected_day, self._corrected = self._day_start(), {}
        for row in rows:
            units = self._fold.rows[row.order_id].filled_quantity - row.filled_quantity
            self._events.tell(
                OrderTakenBack(broker=self._code, order_id=row.order_id, units=units, filled=row.filled_quantity)
            )
            self._fold = self._fold.corrected(row, at=at)
            self._corrected = {**self._corrected, row.order_id: row.filled_quantity}
        if rows:
            self._write_corrected()
            self._show_orders()
        return bool(rows)

    def _write_corrected(self) -> None:
        """Write the corrected fills ahead of the rows that show them: after a restart the lower row alone would look like an old one."""
        value = msgspec.json.encode([self._corrected_day, self._corrected])
        self._store.post(Set(keys.corrected_fills(self._code), value))

    def _restore_corrected(self, stored: bytes | None) -> None:
        if stored is None or self._corrected:
            return
        day, corrected = msgspec.json.decode(stored, type=tuple[float, dict[str, int]])
        if day == self._day_start():
            self._corrected_day, self._corrected = day, corrected

    def _note_portfolio(self, resource: Resource, rows: Rows | None) -> None:
        """Keep the last readable positions, holdings and trades, by which the engine decides: an unreadable answer is not an empty portfolio."""
        if not isinstance(rows, tuple) or rows is self._rows_of(resource):
            return
        if resource == "positions":
            self._positions = tuple(row for row in rows if isinstance(row, PositionRow))
        elif resource == "holdings":
            self._holdings = tuple(row for row in rows if isinstance(row, HoldingRow))
        elif resource == "trades":
            self._trades = tuple(row for row in rows if isinstance(row, TradeRow))

    # --- the order stream -------------------------------------------------------------------------------------------

    def stream_changed(self, *, connected: bool) -> None:
        """Note that the order stream opened or broke. In both cases the books must be read again."""
        self._stream_since = self._clock.monotonic() if connected else math.inf
        self._read_soon(MOVED_BY_FILLS)

    def heard(self, events: list[BrokerEvent]) -> bool:
        """Fold the events of the order stream, and tell whether they contained orders. Any readable frame shows that we have missed
        nothing of the books."""
        changed = False
        for event in events:
            if isinstance(event, OrderUpdate):
                before, day_start = self._fold, self._day_start()
                self._fold = before.event(event.order, at=self._clock.epoch(), day_start=day_start)
                self._heard_of([event.order], self._clock.monotonic(), whole_book=False)
                changed = True
                filled = self._filled_further(before, [event.order])
                self._read_soon(MOVED_BY_FILLS if filled else MOVED_BY_ORDERS)
            elif isinstance(event, TradeUpdate | BooksMoved):
                self._read_soon(MOVED_BY_FILLS)
        if corrupt(events):
            self._missed()
        if changed:
            self._show_orders()
        else:
            self._show_life()
        return changed

    def _missed(self) -> None:
        """Note an unreadable frame. Its content is not known, so the books count as complete only after the next read."""
        self._stream_since = self._clock.monotonic()
        self._read_soon(MOVED_BY_FILLS)

    def _show_orders(self) -> None:
        """Publish the orders after a stream event. A book that was never read, or was unreadable, stays so. A book read before a gap does
        not become newer."""
        held = self._slices.get("orders")
        if held is not None and held.error is None:
            self._keep("orders", self._order_rows(), self._clock.epoch() if self._seen("orders") else held.received_at)

    def _show_life(self) -> None:
        now = self._clock.monotonic()
        if now - self._life_shown < LIFE_SECONDS:
            return
        self._life_shown = now
        for resource in _BY_STREAM:
            held = self._slices.get(resource)
            if held is not None and held.error is None and self._seen(resource):
                self._keep(resource, held.rows, self._clock.epoch())

    def _seen(self, resource: Resource) -> bool:
        """Tell whether the order stream has shown every change since the last read of a book: the read was good, and the stream had no gap
        since the read began."""
        began = self._read_began.get(resource)
        return began is not None and began >= self._stream_since and resource not in self._errors

    # --- what was acknowledged --------------------------------------------------------------------------------------

    def acknowledged(self, when: WhenAccepted, answer: OrderAnswer) -> None:
        """Show an accepted change at once, until the broker's own row confirms or contradicts it."""
        order_id = answer.order_id if when.before is None else when.before.order_id
        if not order_id:
            return
        if when.before is None:
            at = self._clock.now().isoformat(timespec="seconds")
            after = msgspec.structs.replace(when.after, exchange_order_id=answer.exchange_order_id, order_timestamp=at)
            when = attrs.evolve(when, after=after)
        self._acknowledged.note(when, order_id, self._fold.rows.get(order_id), self._clock.monotonic())
        self._write_acknowledged({order_id})
        self._tell_orders()

    def _heard_of(self, rows: list[OrderRow], moment: float, *, whole_book: bool) -> None:
        if not self._acknowledged.orders:
            return
        before = dict(self._acknowledged.orders)
        self._acknowledged.forget_before(self._day_start() - self._epoch_ahead())
        report = Report(rows={row.order_id: row for row in rows}, moment=moment, whole_book=whole_book)
        for contradiction in self._acknowledged.heard(report, self._fold.rows):
            _log.warning("%s: %s", self._code, contradiction)
        now = self._acknowledged.orders
        self._write_acknowledged({order_id for order_id, known in before.items() if now.get(order_id) is not known})

    def _write_acknowledged(self, order_ids: set[str]) -> None:
        if not order_ids:
            return
        ahead, known = self._epoch_ahead(), self._acknowledged.orders
        values = {
            order_id: encode_known(known[order_id], epoch_ahead=ahead) for order_id in order_ids if order_id in known
        }
        ended = tuple(order_id for order_id in order_ids if order_id not in known)
        self._store.post(HashSet(keys.acknowledged(self._code), values, remove=ended))

    def _epoch_ahead(self) -> float:
        return self._clock.epoch() - self._clock.monotonic()

    def _tell_orders(self) -> None:
        """Send the orders to the order document: the broker's rows, with the acknowledged changes laid over them."""
        held = self._slices.get("orders")
        if held is None:
            return
        told = held
        if held.rows is not None and self._acknowledged.orders:
            rows = self._acknowledged.over(self._fold.rows)
            if len(rows) != len(self._told) or not all(map(operator.is_, rows, self._told)):
                self._told = rows
            told = attrs.evolve(held, rows=self._told, acknowledged=frozenset(self._acknowledged.orders))
        self._documents["orders"].replace((held.broker, "orders"), told)

    # --- rows -------------------------------------------------------------------------------------------------------

    def _keep(self, resource: Resource, rows: Rows | None, received_at: float, error: str | None = None) -> None:
        """Send the new slice to the document, and write its changes to the store."""
        now = Slice(broker=self._code, resource=resource, rows=rows, received_at=received_at, error=error)
        self._store.post(*changes(self._slices.get(resource), now))
        self._slices[resource] = now
        if resource == "orders":
            self._tell_orders()
        else:
            self._documents[resource].replace((now.broker, resource), now)

    def _order_rows(self) -> Rows:
        """Return the folded orders; the same tuple as before when no row changed."""
        rows = tuple(self._fold.rows.values())
        before = self._rows_of("orders")
        same = isinstance(before, tuple) and len(before) == len(rows) and all(map(operator.is_, before, rows))
        return before if same and before is not None else rows

    def _rows_of(self, resource: Resource) -> Rows | None:
        held = self._slices.get(resource)
        return held.rows if held is not None else None

    def _day_start(self) -> float:
        return latest_boundary(self._clock.now()).timestamp()

    # --- after a restart --------------------------------------------------------------------------------------------

    def restore(
        self,
        fields: Mapping[Resource, Mapping[str, bytes]],
        acknowledged: Mapping[str, bytes],
        corrected: bytes | None,
    ) -> None:
        """Begin from the stored rows of each resource without an earlier read, and from today's stored acknowledgments and corrected fills."""
        self._restore_corrected(corrected)
        for resource, stored_fields in fields.items():
            stored = stored_slice(self._code, resource, stored_fields)
            if stored is None or resource in self._slices:
                continue
            self._note_portfolio(resource, stored.rows)
            self._slices[resource] = stored
            if resource == "orders" and stored.rows is not None:
                self._begin_fold(stored.rows, stored.received_at)
        self._restore_acknowledged(acknowledged)

    def _begin_fold(self, rows: Rows, received_at: float) -> None:
        """Start the fold with the stored orders, then fold the orders that the stream may already have reported."""
        assert isinstance(rows, tuple)
        heard, now = self._fold.rows.values(), self._clock.epoch()
        self._fold = OrderFold.of([row for row in rows if isinstance(row, OrderRow)], at=received_at)
        for row in heard:
            self._fold = self._fold.event(row, at=now, day_start=self._day_start())

    def _restore_acknowledged(self, fields: Mapping[str, bytes]) -> None:
        now, ahead = self._clock.monotonic(), self._epoch_ahead()
        stored = decode_known(fields.items(), epoch_ahead=ahead, now=now)
        today = {order_id: known for order_id, known in stored.items() if known.since + ahead >= self._day_start()}
        self._acknowledged.orders.update(
            (order_id, known) for order_id, known in today.items() if order_id not in self._acknowledged.orders
        )
        self._write_acknowledged(fields.keys() - today.keys())
        self._tell_orders()


def _readable_positions(read: ReadDone) -> ReadablePositions | None:
    """Return the readable positions of a partly unreadable answer; None when all or none of its rows could be read."""
    if read.readable is None:
        return None
    rows = tuple(row for row in read.readable if isinstance(row, PositionRow))
    return ReadablePositions(rows=rows, read_started=read.began_monotonic)
