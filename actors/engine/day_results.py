"""What a broker's positions made or lost today, for brokers whose funds do not tell it (order-engine 4.7): Dhan, 5paisa, Groww and ICICI
Direct report no result there, Fyers none of what is open.
"""

from collections.abc import Mapping

import attrs

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.doors import SessionDoor
from onebroker.actors.engine.lockout import Figure
from onebroker.actors.engine.shown_positions import shown_lately
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.position_view import total_paise
from onebroker.actors.quotes.interface import LiveQuotes
from onebroker.brokers.records import PositionRow
from onebroker.config.clock import Clock


@attrs.frozen(kw_only=True)
class DayResults:
    """Reads them from what the sessions show."""

    sessions: Mapping[str, SessionDoor]
    catalogue: Published[CatalogueState]
    quotes: LiveQuotes
    clock: Clock

    def of(self, code: str) -> Figure | None:
        """Return the sum over a broker's net rows; None when they are not all known now, or one of them tells no figure."""
        door, now = self.sessions.get(code), self.clock.monotonic()
        shown = None if door is None else shown_lately(door.view.value, now)
        if door is None or shown is None or not shown.whole:
            return None
        rows = [row for row in shown.rows if row.view != "day"]
        figures = [total_paise(row, self._missing_price(code, row)) for row in rows]
        began = door.view.value.positions_read_started
        if began is None or None in figures:
            return None
        return Figure(sum(figure for figure in figures if figure is not None), self.clock.epoch() - (now - began))

    def _missing_price(self, code: str, row: PositionRow) -> float | None:
        """Return the live price of a row to which its broker gives no last price; asking for it has it watched."""
        latest = self.catalogue.value.latest
        if row.last_price or not row.quantity or latest is None:
            return None
        instrument_id = latest.by_token(code, row.instrument_token)
        quote = None if instrument_id is None else self.quotes.usable_quote(instrument_id)
        return None if quote is None else quote.tick.last_price
