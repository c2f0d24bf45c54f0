"""All sources of problems over the values that the actors publish. One look over all of them costs well below a millisecond."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import attrs

from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.engine.books.settled_positions import Named
from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.engine.context.trading_gate import TradingGate
from onebroker.actors.engine.context.troubles import Troubles
from onebroker.actors.engine.orders.order_index import Legs
from onebroker.actors.health.calendar_problems import calendar_ends
from onebroker.actors.health.document_problems import DocumentProblems
from onebroker.actors.health.feed_problems import FeedProblems
from onebroker.actors.health.login_problems import login_problems
from onebroker.actors.health.market_problems import candles_overdue, catalogue_lacks
from onebroker.actors.health.order_problems import (
    engine_stopped,
    fills_taken_back,
    loss_limit,
    parents_in_trouble,
    positions_doubted,
    stranger_orders,
    trading_halted,
    unknown_orders,
)
from onebroker.actors.health.problem_book import ProblemSource
from onebroker.actors.health.service_problems import (
    DroppedTicks,
    actors_down,
    charges_old,
    clock_doubted,
    crashes_lately,
    disk_short,
    store_away,
    ticks_not_archived,
)
from onebroker.actors.history.daily_loader import CollectorView
from onebroker.actors.history.disk_room import Room
from onebroker.actors.history.tick_archive import ArchiveState
from onebroker.actors.kernel.published import Published
from onebroker.actors.kernel.supervisor import CrashLog
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.quotes.feed_silence import FeedSilence
from onebroker.actors.store.keys import Resource
from onebroker.config.calendars import Calendar
from onebroker.config.charges.rows import Charges
from onebroker.config.clock import Clock


@attrs.frozen(kw_only=True)
class Watched:
    """What is looked at. Everything is read at each look, and nothing is waited for."""

    clock: Clock
    calendar: Calendar
    states: Callable[[], Mapping[str, bool]]
    """Returns every supervised part, and whether it is up."""
    crashes: CrashLog
    reachable: Callable[[], bool]
    """Whether the last contact with the store succeeded."""
    sessions: Mapping[str, SessionHandle]
    silence: Published[FeedSilence]
    documents: Mapping[Resource, Published[DocumentState | None]]
    legs: Legs
    troubles: Troubles
    gate: TradingGate
    doubted: Callable[[], Iterable[Named]]
    """Returns the positions that do not agree with their fills."""
    loss: Published[DayLoss]
    engine: Published[EngineStatus]
    catalogue: Published[CatalogueState]
    collected: Published[CollectorView]
    room: Published[Room]
    archive: Published[ArchiveState]
    dropped_ticks: Callable[[], int]
    """Returns the number of ticks that should have been recorded and were not."""
    charges: Charges


def problem_sources(watched: Watched) -> Iterator[ProblemSource]:
    """Yield every source, the service's own first."""
    clock, sessions = watched.clock, watched.sessions
    began = clock.monotonic()

    def uptime() -> float:
        return clock.monotonic() - began

    feeds = FeedProblems(sessions=sessions, silence=watched.silence, calendar=watched.calendar)
    documents = DocumentProblems(documents=watched.documents, sessions=sessions, started=clock.epoch())
    yield lambda: store_away(watched.reachable())
    yield lambda: actors_down(watched.states, watched.crashes.records())
    yield lambda: crashes_lately(watched.crashes.records(), clock.epoch())
    yield lambda: disk_short(watched.room.value)
    yield lambda: ticks_not_archived(watched.archive.value)
    yield DroppedTicks(watched.dropped_ticks, clock)
    yield lambda: clock_doubted({code: handle.view.value.clock_ahead for code, handle in sessions.items()})
    yield lambda: charges_old(watched.charges, clock.today())
    yield lambda: login_problems(sessions, clock.epoch())
    yield lambda: feeds(clock.epoch())
    yield lambda: documents(clock.epoch())
    yield lambda: unknown_orders(watched.legs.unfinished, clock.epoch())
    yield lambda: stranger_orders(watched.legs.strangers)
    yield lambda: fills_taken_back(sessions, watched.legs)
    yield lambda: parents_in_trouble(watched.troubles.rows)
    yield lambda: positions_doubted(watched.doubted(), clock)
    yield lambda: trading_halted(watched.gate.halt.value, known=watched.gate.known)
    yield lambda: loss_limit(watched.loss.value, clock.monotonic(), uptime())
    yield lambda: engine_stopped(watched.engine.value, reachable=watched.reachable(), uptime=uptime())
    yield lambda: calendar_ends(watched.calendar, clock.today())
    yield lambda: catalogue_lacks(
        watched.catalogue.value, [code for code, handle in sessions.items() if handle.view.value.live], uptime()
    )
    yield lambda: candles_overdue(watched.collected.value, watched.calendar, clock.now(), uptime())
