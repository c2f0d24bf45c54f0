"""What a broker's positions made or lost today, for brokers whose funds do not tell it (order-engine 4.7): Dhan, 5paisa, Groww and ICICI
Direct report no result there, Fyers none of what is open. ICICI Direct's positions tell only what is open: what was traded today is worked
out from its executed orders (`traded_results.py`).
"""

from collections.abc import Mapping, Sequence
from datetime import date

import attrs

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.desk.reads import read_soon
from onebroker.actors.engine.doors import SessionDoor
from onebroker.actors.engine.lockout import Figure
from onebroker.actors.engine.shown_positions import shown_lately
from onebroker.actors.engine.traded_results import (
    Traded,
    carried_in,
    is_delivery,
    out_of_holdings,
    result_paise,
    traded_today,
)
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.position_view import total_paise
from onebroker.actors.quotes.fold import Quote
from onebroker.actors.quotes.interface import LiveQuotes
from onebroker.actors.sessions.view import SessionView
from onebroker.brokers.records import PositionRow
from onebroker.config.clock import Clock, latest_boundary

APART_SECONDS = 3.0
"""Positions are of the same moment as the orders when they were asked for so long after the last fill, and the orders so long after them
without a fill in between: a broker's two lists do not change at once."""


@attrs.frozen(kw_only=True)
class DayResults:
    """Reads them from what the sessions show, and remembers what a day began with."""

    sessions: Mapping[str, SessionDoor]
    catalogue: Published[CatalogueState]
    quotes: LiveQuotes
    clock: Clock
    _carried: dict[str, tuple[date, Mapping[str, int]]] = attrs.field(factory=dict, init=False)
    """Code -> of which day, and what was carried in: broker_token -> units."""
    _closes: dict[str, tuple[date, float]] = attrs.field(factory=dict, init=False)
    """Instrument id -> on which day it was told, and the previous day's close."""

    def of(self, code: str) -> Figure | None:
        """Return the sum over a broker's net rows, or over what it traded today and the other rows; None when they are not all known
        now, or one of them tells no figure."""
        door, now = self.sessions.get(code), self.clock.monotonic()
        shown = None if door is None else shown_lately(door.view.value, now)
        if door is None or shown is None or not shown.whole:
            return None
        rows = [row for row in shown.rows if row.view != "day"]
        view = door.view.value
        traded: Traded | None = {}
        if not door.broker.positions_tell_results:
            traded = traded_today(view.orders.values(), self.clock.now())
        if traded is None:
            return None
        figures = [
            total_paise(row, self._missing_price(code, row))
            for row in rows
            if (row.instrument_token, is_delivery(row.product)) not in traded
        ]
        if not door.broker.positions_tell_results:
            figures += self._traded(code, door, rows, traded)
        began = view.positions_read_started
        if began is None or None in figures:
            return None
        return Figure(sum(figure for figure in figures if figure is not None), self.clock.epoch() - (now - began))

    def _traded(self, code: str, door: SessionDoor, rows: Sequence[PositionRow], traded: Traded) -> list[int | None]:
        """Return what came of each instrument that was traded today; None for what is not known."""
        carried = self._carried_in(code, door, rows, traded)
        if carried is None:
            return [None] if traded else []
        figures = []
        for (token, delivered), sides in traded.items():
            quote, close = self._quoted(code, token)
            last = next((row.last_price for row in rows if row.instrument_token == token and row.last_price), None)
            units = out_of_holdings(sides) if delivered else carried.get(token, 0)
            figures.append(
                result_paise(sides, units, last=last if quote is None else quote.tick.last_price, close=close)
            )
        return figures

    def _carried_in(
        self, code: str, door: SessionDoor, rows: Sequence[PositionRow], traded: Traded
    ) -> Mapping[str, int] | None:
        """Return what the broker's positions began the day with, as worked out when positions and orders were last of one moment; None
        when they have not been today: then they are read for that."""
        day = latest_boundary(self.clock.now()).date()
        view = door.view.value
        if _of_one_moment(view) and (carried := carried_in(rows, traded)) is not None:
            self._carried[code] = (day, carried)
        known_day, known = self._carried.get(code, (None, None))
        if known_day == day:
            return known
        self._have_read(door, view)
        return None

    def _have_read(self, door: SessionDoor, view: SessionView) -> None:
        """Have positions read once the last fill is old enough, and orders once the positions are."""
        now, positions, orders = self.clock.monotonic(), view.positions_read_started, view.orders_read_started
        if positions is None or orders is None:
            return
        since_fill = 0.0 if view.fills_moved_at is None else view.fills_moved_at + APART_SECONDS
        if positions < since_fill:
            if now >= since_fill:
                read_soon(door, "positions")
        elif now >= positions + APART_SECONDS:
            read_soon(door, "orders")

    def _quoted(self, code: str, broker_token: str) -> tuple[Quote | None, float | None]:
        """Return the live quote of an instrument, and its previous close; asking has it watched."""
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
        """Return the live price of a row to which its broker gives no last price; asking for it has it watched."""
        latest = self.catalogue.value.latest
        if row.last_price or not row.quantity or latest is None:
            return None
        instrument_id = latest.by_token(code, row.instrument_token)
        quote = None if instrument_id is None else self.quotes.usable_quote(instrument_id)
        return None if quote is None else quote.tick.last_price


def _of_one_moment(view: SessionView) -> bool:
    positions, orders = view.positions_read_started, view.orders_read_started
    if positions is None or orders is None or orders < positions + APART_SECONDS:
        return False
    return view.fills_moved_at is None or positions >= view.fills_moved_at + APART_SECONDS
