"""Which sources the metrics of a running service read. The one place that connects the tree and the listener with the metrics."""

from collections.abc import Callable, Mapping

from onebroker.actors.audit.open_audit import AuditFigures
from onebroker.actors.kernel.durations import Durations
from onebroker.actors.kernel.supervisor import CrashRecord
from onebroker.actors.tree import Tree
from onebroker.config.clock import Clock
from onebroker.http.listener.connect_guard import ConnectGuard
from onebroker.http.listener.connection_limits import Connections
from onebroker.http.live.open_streams import Streams
from onebroker.http.metrics.broker_figures import PartTimes, broker_figures
from onebroker.http.metrics.order_figures import (
    halt_figures,
    loss_figures,
    parent_figures,
    risk_figures,
    unknown_order_figures,
)
from onebroker.http.metrics.registry import Metrics
from onebroker.http.metrics.service_figures import (
    actor_figures,
    archive_figures,
    calendar_figures,
    clock_figures,
    connection_figures,
    disk_figures,
    document_figures,
    guard_figures,
    store_figures,
    stream_figures,
)
from onebroker.http.metrics.watch_figures import alert_figures, audit_figures, problem_figures


def add_sources(
    metrics: Metrics,
    tree: Tree,
    clock: Clock,
    streams: Streams,
    connections: Connections,
    *,
    store_reachable: Callable[[], bool],
    audit: Callable[[], AuditFigures],
    round_trips: Mapping[str, Durations],
) -> None:
    """Let `metrics` read a running service. `round_trips`: lane of the store -> how long."""
    codes = tuple(tree.sessions)
    metrics.events.begin(codes)
    metrics.add(lambda: broker_figures(tree.sessions))
    metrics.add(PartTimes(tree.documents).collect)
    metrics.add(lambda: parent_figures(tree.open_states, tree.engine_status.value))
    metrics.add(lambda: unknown_order_figures(tree.legs.unsettled, tree.engine_status.value, codes))
    metrics.add(lambda: risk_figures(tree.troubles.rows))
    metrics.add(lambda: halt_figures(tree.halt))
    metrics.add(lambda: loss_figures(tree.loss.value))
    metrics.add(lambda: document_figures(tree.documents))
    metrics.add(lambda: calendar_figures(tree.calendar, clock))
    metrics.add(lambda: clock_figures(clock))
    metrics.add(lambda: disk_figures(tree.room.value, tree.dropped_ticks()))
    metrics.add(lambda: archive_figures(tree.archive.value))
    metrics.add(lambda: stream_figures(streams))
    metrics.add(lambda: connection_figures(connections))
    metrics.add(lambda: problem_figures(tree.problems.seen()))
    metrics.add(lambda: audit_figures(audit()))
    metrics.add(lambda: alert_figures(tree.alerts.value))
    metrics.add(lambda: store_figures(reachable=store_reachable(), round_trips=round_trips))


def add_own_sources(
    metrics: Metrics,
    *,
    actors: Callable[[], Mapping[str, bool]],
    crashes: Callable[[], tuple[CrashRecord, ...]],
    connects: ConnectGuard,
    metrics_readers: ConnectGuard,
) -> None:
    """Let `metrics` read what every application has: its supervised actors and its guards."""
    metrics.add(lambda: actor_figures(actors(), crashes()))
    metrics.add(lambda: guard_figures(connects.total, metrics_readers.total))
