"""Problems with the brokers' feeds, market data and orders, while a market is open.

What is wrong is decided elsewhere: sockets that are down by the sessions (`FeedView`), feeds that are mute and markets that are silent by the
quote book (`FeedSilence`).
"""

from collections.abc import Iterator, Mapping, Set

import attrs

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.kernel.published import Published
from onebroker.actors.quotes.feed_silence import FeedSilence, Market
from onebroker.actors.quotes.usable_quotes import open_markets
from onebroker.actors.sessions.session_view import FeedView, SessionView
from onebroker.actors.sessions.sockets import CORRUPT_RUN_SECONDS
from onebroker.config.calendars import Calendar, DayState
from onebroker.config.clock import from_epoch
from onebroker.config.instruments import calendar_of

DOWN_SECONDS = 2.0
"""A feed that is back sooner, or that sends unreadable frames for less time, is no problem."""
MAY_BE_HOLIDAY = "; the calendar does not know this day, so it may be a holiday"
_WAIT = "nothing: the feed is connected again and again; if it stays, look at the broker's status page"


@attrs.frozen(kw_only=True)
class FeedProblems:
    """A source of problems: the feeds of all brokers."""

    sessions: Mapping[str, SessionHandle]
    silence: Published[FeedSilence]
    calendar: Calendar
    _markets: Mapping[str, frozenset[Market]] = attrs.field(init=False)
    """Broker code -> the markets in which it takes orders."""

    @_markets.default
    def _markets_of_brokers(self) -> Mapping[str, frozenset[Market]]:
        return {
            code: frozenset(
                (segment.partition("_")[0], calendar_of(segment)) for segment in handle.broker.capabilities.segments
            )
            for code, handle in self.sessions.items()
        }

    def __call__(self, now: float) -> Iterator[Problem]:
        """Yield the present problems. `now` in epoch seconds."""
        opened = open_markets(self.calendar, now)
        if not opened:
            return
        for code, handle in self.sessions.items():
            view, markets = handle.view.value, self._markets[code] & opened
            if view.live and markets:
                yield from self._of_broker(code, handle, view, self._holiday(markets, now), now)
        for market, since in self.silence.value.markets.items():
            if market in opened:
                name = " ".join(market)
                yield Problem(
                    kind=ProblemKind.FEED,
                    subject=name,
                    what=f"no feed sends ticks of {name}, although a broker shows new trades{self._holiday({market}, now)}",
                    do="nothing: the feeds are connected again, and quotes are fetched meanwhile; if it stays, look at this machine's network",
                    since=since,
                )

    def _of_broker(
        self, code: str, handle: SessionHandle, view: SessionView, holiday: str, now: float
    ) -> Iterator[Problem]:
        carries = ", which carries the order updates too," if handle.broker.feed_carries_orders else ""
        market = _wrong(view.market_feed, view.login_since, now)
        mute_since = self.silence.value.mute.get(code)
        if market is None and mute_since is not None:
            market = "is connected and says nothing, while other feeds send ticks of its instruments", mute_since
        if market is not None:
            what, since = market
            yield _problem(code, "market", f"the market feed of {code}{carries} {what}{holiday}", since)
        orders = None if handle.broker.order_feed is None else _wrong(view.order_feed, view.login_since, now)
        if orders is not None:
            what, since = orders
            yield _problem(
                code, "orders", f"the order feed of {code} {what}{holiday}: fills are seen by reads only", since
            )

    def _holiday(self, markets: Set[Market], now: float) -> str:
        """Return the words for a day that may be a holiday in each of these markets."""
        today = from_epoch(now)
        unknown = all(self.calendar.day_state(*market, today) is DayState.UNKNOWN for market in markets)
        return MAY_BE_HOLIDAY if unknown else ""


def _wrong(feed: FeedView, login_since: float | None, now: float) -> tuple[str, float] | None:
    """Return what is wrong with a feed, and since when (epoch seconds); None = nothing that is known. A new login gets a feed some time
    to connect."""
    if feed.down_since is not None and now - max(feed.down_since, login_since or 0.0) >= DOWN_SECONDS:
        down = "has lost one of its connections" if feed.connected else "is down"
        return f"{down}: {feed.trouble or 'it is being connected'}", feed.down_since
    if feed.corrupt_at is None or feed.corrupt_since is None or now - feed.corrupt_at > CORRUPT_RUN_SECONDS:
        return None
    if feed.corrupt_at - feed.corrupt_since < DOWN_SECONDS:
        return None
    return "sends frames that cannot be read", feed.corrupt_since


def _problem(code: str, subject: str, what: str, since: float) -> Problem:
    return Problem(kind=ProblemKind.FEED, broker=code, subject=subject, what=what, do=_WAIT, since=since)
