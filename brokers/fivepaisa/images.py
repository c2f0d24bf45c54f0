"""The image of an instrument on one connection: partial updates of three kinds, put together into whole ticks."""

from collections.abc import Mapping

from onebroker.brokers.codec.fields import Row, number, price, rows_of, whole
from onebroker.brokers.fivepaisa.values import date_epoch
from onebroker.brokers.records import DepthLevel, Tick
from onebroker.brokers.requests import BadAnswer

_PRICES = ("LastRate", "OpenRate", "High", "Low", "PClose", "AvgRate", "BidRate", "OffRate")
"""A price of zero means no price, and keeps the previous value."""
_QUANTITIES = (
    "LastQty", "TotalQty", "TBidQ", "TOffQ", "BidQty", "OffQty", "OpenInterest", "DayHiOI", "DayLoOI",
)  # fmt: skip
_BUY, _SELL = 66, 83
"""`BbBuySellFlag`: the letters B and S."""

Levels = tuple[tuple[float, int, int], ...]
"""Price, quantity as the broker counts it, orders; best first."""


class InstrumentImage:
    """The last value of every field of one instrument."""

    def __init__(self, broker_token: str) -> None:
        self._token = broker_token
        self._prices: dict[str, float] = {}
        self._quantities: dict[str, int] = {}
        self._buy: Levels | None = None
        self._sell: Levels | None = None
        self._time: float | None = None

    def update(self, row: Mapping[str, object]) -> None:
        """Take in a quote, a depth or an open-interest row; raise `BadAnswer` for an impossible row and change nothing."""
        prices = {name: value for name in _PRICES if (value := price(row.get(name))) is not None}
        quantities = {name: whole(row.get(name)) for name in _QUANTITIES if row.get(name) is not None}
        if any(value < 0 for value in (*prices.values(), *quantities.values())):
            raise BadAnswer("a price or quantity below zero")
        if "Details" in row:
            levels = rows_of(row["Details"])
            buy, sell = _side(levels, _BUY), _side(levels, _SELL)
            self._buy, self._sell = buy, sell
        self._prices.update(prices)
        self._quantities.update(quantities)
        told = date_epoch(row.get("TickDt")) or date_epoch(row.get("Time"))
        if told is not None:
            # Quotes and depth overtake each other: the image's time is the newest of their times.
            self._time = max(told, self._time or 0.0)

    def tick(self, units: int | None) -> Tick | None:
        """Return the whole image as a tick; None before the first price. `units` are the units in one quantity; None =
        not known: no quantities."""
        last = self._prices.get("LastRate")
        if last is None:
            return None
        buy, sell = self._sides()
        return Tick(
            broker_token=self._token,
            last_price=last,
            average_price=self._prices.get("AvgRate"),
            open=self._prices.get("OpenRate"),
            high=self._prices.get("High"),
            low=self._prices.get("Low"),
            previous_close=self._prices.get("PClose"),
            last_quantity=self._count("LastQty", units),
            volume=self._count("TotalQty", units),
            buy_quantity=self._count("TBidQ", units),
            sell_quantity=self._count("TOffQ", units),
            oi=self._count("OpenInterest", units),
            oi_day_high=self._count("DayHiOI", units),
            oi_day_low=self._count("DayLoOI", units),
            buy=_levels(buy, units),
            sell=_levels(sell, units),
            exchange_time=self._time,
        )

    def _count(self, name: str, units: int | None) -> int | None:
        count = self._quantities.get(name)
        return None if count is None or units is None else count * units

    def _sides(self) -> tuple[Levels | None, Levels | None]:
        """Return the five levels; until they come, the best level, which every quote carries."""
        if self._buy is not None:
            return self._buy, self._sell
        return self._best("BidRate", "BidQty"), self._best("OffRate", "OffQty")

    def _best(self, rate: str, quantity: str) -> Levels | None:
        count = self._quantities.get(quantity)
        if count is None:
            return None
        best = self._prices.get(rate)
        return ((best, count, 0),) if best is not None and count else ()


def _side(levels: list[Row], flag: int) -> Levels:
    side = []
    for level in levels:
        if number(level.get("BbBuySellFlag")) != flag:
            continue
        quantity, rate = whole(level.get("Quantity")), price(level.get("Price"))
        orders = whole(level.get("NumberOfOrders"))
        if quantity < 0 or orders < 0 or (rate is not None and rate < 0):
            raise BadAnswer("a level below zero")
        if quantity and rate is not None:
            side.append((rate, quantity, orders))
    return tuple(side)


def _levels(side: Levels | None, units: int | None) -> tuple[DepthLevel, ...] | None:
    if side is None or units is None:
        return None
    return tuple(DepthLevel(rate, quantity * units, orders or None) for rate, quantity, orders in side)
