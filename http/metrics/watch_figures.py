"""Reads what watches over the service: the problems that stand, the audit, the alerts."""

from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import Metric

from onebroker.actors.alerts.receiver import AlertsView
from onebroker.actors.audit.open_audit import AuditFigures
from onebroker.actors.health.problem import ProblemKind, Standing
from onebroker.http.metrics import names


def problem_figures(standing: Iterable[Standing]) -> Iterable[Metric]:
    """Return how many problems of each kind stand."""
    counts = Counter(problem.problem.kind for problem in standing)
    yield names.PROBLEMS.family(((kind.value,), counts[kind]) for kind in ProblemKind)


def audit_figures(audit: AuditFigures) -> Iterable[Metric]:
    yield names.AUDIT_LINES.one(audit.lines)
    yield names.AUDIT_WAITING.one(audit.waiting)
    yield names.AUDIT_LOST.one(audit.lost)
    yield names.AUDIT_SYNCED.one(audit.synced_at)


def alert_figures(alerts: AlertsView) -> Iterable[Metric]:
    outcomes = {"sent": alerts.sent, "failed": alerts.failed, "given_up": alerts.given_up}
    yield names.ALERTS.family(((outcome,), count) for outcome, count in outcomes.items())
    yield names.ALERTS_WAITING.one(alerts.waiting)
