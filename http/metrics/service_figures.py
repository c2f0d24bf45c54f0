"""Reads the other figures of the service: actors, store, disk, documents, calendar, clock, clients."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, time, timedelta

import attrs
from prometheus_client.core import Metric

from onebroker.actors.history.disk_room import Room
from onebroker.actors.history.tick_archive import ArchiveState
from onebroker.actors.kernel.durations import Durations
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import CrashRecord
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.store.keys import Resource
from onebroker.config.calendars import Calendar
from onebroker.config.clock import IST, Clock
from onebroker.config.instruments import TRADING_EXCHANGES
from onebroker.http.listener.connection_limits import Connections
from onebroker.http.live.open_streams import Streams
from onebroker.http.metrics import names

_PARENTS = "parent"
_MARKETS = ("equity", "currency", "commodity")


def actor_figures(states: Mapping[str, bool], crashes: Collection[CrashRecord]) -> Iterable[Metric]:
    """Return whether each actor is up, and how often it crashed. The actors of parents, of which there is one for each order, are one."""
    counts = Counter(dict.fromkeys((*states, _PARENTS), 0))
    for crash in crashes:
        counts[_PARENTS if crash.actor.startswith(f"{_PARENTS} ") else crash.actor] += crash.count
    yield names.ACTOR_UP.family(((name,), float(up)) for name, up in states.items())
    yield names.ACTOR_CRASHES.family(((name,), count) for name, count in counts.items())


def store_figures(*, reachable: bool, round_trips: Mapping[str, Durations]) -> Iterable[Metric]:
    yield names.STORE_REACHABLE.one(float(reachable))
    yield names.STORE_TIME.histogram(((lane,), took) for lane, took in round_trips.items())


def document_figures(documents: Mapping[Resource, Published[DocumentState | None]]) -> Iterable[Metric]:
    built = [(name, document.value) for name, document in documents.items() if document.value is not None]
    yield names.DOCUMENT.family(((name,), state.as_of_epoch) for name, state in built)
    yield names.DOCUMENT_BUILD.family(((name,), state.build_seconds) for name, state in built)


def calendar_figures(calendar: Calendar, clock: Clock) -> Iterable[Metric]:
    """Return which markets are open, and until when their holidays are known."""
    now = clock.now()
    yield names.MARKET_OPEN.family(
        ((exchange.value, market), float(calendar.is_open(exchange.value, market, now)))
        for exchange in TRADING_EXCHANGES
        for market in _MARKETS
        if calendar.trades(exchange.value, market)
    )
    ends = [(exchange.value, calendar.known_until(exchange)) for exchange in TRADING_EXCHANGES]
    yield names.CALENDAR_ENDS.family(
        ((exchange,), datetime.combine(day + timedelta(days=1), time(), IST).timestamp())
        for exchange, day in ends
        if day is not None
    )


def clock_figures(clock: Clock) -> Iterable[Metric]:
    yield names.CLOCK_STEPS.one(clock.steps)


def disk_figures(room: Room, dropped_ticks: int) -> Iterable[Metric]:
    """Return the free space, whether history is written, and how many ticks should have been recorded and were not."""
    yield names.DISK_FREE.one(room.free)
    yield names.DISK_RESERVE.one(room.reserve)
    yield names.HISTORY_WRITTEN.one(float(room.enough))
    yield names.TICKS_DROPPED.one(dropped_ticks)


def archive_figures(archive: ArchiveState) -> Iterable[Metric]:
    yield names.TICK_ARCHIVE_WAITING.one(archive.waiting)


def stream_figures(streams: Streams) -> Iterable[Metric]:
    figures = streams.figures()
    yield names.STREAM_CLIENTS.one(figures.connections)
    yield names.STREAM_LAGGED.family(((board.name,), board.lagged) for board in streams.boards.events)
    yield names.STREAMS.family(((of,), value) for of, value in attrs.asdict(figures).items())


def connection_figures(connections: Connections) -> Iterable[Metric]:
    figures = connections.figures()
    yield names.CONNECTIONS.family(((("open",), figures.open), (("proved",), figures.proved)))
    yield names.CONNECTIONS_REFUSED.one(figures.refused)
    yield names.CONNECTIONS_GAVE_WAY.one(figures.gave_way)
    yield names.FREE_FILES.one(figures.free_files)


def guard_figures(connects: int, metrics_readers: int) -> Iterable[Metric]:
    """Return how many connects and readings of the metrics had a wrong secret."""
    yield names.CONNECTS_REFUSED.one(connects)
    yield names.METRICS_REFUSED.one(metrics_readers)
