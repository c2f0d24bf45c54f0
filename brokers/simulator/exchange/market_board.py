"""What the exchange publishes: last prices inside the circuit band, the day's figures, depth, and the maker's quotes. Candles are in
`brokers/simulator/world/candles.py`.

Everything is computed on request (`brokers/simulator/world/walks.py`), so contracts that nobody reads cost nothing. This module sees orders only
through the book in which they rest.
"""

from datetime import date
from decimal import Decimal

import attrs

from onebroker.brokers.simulator.exchange.hours import MarketDay, Phase, TradingHours
from onebroker.brokers.simulator.exchange.matching import Book, MakerLevel
from onebroker.brokers.simulator.world.candles import CandleRow, Candles, typical_lots
from onebroker.brokers.simulator.world.model import Contract, Level, Market
from onebroker.brokers.simulator.world.past import Past
from onebroker.brokers.simulator.world.walks import Prices, scramble, step_of
from onebroker.config.calendars import Calendar
from onebroker.config.instruments import price_places
from onebroker.config.vocabulary import Side

DEPTH_LEVELS = 5
_NARROWEST_BAND_TICKS = 40
_OPTION_BAND_OF_STRIKE = 0.1
"""An option's band is at least this fraction of its strike, because it follows its underlying. A percentage of its own small premium would hold it at
the limit."""
_SAMPLE_SECONDS = 1800.0
_TICKS_PER_SPREAD = 20_000


@attrs.define(slots=True)
class _DayFigures:
    """Open, high, low and average of one contract's day, in ticks, up to the last moment that was read."""

    reading: MarketDay
    lower: int
    upper: int
    previous: int
    open: int = 0
    high: int = 0
    low: int = 0
    total: int = 0
    samples: int = 0
    sampled_to: float = 0.0

    def begin(self, ticks: int, at: float) -> None:
        """Start again with the first price of the day."""
        self.open = self.high = self.low = self.total = ticks
        self.samples, self.sampled_to = 1, at

    def see(self, ticks: int) -> None:
        self.high, self.low = max(self.high, ticks), min(self.low, ticks)

    def sample(self, ticks: int, at: float) -> None:
        """Take a price of the half-hourly grid. Only these prices make the average, so reading a market does not change it."""
        self.see(ticks)
        self.total += ticks
        self.samples += 1
        self.sampled_to = at


class _Crowd:
    """How many units are quoted at each price level of a contract in one step."""

    def __init__(self, contract: Contract, last: int, epoch: float) -> None:
        self._lot = contract.lot_size
        self._lots = typical_lots(contract, last)
        self._seed = contract.exchange_token * 0x9E3779B97F4A7C15 + step_of(epoch) * 64 + 32

    def units(self, level: int) -> int:
        """Return the units at a level: that many levels above the last price, below it if negative, at it for 0."""
        bits = scramble(self._seed + level & (1 << 64) - 1)
        return self._lot * max(1, self._lots * (50 + bits % 151) // 100)


class MarketBoard:
    """Prices and published markets of every contract. Times are epoch seconds."""

    def __init__(self, prices: Prices, calendar: Calendar, past: Past) -> None:
        """`calendar` knows the past's days and the market's own days."""
        self._prices = prices
        self._candles = Candles(prices, calendar, past)
        self._hours = TradingHours(calendar)
        self._figures: dict[str, _DayFigures] = {}
        self._published: dict[str, tuple[tuple[float, int, int], Market]] = {}
        """Instrument id -> ((moment, changes of the book, traded units), market). The feeds of all brokers send the same market."""

    @property
    def hours(self) -> TradingHours:
        return self._hours

    def reading(self, contract: Contract, epoch: float) -> MarketDay:
        """Return the phase and times of the exchange's day for the contract."""
        return self._hours.at(contract.identity.exchange, contract.calendar, epoch)

    def is_open(self, contract: Contract, epoch: float) -> bool:
        """Tell whether the contract trades continuously at `epoch`."""
        return self.reading(contract, epoch).phase is Phase.OPEN

    def last_ticks(self, contract: Contract, epoch: float) -> int:
        """Return the last price in ticks, inside the circuit band. Outside trading hours this is the last close."""
        day = self._day(contract, epoch)
        return self._within(day, contract, day.reading.price_time(epoch))

    def last_price(self, contract: Contract, epoch: float) -> Decimal:
        """Return the last price in rupees."""
        return self.last_ticks(contract, epoch) * contract.tick_size

    def close_price(self, contract: Contract, epoch: float) -> Decimal:
        """Return the closing price, in rupees, of the latest trading day that is over at `epoch`."""
        reading = self.reading(contract, epoch)
        over = reading.closes if epoch >= reading.closes else reading.previous_close
        return self._prices.ticks(contract, over) * contract.tick_size

    def circuits(self, contract: Contract, epoch: float) -> tuple[int, int]:
        """Return the lowest and the highest price, in ticks, that orders may carry today."""
        day = self._day(contract, epoch)
        return day.lower, day.upper

    def forget(self, instrument_ids: frozenset[str]) -> None:
        """Compute the day's figures again, because a price was set by hand."""
        for instrument_id in instrument_ids:
            self._figures.pop(instrument_id, None)
            self._published.pop(instrument_id, None)

    # the market maker ------------------------------------------------------------------------------------------------

    def maker_quotes(
        self, contract: Contract, epoch: float, priority: int
    ) -> tuple[list[MakerLevel], list[MakerLevel]]:
        """Return five levels a side around the last price. Levels outside the circuit band are left out."""
        day = self._day(contract, epoch)
        last = self._within(day, contract, day.reading.price_time(epoch))
        spacing = max(1, last // _TICKS_PER_SPREAD)
        crowd = _Crowd(contract, last, epoch)
        buy, sell = (
            [
                MakerLevel(ticks, crowd.units(sign * n), priority, 1 + n)
                for n in range(1, DEPTH_LEVELS + 1)
                if day.lower <= (ticks := last + sign * n * spacing) <= day.upper
            ]
            for sign in (-1, 1)
        )
        return buy, sell

    def flow_units(self, contract: Contract, epoch: float) -> int:
        """Return the units that the market's own flow trades at the last price in one step."""
        return _Crowd(contract, self.last_ticks(contract, epoch), epoch).units(0)

    def auction_units(self, contract: Contract, epoch: float) -> int:
        """Return the units that the market maker offers on each side in the opening auction."""
        return 10 * self.flow_units(contract, epoch)

    # published -------------------------------------------------------------------------------------------------------

    def market(self, contract: Contract, epoch: float, book: Book | None, traded_units: int) -> Market:
        """Return the published market. `book` is None when the contract has no book (closed, pre-open, index)."""
        state = (epoch, -1 if book is None else book.changes, traded_units)
        known = self._published.get(contract.instrument_id)
        if known is None or known[0] != state:
            known = state, self._published_now(contract, epoch, book, traded_units)
            self._published[contract.instrument_id] = known
        return known[1]

    def _published_now(self, contract: Contract, epoch: float, book: Book | None, traded_units: int) -> Market:
        day = self._day(contract, epoch)
        at = day.reading.price_time(epoch)
        last = self._within(day, contract, at)
        self._sample(day, contract, at, last)
        volume = 0 if contract.is_index else self._candles.volume(contract, day.reading.day, at) + traded_units
        oi = self._candles.oi(contract, at)
        sides = {side: self._levels(contract, book, side) for side in Side}
        average = Decimal(day.total + last) / (day.samples + 1) * contract.tick_size
        tick = contract.tick_size
        return Market(
            tick_size=tick,
            last_price=last * tick,
            last_quantity=0 if contract.is_index else self.flow_units(contract, at) or contract.lot_size,
            last_trade_time=at,
            exchange_time=at,
            average_price=Decimal(0)
            if contract.is_index
            else average.quantize(Decimal(1).scaleb(-price_places(contract.identity.segment))),
            open=day.open * tick,
            high=day.high * tick,
            low=day.low * tick,
            previous_close=day.previous * tick,
            volume=volume,
            buy_quantity=3 * sum(level.quantity for level in sides[Side.BUY]),
            sell_quantity=3 * sum(level.quantity for level in sides[Side.SELL]),
            oi=oi,
            oi_day_high=oi + oi // 50,
            oi_day_low=oi - oi // 50,
            upper_circuit=day.upper * tick,
            lower_circuit=day.lower * tick,
            buy=sides[Side.BUY],
            sell=sides[Side.SELL],
        )

    def candles(self, contract: Contract, interval: str, first: date, last: date, epoch: float) -> list[CandleRow]:
        """Return candles of the India days `first` to `last`, oldest first, up to `epoch`."""
        return self._candles.candles(contract, interval, first, last, epoch)

    # figures ---------------------------------------------------------------------------------------------------------

    def _day(self, contract: Contract, epoch: float) -> _DayFigures:
        reading = self.reading(contract, epoch)
        known = self._figures.get(contract.instrument_id)
        if known is not None and known.reading.day == reading.day and known.reading.opens == reading.opens:
            known.reading = reading
            return known
        scale = self._prices.scaled_between(contract, reading.previous_close, epoch)
        previous = max(1, round(self._prices.ticks(contract, reading.previous_close) * scale))
        width = max(_narrowest_band(contract), int(previous * contract.band_percent / 100))
        day = _DayFigures(reading, max(1, previous - width), previous + width, previous)
        self._figures[contract.instrument_id] = day
        return day

    def _within(self, day: _DayFigures, contract: Contract, at: float) -> int:
        return min(max(self._prices.ticks(contract, at), day.lower), day.upper)

    def _sample(self, day: _DayFigures, contract: Contract, at: float, last: int) -> None:
        opens = max(day.reading.opens, self._prices.last_action(contract, at))
        if at < opens:  # the pre-open shows the last close
            day.begin(last, 0.0)
            return
        if day.sampled_to < opens:
            day.begin(self._within(day, contract, opens), opens)
        while (due := day.sampled_to + _SAMPLE_SECONDS) <= at:
            day.sample(self._within(day, contract, due), due)
        day.see(last)

    @staticmethod
    def _levels(contract: Contract, book: Book | None, side: Side) -> tuple[Level, ...]:
        if book is None:
            return ()
        rows = book.depth(side, DEPTH_LEVELS)
        return tuple(Level(ticks * contract.tick_size, units, orders) for ticks, units, orders in rows)


def _narrowest_band(contract: Contract) -> int:
    strike = contract.identity.strike_price or 0.0
    return max(_NARROWEST_BAND_TICKS, int(strike * _OPTION_BAND_OF_STRIKE / float(contract.tick_size)))
