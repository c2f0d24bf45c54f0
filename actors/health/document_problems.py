"""Problems with the documents: reads of a broker that fail, parts that are too old, and documents that are too old as a whole.

A broker without a login is not named here: all its parts are old for this one reason.
"""

from collections.abc import Iterator, Mapping

import attrs

from onebroker.actors.engine.context.engine_context import SessionHandle
from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.portfolio.document_age import READ_RULES
from onebroker.actors.portfolio.read_status import STALE_AFTER_SECONDS, BrokerRead
from onebroker.actors.sessions.session_view import SessionView
from onebroker.actors.store.keys import Resource
from onebroker.config.clock import from_epoch, latest_boundary, local_text
from onebroker.config.vocabulary import ReadStatus

FAILING_SECONDS = 3.0
"""Reads that fail for less time are no problem."""
FIRST_READ_SECONDS = 10.0
"""Time for the first reads after a start or a login."""
_REPEATED = "nothing: the reads are repeated; if it stays, look at the broker's status page"


@attrs.frozen(kw_only=True)
class DocumentProblems:
    """A source of problems: the five documents and each broker's part in them."""

    documents: Mapping[Resource, Published[DocumentState | None]]
    sessions: Mapping[str, SessionHandle]
    started: float
    """Epoch seconds of the start of the service."""

    def __call__(self, now: float) -> Iterator[Problem]:
        """Yield the present problems. `now` in epoch seconds."""
        day_start = latest_boundary(from_epoch(now)).timestamp()
        for resource, published in self.documents.items():
            state = published.value
            yield from self._whole(resource, state, now)
            reads = {} if state is None else {read.broker: read for read in state.reads}
            for code, handle in self.sessions.items():
                view = handle.view.value
                if view.live:
                    known_since = max(self.started, view.login_since or 0.0)
                    yield from _part(resource, view, reads.get(code), known_since, day_start, now)

    def _whole(self, resource: Resource, state: DocumentState | None, now: float) -> Iterator[Problem]:
        if state is None:
            old = "was not built yet" if now - self.started >= FIRST_READ_SECONDS else None
            since = None
        else:
            oldest = READ_RULES[resource].oldest_seconds
            old = f"was last built at {state.as_of}" if now - state.as_of_epoch > oldest else None
            since = state.as_of_epoch + oldest
        if old is not None:
            yield Problem(
                kind=ProblemKind.DATA,
                subject=resource,
                what=f"the document {resource} {old}, and it is not served",
                do="look at `actors` and `crashes` here and at the log; if nothing is there, start the service again",
                since=since,
            )


def _part(
    resource: Resource, view: SessionView, read: BrokerRead | None, known_since: float, day_start: float, now: float
) -> Iterator[Problem]:
    code = view.broker
    error, failing_since = view.read_errors.get(resource), view.reads_failing_since.get(resource, now)
    if error is not None and now - failing_since >= FAILING_SECONDS:
        what, since = f"{code}: the reads of {resource} fail: {error}", failing_since
    elif now - known_since < FIRST_READ_SECONDS:
        return
    elif read is None or read.slice is None:
        # At 07:00 the books of the day before end; the next read brings the new day's.
        since = max(known_since, day_start)
        if now - since < STALE_AFTER_SECONDS[resource] and since == day_start:
            return
        what = f"{code}: {resource} were not read {'today' if since == day_start else 'yet'}"
    elif read.status is ReadStatus.UNREADABLE:
        what, since = f"{code}: {resource} cannot be read: {read.slice.error}", read.slice.received_at
    elif abs(now - read.slice.received_at) > STALE_AFTER_SECONDS[resource]:
        since = read.slice.received_at + STALE_AFTER_SECONDS[resource]
        what = f"{code}: {resource} were last read at {local_text(from_epoch(read.slice.received_at))}"
    else:
        return
    yield Problem(kind=ProblemKind.DATA, broker=code, subject=resource, what=what, do=_REPEATED, since=since)
