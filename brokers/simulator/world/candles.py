"""Candles as the exchange publishes them, for its past and its own days, and the volume that grows over a day.

A minute has three prices of the walk: at its start, in its middle, and half a second before its end. The last minute of a stretch of trading ends
with the price at the close, which is the next day's previous close. Longer candles are made of minutes.

For a past day (`past.py`) the day candle comes first: the range of its half-hourly prices. The minutes are then kept inside that range. So two years
of day candles cost as much as one day's minutes, and the minutes still make up their day exactly. For the simulator's own days the minutes come
first, so they contain everything that moved the market, including a price set by hand.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import islice, pairwise
from typing import TypeVar

import attrs

from onebroker.brokers.simulator.world.model import Contract
from onebroker.brokers.simulator.world.past import Past, midnight
from onebroker.brokers.simulator.world.walks import Prices, scramble
from onebroker.config.calendars import Calendar
from onebroker.config.instruments import Shape, price_places

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

CandleRow = tuple[float, float, float, float, float, int, int]
"""(epoch start, open, high, low, close, volume, oi)."""

INTERVAL_MINUTES = {
    f"{minutes}minute": minutes for minutes in (1, 2, 3, 4, 5, 10, 15, 20, 25, 30, 45, 60, 120, 180, 240)
}
"""Rules 1.4.8. `day` is handled separately."""

_MINUTE = 60.0
_GRID_SECONDS = 1800.0
_RUPEES_A_LEVEL = 250_000
_VOLUME_LEVELS_A_DAY = 4_000
_MOST_REMEMBERED = 4_096
_STRIDE = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_AT_THE_ENDS = 0.6
"""How much more than average trades at the beginning and the end of a day."""


@attrs.frozen
class Stretch:
    """A period of continuous trading, in epoch seconds."""

    opens: float
    closes: float


@attrs.frozen
class _Minute:
    """A minute of trading, or the part of it that has passed."""

    begins: float
    ends: float
    moments: tuple[float, ...]
    """The moments whose prices make up the minute, ascending."""


@attrs.frozen
class DayRange:
    """A past day's open, high, low and close, in ticks."""

    open: int
    high: int
    low: int
    close: int


@attrs.frozen(kw_only=True)
class _Figures:
    """The figures of a contract that every candle needs."""

    market: tuple[str, str]
    """Exchange and calendar."""
    tick: float
    places: int
    token: int
    lot_size: int
    usual_lots: int
    """Lots traded on a usual day; 0 for an index."""
    jumps: tuple[tuple[float, Decimal], ...]
    """Midnights of the past ex-dates, with their volume factors."""
    has_oi: bool

    def row(self, start: float, ticks: tuple[int, int, int, int], volume: int, oi: int) -> CandleRow:
        opened, high, low, close = (round(number * self.tick, self.places) for number in ticks)
        return (start, opened, high, low, close, volume, oi)

    def oi(self, at: float) -> int:
        if not self.has_oi:
            return 0
        return self.lot_size * (10_000 + self.token % 40_000 + scramble(self.token + int(at // 600)) % 500)


class DayVolume:
    """The units traded on one day up to a moment, as they were counted on that day. So the number is smaller before a split."""

    def __init__(self, figures: _Figures, day: date, stretches: Sequence[Stretch]) -> None:
        swing = scramble(figures.token * _STRIDE + day.toordinal() & _MASK) % 81
        self._lots = figures.usual_lots * (60 + swing) // 100
        self._figures, self._stretches = figures, stretches
        self._minutes = math.ceil(sum(stretch.closes - stretch.opens for stretch in stretches) / _MINUTE)
        self._opens, self._closes = stretches[0].opens, stretches[-1].closes

    def at(self, moment: float) -> int:
        if moment >= self._closes:
            lots = self._lots
        elif self._lots == 0 or moment <= self._opens:
            return 0
        else:
            lots = int(self._lots * self._share(moment))
        units = lots * self._figures.lot_size
        for ex_date, factor in self._figures.jumps:
            if self._opens < ex_date:
                units = int(units / factor)
        return units

    def _share(self, moment: float) -> float:
        """Trading is heaviest at both ends of a day, and uneven from minute to minute."""
        if len(self._stretches) == 1:
            done = (moment - self._opens) / _MINUTE
        else:
            done = sum(max(0.0, min(moment, stretch.closes) - stretch.opens) for stretch in self._stretches) / _MINUTE
        minute = int(done)
        number = self._uneven(minute)
        if done != minute:
            number += (self._uneven(minute + 1) - number) * (done - minute)
        share = min(1.0, number / self._minutes)
        return share + _AT_THE_ENDS * math.sin(2 * math.pi * share) / (2 * math.pi)

    def _uneven(self, minute: int) -> float:
        """A minute's number, raised by up to nine tenths."""
        if minute <= 0 or minute >= self._minutes:
            return float(min(minute, self._minutes))
        return minute + scramble(self._figures.token * _STRIDE + int(self._opens) * 4096 + minute & _MASK) % 10 / 10


class Candles:
    """Candles and traded volumes of every contract. `calendar` knows the past days and the simulator's own days."""

    def __init__(self, prices: Prices, calendar: Calendar, past: Past) -> None:
        self._prices, self._calendar, self._past = prices, calendar, past
        self._known: dict[str, _Figures] = {}
        self._stretches: dict[tuple[tuple[str, str], date], tuple[Stretch, ...]] = {}
        self._volumes: dict[tuple[str, date], DayVolume] = {}
        self._finished: dict[tuple[str, date], CandleRow] = {}
        """Day candles of the simulator's own days that are over."""

    def candles(self, contract: Contract, interval: str, first: date, last: date, epoch: float) -> list[CandleRow]:
        """Return the candles of the India days `first` to `last`, oldest first, up to `epoch`."""
        days = self.days(contract, first, last, epoch)
        past = [day for day in days if day < self._past.first_day]
        own = days[len(past) :]
        if interval == "day":
            rows = [
                self._past_day(contract, *day_and_range)
                for day_and_range in zip(past, self._ranges(contract, past), strict=True)
            ]
            return [*rows, *(self._own_day(contract, day, epoch) for day in own)]
        minutes = INTERVAL_MINUTES[interval]
        ranges = self._ranges(contract, past)
        return [*self._bars(contract, past, minutes, epoch, ranges), *self._bars(contract, own, minutes, epoch)]

    def days(self, contract: Contract, first: date, last: date, epoch: float) -> list[date]:
        """Return the days of a range whose trading in the contract had begun by `epoch`."""
        since = self._past.first_trading_day(contract)
        begin = first if since is None else max(first, since)
        days = (begin + timedelta(days=n) for n in range((last - begin).days + 1))
        return [day for day in days if (stretches := self.stretches(contract, day)) and stretches[0].opens <= epoch]

    def stretches(self, contract: Contract, day: date) -> tuple[Stretch, ...]:
        """Return when the contract's exchange trades on a day. Sessions that touch become one stretch."""
        key = (self._figures(contract).market, day)
        known = self._stretches.get(key)
        if known is None:
            joined: list[Stretch] = []
            for session in self._calendar.sessions(*key[0], day):
                opens, closes = session.opens.timestamp(), session.closes.timestamp()
                if joined and joined[-1].closes == opens:
                    opens = joined.pop().opens
                joined.append(Stretch(opens, closes))
            known = _remember(self._stretches, key, tuple(joined))
        return known

    def range_of(self, contract: Contract, day: date) -> DayRange:
        """Return the range of a past day's candle."""
        return self._ranges(contract, [day])[0]

    def volume(self, contract: Contract, day: date, at: float) -> int:
        """Return the units traded on a day up to a moment, in whole lots."""
        key = (contract.instrument_id, day)
        known = self._volumes.get(key)
        if known is None:
            stretches = self.stretches(contract, day)
            if not stretches:
                return 0
            known = _remember(self._volumes, key, DayVolume(self._figures(contract), day, stretches))
        return known.at(at)

    def oi(self, contract: Contract, at: float) -> int:
        """Return the open interest in units."""
        return self._figures(contract).oi(at)

    # days ------------------------------------------------------------------------------------------------------------

    def _ranges(self, contract: Contract, days: Sequence[date]) -> list[DayRange]:
        """The ranges of all days at once, so that the walk is evaluated in one call."""
        epochs: list[float] = []
        ends: list[int] = [0]
        for day in days:
            for stretch in self.stretches(contract, day):
                parts = math.ceil((stretch.closes - stretch.opens) / _GRID_SECONDS)
                epochs.extend([stretch.opens + n * _GRID_SECONDS for n in range(parts)])
                epochs.append(stretch.closes)
            ends.append(len(epochs))
        ticks = self._prices.many_ticks(contract, epochs) if epochs else []
        parts_of_days = (ticks[first:last] for first, last in pairwise(ends))
        return [DayRange(part[0], max(part), min(part), part[-1]) for part in parts_of_days]

    def _past_day(self, contract: Contract, day: date, found: DayRange) -> CandleRow:
        stretches, figures = self.stretches(contract, day), self._figures(contract)
        closes = stretches[-1].closes
        ticks = (found.open, found.high, found.low, found.close)
        return figures.row(midnight(day), ticks, DayVolume(figures, day, stretches).at(closes), figures.oi(closes))

    def _own_day(self, contract: Contract, day: date, epoch: float) -> CandleRow:
        key = (contract.instrument_id, day)
        known = self._finished.get(key)
        if known is not None:
            return known
        bars = list(self._bars(contract, [day], 1, epoch))
        row = (
            midnight(day), bars[0][1], max(bar[2] for bar in bars), min(bar[3] for bar in bars), bars[-1][4],
            sum(bar[5] for bar in bars), bars[-1][6],
        )  # fmt: skip
        return _remember(self._finished, key, row) if epoch > self.stretches(contract, day)[-1].closes else row

    # inside a day ----------------------------------------------------------------------------------------------------

    def _bars(
        self, contract: Contract, days: Sequence[date], minutes: int, epoch: float, ranges: Sequence[DayRange] = ()
    ) -> Iterator[CandleRow]:
        """Yield the candles of days. If `ranges` is given, prices are kept inside them."""
        figures = self._figures(contract)
        parts = [
            (n, tuple(minutes_of(stretch, epoch)))
            for n, day in enumerate(days)
            for stretch in self.stretches(contract, day)
            if stretch.opens <= epoch
        ]
        moments = [moment for _, part in parts for minute in part for moment in minute.moments]
        ticks = iter(self._prices.many_ticks(contract, moments) if moments else ())
        for n, part in parts:
            volume = DayVolume(figures, days[n], self.stretches(contract, days[n]))
            traded = volume.at(part[0].begins)
            for at in range(0, len(part), minutes):
                bar = part[at : at + minutes]
                prices = list(islice(ticks, sum(len(minute.moments) for minute in bar)))
                if ranges:
                    low, high = ranges[n].low, ranges[n].high
                    prices = [low if price < low else min(price, high) for price in prices]
                ends = bar[-1].ends
                before, traded = traded, volume.at(ends)
                four = (prices[0], max(prices), min(prices), prices[-1])
                yield figures.row(bar[0].begins, four, traded - before, figures.oi(ends))

    def _figures(self, contract: Contract) -> _Figures:
        known = self._known.get(contract.instrument_id)
        if known is None:
            base = int(contract.base_price / contract.tick_size)
            actions = self._past.actions.get(self._prices.walk_key(contract), ())
            known = self._known[contract.instrument_id] = _Figures(
                market=(contract.identity.exchange, contract.calendar),
                tick=float(contract.tick_size),
                places=price_places(contract.identity.segment),
                token=contract.exchange_token,
                lot_size=contract.lot_size,
                usual_lots=0 if contract.is_index else typical_lots(contract, base) * _VOLUME_LEVELS_A_DAY,
                jumps=tuple((midnight(action.ex_date), action.volume_factor) for action in actions),
                has_oi=contract.identity.shape is not Shape.SECURITY,
            )
        return known


def minutes_of(stretch: Stretch, epoch: float) -> Iterator[_Minute]:
    """Yield the minutes of a stretch that has begun by `epoch`, up to that moment. The last minute may be shorter."""
    closes = min(stretch.closes, epoch)
    for n in range(max(1, math.ceil((closes - stretch.opens) / _MINUTE))):
        begins = stretch.opens + n * _MINUTE
        ends = min(begins + _MINUTE, closes)
        last = ends if ends == stretch.closes or ends < begins + _MINUTE else ends - 0.5
        middle = begins + _MINUTE / 2
        yield _Minute(begins, ends, (begins, middle, last) if middle < last else (begins, last))


def typical_lots(contract: Contract, last: int) -> int:
    """Return how many lots are quoted at one price level when the last price is `last` ticks."""
    rupees_a_lot = max(1, int(last * contract.tick_size) * contract.lot_size)
    if contract.identity.shape is Shape.OPTION:
        return 20
    return max(2, _RUPEES_A_LEVEL // rupees_a_lot)


def _remember(known: dict[_Key, _Value], key: _Key, value: _Value) -> _Value:
    """Store a value in the cache. The cache is emptied when it holds a few thousand."""
    if len(known) >= _MOST_REMEMBERED:
        known.clear()
    known[key] = value
    return value
