"""The corporate actions of a share since a day (order-engine 1.8): one answer for all plans, which they read without waiting.

Two witnesses. The factors of the history store name ex-dates; all that are later than the day of a part's figures count, because the service may
have been away. Prices show an action that no table has: a share begins a day far from the stored close of the day before. Of the past days the
stored candles tell, of today the previous close of the feeds, which the exchange adjusts. Only prices can be wrong by accident, and such an
answer ends plans. So five things keep it honest:
- Only nights since the last day on which an action was looked for are judged. An older close says nothing about them.
- A past day whose candle came within FAR of the close before had no action, however it closed.
- The last price must be nearer to the previous close than to the stored close. One odd figure moves no market, and neither does a feed that still
  carries the previous close of the day before. Until the two agree, nothing is told.
- Only a quote that may be acted on counts, so a figure of the early morning does not.
- The first answer that the feeds give stands for the day.

Of a night on which the service was away no adjusted price is known, and a market may move by some percent over one night or over several. So there
only a move beyond every price band counts (`FAR`). A small action of such a night is known by its factor alone.

`learn` reads the store (factors again every AGAIN_SECONDS, because they may be loaded in the morning). `of` is told by what was learnt and by
the newest quote. Until both are there, the answer is that nobody knows. Where no close is stored, there is nothing to compare: no action.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from math import prod
from typing import Protocol

import attrs

from onebroker.actors.engine.plan.market import NO_ACTION, FiguresSince, ShareAction
from onebroker.actors.history.adjust import day_end, day_start
from onebroker.actors.history.earlier_names import candles_of, factors_of, parts_stored
from onebroker.actors.history.interface import INDIA_DAY, INDIA_OFFSET, HistoryError, HistoryStore
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
"""Largest share of the last session's stored close by which the previous close of the feeds differs from it without an action. Brokers' closes are a
last price or an average."""
FAR = 0.2
"""The same for any other night: no price is adjusted there, so a market that moved looks like an action. The widest price band of a share."""
OLDEST_DAYS = 20
"""No market is closed for so long: the last session day is among these days."""
_EPOCH_DAY = date(1970, 1, 1).toordinal()


class ShareActions(Protocol):
    async def learn(self, markets: Mapping[str, tuple[str, str]], since: date) -> None:
        """Read what the store knows of these shares; `markets`: instrument id -> exchange and calendar. What cannot be read stays unknown.

        `since`: the earliest day on which an action was last looked for.
        """

    def of(self, instrument_id: str, since: FiguresSince) -> ShareAction:
        """Return the actions of the share that are later than `since`."""


class NoShareActions:
    """Implements `ShareActions` where nothing is stored."""

    async def learn(self, markets: Mapping[str, tuple[str, str]], since: date) -> None:
        return None

    def of(self, _: str, __: FiguresSince) -> ShareAction:
        return NO_ACTION


@attrs.frozen(kw_only=True)
class DayPrices:
    """The candle of a day, in rupees."""

    day: date
    low: float
    high: float
    close: float


@attrs.frozen(kw_only=True)
class Learnt:
    """What the store knows of a share on one day."""

    factors: Sequence[Factor]
    """Those that change something, up to today."""
    days: Sequence[DayPrices]
    """The stored days from `since` to the last session day, oldest first."""
    since: date
    at: float
    """Monotonic seconds."""
    market: tuple[str, str]

    def later_than(self, day: date) -> Sequence[Factor]:
        return [factor for factor in self.factors if factor.ex_date > day]


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
        self._told: dict[tuple[str, date], ShareAction] = {}
        """What the feeds told first, by instrument id and by the day of the figures."""
        self._asked: dict[str, float] = {}
        """Instrument id -> epoch seconds at which it was asked for first today."""

    def of(self, instrument_id: str, since: FiguresSince) -> ShareAction:
        self._begin_day()
        asked_at = self._asked.setdefault(instrument_id, self._clock.epoch())
        told, learnt = self._told.get((instrument_id, since.given)), self._learnt.get(instrument_id)
        if told is not None:
            return told
        if learnt is None or since.seen < learnt.since:
            return ShareAction(is_known=False, asked_at=asked_at)
        days = self._days(learnt, since.seen)
        if has_gap(days, learnt.factors):
            return ShareAction(happened=True)
        factors = learnt.later_than(since.given)
        if factors:
            return _of_factors(factors, self._day)
        if not days:
            return NO_ACTION
        quote = self._quotes.usable_quote(instrument_id)
        gap = GAP if days[-1].day == self._last_session_day(learnt.market, self._clock.today()) else FAR
        found = None if quote is None else told_by(quote.tick, _close_now(days[-1], learnt), gap)
        if found is None:
            return ShareAction(is_known=False, asked_at=asked_at)
        self._told[instrument_id, since.given] = found
        return found

    def _days(self, learnt: Learnt, seen: date) -> Sequence[DayPrices]:
        """Return the stored days that are judged: from the last session day on which an action was looked for."""
        first = self._last_session_day(learnt.market, seen + timedelta(days=1)) or seen
        return [day for day in learnt.days if day.day >= first]

    async def learn(self, markets: Mapping[str, tuple[str, str]], since: date) -> None:
        self._begin_day()
        now, today = self._clock.monotonic(), self._day
        for instrument_id, market in markets.items():
            known = self._learnt.get(instrument_id)
            if known is not None and known.since <= since and now - known.at < AGAIN_SECONDS:
                continue
            assert today is not None
            first = since if known is None else min(since, known.since)
            try:
                found = await self._read(instrument_id, market, first, today)
            except (HistoryError, DurableError):
                continue
            if today == self._day == self._clock.today():
                self._learnt[instrument_id] = found

    async def _read(self, instrument_id: str, market: tuple[str, str], since: date, today: date) -> Learnt:
        parts = await parts_stored(self._durable, instrument_id)
        factors = [factor for factor in await factors_of(self._durable, parts) if factor.ex_date <= today]
        last_day = self._last_session_day(market, today)
        days: list[DayPrices] = []
        if last_day is not None:
            start = day_start(min(since, last_day) - timedelta(days=OLDEST_DAYS))
            candles = await candles_of(self._history, parts, DAY_MINUTES, start, day_end(last_day))
            days = [_day_prices(*row) for row in candles.select("time", "low", "high", "close").iter_rows()]
        return Learnt(
            factors=[factor for factor in factors if factor.price_factor != 1 or factor.volume_factor != 1],
            days=days,
            since=since,
            at=self._clock.monotonic(),
            market=market,
        )

    def _last_session_day(self, market: tuple[str, str], today: date) -> date | None:
        days = (today - timedelta(days=number) for number in range(1, OLDEST_DAYS))
        return next((day for day in days if self._calendar.is_session_day(*market, day)), None)

    def _begin_day(self) -> None:
        today = self._clock.today()
        if today != self._day:
            self._day = today
            self._learnt, self._told, self._asked = {}, {}, {}


def _day_prices(time: int, low: float, high: float, close: float) -> DayPrices:
    """Return the prices of a row; `time` in microseconds UTC."""
    day = date.fromordinal(_EPOCH_DAY + (time + INDIA_OFFSET) // INDIA_DAY)
    return DayPrices(day=day, low=low, high=high, close=close)


def has_gap(days: Sequence[DayPrices], factors: Iterable[Factor]) -> bool:
    """Whether the stored days, oldest first, show an action that no factor explains. Pure."""
    return any(
        not later.low - FAR * day.close <= day.close <= later.high + FAR * day.close
        and not any(day.day < factor.ex_date <= later.day for factor in factors)
        for day, later in pairwise(days)
    )


def _close_now(day: DayPrices, learnt: Learnt) -> float:
    """Return the close of a day as it would be today: times the factors of the actions after it."""
    return day.close * float(prod(factor.price_factor for factor in learnt.later_than(day.day)))


def told_by(tick: Tick, close: float, gap: float = GAP) -> ShareAction | None:
    """Return what a tick of today tells beside a stored close (rupees); None when it tells nothing yet. `gap`: the largest share of the close by which
    they differ without an action. Pure."""
    previous, last = tick.previous_close, tick.last_price
    if not previous:
        return None
    if abs(previous - close) <= gap * close:
        return NO_ACTION
    if abs(last - previous) >= abs(last - close):
        return None
    return ShareAction(happened=True)


def _of_factors(factors: Sequence[Factor], today: date | None) -> ShareAction:
    newest = max(factor.ex_date for factor in factors)
    return ShareAction(
        happened=True,
        price_factor=prod((factor.price_factor for factor in factors), start=Decimal(1)),
        units_factor=prod((factor.volume_factor for factor in factors), start=Decimal(1)),
        until=None if newest == today else newest,
    )
