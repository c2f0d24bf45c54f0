"""Problems of the service itself: parts that are down, a store that is away."""

from collections.abc import Callable, Iterator, Mapping

from onebroker.actors.health.problem import Problem, ProblemKind


def actors_down(states: Callable[[], Mapping[str, bool]]) -> Iterator[Problem]:
    """Yield the supervised parts that are down. `states`: name -> whether it is up."""
    for name, up in states().items():
        if not up:
            yield Problem(
                kind=ProblemKind.ACTOR,
                subject=name,
                what=f"the part `{name}` is down; it is started again and again",
                do="nothing, unless it stays: then read `crashes` here and the log",
            )


def store_away(reachable: bool) -> Iterator[Problem]:
    """Yield the problem that the store does not answer."""
    if not reachable:
        yield Problem(
            kind=ProblemKind.STORE,
            what="the store cannot be reached: no new order is taken, and changes wait to be written",
            do="look at the store's process, its disk and its log",
        )
