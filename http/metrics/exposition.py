"""Writes metrics as text by the encoders of prometheus_client, and keeps the lines: a scrape encodes only samples that have changed since the last.

Most samples stay the same from scrape to scrape, and encoding is most of a scrape's cost.
"""

from collections.abc import Callable, Iterable, Sequence

import attrs
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.samples import Sample

MOST_FORMS = 4
"""Forms of the text whose lines are kept. A server of Prometheus asks for one; the header `Accept` can name any number."""
_END = b"# EOF\n"
"""The last line of an OpenMetrics text."""


@attrs.define
class _Kept:
    """The text of one metric, by sample."""

    head: list[bytes]
    """The lines of comment."""
    samples: Sequence[Sample]
    lines: list[bytes]


class Exposition:
    """One form of the text: that of Prometheus or one of OpenMetrics."""

    def __init__(self, encode: Callable[["_One"], bytes], content_type: str) -> None:
        self._encode = encode
        self.content_type = content_type
        self.end = _END if content_type.startswith("application/openmetrics-text") else b""
        """What stands after the last metric."""
        self._kept: dict[str, _Kept] = {}

    def text(self, metric: Metric) -> tuple[bytes, int]:
        """Return the metric's text, and how many of its samples had to be encoded."""
        kept = self._kept.get(metric.name)
        if kept is None or len(kept.samples) != len(metric.samples):
            return self._whole(metric)
        changed = [place for place, sample in enumerate(metric.samples) if sample != kept.samples[place]]
        if changed:
            part = self._encoded(metric, [metric.samples[place] for place in changed])
            if part is None:
                return self._whole(metric)
            for place, line in zip(changed, part.lines, strict=True):
                kept.lines[place] = line
            kept.samples = metric.samples
        return b"".join((*kept.head, *kept.lines)), len(changed)

    def _whole(self, metric: Metric) -> tuple[bytes, int]:
        """Encode all samples, and keep their lines."""
        kept = self._encoded(metric, metric.samples)
        if kept is None:
            self._kept.pop(metric.name, None)
            return self._encode(_One(metric)).removesuffix(_END), len(metric.samples)
        self._kept[metric.name] = kept
        return b"".join((*kept.head, *kept.lines)), len(metric.samples)

    def _encoded(self, metric: Metric, samples: Sequence[Sample]) -> _Kept | None:
        """Return the lines of these samples of the metric; None where the lines are not one for each sample, in their order."""
        part = Metric(metric.name, metric.documentation, metric.type, metric.unit)
        part.samples = list(samples)
        lines = self._encode(_One(part)).removesuffix(_END).splitlines(keepends=True)
        head = [line for line in lines if line.startswith(b"#")]
        own = lines[len(head) :]
        if len(own) != len(samples) or any(line.startswith(b"#") for line in own):
            return None
        return _Kept(head=head, samples=samples, lines=own)


class _One:
    """One metric, in the form that an encoder wants."""

    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterable[Metric]:
        return (self._metric,)


class Expositions:
    """The forms that were asked for last."""

    def __init__(self) -> None:
        self._forms: dict[str, Exposition] = {}
        """Content type -> form, the oldest first."""

    def form(self, accept: str) -> Exposition:
        """Return the form that a header `Accept` asks for: OpenMetrics, or else the text form of Prometheus."""
        encode, content_type = choose_encoder(accept)
        form = self._forms.get(content_type)
        if form is None:
            if len(self._forms) == MOST_FORMS:
                del self._forms[next(iter(self._forms))]
            form = self._forms[content_type] = Exposition(encode, content_type)
        return form
