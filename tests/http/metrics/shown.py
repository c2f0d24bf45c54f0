"""What metrics show, as their readers see it."""

from collections.abc import Iterable

from prometheus_client.core import Metric


def shown(metrics: Iterable[Metric]) -> dict[str, float]:
    """Return the samples: name with its labels' values -> value; buckets are left out."""
    return {
        " ".join((sample.name.removeprefix("onebroker_"), *sample.labels.values())): sample.value
        for metric in metrics
        for sample in metric.samples
        if not sample.name.endswith("_bucket")
    }
