"""Figures for Prometheus: a metric and its text form (exposition format 0.0.4). The route is in routes/health.py."""

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias

import attrs

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@attrs.frozen(kw_only=True)
class Metric:
    """One name with its samples."""

    name: str
    """Begins with `onebroker_` and ends with its unit (`_seconds`, `_bytes`); a counter's name ends with `_total`."""
    kind: Literal["gauge", "counter"]
    doc: str
    samples: tuple[tuple[Mapping[str, str], float], ...]
    """Labels and value."""


MetricSource: TypeAlias = Callable[[], Iterable[Metric]]


def text(metrics: Iterable[Metric]) -> str:
    """Return the metrics in the form that Prometheus reads, in the given order."""
    lines: list[str] = []
    for metric in metrics:
        lines.append(f"# HELP {metric.name} {_escape(metric.doc, quotes=False)}")
        lines.append(f"# TYPE {metric.name} {metric.kind}")
        lines += [f"{metric.name}{_labels(labels)} {_number(value)}" for labels, value in metric.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value, quotes=True)}"' for name, value in labels.items()) + "}"


def _escape(raw: str, *, quotes: bool) -> str:
    escaped = raw.replace("\\", "\\\\").replace("\n", "\\n")
    return escaped.replace('"', '\\"') if quotes else escaped


def _number(value: float) -> str:
    return repr(int(value)) if float(value).is_integer() else repr(float(value))
