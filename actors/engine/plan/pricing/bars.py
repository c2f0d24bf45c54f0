"""Bars of last prices, and Wilder's average true range over them (order-engine 1.4 trail with atr, 1.6 bar_close). Pure."""

from decimal import Decimal

import attrs

from onebroker.actors.engine.plan.state import Bar, Bars


@attrs.frozen(kw_only=True)
class BarRule:
    """How bars are built: aligned to the session's opening; those that began before `armed_at` do not count."""

    seconds: float
    opened: float
    """Epoch seconds of the session's opening."""
    armed_at: float
    """Epoch seconds."""
    periods: int = 1
    """True ranges in the average."""


def fold_bars(bars: Bars, price: Decimal | None, now: float, rule: BarRule) -> Bars:
    """Return the bars after a look at `now` (epoch seconds), when the last price was `price`; None = no usable quote.

    A bar without a tick has no close. The average needs `periods` true ranges, so `periods` + 1 whole bars.
    """
    began = rule.opened + (now - rule.opened) // rule.seconds * rule.seconds
    bar = bars.open_bar
    if bar is not None and began > bar.began:
        bars = _close(bars, bar, rule.periods)
        bar = None
    if price is None:
        return bars
    if bar is None:
        bar = Bar(began=began, high=price, low=price, close=price, whole=began >= rule.armed_at)
    else:
        bar = attrs.evolve(bar, high=max(bar.high, price), low=min(bar.low, price), close=price)
    return attrs.evolve(bars, open_bar=bar)


def _close(bars: Bars, bar: Bar, periods: int) -> Bars:
    closed = attrs.evolve(bars, open_bar=None)
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
