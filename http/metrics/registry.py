"""The metrics of one service: what was counted, the sources that are read at a scrape, and the text that `/metrics` answers."""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import trio
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric

from onebroker.config.events import Event
from onebroker.http.metrics.event_counts import EventCounts
from onebroker.http.metrics.exposition import Expositions
from onebroker.http.metrics.loop_lag import LoopLag
from onebroker.http.metrics.process_figures import ProcessFigures
from onebroker.http.metrics.request_counts import RequestCounts

SLICE_SAMPLES = 100
"""Encoding so many samples takes about half a millisecond."""
READ_AS_ENCODED = 4
"""So many samples are read and compared in the time in which one is encoded."""

Source: TypeAlias = Callable[[], Iterable[Metric]]
"""Reads figures without awaiting. It is called at every scrape, so it may cost a millisecond, not more."""


class _Collector:
    """A source in the form that the registry wants."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def describe(self) -> Iterable[Metric]:
        """Name nothing: the registry would read every source once to find double names, before the service runs."""
        return ()

    def collect(self) -> Iterable[Metric]:
        return self._source()


class Metrics:
    """One for a service. It has a registry of its own, so that two services of one process do not mix."""

    def __init__(self) -> None:
        self.events = EventCounts()
        self.requests = RequestCounts()
        self.loop_lag = LoopLag()
        self.process = ProcessFigures()
        self._expositions = Expositions()
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        for source in (self.events.collect, self.requests.collect, self.loop_lag.collect, self.process.collect):
            self.add(source)

    def add(self, source: Source) -> None:
        """Show what `source` reads, at every scrape from now on."""
        self._registry.register(_Collector(source))

    def hear(self, event: Event) -> None:
        """Count an event; a listener of `actors.kernel.events.Events`."""
        self.events.hear(event)

    def collect(self) -> Iterable[Metric]:
        """Read every source."""
        return self._registry.collect()

    async def text(self, accept: str) -> tuple[bytes, str]:
        """Return the text and its content type: OpenMetrics where the header `Accept` asks for it, else the text form of Prometheus.

        Other tasks run about every half millisecond, so that a scrape holds up no order. Each metric is read at one moment, but not all of them at
        the same.
        """
        form = self._expositions.form(accept)
        pieces: list[bytes] = []
        size = 0.0
        for metric in self.collect():
            piece, encoded = form.text(metric)
            pieces.append(piece)
            size += encoded + len(metric.samples) / READ_AS_ENCODED
            if size >= SLICE_SAMPLES:
                size = 0.0
                await trio.lowlevel.checkpoint()
        return b"".join((*pieces, form.end)), form.content_type
