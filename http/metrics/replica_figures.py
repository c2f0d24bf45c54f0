"""What the metrics of a replica show of the service that it copies."""

from collections.abc import Iterable, Mapping

from prometheus_client.core import Metric

from onebroker.actors.kernel.published import Published
from onebroker.actors.portfolio.assembler import DocumentState
from onebroker.actors.store.keys import Resource
from onebroker.http.metrics import names


def replica_figures(
    behind_seconds: float | None, documents: Mapping[Resource, Published[DocumentState | None]]
) -> Iterable[Metric]:
    """`behind_seconds`: how late the service is heard; None while it is not heard."""
    yield names.REPLICA_HEARS.one(float(behind_seconds is not None))
    yield names.REPLICA_BEHIND.one(behind_seconds)
    held = [(name, document.value) for name, document in documents.items() if document.value is not None]
    yield names.DOCUMENT.family(((name,), state.as_of_epoch) for name, state in held)
