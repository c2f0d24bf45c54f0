"""Whether a share has a corporate action today (order-engine 1.8): one answer for all plans, which they read without waiting.

Two witnesses. The factors of the history store name ex-dates. The exchange adjusts the previous close that the feeds carry, so a previous close
far from the stored close of the last session shows an action that no table has. Only the second can be wrong by accident, and an answer ends
plans. So four things keep it honest:
- The stored close must be of the last session day. An older close says nothing about one night.
- The last price must be nearer to the previous close than to the stored close. One odd figure moves no market, and neither does a feed that still
  carries the previous close of the day before. Until the two agree, nothing is told.
- Only a quote that may be acted on counts, so a figure of the early morning does not.
- The first answer that the feeds give stands for the day.

`learn` reads the store (factors again every AGAIN_SECONDS, because they may be loaded in the morning). `of` is told by what was learnt and by
the newest quote. Until both are there, the answer is that nobody knows. Where no close is stored, there is nothing to compare: no action.
"""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from math import prod
from typing import Protocol

import attrs

from onebroker.actors.engine.plan.market import NO_ACTION, ShareAction
from onebroker.actors.history.adjust import day_end, day_start
from onebroker.actors.history.earlier_names import candles_of, factors_of, parts_stored
from onebroker.actors.history.interface import HistoryError, HistoryStore
from onebroker.actors.quotes.interface import LiveQuotes
from onebroker.actors.store.durable import Durable, DurableError
from onebroker.actors.store.durable_history import Factor
from onebroker.brokers.records import Tick
from onebroker.config.calendars import Calendar
from onebroker.config.clock import Clock
from onebroker.config.intervals import DAY_MINUTES

AGAIN_SECONDS = 600.0
"""How long what was learnt of a share counts; also the time to the next try when the store could not be read."""
GAP = 0.02
"""Largest share of the stored close by which a previous close differs from it without an action. Brokers' closes are a last price or an average."""
OLDEST_DAYS = 20
"""No market is closed for so long: the last session day is among these days."""


class ShareActions(Protocol):
    async def learn(self, markets: Mapping[str, tuple[str, str]]) -> None:
        """Read what the store knows of these shares today; `markets`: instrument id -> exchange and calendar. What cannot be read stays unknown."""

    def of(self, instrument_id: str) -> ShareAction:
        """Return whether the share has a corporate action today."""


class NoShareActions:
    """Implements `ShareActions` where nothing is stored."""

    async def learn(self, markets: Mapping[str, tuple[str, str]]) -> None:
        return None

    def of(self, _: str) -> ShareAction:
        return NO_ACTION


@attrs.frozen(kw_only=True)
class Learnt:
    """What the store knows of a share on one day. Closes in rupees."""

    factors: Sequence[Factor]
    """Those with today's ex-date."""
    close: float | None
    """Of the last session day."""
    at: float
    """Monotonic seconds."""


class StoredShareActions:
    """Implements `ShareActions` over the history store and the live quotes."""

    def __init__(
        self, history: HistoryStore, durable: Durable, quotes: LiveQuotes, calendar: Calendar, clock: Clock
    ) -> None:
        self._history = history
        self._durable = durable
        self._quotes = quotes
        self._calendar = calendar
        self._clock = clock
        self._day: date | None = None
        self._learnt: dict[str, Learnt] = {}
        self._told: dict[str, ShareAction] = {}
        """What the feeds told first."""
        self._asked: dict[str, float] = {}
        """Instrument id -> epoch seconds at which it was asked for first today."""

    def of(self, instrument_id: str) -> ShareAction:
        self._begin_day()
        asked_at = self._asked.setdefault(instrument_id, self._clock.epoch())
        known, learnt = self._told.get(instrument_id), self._learnt.get(instrument_id)
        if known is not None:
            return known
        if learnt is None:
            return ShareAction(is_known=False, asked_at=asked_at)
        if learnt.factors:
            return _of_factors(learnt.factors)
        if learnt.close is None:
            return NO_ACTION
        quote = self._quotes.usable_quote(instrument_id)
        found = None if quote is None else told_by(quote.tick, learnt.close)
        if found is None:
            return ShareAction(is_known=False, asked_at=asked_at)
        self._told[instrument_id] = found
        return found

    async def learn(self, markets: Mapping[str, tuple[str, str]]) -> None:
        self._begin_day()
        now, today = self._clock.monotonic(), self._day
        for instrument_id, market in markets.items():
            known = self._learnt.get(instrument_id)
            if known is not None and now - known.at < AGAIN_SECONDS:
                continue
            assert today is not None
            try:
                found = await self._read(instrument_id, market, today)
            except (HistoryError, DurableError):
                continue
            if today == self._day == self._clock.today():
                self._learnt[instrument_id] = found

    async def _read(self, instrument_id: str, market: tuple[str, str], today: date) -> Learnt:
        parts = await parts_stored(self._durable, instrument_id)
        factors = [factor for factor in await factors_of(self._durable, parts) if factor.ex_date == today]
        last_day = self._last_session_day(market, today)
        rows: list[tuple[int, float]] = []
        if last_day is not None:
            since = day_start(last_day - timedelta(days=OLDEST_DAYS))
            candles = await candles_of(self._history, parts, DAY_MINUTES, since, day_end(last_day))
            rows = list(candles.select("time", "close").iter_rows())
        is_last = bool(rows) and last_day is not None and rows[-1][0] >= day_start(last_day)
        return Learnt(
            factors=[factor for factor in factors if factor.price_factor != 1 or factor.volume_factor != 1],
            close=rows[-1][1] if is_last else None,
            at=self._clock.monotonic(),
        )

    def _last_session_day(self, market: tuple[str, str], today: date) -> date | None:
        days = (today - timedelta(days=number) for number in range(1, OLDEST_DAYS))
        return next((day for day in days if self._calendar.is_session_day(*market, day)), None)

    def _begin_day(self) -> None:
        today = self._clock.today()
        if today != self._day:
            self._day = today
            self._learnt, self._told, self._asked = {}, {}, {}


def told_by(tick: Tick, close: float) -> ShareAction | None:
    """Return what a tick of today tells beside the stored close of the last session (rupees); None when it tells nothing yet. Pure."""
    previous, last = tick.previous_close, tick.last_price
    if not previous:
        return None
    if abs(previous - close) <= GAP * close:
        return NO_ACTION
    if abs(last - previous) >= abs(last - close):
        return None
    return ShareAction(happened=True)


def _of_factors(factors: Sequence[Factor]) -> ShareAction:
    return ShareAction(
        happened=True,
        price_factor=prod((factor.price_factor for factor in factors), start=Decimal(1)),
        units_factor=prod((factor.volume_factor for factor in factors), start=Decimal(1)),
    )
