"""A moment's place in an exchange's day: the phase, the trading day that prices belong to, and when an order lives.

A thin reading of `config.calendars.Calendar`. It uses epoch seconds, because every price reads it.
"""

from datetime import date, datetime, timedelta
from enum import Enum, auto

import attrs

from onebroker.config.calendars import MOST_DAYS_SEARCHED, Calendar
from onebroker.config.clock import from_epoch

_DAY = timedelta(days=1)


class Phase(Enum):
    CLOSED = auto()
    PRE_OPEN = auto()
    OPEN = auto()


@attrs.frozen(kw_only=True)
class MarketDay:
    """One reading, valid from the moment it was made until `until`. Epoch seconds."""

    phase: Phase
    day: date
    """The trading day whose prices show now: today from its pre-open on, else the last trading day."""
    opens: float
    closes: float
    previous_close: float
    """When the trading day before `day` ended."""
    until: float

    def price_time(self, epoch: float) -> float:
        """Return the moment whose price shows at `epoch`. When the market is not trading, this is its last trading moment."""
        if self.phase is Phase.PRE_OPEN or epoch < self.opens:
            return self.previous_close
        return min(epoch, self.closes)


class TradingHours:
    """Readings per (exchange, calendar), remembered while they are valid."""

    def __init__(self, calendar: Calendar) -> None:
        self._calendar = calendar
        self._known: dict[tuple[str, str], tuple[float, MarketDay]] = {}

    def at(self, exchange: str, calendar: str, epoch: float) -> MarketDay:
        """Return the reading for a moment."""
        known = self._known.get((exchange, calendar))
        if known is not None and known[0] <= epoch < known[1].until:
            return known[1]
        reading = self._read(exchange, calendar, from_epoch(epoch))
        self._known[exchange, calendar] = (epoch, reading)
        return reading

    def order_life(self, exchange: str, calendar: str, epoch: float) -> tuple[float, float]:
        """Return (goes to the book at, ends at) of a DAY order given now. When the market is closed, both are the next trading day's."""
        reading = self.at(exchange, calendar, epoch)
        if reading.phase is not Phase.CLOSED:
            return max(epoch, reading.opens), reading.closes
        opens = self._calendar.next_open(exchange, calendar, from_epoch(epoch))
        if opens is None:
            return float("inf"), float("inf")
        return opens.timestamp(), self._calendar.sessions(exchange, calendar, opens)[-1].closes.timestamp()

    def _read(self, exchange: str, calendar: str, now: datetime) -> MarketDay:
        sessions = self._calendar.sessions(exchange, calendar, now)
        pre_open = self._calendar.pre_open(exchange, now.date()) if calendar == "equity" else None
        openings = [*([pre_open] if pre_open else []), *sessions]
        edges = [edge for session in openings for edge in (session.opens, session.closes) if edge > now]
        midnight = datetime.combine(now.date() + _DAY, datetime.min.time(), now.tzinfo)
        begun = bool(openings) and now >= openings[0].opens
        phase = Phase.CLOSED
        if self._calendar.is_open(exchange, calendar, now):
            phase = Phase.OPEN
        elif pre_open is not None and pre_open.contains(now):
            phase = Phase.PRE_OPEN
        day = now.date() if begun else self._trading_day_before(exchange, calendar, now.date())
        before = self._trading_day_before(exchange, calendar, day)
        shown = self._calendar.sessions(exchange, calendar, day)
        last = self._calendar.sessions(exchange, calendar, before)
        start_of_day = datetime.combine(day, datetime.min.time(), now.tzinfo).timestamp()
        return MarketDay(
            phase=phase,
            day=day,
            opens=shown[0].opens.timestamp() if shown else start_of_day,
            closes=shown[-1].closes.timestamp() if shown else start_of_day,
            previous_close=last[-1].closes.timestamp() if last else start_of_day - 1.0,
            until=min([*edges, midnight]).timestamp(),
        )

    def _trading_day_before(self, exchange: str, calendar: str, day: date) -> date:
        for days in range(1, MOST_DAYS_SEARCHED):
            if self._calendar.is_session_day(exchange, calendar, day - days * _DAY):
                return day - days * _DAY
        return day - _DAY
