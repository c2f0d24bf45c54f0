"""The parts of `/api/health` beside the problems: what each actor and the listener show of themselves. All read published values."""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime

import attrs

from onebroker.actors.alerts.receiver import AlertsView
from onebroker.actors.audit.open_audit import Audit, AuditFigures
from onebroker.actors.catalogue.interface import CatalogueState
from onebroker.actors.catalogue.progress import BuildProgress
from onebroker.actors.clock_doubt import clock_doubt
from onebroker.actors.engine.context.day_loss import DayLoss
from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.engine.context.messages import EngineStatus
from onebroker.actors.engine.context.troubles import Trouble
from onebroker.actors.engine.desk.halts import halt_body
from onebroker.actors.history.backfill_job import BackfillProgress
from onebroker.actors.history.daily_loader import CollectorView
from onebroker.actors.history.disk_room import MEGABYTE, Room
from onebroker.actors.history.messages import LastLoad
from onebroker.actors.history.tick_archive import ArchiveState
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.sessions.session_view import FeedView
from onebroker.actors.store.durable import Halt
from onebroker.actors.store.interface import Store
from onebroker.actors.store.keys import Resource
from onebroker.actors.tree import Tree
from onebroker.brokers.records import OrderRow
from onebroker.config.calendars import Calendar
from onebroker.config.charges.load import age_warning
from onebroker.config.charges.rows import Charges
from onebroker.config.clock import Clock, from_epoch, local_text
from onebroker.config.messages import orders as order_texts
from onebroker.http.listener.connection_limits import Connections
from onebroker.http.services import (
    LiveServices,
)


def health_sources(
    tree: Tree, live: LiveServices, connections: Connections, audit: Audit, clock: Clock, store: Store
) -> Mapping[str, Callable[[], object]]:
    """Return key of `/api/health` -> what makes its value."""
    return {
        "brokers": lambda: {
            code: {**broker_health(handle), "parts": part_health(code, tree.documents)}
            for code, handle in tree.sessions.items()
        },
        "engine": lambda: engine_health(tree.engine_status.value, reachable=store.reachable),
        "unknown_orders": lambda: unknown_orders(tree.legs.strangers),
        "order_problems": lambda: order_problems(tree.troubles.rows),
        "market": lambda: market_health(tree.calendar, clock.now()),
        "clock": lambda: clock_health(tree.sessions, clock),
        "charges": lambda: charges_health(tree.charges, clock.now().date()),
        "daily_loss": lambda: loss_health(tree.loss.value, clock.monotonic()),
        "halt": lambda: halt_health(tree.halt),
        "catalogue": lambda: _catalogue_health(tree),
        "documents": lambda: _document_health(tree),
        "reference": lambda: _reference_health(tree),
        "history": lambda: history_health(
            tree.last_load.value, tree.collected.value, tree.backfill.value, tree.archive.value
        ),
        "alerts": lambda: alerts_health(tree.alerts.value),
        "disk": lambda: disk_health(tree.room.value),
        "audit": lambda: audit_health(audit.figures()),
        "streams": lambda: attrs.asdict(live.streams.figures()),
        "connections": lambda: attrs.asdict(connections.figures()),
    }


def engine_health(status: EngineStatus, *, reachable: bool) -> dict[str, object]:
    """Return what `/api/health` shows of the engine. While the store is unreachable the engine takes no orders, though
    its lock is still held."""
    if status.running and not reachable:
        status = attrs.evolve(status, running=False, reason=order_texts.redis_unreadable("the store is away"))
    return attrs.asdict(status)


def broker_health(handle: SessionHandle) -> dict[str, object]:
    """Return one broker's state for `/api/health`: its login, feeds, failing reads and the room left in its limits.

    `order_feed` is null if the market feed carries the order updates, or if the broker has no order feed.
    """
    view = handle.view.value
    return {
        "login": view.login.value,
        "trouble": view.trouble,
        "read_errors": dict(view.read_errors),
        "contradictions": view.contradictions,
        "broken_acknowledgments": view.broken_acknowledgments,
        "market_feed": _feed(view.market_feed),
        "order_feed": None if handle.broker.order_feed is None else _feed(view.order_feed),
        "room": None if view.room is None else attrs.asdict(view.room),
    }


def part_health(broker: str, documents: Mapping[Resource, Published[DocumentState | None]]) -> dict[str, str | None]:
    """Return when a broker was last seen in each document, as `/api/health` shows it; None: it is missing there."""
    return {
        resource: next((read.as_of for read in state.reads if read.broker == broker), None)
        for resource, published in documents.items()
        if (state := published.value) is not None
    }


def audit_health(figures: AuditFigures) -> dict[str, object]:
    """Return what `/api/health` shows of the audit: lines written and events lost since the start, events that wait, and what is wrong now."""
    return {**attrs.asdict(figures), "synced_at": _moment(figures.synced_at)}


def unknown_orders(strangers: Mapping[tuple[str, str], OrderRow]) -> list[dict[str, object]]:
    """Return what `/api/health` shows of today's orders that carry an order engine's token, but are unknown to the
    engine and to the store (order-engine K19). Nothing is done to them."""
    return [
        {"broker": broker, "order_id": row.order_id, "token": token, "status": row.status}
        for (broker, token), row in sorted(strangers.items())
    ]


def order_problems(rows: Iterable[Trouble]) -> list[dict[str, object]]:
    """Return what `/api/health` shows of parents that have a problem now: units open without a stop, orders that nobody
    watches, orders still to be cancelled. A parent that has `ended` with a problem stays in the list until the next
    broking day."""
    return [
        {
            "parent_id": trouble.parent_id,
            "instrument_id": trouble.instrument_id,
            "message": trouble.sentence,
            "why": trouble.found.why,
            "since": local_text(from_epoch(trouble.since)),
            "ended": trouble.is_ended,
        }
        for trouble in rows
    ]


def market_health(calendar: Calendar, now: datetime) -> dict[str, object]:
    """Return what `/api/health` shows of each market: what is known of today, whether a session runs now, and the last day whose holidays are
    known (None: the market never closes, or no holiday is known)."""
    shown: dict[str, object] = {}
    for exchange, name in calendar.markets():
        until = calendar.known_until(exchange)
        shown[f"{exchange} {name}"] = {
            "today": calendar.day_state(exchange, name, now).value,
            "open": calendar.is_open(exchange, name, now),
            "known_until": None if until is None else until.isoformat(),
        }
    return shown


def loss_health(state: DayLoss, now: float) -> dict[str, object] | None:
    """Return what `/api/health` shows of the daily loss limit, in rupees, and why new orders are refused; None without a limit."""
    if state.limit is None:
        return None
    refusal = state.refusal(now)
    return {
        "limit": state.limit,
        "loss": state.loss,
        "locked": state.locked is not None,
        "refuses": None if refusal is None else refusal.body["error"],
    }


def alerts_health(view: AlertsView) -> dict[str, object]:
    """Return what `/api/health` shows of the messages to people. Of a receiver's URL only the scheme is shown."""
    return {
        **attrs.asdict(view),
        "receivers": [
            {
                **attrs.asdict(receiver),
                "failing_since": _moment(receiver.failing_since),
                "last_failure_at": _moment(receiver.last_failure_at),
            }
            for receiver in view.receivers
        ],
    }


def halt_health(halt: Published[Halt | None]) -> dict[str, object]:
    """Return what `/api/health` shows of a halt by hand; `halted` is None until the stored halt has been read."""
    unknown: dict[str, object] = {"halted": None, "mode": None, "reason": None, "since": None}
    return {**unknown, **halt_body(halt.value)} if halt.version else unknown


def _feed(feed: FeedView) -> dict[str, object]:
    moments = ("last_frame_at", "down_since", "corrupt_since", "corrupt_at")
    return {**attrs.asdict(feed), **{name: _moment(getattr(feed, name)) for name in moments}}


def _catalogue_health(tree: Tree) -> dict[str, object]:
    return catalogue_health(tree.catalogue.value, tree.catalogue_progress.value)


def catalogue_health(state: CatalogueState, progress: BuildProgress) -> dict[str, object]:
    """Return what `/api/health` shows of the catalogue: which mapping serves, what is missing in it, and why a build failed."""
    return {
        "mapping_date": None if state.latest is None else state.latest.mapping_date.isoformat(),
        "published_today": state.published_today,
        "reason": state.reason,
        "build": progress.stage.value,
        "trouble": state.trouble,
        "lost": dict(state.lost),
        "missing_files": {code: dict(files) for code, files in state.missing.items()},
        "shrunk": {code: dict(segments) for code, segments in state.shrunk.items()},
        "unlisted": state.unlisted.count,
    }


def _document_health(tree: Tree) -> dict[str, object]:
    return {
        resource: None if (state := published.value) is None else state.as_of
        for resource, published in tree.documents.items()
    }


def _reference_health(tree: Tree) -> dict[str, object]:
    """Return how many documents each collection holds, and what prevents reading them; never their contents."""
    state = tree.reference.value
    counts: dict[str, object] = {collection: documents.count for collection, documents in state.documents.items()}
    return {**counts, "profiles": state.profiles is not None, "trouble": state.trouble}


def history_health(
    last_load: LastLoad | None, collected: CollectorView, backfill: BackfillProgress | None, archive: ArchiveState
) -> dict[str, object]:
    """Return what `/api/health` shows of candles: the last load since the start, the daily loads of each market, a
    running backfill, the archive of ticks.

    If a day is overdue, its `next_due` lies in the past.
    """
    return {
        "last_load": None
        if last_load is None
        else {"kind": last_load.kind, "at": _moment(last_load.at), **attrs.asdict(last_load.merged)},
        "loading": collected.loading,
        "daily": {
            name: {
                "last_day": None if market.last_day is None else market.last_day.isoformat(),
                "loaded_at": _moment(market.loaded_at),
                "instruments": market.instruments,
                "failed": market.failed,
                "next_due": _moment(market.next_due),
                "trouble": market.trouble,
            }
            for name, market in collected.markets.items()
        },
        "backfill": None if backfill is None else attrs.asdict(backfill),
        "tick_archive": {
            "place": archive.place,
            "waiting_days": archive.waiting,
            "last_day": None if archive.last_day is None else archive.last_day.isoformat(),
            "written_at": _moment(archive.written_at),
            "trouble": archive.trouble,
        },
    }


def _moment(at: float | None) -> str | None:
    return None if at is None else local_text(from_epoch(at))


def charges_health(charges: Charges, day: date) -> dict[str, object]:
    """Return when the charges tables were last compared with their sources; also a problem text if that is too long ago."""
    return {"checked": charges.checked.isoformat(), "problem": age_warning(charges, day)}


def clock_health(sessions: Mapping[str, SessionHandle], clock: Clock) -> dict[str, object]:
    """Return what `/api/health` shows of the wall clock: how often it was set, and why the brokers' clocks suggest that it is wrong."""
    ahead = _clocks_ahead(sessions)
    doubt = clock_doubt(ahead)
    return {"steps": clock.steps, "brokers_ahead_seconds": ahead, "problem": None if doubt is None else doubt.text}


def _clocks_ahead(sessions: Mapping[str, SessionHandle]) -> dict[str, float | None]:
    """Return how many seconds each broker's clock is ahead of ours; None where the difference is not known."""
    ahead = {code: handle.view.value.clock_ahead for code, handle in sessions.items()}
    return {code: None if seconds is None else round(seconds, 1) for code, seconds in ahead.items()}


def disk_health(room: Room) -> dict[str, object]:
    """Return the disk figures in megabytes. `free_mb` is null if it cannot be read; `trouble` says why candles and
    ticks are not written."""
    return {
        "free_mb": None if room.free is None else room.free // MEGABYTE,
        "reserve_mb": room.reserve // MEGABYTE,
        "trouble": room.refusal,
    }
