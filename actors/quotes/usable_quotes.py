"""When a quote may be served, and when it may be acted on. Pure."""

from onebroker.actors.quotes.tick_fold import SAME_MOMENT_SECONDS, Quote, believed
from onebroker.config.calendars import CALENDARS, Calendar
from onebroker.config.clock import from_epoch
from onebroker.config.instruments import TRADING_EXCHANGES, Identity, calendar_of

USABLE_SECONDS = 300.0
"""Rules 1.8, quote freshness; also the default of order-engine 5.8, quote_usable_seconds."""
INDIA_AHEAD_SECONDS = 19_800
"""India is five and a half hours ahead of UTC, all the year."""
DAY_SECONDS = 86_400
MOST_AHEAD_SECONDS = 5.0
"""A time of receipt further in the future than this comes from another clock and proves nothing about now."""


def may_serve(quote: Quote, identity: Identity, calendar: Calendar, now: float) -> bool:
    """Tell whether a stored quote is served (rules 1.4.7-2); `now` in epoch seconds."""
    if quote.stale_since is not None or quote.received_at > now + MOST_AHEAD_SECONDS:
        return False
    if now - quote.received_at <= USABLE_SECONDS:
        return True
    return calendar.closed_since_and_not_reopened(*market_of(identity), from_epoch(quote.received_at), from_epoch(now))


def may_act(
    quote: Quote, identity: Identity, calendar: Calendar, now: float, usable_seconds: float = USABLE_SECONDS
) -> bool:
    """Tell whether triggers, trails and pricing may act on a live quote (order-engine 0, usable quote).

    The quote must not be stale. It must be received within `usable_seconds` and within a session other than the pre-open. If the feed
    reports an exchange time, that time must not be of an earlier day than the receipt. The quote must be received by this process,
    because nobody knows what happened between an older quote and the restart."""
    age = now - quote.received_at
    at = believed(quote.tick.exchange_time, quote.received_at)
    if at is not None and _india_day(at) < _india_day(quote.received_at):
        return False  # a feed that opens often sends the evening's state first
    if quote.stale_since is not None or quote.restored or not -MOST_AHEAD_SECONDS <= age <= usable_seconds:
        return False
    return calendar.is_open_at(*market_of(identity), quote.received_at)


def last_price_acts(quote: Quote) -> bool:
    """Tell whether the last price of a usable quote may be acted on too: it does not stray, and was not traded on an earlier day."""
    traded = quote.tick.last_trade_time
    return not quote.stray and (traded is None or _india_day(traded) >= _india_day(quote.received_at))


def outdates(answer: Quote, live: Quote) -> bool:
    """Tell whether an answer over REST shows that a live quote is no longer the market's: it came later, has another last price that may be acted
    on, and neither its volume nor its last trade says that it is the older one. A feed can go on and send no more ticks of one instrument."""
    tick, told = answer.tick, live.tick
    if answer.received_at <= live.received_at + SAME_MOMENT_SECONDS or not last_price_acts(answer):
        return False
    if _is_less(tick.volume, told.volume) or _is_less(tick.last_trade_time, told.last_trade_time):
        return False
    return tick.last_price != told.last_price


def _is_less(one: float | None, other: float | None) -> bool:
    """Tell whether a figure is less than another; False where one of them is not told."""
    return one is not None and other is not None and one < other


def _india_day(moment: float) -> int:
    """Return the number of the day in India; `moment` in epoch seconds."""
    return int((moment + INDIA_AHEAD_SECONDS) // DAY_SECONDS)


def market_of(identity: Identity) -> tuple[str, str]:
    """Return the exchange and the calendar of an instrument."""
    return identity.exchange, calendar_of(identity.segment)


def open_markets(calendar: Calendar, now: float) -> frozenset[tuple[str, str]]:
    """Return the (exchange, calendar) pairs whose session is open at `now` (epoch seconds)."""
    moment = from_epoch(now)
    pairs = ((exchange.value, name) for exchange in TRADING_EXCHANGES for name in CALENDARS)
    return frozenset(pair for pair in pairs if calendar.is_open(*pair, moment))
