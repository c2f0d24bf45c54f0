"""The sockets of one session: one `Feed` per connection to its broker, and the last state of each, joined by kind."""

import logging
import math
import random
from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import attrs

from onebroker.actors.kernel.events import Events
from onebroker.actors.sessions.counted_calls import Caller
from onebroker.actors.sessions.feeds import MUTE, Feed
from onebroker.actors.sessions.live_listings import LiveListings
from onebroker.actors.sessions.login_keeper import LoginKeeper
from onebroker.actors.sessions.session_view import FeedView, joined
from onebroker.actors.sessions.watch_list import WatchList
from onebroker.brokers.broker import Broker, FeedCodec
from onebroker.brokers.events import BrokerEvent, CorruptFrame, corrupt
from onebroker.brokers.transport.interface import Transport
from onebroker.config.clock import Clock
from onebroker.config.events import FeedDown, FeedUp

_log = logging.getLogger("onebroker.sessions")

LOG_SECONDS = 60.0
"""A socket's corrupt frames are logged at most once in this time."""
LIFE_SECONDS = 1.0
"""A socket's sign of life is published at most once in this time."""
LASTING_SECONDS = 2.0
"""A connection that ends sooner was none: the socket counts as down all the time."""
CORRUPT_RUN_SECONDS = 5.0
"""Corrupt frames that are no further apart belong to one run (`FeedView.corrupt_since`)."""

Kind: TypeAlias = Literal["market_feed", "order_feed"]
"""A field of `SessionView`."""
_NAMES: Mapping[Kind, str] = {"market_feed": "market", "order_feed": "orders"}
"""The names of the kinds in events."""


@attrs.frozen(kw_only=True)
class Reports:
    """The receiver of the sockets' reports: the session actor. Every call is synchronous."""

    shown: Callable[[Kind, FeedView], None]
    """Takes the present state of all sockets of a kind."""
    ticks: Callable[[list[BrokerEvent]], None]
    """Takes the events of one frame of a market stream."""
    orders: Callable[[list[BrokerEvent]], None]
    """Takes the events of one frame of the socket that carries orders."""
    order_stream: Callable[[bool], None]
    """Called when the socket that carries orders opened (True) or broke (False)."""
    market_open: Callable[[], bool]


@attrs.frozen(kw_only=True)
class FeedContext:
    """The dependencies of every feed of a session."""

    login: LoginKeeper
    caller: Caller
    transport: Transport
    clock: Clock
    listings: LiveListings
    spread: random.Random
    events: Events


class Sockets:
    """All connections of one broker. The session runs the `feeds`."""

    def __init__(self, broker: Broker, watch: WatchList, context: FeedContext, reports: Reports) -> None:
        self._code = broker.code
        self._context = context
        self._reports = reports
        self._views: dict[tuple[Kind, int], FeedView] = {}
        self._market_feeds = [self._market_feed(broker, number, watch) for number in range(broker.feed.sockets)]
        self.feeds = [*self._market_feeds]
        if broker.order_feed is not None:
            line = _Line(self, "order_feed", 0, carries_orders=True)
            self.feeds.append(self._feed(broker, broker.order_feed, line, always=True, watch=WatchList(1, 0)))

    def renew(self) -> None:
        """Reconnect the market stream's connections."""
        for feed in self._market_feeds:
            feed.renew()

    def _market_feed(self, broker: Broker, number: int, watch: WatchList) -> Feed:
        carries_orders = number == 0 and broker.feed_carries_orders
        line = _Line(self, "market_feed", number, carries_orders=carries_orders)
        return self._feed(broker, broker.feed, line, always=carries_orders, watch=watch)

    def _feed(self, broker: Broker, codec: FeedCodec, line: "_Line", *, always: bool, watch: WatchList) -> Feed:
        context = self._context
        return Feed(
            codec=codec,
            number=line.number,
            always=always,
            watch=watch,
            listings=context.listings,
            login=context.login,
            caller=context.caller,
            transport=context.transport,
            clock=context.clock,
            events=line,
            spread=context.spread,
            account=broker.event_account_field if line.carries_orders else None,
        )

    # --- what its lines report --------------------------------------------------------------------------------------

    def now(self) -> float:
        return self._context.clock.epoch()

    def market_open(self) -> bool:
        return self._reports.market_open()

    def up(self, line: "_Line") -> None:
        """Tell that a socket is connected, unless it was told and only opened anew since (`renew`)."""
        if not line.told_up:
            line.told_up = True
            number = self._numbered(line)
            self._context.events.tell(FeedUp(broker=self._code, feed=_NAMES[line.kind], socket=number))

    def down(self, line: "_Line", why: str) -> None:
        """Tell that a socket is not connected any more. A stream that we open anew is not down: it is told as mute."""
        if line.told_up and why != MUTE:
            line.told_up = False
            number = self._numbered(line)
            self._context.events.tell(FeedDown(broker=self._code, feed=_NAMES[line.kind], why=why, socket=number))

    def _numbered(self, line: "_Line") -> int | None:
        """Return the number of a socket that has others of its kind beside it."""
        return line.number if line.kind == "market_feed" and len(self._market_feeds) > 1 else None

    def changed(self, line: "_Line", change: Callable[[FeedView], FeedView]) -> None:
        """Apply and publish a change of a socket's state."""
        before = self._views.get(line.key, FeedView())
        after = change(before)
        if line.carries_orders and before.connected != after.connected:
            self._reports.order_stream(after.connected)
        self._show(line, after)

    def heard(self, line: "_Line", events: list[BrokerEvent]) -> None:
        """Note a frame as a sign of life, then pass its events on."""
        bad = corrupt(events)
        self._alive(line, bad)
        if bad:
            self._log_corrupt(line, events)
        if line.kind == "market_feed":
            self._reports.ticks(events)
        if line.carries_orders:
            self._reports.orders(events)

    def _alive(self, line: "_Line", corrupt_frames: int) -> None:
        """Note a sign of life. It is published once a second, and at once when a frame was corrupt."""
        before = self._views.get(line.key, FeedView())
        now = self._context.clock.epoch()
        if corrupt_frames or before.last_frame_at is None or now - before.last_frame_at >= LIFE_SECONDS:
            after = attrs.evolve(before, last_frame_at=now)
            self._show(line, _with_corrupt(after, corrupt_frames, now) if corrupt_frames else after)

    def _log_corrupt(self, line: "_Line", events: list[BrokerEvent]) -> None:
        """Log unreadable frames at most once a minute. Health counts all of them."""
        now = self._context.clock.monotonic()
        if now < line.log_after:
            return
        line.log_after = now + LOG_SECONDS
        reasons = [event.reason for event in events if isinstance(event, CorruptFrame)]
        seen = self._views[line.key].corrupt_frames
        _log.error("%s %s: %d unreadable frames so far; the last: %s", self._code, line.kind, seen, reasons[-1])

    def _show(self, line: "_Line", view: FeedView) -> None:
        self._views[line.key] = view
        self._reports.shown(
            line.kind, joined([socket_view for (kind, _), socket_view in self._views.items() if kind == line.kind])
        )


def _with_corrupt(view: FeedView, frames: int, now: float) -> FeedView:
    """Return a socket's state with further corrupt frames at `now` (epoch seconds)."""
    goes_on = view.corrupt_at is not None and now - view.corrupt_at <= CORRUPT_RUN_SECONDS
    return attrs.evolve(
        view,
        corrupt_frames=view.corrupt_frames + frames,
        corrupt_since=view.corrupt_since if goes_on else now,
        corrupt_at=now,
    )


class _Line:
    """The `FeedEvents` of one socket."""

    def __init__(self, sockets: Sockets, kind: Kind, number: int, *, carries_orders: bool) -> None:
        self.kind: Kind = kind
        self.number = number
        self.carries_orders = carries_orders
        self._sockets = sockets
        self._was_connected = False
        self._down_since: float | None = None
        """Epoch seconds of the end of the last lasting connection, or of the first failure to connect. None = there was none since the
        socket was not wanted."""
        self._up_at: float | None = None
        """Epoch seconds at which the present connection began; None = there is none."""
        self.told_up = False
        self.log_after = -math.inf
        """Monotonic seconds from which a corrupt frame is logged again."""

    @property
    def key(self) -> tuple[Kind, int]:
        return self.kind, self.number

    def connected(self) -> None:
        again, self._was_connected = int(self._was_connected), True
        self._up_at = self._sockets.now()
        self._change(
            lambda view: attrs.evolve(
                view, connected=True, reconnects=view.reconnects + again, trouble=None, down_since=None
            )
        )
        self._sockets.up(self)

    def disconnected(self, trouble: str) -> None:
        now = self._sockets.now()
        lasted = self._up_at is not None and now - self._up_at >= LASTING_SECONDS
        since = self._down_since = now if lasted or self._down_since is None else self._down_since
        self._up_at = None
        self._change(lambda view: attrs.evolve(view, connected=False, subscribed=0, trouble=trouble, down_since=since))
        self._sockets.down(self, trouble)

    def idle(self) -> None:
        if self._down_since is None:
            return
        self._down_since = None
        self._change(lambda view: attrs.evolve(view, connected=False, trouble=None, down_since=None))

    def subscribed(self, count: int) -> None:
        self._change(lambda view: attrs.evolve(view, subscribed=count))

    def heard(self, events: list[BrokerEvent]) -> None:
        self._sockets.heard(self, events)

    def silence_matters(self) -> bool:
        return self._sockets.market_open()

    def _change(self, change: Callable[[FeedView], FeedView]) -> None:
        self._sockets.changed(self, change)
