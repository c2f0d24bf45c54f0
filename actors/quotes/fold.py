"""Folding ticks into what is held of one instrument at one broker, and choosing *the* quote among brokers. Pure.

A tick is held whole or not at all: no field of an older tick ever stands beside one of a newer. Feeds are subscribed in
the broker's fullest mode; a tick that carries less all the same (an index, a broker's shorter packet) therefore shows null
and an empty depth where it carries nothing, never a figure of another moment (architecture 9).
"""

from collections.abc import Iterable, Mapping

import msgspec

from onebroker.brokers.records import Tick

SAME_MOMENT_SECONDS = 2.0
"""A broker's newest tick counts as current when it is at most this much older than the newest of any broker. And an exchange time further
ahead of its receipt is not believed: it orders nothing, or all right ticks would be dropped until then."""
LARGEST_PRICE = 1e12
"""Rupees; no instrument costs as much, so what is above is damage."""
CLOCK_STEP_SECONDS = 5.0
"""A receipt held that lies further in the future comes from another clock (the machine's was set back): it orders nothing."""


class Quote(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A tick with where and when it came from. This is what Redis holds, as JSON."""

    broker: str
    tick: Tick
    received_at: float
    """Epoch seconds."""
    stale_since: float | None = None
    """Epoch seconds since when, in a session, no live feed stands behind it; None = not stale."""
    ordered_at: float | None = None
    """Latest exchange time seen from this broker, epoch seconds: a tick of before is dropped."""
    restored: bool = False
    """Received before a restart: it may be served, but nobody may act on it."""
    stray: bool = False
    """Its last price lies outside its own book and no second tick has said so: nobody acts on that price (`doubt.py`)."""


def is_price(value: float) -> bool:
    """Tell whether a last price is one that may be served: above zero and finite."""
    return 0 < value < LARGEST_PRICE


def fold(held: Quote | None, broker: str, tick: Tick, received_at: float) -> Quote | None:
    """Return what is held after `tick`, or None when it is dropped: no price, or older than what is held, by the exchange's
    time or by ours."""
    if not is_price(tick.last_price):
        return None
    before = None
    if held is not None:
        if 0 < held.received_at - received_at <= CLOCK_STEP_SECONDS:
            return None
        before = held.ordered_at
    at = believed(tick.exchange_time, received_at)
    if at is not None and before is not None and at < before:
        return None
    return Quote(broker=broker, tick=tick, received_at=received_at, ordered_at=before if at is None else at)


def believed(exchange_time: float | None, received_at: float) -> float | None:
    """Return an exchange time, or None for one that lies ahead of its receipt by more than clocks may differ (epoch seconds all)."""
    return None if exchange_time is None or exchange_time > received_at + SAME_MOMENT_SECONDS else exchange_time


def moment(quote: Quote) -> float:
    """Return the moment a quote is of (epoch seconds): the exchange's time, when the feed tells one, else its receipt. A feed that
    repeats an old packet grows no younger."""
    at = believed(quote.tick.exchange_time, quote.received_at)
    return quote.received_at if at is None else min(at, quote.received_at)


def unified(by_broker: Mapping[str, Quote], order: Iterable[str]) -> Quote | None:
    """Return the quote of the first broker in `order` that is current; quotes with a live feed go before stale ones. The exchange's time
    decides between those that have one, the receipt between all that are left; among equals one that tells the book."""
    if len(by_broker) == 1:
        return next(iter(by_broker.values()))
    live = {code: quote for code, quote in by_broker.items() if quote.stale_since is None} or by_broker
    if not live:
        return None
    current = _not_outdated(live)
    newest = max(quote.received_at for quote in current.values())
    of_now = [
        quote
        for code in order
        if (quote := current.get(code)) is not None and quote.received_at >= newest - SAME_MOMENT_SECONDS
    ]
    if not of_now:
        return max(current.values(), key=lambda quote: quote.received_at)
    return next((quote for quote in of_now if quote.tick.buy is not None and quote.tick.sell is not None), of_now[0])


def _not_outdated(by_broker: Mapping[str, Quote]) -> Mapping[str, Quote]:
    """Return the quotes without those that another quote shows to be old, however lately they were received: by the exchange's time, or,
    of a feed that tells none (Dhan's), by the time of the last trade."""
    told = {code: believed(quote.tick.exchange_time, quote.received_at) for code, quote in by_broker.items()}
    traded = {code: believed(quote.tick.last_trade_time, quote.received_at) for code, quote in by_broker.items()}
    latest, last_trade = _latest(told.values()), _latest(traded.values())
    return {
        code: quote
        for code, quote in by_broker.items()
        if (_is_current(told[code], latest) if told[code] is not None else _is_current(traded[code], last_trade))
    }


def _latest(times: Iterable[float | None]) -> float:
    return max((at for at in times if at is not None), default=0.0)


def _is_current(at: float | None, latest: float) -> bool:
    """Tell whether a time (epoch seconds) is of the moment of the latest one; one that is not told is."""
    return at is None or at >= latest - SAME_MOMENT_SECONDS
