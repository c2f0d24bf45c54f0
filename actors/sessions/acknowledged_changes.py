"""Changes that a broker has acknowledged and its book does not show yet: laid over the rows in the order document. Pure.

We know of an accepted place, modify or cancel at once. The broker's book shows it seconds later, if few calls are left or the book runs
behind. Until then the document shows the order as we know it. The broker has the last word:

- a finished order is shown at once as the broker shows it;
- when the broker's book shows the acknowledged value, nothing is laid over that value any more;
- if a book read begun some seconds later, or an event as late, still shows the old value, that value is the truth. This contradiction
  is counted.

The engine itself never treats these rows as something a broker has said.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias

import attrs
import msgspec

from onebroker.actors.sessions.order_fold import MISSING_SECONDS
from onebroker.brokers.records import OrderRow
from onebroker.config.vocabulary import OrderStatus, is_finished

RUNS_BEHIND_SECONDS = 10.0
"""Whatever a book read begun this long after an acknowledgment shows is true. For a new order, `fold.MISSING_SECONDS` counts instead."""
_CHANGEABLE = ("quantity", "price", "trigger_price", "order_type", "validity", "disclosed_quantity")
_AS_CANCELLED = frozenset({OrderStatus.CANCELLED, OrderStatus.EXPIRED})

Value: TypeAlias = int | float | str


@attrs.frozen(kw_only=True)
class WhenAccepted:
    """The state of an order once its broker has accepted the message about it."""

    before: OrderRow | None
    """The order when the message was made; None = the message places it."""
    after: OrderRow
    """The order after acceptance. For a new order it lacks order id and time, which the answer brings."""
    complete: bool = True
    """Whether the broker's fields in `after` suffice to change or cancel the order (not for an after-market order)."""


def placing(row: OrderRow, *, complete: bool) -> WhenAccepted:
    return WhenAccepted(before=None, after=row, complete=complete)


def changing(before: OrderRow, after: OrderRow) -> WhenAccepted:
    return WhenAccepted(before=before, after=after)


def cancelling(row: OrderRow) -> WhenAccepted:
    return WhenAccepted(before=row, after=_cancelled(row))


class Changed(msgspec.Struct, frozen=True, kw_only=True):
    """A changed value that the broker has acknowledged."""

    older: tuple[Value, ...]
    """The earlier values, which a row that runs behind may still show."""
    new: Value
    since: float


class Known(msgspec.Struct, frozen=True, kw_only=True):
    """What we know of one order beyond its row. Times are in monotonic seconds (in the store: epoch seconds)."""

    since: float
    """The time of the order's first acknowledgment."""
    placed: OrderRow | None = None
    """The order as it was accepted, as long as its broker has not shown it."""
    complete: bool = True
    """`WhenAccepted.complete` of `placed`."""
    changed: dict[str, Changed] = {}
    cancelled_since: float | None = None

    @property
    def spent(self) -> bool:
        return self.placed is None and not self.changed and self.cancelled_since is None

    def shifted(self, seconds: float) -> "Known":
        """Return the same with all times moved by `seconds`, to convert between this process's clock and the store's clock."""
        moved = {
            name: msgspec.structs.replace(change, since=change.since + seconds) for name, change in self.changed.items()
        }
        ended = None if self.cancelled_since is None else self.cancelled_since + seconds
        return msgspec.structs.replace(self, since=self.since + seconds, changed=moved, cancelled_since=ended)


def noted(known: Known | None, when: WhenAccepted, order_id: str, row: OrderRow | None, now: float) -> Known | None:
    """Return what we know after an acknowledgment. `row` is the order as its broker shows it. None = nothing beyond the row."""
    if row is not None and is_finished(row.status):
        return None
    known = known or Known(since=now)
    if when.before is None:
        if row is None:
            placed = msgspec.structs.replace(when.after, order_id=order_id)
            known = msgspec.structs.replace(known, placed=placed, complete=when.complete)
    elif is_finished(when.after.status):
        known = msgspec.structs.replace(known, cancelled_since=now)
    else:
        known = msgspec.structs.replace(known, changed=_changed(known.changed, when.before, when.after, now))
    return None if known.spent else known


def _changed(known: Mapping[str, Changed], before: OrderRow, after: OrderRow, now: float) -> dict[str, Changed]:
    changed = dict(known)
    for name in _CHANGEABLE:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            held = known.get(name)
            older = (old,) if held is None else (*held.older, held.new, old)
            changed[name] = Changed(
                older=tuple(dict.fromkeys(value for value in older if value != new)), new=new, since=now
            )
    return changed


def laid_over(known: Known, row: OrderRow | None) -> OrderRow | None:
    """Return the order to show: the acknowledged values laid over the broker's row, or shown in its place. None = not shown."""
    base = known.placed if row is None else row
    if base is None or is_finished(base.status):
        return base
    values = {name: change.new for name, change in known.changed.items() if getattr(base, name) in change.older}
    if values:
        base = msgspec.structs.replace(base, **values)
    if known.cancelled_since is not None:
        return _cancelled(base)
    if "quantity" in values:
        return msgspec.structs.replace(base, pending_quantity=max(0, base.quantity - base.filled_quantity))
    return base


def _cancelled(row: OrderRow) -> OrderRow:
    left = max(0, row.quantity - row.filled_quantity)
    return msgspec.structs.replace(row, status=OrderStatus.CANCELLED.value, pending_quantity=0, cancelled_quantity=left)


@attrs.frozen(kw_only=True)
class Report:
    """One report of a broker about its orders."""

    rows: Mapping[str, OrderRow]
    """order_id -> row, exactly as the broker reported it."""
    moment: float
    """Monotonic seconds at which the read began, or the event arrived."""
    whole_book: bool


def after_report(known: Known, report: Report, order_id: str, row: OrderRow | None) -> tuple[Known | None, str | None]:
    """Return what we still know of an order beyond its row after a report, and a text if the report contradicts the acknowledgments.

    `row` is the order after the report (as folded); None = the order is not shown.
    """
    if row is None:
        if not report.whole_book or report.moment - known.since < MISSING_SECONDS:
            return known, None
        return None, None if known.placed is None else "was accepted, and no book has shown it since"
    if is_finished(row.status):
        undone = known.cancelled_since is not None and row.status not in _AS_CANCELLED
        return None, f"is {row.status}, though its cancel was accepted" if undone else None
    known = msgspec.structs.replace(known, placed=None)
    said = report.rows.get(order_id)
    against: list[str] = []
    if said is not None:
        changed = {}
        for name, change in known.changed.items():
            ends, contradicts = _decided(change, getattr(said, name), report)
            if not ends:
                changed[name] = change
            if contradicts:
                against.append(f"shows {name} {getattr(said, name)}, though {change.new} was accepted")
        known = msgspec.structs.replace(known, changed=changed)
        if _too_late(known.cancelled_since, report):
            known = msgspec.structs.replace(known, cancelled_since=None)
            against.append(f"is {said.status}, though its cancel was accepted")
    return None if known.spent else known, "; ".join(against) or None


def _decided(one: Changed, shown: Value, report: Report) -> tuple[bool, bool]:
    """Return whether a report ends the laid-over value, and whether the report contradicts it. A stream event that shows the new value
    ends nothing: a book that runs behind may still show the old value."""
    if shown == one.new:
        return report.whole_book, False
    if shown in one.older:
        late = _too_late(one.since, report)
        return late, late
    return True, True


def _too_late(since: float | None, report: Report) -> bool:
    return since is not None and report.moment - since >= RUNS_BEHIND_SECONDS


@attrs.define
class Acknowledged:
    """Everything we know of one broker's orders beyond its rows."""

    orders: dict[str, Known] = attrs.field(factory=dict)
    contradictions: int = 0
    _shown: dict[str, tuple[Known, OrderRow | None, OrderRow | None]] = attrs.field(factory=dict, repr=False)

    def note(self, when: WhenAccepted, order_id: str, row: OrderRow | None, now: float) -> None:
        """Take in an acknowledgment of an order. `row` is the order as its broker shows it now; None = not shown."""
        self._set(order_id, noted(self.orders.get(order_id), when, order_id, row, now))

    def forget_before(self, moment: float) -> None:
        """Forget acknowledgments from before `moment` (monotonic seconds): the start of the day, after which brokers reuse order ids."""
        for order_id in [order_id for order_id, known in self.orders.items() if known.since < moment]:
            self._set(order_id, None)

    def heard(self, report: Report, rows: Mapping[str, OrderRow]) -> list[str]:
        """Take in a broker's report; `rows` are its orders as folded. Return the contradictions, one sentence each."""
        against = self._renamed(report)
        for order_id in (
            list(self.orders)
            if report.whole_book
            else [order_id for order_id in report.rows if order_id in self.orders]
        ):
            left, contradiction = after_report(self.orders[order_id], report, order_id, rows.get(order_id))
            self._set(order_id, left)
            if contradiction is not None:
                against.append(f"order {order_id} {contradiction}")
        self.contradictions += len(against)
        return against

    def _renamed(self, report: Report) -> list[str]:
        """Drop a placed order if the broker shows its tag under another order id than the answer gave: the answer's id may belong to
        another order. Return one sentence for each."""
        shown_as = {row.tag.lower(): order_id for order_id, row in report.rows.items() if row.tag is not None}
        against: list[str] = []
        for order_id, known in list(self.orders.items()):
            tag = None if known.placed is None else known.placed.tag
            other = None if not tag else shown_as.get(tag.lower())
            if other is not None and other != order_id:
                self._set(order_id, None)
                against.append(f"order {order_id} was accepted, and is order {other}")
        return against

    def over(self, rows: Mapping[str, OrderRow]) -> tuple[OrderRow, ...]:
        """Return the orders to show. Orders that the broker does not show come last. Unchanged rows are the same objects as before."""
        known = self.orders
        seen = [self.row(order_id, row) if order_id in known else row for order_id, row in rows.items()]
        unseen = [self.row(order_id, None) for order_id in known if order_id not in rows]
        return tuple(row for row in (*seen, *unseen) if row is not None)

    def unseen(self, rows: Mapping[str, OrderRow]) -> dict[str, OrderRow]:
        """Return the accepted orders that the broker does not show, if we know enough to change or cancel them."""
        found = {
            order_id: self.row(order_id, None)
            for order_id, known in self.orders.items()
            if order_id not in rows and known.complete
        }
        return {order_id: row for order_id, row in found.items() if row is not None}

    def row(self, order_id: str, row: OrderRow | None) -> OrderRow | None:
        """Return one order as the document shows it."""
        known = self.orders.get(order_id)
        if known is None:
            return row
        held = self._shown.get(order_id)
        if held is None or held[0] is not known or held[1] is not row:
            held = self._shown[order_id] = (known, row, laid_over(known, row))
        return held[2]

    def _set(self, order_id: str, known: Known | None) -> None:
        if known is None:
            self.orders.pop(order_id, None)
            self._shown.pop(order_id, None)
        elif self.orders.get(order_id) != known:
            self.orders[order_id] = known


_DECODER = msgspec.json.Decoder(Known)


def encode_known(known: Known, *, epoch_ahead: float) -> bytes:
    """Return `known` in the form of the store. `epoch_ahead` is epoch seconds minus monotonic seconds."""
    return msgspec.json.encode(known.shifted(epoch_ahead))


def decode_known(fields: Iterable[tuple[str, bytes]], *, epoch_ahead: float, now: float) -> dict[str, Known]:
    """Decode the stored fields. Entries with a time after `now`, and unreadable entries, are left out."""
    known = {}
    for order_id, written in fields:
        try:
            entry = _DECODER.decode(written).shifted(-epoch_ahead)
        except ValueError:  # msgspec's own errors are ValueErrors
            continue
        if entry.since <= now:
            known[order_id] = entry
    return known
