"""Reads the figures of each broker: its login, its feeds, its reads, its part of each document, the room in its limits."""

from collections.abc import Iterable, Iterator, Mapping

from prometheus_client.core import Metric

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.sessions.session_view import FeedView, LoginState
from onebroker.actors.store.keys import RESOURCES, Resource
from onebroker.brokers.transport.budget import BudgetRoom
from onebroker.http.metrics import names

READS = (*RESOURCES, "quotes", "profile", "login")
"""The kinds of read that events name (`read.failing`)."""

Sessions = Mapping[str, SessionHandle]
Documents = Mapping[Resource, Published[DocumentState | None]]


def broker_figures(sessions: Sessions) -> Iterable[Metric]:
    """Return what the sessions of the brokers publish and count."""
    views = {code: handle.view.value for code, handle in sessions.items()}
    feeds = list(_feeds(sessions))
    yield names.LOGIN_UP.family(
        ((code,), float(view.live)) for code, view in views.items() if view.login is not LoginState.STARTING
    )
    yield names.READS.family(_reads(sessions))
    yield names.CLOCK_AHEAD.family(
        ((code,), round(view.clock_ahead, 1)) for code, view in views.items() if view.clock_ahead is not None
    )
    yield names.FEED_UP.family((labels, float(feed.connected)) for labels, feed in feeds)
    yield names.FEED_FRAME.family(
        (labels, feed.last_frame_at) for labels, feed in feeds if feed.last_frame_at is not None
    )
    yield names.FEED_RECONNECTS.family((labels, feed.reconnects) for labels, feed in feeds)
    yield names.FEED_INSTRUMENTS.family(((code,), view.market_feed.subscribed) for code, view in views.items())
    yield names.FEED_CORRUPT.family(
        ((code,), view.market_feed.corrupt_frames + view.order_feed.corrupt_frames) for code, view in views.items()
    )
    yield names.TICKS.family(((code,), handle.counts.ticks) for code, handle in sessions.items())
    rooms = [(code, view.room) for code, view in views.items() if view.room is not None]
    yield names.RATE_ROOM.family(
        ((code, kind), left) for code, room in rooms for kind, left in _room(room).items() if left is not None
    )
    yield names.ORDER_MESSAGES.family(((code,), room.order_messages_today) for code, room in rooms)
    yield names.ORDER_MESSAGES_CAP.family(
        ((code,), room.daily_cap) for code, room in rooms if room.daily_cap is not None
    )


def _feeds(sessions: Sessions) -> Iterator[tuple[tuple[str, str], FeedView]]:
    """Yield each broker's feeds. A broker without an order feed gets its orders' news on the market feed, or not at all."""
    for code, handle in sessions.items():
        yield (code, "market"), handle.view.value.market_feed
        if handle.broker.order_feed is not None:
            yield (code, "orders"), handle.view.value.order_feed


def _reads(sessions: Sessions) -> Iterator[tuple[tuple[str, ...], float]]:
    for code, handle in sessions.items():
        for kind in READS:
            yield (code, kind, "ok"), handle.counts.good_reads[kind]
            yield (code, kind, "failed"), handle.counts.failed_reads[kind]


def _room(room: BudgetRoom) -> Mapping[str, int | None]:
    calls = None if not room.call_windows else 0 if room.closed_seconds else min(room.call_windows.values())
    return {"entry": room.entry_room, "exit": room.exit_room, "call": calls}


class PartTimes:
    """When each broker's part of each document was last read well. A part that cannot be read keeps its last time, which then grows old."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._read_at: dict[tuple[str, str], float] = {}
        """(broker, resource) -> epoch seconds."""

    def collect(self) -> Iterable[Metric]:
        for resource, document in self._documents.items():
            for read in () if document.value is None else document.value.reads:
                if read.usable and read.slice is not None:
                    self._read_at[read.broker, resource] = read.slice.received_at
        yield names.PART.family(self._read_at.items())
