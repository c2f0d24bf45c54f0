"""Reads figures of the process that Python itself keeps: the garbage collector, the versions."""

import gc
import platform
from collections.abc import Iterable
from importlib.metadata import version

from prometheus_client.core import Metric

from onebroker.http.metrics import names


class ProcessFigures:
    """The figures of one process."""

    def __init__(self) -> None:
        self.put_aside: int | None = None
        """Objects that were put aside (`listener.gc_pauses`); None = none were."""
        self._versions = {"version": version("onebroker"), "python": platform.python_version()}

    def collect(self) -> Iterable[Metric]:
        rounds = (((str(number),), figures["collections"]) for number, figures in enumerate(gc.get_stats()))
        yield names.COLLECTIONS.family(rounds)
        yield names.PUT_ASIDE.one(self.put_aside)
        yield names.BUILD.info(self._versions)
