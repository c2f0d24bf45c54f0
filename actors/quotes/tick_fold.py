"""Folding ticks into the quote of one instrument at one broker, and choosing *the* quote among brokers. Pure.

A tick is kept whole or not at all: fields of an older and a newer tick are never mixed. Feeds are subscribed in the broker's fullest
mode. Some ticks carry less (an index, a broker's shorter packet). Their missing fields show null and an empty depth, never a figure
of another moment (architecture 9).
"""

from collections.abc import Iterable, Mapping

import msgspec

from onebroker.brokers.records import Tick

SAME_MOMENT_SECONDS = 2.0
"""A broker's newest tick counts as current when it is at most this much older than the newest tick of any broker. An exchange time further
ahead of its receipt than this is ignored; otherwise all correct ticks would be dropped until that time."""
LARGEST_PRICE = 1e12
"""Rupees. No instrument costs as much, so a higher figure is corrupt."""
CLOCK_STEP_SECONDS = 5.0
"""If the held quote's receipt is further ahead than this, the machine's clock was set back. The held receipt is then ignored."""


class Quote(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A tick with its broker and its time of receipt. Redis holds this struct as JSON."""

    broker: str
    tick: Tick
    received_at: float
    """Epoch seconds."""
    stale_since: float | None = None
    """Epoch seconds since when no live feed renews the quote in a session; None = not stale."""
    ordered_at: float | None = None
    """Latest exchange time seen from this broker, in epoch seconds. A tick with an earlier exchange time is dropped."""
    restored: bool = False
    """Received before a restart: the quote may be served, but not acted on."""
    stray: bool = False
    """The last price lies outside the depth of its own tick, and no second tick confirmed it; or it is an answer over REST that leaps, and no second
    answer confirmed it. Nothing acts on that price (`doubted_ticks.py`)."""


def is_price(value: float) -> bool:
    """Tell whether a last price may be served: above zero and below LARGEST_PRICE."""
    return 0 < value < LARGEST_PRICE


def fold(held: Quote | None, broker: str, tick: Tick, received_at: float) -> Quote | None:
    """Return the quote to hold after `tick`, or None when the tick is dropped. A tick is dropped if it has no price, or if it is older
    than the held quote by exchange time or by our time of receipt."""
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
    """Return the exchange time, or None if it is ahead of its receipt by more than SAME_MOMENT_SECONDS. All in epoch seconds."""
    return None if exchange_time is None or exchange_time > received_at + SAME_MOMENT_SECONDS else exchange_time


def moment(quote: Quote) -> float:
    """Return the moment of a quote (epoch seconds): the exchange time if the feed reports it, else the time of receipt. An old packet
    that a feed repeats does not become newer."""
    at = believed(quote.tick.exchange_time, quote.received_at)
    return quote.received_at if at is None else min(at, quote.received_at)


def unified(by_broker: Mapping[str, Quote], order: Iterable[str]) -> Quote | None:
    """Return the quote of the first broker in `order` whose quote is current. Quotes with a live feed go before stale quotes.
    Exchange times remove outdated quotes first, then times of receipt. Among the current quotes, the first with both depth sides wins."""
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
    """Return the quotes that no other quote shows to be old. The time of receipt does not count here. The exchange time decides; for a
    feed that reports none (Dhan's), the time of the last trade decides."""
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
    """Tell whether a time (epoch seconds) is at most SAME_MOMENT_SECONDS before the latest. True for None (not reported)."""
    return at is None or at >= latest - SAME_MOMENT_SECONDS
