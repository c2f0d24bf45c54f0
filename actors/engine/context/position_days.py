"""Judges whether the positions that a broker shows agree with the fills of its own order book (order-engine 4.11). Pure.

Brokers show a fill late, and now and then they leave a row out of an answer. Neither may be taken for a position that was closed. For every
instrument and product of a broker this must hold:

    carried in + bought today - sold today = shown        (units; `by fills` = the left side)

A row for which it does not hold is doubted. Its last known figures are kept, with the time since when it is doubted, until rows and fills agree again.

Carried-in units. The broker's row tells them (`overnight_quantity`), or they are computed from the first whole reads of the broking day. They stay
the same for the rest of the day. They are stored (`PositionDay.carried`), also when there are none, so that a restart in the middle of the day does not
learn them from a read that is late. What is computed beside fills of the day must be shown for GAP_SECONDS; until then the position is not judged.

Three things change a position without an order:
- a person converts units to another product (MIS to CNC). The sum over the products of the instrument stays, so both rows are believed at the next read,
  soon after a fill at the second;
- the brokers clear their lists before the opening and after the close. Outside trading hours a figure that a second read confirms is believed;
- anything else, such as an off-market transfer. In trading hours such a figure is believed when all reads of two minutes show it. Within ten minutes
  of a fill a figure that only repeats an earlier state of the fills is never believed: the broker is late.

Which of two figures a caller acts by (`Doubt.units`): by the fills where the row shows an earlier state of them or has lost units, because then the
row knows less, and where it shows more units on the same side: an order of another hand may be in the positions first, but one absurd figure of a
broker is there too, and what is not held cannot be closed. By the row where the fills give nothing, or the other side.

Invariant: a doubted row never becomes carried-in units by a single read in trading hours.
"""

import math
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import NamedTuple

import attrs
import msgspec

from onebroker.actors.engine.context.holdings_day import HoldingsDay
from onebroker.actors.portfolio.position_view import position_product
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.clock import latest_boundary
from onebroker.config.vocabulary import Side

CONFIRMED_SECONDS = 120.0
"""In trading hours a figure that no fill explains is believed after all reads of this long have shown it."""
CONFIRMED_CLOSED_SECONDS = 5.0
"""The same outside trading hours, when nothing can fill."""
LATE_SECONDS = 600.0
"""For this long after a fill, a figure that repeats an earlier state of the fills counts as late."""
CONVERTED_SECONDS = 15.0
"""Units that moved between products are believed to be converted when nothing of them has filled for this long."""
GAP_SECONDS = 8.0
"""So long the reads after a start must show the same units beside the fills of today before these count as carried in."""
LEARNT_SECONDS = 30.0
"""For this long after the first read, carried-in units that were computed from fills from before that read may be corrected."""


class RowKey(NamedTuple):
    """What makes one position of a broker."""

    token: str
    """The broker's token of the instrument."""
    product: str
    """In the words of a position: delivery, intraday, carry."""


class Traded(NamedTuple):
    """What today's orders have filled of one position. Units."""

    bought: int = 0
    sold: int = 0

    @property
    def net(self) -> int:
        return self.bought - self.sold


@attrs.frozen(kw_only=True)
class Read:
    """One answer of a broker about its positions."""

    rows: tuple[PositionRow, ...]
    whole: bool
    """False when the answer had other rows, which could not be read. Then an absent row proves nothing."""
    began: float
    """Monotonic seconds."""


@attrs.frozen(kw_only=True)
class Book:
    """What is known of a broker's order book. Monotonic seconds."""

    now: float
    began: float | None
    """When its last whole read began; None = never."""
    filled_at: float | None
    """When an order was last seen to have filled further; None = never."""


@attrs.frozen(kw_only=True)
class Doubt:
    """A position whose row and fills do not agree. Units are signed."""

    key: RowKey
    tradingsymbol: str
    shown: int
    """What the newest read shows."""
    by_fills: int
    """Carried in + bought - sold."""
    late: bool
    """Whether the row shows an earlier state of the fills."""
    since: float
    """Monotonic seconds since when row and fills do not agree."""
    same_since: float
    """Monotonic seconds at which the first read began that shows `shown` against `by_fills`."""
    as_of: float
    """Monotonic seconds at which the newest read began."""
    moved: bool = False
    """Whether the rows of the instrument's products together show what the fills give: units went from one product to another."""

    @property
    def gap(self) -> int:
        return self.shown - self.by_fills

    @property
    def units(self) -> int:
        """The units that a caller acts by."""
        if self.unexplained and self.shown * self.by_fills > 0:
            return self.by_fills
        return self.shown if self.unexplained or self.moved else self.by_fills

    @property
    def unexplained(self) -> bool:
        """Whether the row shows units that no fill explains: no earlier state of the fills, no units lost, none converted."""
        lost = abs(self.shown) < abs(self.by_fills) and self.shown * self.by_fills >= 0
        return not (self.moved or self.late or lost)

    @property
    def certain(self) -> int:
        """The units that are held by both figures: the most that an order may take away which must not open anything."""
        if self.shown * self.by_fills <= 0:
            return 0
        return min(self.shown, self.by_fills) if self.shown > 0 else max(self.shown, self.by_fills)


@attrs.frozen(kw_only=True)
class Judged:
    """A broker's positions, compared with its fills."""

    read: Read
    units: Mapping[RowKey, int | None]
    """Signed units of every row shown; None = the row does not tell units. Doubted rows are in `doubts`."""
    doubts: Mapping[RowKey, Doubt]
    unjudged: frozenset[RowKey]
    """Positions that cannot be compared: the orders or the row do not tell units, or the row may be one that could not be read."""
    rows: tuple[PositionRow, ...]
    """All rows as a caller acts by them: of a doubted position the net row with `Doubt.units`, also where the read has no such row."""
    carried: Mapping[RowKey, int]
    believed: tuple[Doubt, ...] = ()
    """Doubts that ended because the figure shown was believed against the fills, or as a conversion."""
    moving: frozenset[RowKey] = frozenset()
    """Positions of which a read of the last CONVERTED_SECONDS alone showed that units were converted. A late row can agree with the fills by chance, so
    these are not settled."""
    named: Mapping[RowKey, PositionRow] = attrs.field(factory=dict)
    """A row of each doubted position: its net row, or the row that is kept for it. With `Doubt.units`."""

    def row_of(self, key: RowKey) -> PositionRow:
        return self.named[key]


@attrs.define(kw_only=True)
class PositionDay:
    """What is remembered of one broker over a broking day."""

    day: date
    account: str | None = None
    """The account of the login; another account has other positions."""
    carried: dict[RowKey, int] = attrs.field(factory=dict)
    learnt: bool = False
    """Whether a whole read, or the store, has told the carried-in units of all positions."""
    dirty: bool = False
    """Whether `carried` must be stored again."""
    doubts: dict[RowKey, Doubt] = attrs.field(factory=dict)
    holdings: HoldingsDay = attrs.field(factory=HoldingsDay)
    _learnt_at: float = 0.0
    _learnt_with: dict[RowKey, Traded] = attrs.field(factory=dict)
    """The fills with which carried-in units were computed."""
    _gaps: dict[RowKey, tuple[int, Traded, float]] = attrs.field(factory=dict)
    """Units that the fills do not explain, the fills, and when the first read of these began (monotonic seconds)."""
    _orders: dict[str, OrderRow] = attrs.field(factory=dict)
    """Order id -> a filled order of the day. An order that the book no longer shows keeps its fills."""
    _rows: dict[str, OrderRow] = attrs.field(factory=dict)
    """Order id -> the row of it that was taken up last, of this day or not."""
    _filled: dict[str, tuple[RowKey, int | None, int]] = attrs.field(factory=dict)
    """Order id -> position, units bought (None: side or units are not told) and units sold of a filled order of the day."""
    _judged: Judged | None = None
    """The last answer: it stays right while neither rows nor orders change and nothing is doubted."""
    _taken: object = None
    """The order book that was taken up last, so that an unchanged book is not summed again."""
    _untold: frozenset[RowKey] = frozenset()
    _traded: dict[RowKey, Traded] = attrs.field(factory=dict)
    _moved: set[RowKey] = attrs.field(factory=set)
    """Positions whose carried-in units were believed against the row's own: units were converted, or came without a trade. A row tells nothing of that:
    when the rest is sold, a late row agrees with what it tells by chance."""
    _moving: dict[RowKey, float] = attrs.field(factory=dict)
    """Position -> when one read alone showed that units of it were converted (monotonic seconds)."""
    _converted_at: dict[str, float] = attrs.field(factory=dict)
    """Token -> when a conversion was believed last (monotonic seconds). A row of before it may still come."""
    _history: dict[RowKey, list[tuple[float, Traded]]] = attrs.field(factory=dict)
    """Position -> (until when, what had filled), oldest first."""
    _last_rows: dict[RowKey, PositionRow] = attrs.field(factory=dict)

    def take_carried(self, carried: Mapping[RowKey, int]) -> None:
        """Take up the carried-in units that were stored earlier today. They count against units that were learnt from reads after a restart."""
        self.carried = dict(carried)
        self.learnt, self._judged = True, None
        self._moved = set(carried)  # it is not stored how they were learnt
        self._learnt_with.clear()

    # --- what today's orders have filled -----------------------------------------------------------------------------

    def _take_orders(self, orders: Mapping[str, OrderRow], now: datetime, monotonic: float) -> None:
        """Take up the order book (order id -> row)."""
        if orders is self._taken:
            return
        self._taken, began = orders, latest_boundary(now)
        changed: dict[RowKey, Traded] = {}
        """Position -> what had filled before."""
        for order_id, row in orders.items():
            if (
                self._rows.get(order_id) is not row
            ):  # each book has the rows of the book before where nothing has changed
                self._rows[order_id] = row
                if is_of(row, began):
                    self._orders[order_id] = row
                    self._count(order_id, row, changed)
        for key, before in changed.items():
            if self._traded.get(key, Traded()) != before:
                self._history.setdefault(key, []).append((monotonic, before))
        self._untold = frozenset(key for key, bought, _ in self._filled.values() if bought is None)

    def _count(self, order_id: str, row: OrderRow, changed: dict[RowKey, Traded]) -> None:
        """Count what an order has filled, in the place of what it had filled before."""
        old = self._filled.pop(order_id, None)
        if old is not None:
            self._add(old, -1, changed)
        if row.filled_quantity:
            is_told = row.contract_units is not None and row.transaction_type in (Side.BUY, Side.SELL)
            bought = row.filled_quantity * (row.transaction_type == Side.BUY)
            fill = (key_of(row), bought if is_told else None, row.filled_quantity - bought)
            self._filled[order_id] = fill
            self._add(fill, 1, changed)

    def _add(self, fill: tuple[RowKey, int | None, int], sign: int, changed: dict[RowKey, Traded]) -> None:
        key, bought, sold = fill
        now = self._traded.get(key, Traded())
        changed.setdefault(key, now)
        if bought is not None:
            self._traded[key] = Traded(now.bought + sign * bought, now.sold + sign * sold)

    def moved_since(self, key: RowKey, moment: float) -> bool:
        """Whether fills of a position were noticed after `moment` (monotonic seconds)."""
        history = self._history.get(key, [])
        return bool(history) and history[-1][0] > moment

    def is_late(self, key: RowKey, shown: int, now: float) -> bool:
        """Whether `shown` repeats a state that the fills of the last minutes have passed."""
        before = next((state for until, state in self._history.get(key, ()) if until > now - LATE_SECONDS), None)
        if before is None:
            return False
        traded, by_fills = self._traded.get(key, Traded()), self.by_fills(key)
        return by_fills - (traded.bought - before.bought) <= shown <= by_fills + (traded.sold - before.sold)

    def by_fills(self, key: RowKey) -> int:
        return self.carried.get(key, 0) + self._traded.get(key, Traded()).net

    # --- judging ------------------------------------------------------------------------------------------------------

    def known(self, read: Read, orders: Mapping[str, OrderRow]) -> Judged | None:
        """Return the last answer where it still holds: nothing is doubted, and neither the rows nor the order book have changed since."""
        found = self._judged
        if found is None or found.doubts or found.read.began != read.began or self._taken is not orders:
            return None
        return found if found.read.rows is read.rows else None

    def judge(self, read: Read, orders: Mapping[str, OrderRow], *, now: datetime, book: Book, trading: bool) -> Judged:
        """Compare a read with the fills known now. `book`: what is known of the order book; `trading`: whether a market is open, or was lately.

        Call it with the newest read, as often as wished; calls with an unchanged read and book change nothing but the times.
        """
        monotonic, known = book.now, self.known(read, orders)
        if known is not None:
            return known
        self._take_orders(orders, now, monotonic)
        nets = _nets(read.rows)
        shown = {key: _sum(rows) for key, rows in nets.items()}
        unjudged = self._untold | {key for key, units in shown.items() if units is None}
        if not self.learnt:
            unjudged |= self._learn(nets, shown, read, book)
        places = shown.keys() | self.carried.keys() | self._traded.keys() | self.doubts.keys()
        if not read.whole:
            unjudged |= places - shown.keys()
        keys = places - unjudged
        differing = {key for key in keys if self._differs(key, nets, shown)}
        self._correct(differing, shown, monotonic)
        for key in sorted(differing):
            self._doubt(key, shown, read, monotonic)
        believed = self._convert(differing, read, monotonic)
        believed += self._confirm(differing, read, monotonic, trading=trading)
        self.doubts = {key: doubt for key, doubt in self.doubts.items() if key in differing}
        self._last_rows.update({key: rows[0] for key, rows in nets.items()})
        named = {key: self._row_by(doubt, nets.get(key, [])) for key, doubt in sorted(self.doubts.items())}
        self._judged = Judged(
            read=read,
            units=shown,
            doubts=dict(self.doubts),
            unjudged=frozenset(unjudged),
            rows=_acting_rows(read, nets, named),
            carried=dict(self.carried),
            believed=tuple(believed),
            moving=frozenset(key for key, at in self._moving.items() if monotonic - at < CONVERTED_SECONDS),
            named=named,
        )
        return self._judged

    def _differs(
        self, key: RowKey, nets: Mapping[RowKey, list[PositionRow]], shown: Mapping[RowKey, int | None]
    ) -> bool:
        units, told = shown.get(key) or 0, _told(nets.get(key, ()))
        if units == self.by_fills(key):
            return False
        agrees = told is not None and told + self._traded.get(key, Traded()).net == units
        if told is not None and agrees and key not in self._moved:
            self._carry(key, told)  # a first read had shown a fill that the orders did not
            return False
        return True

    def _learn(
        self, nets: Mapping[RowKey, list[PositionRow]], shown: Mapping[RowKey, int | None], read: Read, book: Book
    ) -> frozenset[RowKey]:
        """Take the carried-in units from the first reads of the day; return the positions of which they are not known yet.

        They are what the row tells, or zero where today's fills give all units. Else they are computed, from a read of the positions and a later
        read of the orders with no fill in between: only such lists are of the same moment.
        """
        same_moment = (book.began or -math.inf) >= read.began >= (book.filled_at or -math.inf)
        open_keys = set[RowKey]()
        for key in shown.keys() | (self._traded.keys() if read.whole else set()):
            units, traded = shown.get(key, 0), self._traded.get(key, Traded())
            if units is None or key in self.carried:
                continue
            told = _told(nets.get(key, ()))
            if told is not None and (traded != Traded() or told == units):
                self._carry(key, told)
            elif units == traded.net:
                self._carry(key, 0)
            elif same_moment and self._stands(key, units - traded.net, traded, read):
                self._carry(key, units - traded.net)
                self._learnt_with[key] = traded
            elif same_moment or traded == Traded():
                open_keys.add(key)
        if read.whole and same_moment and not open_keys:
            self.learnt, self._learnt_at, self.dirty = True, book.now, True
            self._gaps.clear()
            self._history.clear()  # what had filled before the first read was no change
        return frozenset(open_keys)

    def _stands(self, key: RowKey, gap: int, traded: Traded, read: Read) -> bool:
        """Whether units that no fill of today explains are carried in: nothing has filled, or the reads of GAP_SECONDS show them. The row of a fill
        that came just before the first read may be late."""
        before = self._gaps.get(key)
        if before is None or before[:2] != (gap, traded):
            before = self._gaps[key] = (gap, traded, read.began)
        return traded == Traded() or read.began - before[2] >= GAP_SECONDS

    def _carry(self, key: RowKey, units: int) -> None:
        if self.carried.get(key, 0) != units:
            self.dirty = True
        self.carried[key] = units

    def _correct(self, differing: set[RowKey], shown: Mapping[RowKey, int | None], monotonic: float) -> None:
        """Correct carried-in units that were computed from a read which did not show the last fills before it. Only fewer units count as a
        correction: a late read makes units out of nothing, and a row that is left out does too."""
        if monotonic - self._learnt_at > LEARNT_SECONDS:
            return
        for key in list(differing):
            traded = self._traded.get(key, Traded())
            carried = (shown.get(key) or 0) - traded.net
            if self._learnt_with.get(key) == traded != Traded() and abs(carried) < abs(self.carried.get(key, 0)):
                self._carry(key, carried)
                differing.discard(key)

    def _convert(self, differing: set[RowKey], read: Read, monotonic: float) -> list[Doubt]:
        """Believe rows whose units moved to another product of the same instrument. Soon after a fill two reads must show them, and a row that is only
        late explains nothing; by the first of these reads a caller acts already, so that nobody closes the units twice."""
        believed: list[Doubt] = []
        if not read.whole:
            return believed
        for token in {key.token for key in differing}:
            doubts = [self.doubts[key] for key in sorted(differing) if key.token == token]
            recent = any(self.moved_since(doubt.key, monotonic - CONVERTED_SECONDS) for doubt in doubts)
            if (
                len(doubts) < 2
                or sum([doubt.gap for doubt in doubts]) != 0
                or (recent and all(doubt.late for doubt in doubts))
            ):
                continue
            if monotonic - self._converted_at.get(token, -math.inf) < CONVERTED_SECONDS:
                self.doubts |= {
                    doubt.key: attrs.evolve(doubt, late=True) for doubt in doubts
                }  # of before the conversion
                continue
            if recent and any(read.began <= doubt.same_since for doubt in doubts):
                self.doubts |= {doubt.key: attrs.evolve(doubt, moved=True) for doubt in doubts}
                self._moving |= {doubt.key: monotonic for doubt in doubts}
                continue
            believed += doubts
            self._converted_at[token] = monotonic
            for doubt in doubts:
                self._moving.pop(doubt.key, None)
                self._carry(doubt.key, self.carried.get(doubt.key, 0) + doubt.gap)
                self._moved.add(doubt.key)
                differing.discard(doubt.key)
        return believed

    def _doubt(self, key: RowKey, shown: Mapping[RowKey, int | None], read: Read, monotonic: float) -> None:
        units = shown.get(key) or 0
        by_fills, before = self.by_fills(key), self.doubts.get(key)
        same = before is not None and before.gap == units - by_fills  # fills that the row shows too change both
        row = self._last_rows.get(key)
        self.doubts[key] = Doubt(
            key=key,
            tradingsymbol=self._symbol(key) if row is None else row.tradingsymbol,
            shown=units,
            by_fills=by_fills,
            late=self.is_late(key, units, monotonic),
            since=monotonic if before is None else before.since,
            same_since=before.same_since if same and before is not None else read.began,
            as_of=read.began,
        )

    def _confirm(self, differing: set[RowKey], read: Read, monotonic: float, *, trading: bool) -> list[Doubt]:
        """Believe figures that every read has shown for long enough."""
        needed = CONFIRMED_SECONDS if trading else CONFIRMED_CLOSED_SECONDS
        confirmed: list[Doubt] = []
        for key in list(differing):
            doubt = self.doubts[key]
            if doubt.late or read.began - doubt.same_since < needed:
                continue
            confirmed.append(doubt)
            self._carry(key, self.carried.get(key, 0) + doubt.shown - doubt.by_fills)
            self._moved.add(key)
            differing.discard(key)
        return confirmed

    # --- rows ---------------------------------------------------------------------------------------------------------

    def _row_by(self, doubt: Doubt, own: list[PositionRow]) -> PositionRow:
        """Return the row of a doubted position with the units by which a caller acts; `own` are the net rows that the read has of it."""
        if not own:
            return self._kept_row(doubt.key, doubt.units)
        return msgspec.structs.replace(own[0], quantity=doubt.units - sum(row.quantity or 0 for row in own[1:]))

    def _kept_row(self, key: RowKey, units: int) -> PositionRow:
        """Return a row for a position that the read does not show: its last row, or a row made from its orders."""
        row = self._last_rows.get(key)
        if row is not None:
            return msgspec.structs.replace(row, quantity=units)
        order = next((row for row in self._orders.values() if row.filled_quantity and key_of(row) == key), None)
        product = key.product if order is None else order.product
        symbol = key.token if order is None else order.tradingsymbol
        exchange = "" if order is None else order.exchange
        return PositionRow(
            position_key=f"{exchange}:{symbol}:{product}",
            view="net",
            product=product,
            instrument_token=key.token,
            tradingsymbol=symbol,
            exchange=exchange,
            quantity=units,
        )

    def _symbol(self, key: RowKey) -> str:
        return next((row.tradingsymbol for row in self._orders.values() if key_of(row) == key), key.token)


def key_of(row: OrderRow | PositionRow) -> RowKey:
    return RowKey(row.instrument_token, position_product(row.product))


def is_of(row: OrderRow, began: datetime) -> bool:
    """Tell whether an order can have filled in the broking day that began at `began` (07:00 IST): it was placed or last changed then. An order
    without times is in the day's book, so it can."""
    times = [stamp for stamp in (row.order_timestamp, row.exchange_timestamp) if stamp is not None]
    return not times or any(latest_boundary(datetime.fromisoformat(stamp)) == began for stamp in times)


def _acting_rows(
    read: Read, nets: Mapping[RowKey, list[PositionRow]], named: Mapping[RowKey, PositionRow]
) -> tuple[PositionRow, ...]:
    """Return the rows of a read with the rows of doubted positions in place of their own."""
    if not named:
        return read.rows
    instead = {id(nets[key][0]): row for key, row in named.items() if key in nets}
    kept = [row for key, row in named.items() if key not in nets and row.quantity]
    return (*(instead.get(id(row), row) for row in read.rows), *kept)


def _nets(rows: Iterable[PositionRow]) -> dict[RowKey, list[PositionRow]]:
    found: dict[RowKey, list[PositionRow]] = {}
    for row in rows:
        if row.view != "day":
            found.setdefault(key_of(row), []).append(row)
    return found


def _sum(rows: Iterable[PositionRow]) -> int | None:
    quantities = [row.quantity for row in rows]
    return None if None in quantities else sum(quantity for quantity in quantities if quantity is not None)


def _told(rows: Iterable[PositionRow]) -> int | None:
    told = [row.overnight_quantity for row in rows]
    return None if not told or None in told else sum(units for units in told if units is not None)
