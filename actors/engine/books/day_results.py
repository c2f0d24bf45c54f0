"""The profit or loss of today from a broker's positions, for brokers whose funds do not report it (order-engine 4.7): Dhan, 5paisa, Groww and
ICICI Direct report no result in their funds; Fyers reports none for open positions.

A row that began today counts with its own figures. The figures of a carried-in row count from the day it was opened. Its result of today is
therefore computed: today's sales less today's purchases, plus the rest at the last price, less the carried-in units at the previous close
(`traded_results.py`). Delivery sold out of the holdings is computed in the same way. ICICI Direct's positions report only what is open. There the
whole result is computed from the executed orders. Where a part is unknown there is no figure, never a zero in its place. There is
none either while a position does not agree with its fills: the day's loss then keeps the last figure, so that a row which is left out takes no loss away.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date

import attrs

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.books.fresh_reads import read_soon
from onebroker.actors.engine.books.settled_positions import judged
from onebroker.actors.engine.books.shown_positions import shown_lately
from onebroker.actors.engine.books.traded_results import (
    Held,
    Result,
    Sides,
    Traded,
    carried_in,
    day_result,
    held_as,
    out_of_holdings,
    traded_today,
)
from onebroker.actors.engine.context.day_loss import Figure
from onebroker.actors.engine.context.engine_context import Counts, SessionHandle
from onebroker.actors.engine.context.position_days import PositionDay
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.position_view import known_sum, position_product, side_paise, total_paise
from onebroker.actors.quotes.interface import LiveQuotes
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.sessions.session_view import SessionView
from onebroker.brokers.records import OrderRow, PositionRow
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock, latest_boundary
from onebroker.config.money import paise
from onebroker.config.vocabulary import Product

APART_SECONDS = 3.0
"""A broker's two lists do not change at once. Positions and orders count as of the same moment under three conditions. The read of the positions
began at least this long after the last fill. The read of the orders began at least this long after that read. There was no fill in between."""


_DELIVERED = frozenset({position_product(Product.CNC), position_product(Product.MTF)})


def everything(_: OrderRow | PositionRow) -> bool:
    return True


@attrs.frozen(kw_only=True)
class DayResults:
    """Computes the results from what the sessions show, and remembers what each day began with."""

    sessions: Mapping[str, SessionHandle]
    catalogue: Published[CatalogueState]
    quotes: LiveQuotes
    clock: Clock
    calendar: Calendar | None = None
    """When markets are open; None = always (tests)."""
    position_days: dict[str, PositionDay] = attrs.field(factory=dict)
    """As `EngineContext.position_days`; the same dictionary."""
    _carried: dict[str, tuple[date, Mapping[Held, int]]] = attrs.field(factory=dict, init=False)
    """Broker code -> (broking day, carried-in units)."""
    _closes: dict[str, tuple[date, float]] = attrs.field(factory=dict, init=False)
    """Instrument id -> (day on which the close was read, previous day's close)."""

    def of(self, code: str) -> Figure | None:
        """Return the result over everything the broker holds and traded today. None when not everything is known now, or when a row gives no
        figure."""
        handle, now = self.sessions.get(code), self.clock.monotonic()
        shown = None if handle is None else shown_lately(handle.view.value, now)
        if handle is None or shown is None or not shown.whole or self._is_doubted(code):
            return None
        results: list[Result | None] | None
        if handle.broker.positions_tell_results:
            results = self._of_rows(code, handle.view.value, shown.rows)
        else:
            results = self._of_orders(code, handle, shown.rows)
        began = handle.view.value.positions_read_started
        if began is None or results is None or None in results:
            return None
        known = [result for result in results if result is not None]
        total, realized = sum(result.paise for result in known), known_sum([result.realized_paise for result in known])
        return Figure(
            total,
            self.clock.epoch() - (now - began),
            realized_paise=realized,
            unrealized_paise=None if realized is None else total - realized,
        )

    def _is_doubted(self, code: str) -> bool:
        """Whether a position does not agree with its fills: then a result over the rows lacks a part (4.11)."""
        found = judged(self, code)
        return found is not None and bool(found.doubts)

    def among(self, code: str, rows: Sequence[PositionRow], counts: Counts) -> int | None:
        """Return the result, in paise, over the broker's positions and today's trades that `counts` selects; None when not all of it is known."""
        handle = self.sessions[code]
        results: list[Result | None] | None
        if handle.broker.positions_tell_results:
            results = self._of_rows(code, handle.view.value, rows, counts)
        else:
            results = self._of_orders(code, handle, rows, counts)
        return None if results is None else known_sum([None if result is None else result.paise for result in results])

    # --- brokers whose positions report today's trades ----------------------------------------------------------------

    def _of_rows(
        self, code: str, view: SessionView, rows: Sequence[PositionRow], counts: Counts = everything
    ) -> list[Result | None]:
        grouped = _grouped(filter(counts, rows))
        found = self._hidden(code, [row for row in view.orders.values() if held_as(row) not in grouped and counts(row)])
        orders: Traded | None = None
        for held, group in grouped.items():
            if not group.has_past:
                found += [_of_today(row, self._missing_price(code, row)) for row in group.nets]
                continue
            sides = group.sides
            if sides is None and group.adds_up:
                if orders is None:
                    orders = traded_today(filter(counts, view.orders.values()), self.clock.now()) or {}
                sides = group.confirmed(orders.get(held, Sides()))
            found.append(None if sides is None else self._day_result(code, held, sides, group.carried, group.nets))
        return found

    def _hidden(self, code: str, orders: Sequence[OrderRow]) -> list[Result | None]:
        """Return the results of what was traded today and whose rows the broker does not show, or not any more once they are flat."""
        if not any(row.filled_quantity for row in orders):
            return []
        traded, known = traded_today(orders, self.clock.now()), judged(self, code)
        if traded is None:
            return [None]
        carried = Counter[Held]()
        for key, units in ({} if known is None else known.carried).items():
            carried[key.token, key.product in _DELIVERED] += units
        return [self._day_result(code, held, sides, carried[held], ()) for held, sides in traded.items()]

    # --- brokers whose positions report only what is open --------------------------------------------------------------

    def _of_orders(
        self, code: str, handle: SessionHandle, rows: Sequence[PositionRow], counts: Counts = everything
    ) -> list[Result | None] | None:
        """Return the result of each selected instrument that was carried in or traded today. None when the trades or the carried-in units are not
        known."""
        traded = traded_today(handle.view.value.orders.values(), self.clock.now())
        if traded is None:
            return None
        carried = self._carried_in(code, handle, rows, traded)
        if carried is None:
            return None
        every: list[OrderRow | PositionRow] = [*rows, *handle.view.value.orders.values()]
        counted = {held_as(row) for row in every if counts(row)}
        return [
            self._day_result(
                code,
                held,
                traded.get(held, Sides()),
                carried.get(held, 0),
                [row for row in rows if held_as(row) == held],
            )
            for held in traded.keys() | carried.keys()
            if held in counted
        ]

    def _carried_in(
        self, code: str, handle: SessionHandle, rows: Sequence[PositionRow], traded: Traded
    ) -> Mapping[Held, int] | None:
        """Return the units that the broker's positions began the day with. They are computed whenever positions and orders are of one moment. None
        when that has not happened today; then the missing read is asked for."""
        if not rows and not traded:
            return {}
        day = latest_boundary(self.clock.now()).date()
        view = handle.view.value
        if _of_one_moment(view) and (carried := carried_in(rows, traded)) is not None:
            self._carried[code] = (day, carried)
        known_day, known = self._carried.get(code, (None, None))
        if known_day == day:
            return known
        self._have_read(handle, view)
        return None

    def _have_read(self, handle: SessionHandle, view: SessionView) -> None:
        """Ask for a read of the positions once the last fill is old enough, and of the orders once that read is old enough."""
        now, positions, orders = self.clock.monotonic(), view.positions_read_started, view.orders_read_started
        if positions is None or orders is None:
            return
        since_fill = 0.0 if view.fills_moved_at is None else view.fills_moved_at + APART_SECONDS
        if positions < since_fill:
            if now >= since_fill:
                read_soon(handle, "positions")
        elif now >= positions + APART_SECONDS:
            read_soon(handle, "orders")

    # --- prices --------------------------------------------------------------------------------------------------------

    def _day_result(
        self, code: str, held: Held, sides: Sides, carried: int | None, rows: Iterable[PositionRow]
    ) -> Result | None:
        """Return the day's result of an instrument; None without a price that it needs. `rows` are the rows of this instrument."""
        if carried is None:
            return None
        token, delivered = held
        if delivered:
            carried += out_of_holdings(sides, carried)
        quote, close = self._quoted(code, token)
        last = next((row.last_price for row in rows if row.last_price), None)
        return day_result(sides, carried, last=last if quote is None else quote.tick.last_price, close=close)

    def _quoted(self, code: str, broker_token: str) -> tuple[Quote | None, float | None]:
        """Return the live quote of an instrument and its previous close; asking starts watching the instrument."""
        latest = self.catalogue.value.latest
        instrument_id = None if latest is None else latest.by_token(code, broker_token)
        if instrument_id is None:
            return None, None
        quote, day = self.quotes.usable_quote(instrument_id), latest_boundary(self.clock.now()).date()
        if quote is not None and quote.tick.previous_close:
            self._closes[instrument_id] = (day, quote.tick.previous_close)
        told, close = self._closes.get(instrument_id, (None, None))
        return quote, close if told == day else None

    def _missing_price(self, code: str, row: PositionRow) -> float | None:
        """Return the live price for a row without a last price from its broker; asking starts watching the instrument."""
        latest = self.catalogue.value.latest
        if row.last_price or not row.quantity or latest is None:
            return None
        instrument_id = latest.by_token(code, row.instrument_token)
        quote = None if instrument_id is None else self.quotes.usable_quote(instrument_id)
        return None if quote is None else quote.tick.last_price


@attrs.frozen
class _Group:
    """A broker's rows with the same instrument and the same kind (delivery or not)."""

    nets: list[PositionRow] = attrs.field(factory=list)
    days: list[PositionRow] = attrs.field(factory=list)

    @property
    def has_past(self) -> bool:
        """Whether a part of it was held before today, or may have been: a row does not report it, or delivery was sold out of the holdings."""
        return any(row.overnight_quantity != 0 or (held_as(row)[1] and (row.quantity or 0) < 0) for row in self.nets)

    @property
    def carried(self) -> int | None:
        """The carried-in units; at least zero for delivery, since a delivery sold before today carries nothing in."""
        told = known_sum([row.overnight_quantity for row in self.nets])
        return told if told is None or not held_as(self.nets[0])[1] else max(0, told)

    @property
    def adds_up(self) -> bool:
        """Whether the carried-in units and today's trades add up to the present units."""
        sold = None if self._sold is None else -self._sold
        parts = known_sum([*(row.overnight_quantity for row in self.nets), self._bought, sold])
        return parts is not None and parts == known_sum([row.quantity for row in self.nets])

    @property
    def sides(self) -> Sides | None:
        """What was bought and sold today; None where the rows do not report all of it."""
        bought = known_sum([side_paise(row.buy_quantity, row.buy_value) for row in self.days])
        sold = known_sum([side_paise(row.sell_quantity, row.sell_value) for row in self.days])
        if not self.adds_up or self._bought is None or self._sold is None or bought is None or sold is None:
            return None
        return Sides(bought=self._bought, sold=self._sold, bought_paise=bought, sold_paise=sold)

    def confirmed(self, sides: Sides) -> Sides | None:
        """Return the trades that the orders report, if their units equal those of the rows."""
        return sides if (sides.bought, sides.sold) == (self._bought, self._sold) else None

    @property
    def _bought(self) -> int | None:
        return known_sum([row.buy_quantity for row in self.days])

    @property
    def _sold(self) -> int | None:
        return known_sum([row.sell_quantity for row in self.days])


def _grouped(rows: Iterable[PositionRow]) -> Mapping[Held, _Group]:
    groups: dict[Held, _Group] = {}
    for row in rows:
        group = groups.setdefault(held_as(row), _Group())
        (group.days if row.view == "day" else group.nets).append(row)
    return groups


def _of_today(row: PositionRow, live_price: float | None) -> Result | None:
    """Return the result of a net row that began today."""
    total = total_paise(row, live_price)
    if total is None:
        return None
    if row.realized is not None:
        return Result(total, paise(row.realized))
    if row.quantity == 0:
        return Result(total, total)
    return Result(total, 0 if 0 in (row.buy_quantity, row.sell_quantity) else None)


def _of_one_moment(view: SessionView) -> bool:
    positions, orders = view.positions_read_started, view.orders_read_started
    if positions is None or orders is None or orders < positions + APART_SECONDS:
        return False
    return view.fills_moved_at is None or positions >= view.fills_moved_at + APART_SECONDS
