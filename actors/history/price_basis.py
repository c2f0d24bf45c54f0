"""Decides whether a broker's candles have prices as traded. Pure.

The store keeps prices as traded and adjusts them when they are read. Several brokers give history that is already adjusted, and their
answers do not say so. Stored as it is, such history would be adjusted twice. The candles themselves show it: over the night before
a one-into-five split the traded price falls to a fifth, while an adjusted price stays where it was. Dividends are left out: no
broker is known to adjust for ordinary dividends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import date

import attrs

from onebroker.actors.history.adjust import day_start
from onebroker.actors.history.interface import MICROSECONDS
from onebroker.actors.store.durable_history import Factor
from onebroker.config.late_modules import pl
from onebroker.config.messages import history as sentences

DECISIVE = math.log(1.25) - 1e-9
"""Smallest price change, as a logarithm, that cannot be an ordinary overnight move: the change of a one-for-four bonus."""
MOST_NIGHT_DAYS = 10
"""Candles around an ex-date that are further apart than this prove nothing."""
JUDGED_DAYS = MOST_NIGHT_DAYS
"""This many days from an ex-date on are enough for a judgement."""


@attrs.frozen
class NotAsTraded:
    """Candles of days before `ex_date` are not stored."""

    ex_date: date
    reason: str


def ex_dates(factors: Iterable[Factor], first: date, today: date) -> dict[date, float]:
    """Return ex-date -> factor of the events that brokers adjust for, for ex-dates after `first` and up to `today`."""
    products: dict[date, float] = {}
    for factor in factors:
        if factor.kind != "dividend" and first < factor.ex_date <= today:
            products[factor.ex_date] = products.get(factor.ex_date, 1.0) * float(factor.price_factor)
    return {day: product for day, product in sorted(products.items()) if product != 1.0}


def judge_basis(candles: pl.DataFrame, factors: Iterable[Factor], today: date) -> NotAsTraded | None:
    """Return the ex-date before which the candles are not taken as traded, and why; None when all are.

    `candles` has `time`, `open`, `close` of one series, oldest first; stored candles may be among them.
    """
    if not candles.height:
        return None
    first_time = int(candles["time"][0])
    events = {
        day: product for day, product in ex_dates(factors, date.min, today).items() if first_time < day_start(day)
    }
    if not events:
        return None
    newest = max(events)
    told = {
        as_traded for day, product in events.items() if (as_traded := _as_traded(candles, day, product)) is not None
    }
    if told == {True}:
        return None
    sentence = sentences.adjusted_by_broker if False in told else sentences.basis_untold
    return NotAsTraded(newest, sentence(newest))


def _as_traded(candles: pl.DataFrame, ex_date: date, factor: float) -> bool | None:
    """Tell whether the price moved by the factor over the night before the ex-date; None = cannot be decided."""
    expected = math.log(factor)
    if abs(expected) < DECISIVE:
        return None
    midnight = day_start(ex_date)
    before, after = (
        candles.filter(pl.col("time") < midnight).tail(1),
        candles.filter(pl.col("time") >= midnight).head(1),
    )
    if not before.height or not after.height:
        return None
    apart = (after["time"][0] - before["time"][0]) / (24 * 3600 * MICROSECONDS)
    prices = (before["close"][0], after["open"][0])
    if apart > MOST_NIGHT_DAYS or min(prices) <= 0:
        return None
    moved = math.log(prices[1] / prices[0])
    return abs(moved - expected) < abs(moved)
