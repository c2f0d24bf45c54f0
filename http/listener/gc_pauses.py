"""Tunes the garbage collector of a serving process, so that it does not delay the half-second documents.

Reference counts free nearly every object here at once; the collector only finds cycles. With Python's own settings it
sometimes looks through every object of the process (modules, classes, route table: about 0.1 s during which no task
runs). It looks through the young objects dozens of times a second, because answering a request makes hundreds of
objects. The objects that exist when the service has started live as long as the process, so they are put aside once.
The young objects are looked through less often (`bench.bench_beat` shows the pauses).
"""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG_OBJECTS = 10_000
"""New containers, minus freed ones, before the young objects are looked through: this takes a millisecond or two."""
YOUNG_ROUNDS = 20
MIDDLE_ROUNDS = 50


@contextmanager
def imports_put_aside() -> Iterator[None]:
    """Put aside, without a look, what the block makes. It must only import: modules, classes and functions live as long as the process, and the
    collector would look through them again and again, which is a fifth of the time of all imports."""
    gc.disable()
    try:
        yield
    finally:
        _put_aside()
        gc.enable()


def settle_collector() -> int:
    """Put aside all objects made so far, after one last collection (0.1 s), and collect less often from now on. Return how many were put aside;
    the interpreter would count them anew for each question (10 ms)."""
    gc.collect()
    _put_aside()
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_ROUNDS, MIDDLE_ROUNDS)
    return gc.get_freeze_count()


def _put_aside() -> None:
    """Put aside all objects until the process ends. The interpreter frees modules at its end only when it finds them: left aside, DuckDB 1.5
    would free its own later, and Python 3.14 aborts a process for this."""
    gc.freeze()
    atexit.unregister(gc.unfreeze)
    atexit.register(gc.unfreeze)
