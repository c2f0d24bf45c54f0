"""Bars of last prices, and Wilder's average true range over them (order-engine 1.4 trail with atr, 1.6 bar_close). Pure."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.orders.part_state import Bar, Bars
from onebroker.actors.engine.plan.market import Seen


@attrs.frozen(kw_only=True)
class BarRule:
    """How bars are built. Bars are aligned to the session's opening; bars that began before `armed_at` do not count."""

    seconds: float
    opened: float
    """Epoch seconds of the session's opening."""
    armed_at: float
    """Epoch seconds."""
    periods: int = 1
    """Number of true ranges in the average."""


def fold_bars(bars: Bars, quote: Seen | None, now: float, rule: BarRule) -> Bars:
    """Return the bars after a look at `now` (epoch seconds) that saw `quote`; None = there is no usable quote.

    A bar holds the quotes that were received in its interval, no matter when a look saw them. An interval without quotes is no bar:
    it has no close, and the average does not move. The average needs `periods` true ranges, so `periods` + 1 whole bars.
    """
    if quote is not None and quote.last_price is not None:
        bars = _take(bars, quote.last_price, quote.received_at, rule)
    bar = bars.open_bar
    return bars if bar is None or now < bar.began + rule.seconds else _close(bars, bar, rule)


def _take(bars: Bars, price: Decimal, at: float, rule: BarRule) -> Bars:
    """Return the bars after a price received at `at` (epoch seconds). A price older than the bars changes nothing."""
    bar = bars.open_bar
    earliest = bars.until if bar is None else bar.began
    if at < rule.opened or (earliest is not None and at < earliest):
        return bars
    if bar is not None and at >= bar.began + rule.seconds:
        bars, bar = _close(bars, bar, rule), None
    if bar is None:
        began = rule.opened + (at - rule.opened) // rule.seconds * rule.seconds
        bar = Bar(began=began, high=price, low=price, close=price, whole=began >= rule.armed_at)
    else:
        bar = attrs.evolve(bar, high=max(bar.high, price), low=min(bar.low, price), close=price)
    return attrs.evolve(bars, open_bar=bar)


def _close(bars: Bars, bar: Bar, rule: BarRule) -> Bars:
    closed, periods = attrs.evolve(bars, open_bar=None, until=bar.began + rule.seconds), rule.periods
    if not bar.whole:
        return closed
    before = bars.last_close
    closed = attrs.evolve(closed, closed=bars.closed + 1, last_close=bar.close)
    if before is None:
        return closed
    true_range = max(bar.high - bar.low, abs(bar.high - before), abs(bar.low - before))
    if bars.atr is not None:
        return attrs.evolve(closed, atr=(bars.atr * (periods - 1) + true_range) / periods)
    ranges = (*bars.ranges, true_range)
    if len(ranges) < periods:
        return attrs.evolve(closed, ranges=ranges)
    return attrs.evolve(closed, ranges=(), atr=sum(ranges, Decimal(0)) / periods)
