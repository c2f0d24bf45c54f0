"""The garbage collector of a process that serves: kept out of the way of the half-second documents.

Reference counts free nearly everything here at once; the collector only finds cycles. With Python's own settings it looks
through every object of the process now and then (modules, classes, route table: about 0.1 s during which no task runs), and
through the young ones dozens of times a second, because answering a request makes hundreds of objects. What is there when
the service has started lives as long as the process, so it is put aside once; the young ones are looked through less often
(`bench.bench_beat` shows the pauses).
"""

import gc

from onebroker.http.metrics import Metric

YOUNG_OBJECTS = 10_000
"""New containers, less those freed, before the young ones are looked through: a millisecond or two."""
YOUNG_ROUNDS = 20
MIDDLE_ROUNDS = 50


def settle_collector() -> None:
    """Put aside all that has been made so far, after one last look through it (0.1 s), and collect less often from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, YOUNG_ROUNDS, MIDDLE_ROUNDS)


def collector_metrics() -> list[Metric]:
    rounds = tuple(
        ({"generation": str(generation)}, float(figures["collections"]))
        for generation, figures in enumerate(gc.get_stats())
    )
    return [
        Metric(
            name="onebroker_collections_total",
            kind="counter",
            doc="Rounds of the garbage collector.",
            samples=rounds,
        ),
        Metric(
            name="onebroker_objects_put_aside",
            kind="gauge",
            doc="Objects that the garbage collector no longer looks through.",
            samples=(({}, float(gc.get_freeze_count())),),
        ),
    ]
