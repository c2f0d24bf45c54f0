"""The metrics of a running service, as Prometheus reads them."""

from typing import Any, TypeAlias

from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

Sample: TypeAlias = tuple[str, frozenset[tuple[str, str]]]
"""Name, and labels with their values."""


def families(demo: Any) -> list[Metric]:
    """Scrape a demo. The parser fails on a text that is not right."""
    answer = demo.ask("GET", "/metrics")
    assert answer.status == 200, answer
    return list(text_string_to_metric_families(answer.body.decode()))


def scraped(demo: Any) -> dict[Sample, float]:
    """Return every sample of a demo."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for metric in families(demo)
        for sample in metric.samples
    }
