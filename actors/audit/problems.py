"""Problems of the audit: lines that cannot be written, old files that cannot be packed, events that are lost. Pure."""

from collections.abc import Iterator

from onebroker.actors.audit.open_audit import AuditFigures
from onebroker.actors.health.problem import Problem, ProblemKind


def audit_problems(figures: AuditFigures) -> Iterator[Problem]:
    """Yield what is wrong with the audit now. Lost events stay a problem until the next start."""
    if figures.trouble is not None:
        yield Problem(
            kind=ProblemKind.AUDIT,
            what=f"the audit is in trouble: {figures.trouble}; {figures.waiting} events wait",
            do="look at the disk and the rights of the folder `audit` in the data directory",
        )
    if figures.lost:
        yield Problem(
            kind=ProblemKind.AUDIT,
            subject="lost",
            what=f"{figures.lost} events are not in the audit: they found no room while it could not be written",
            do="look into the log for the cause; the audit itself says where events are missing",
        )
