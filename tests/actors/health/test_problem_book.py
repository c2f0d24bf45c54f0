"""The book of problems: what stands and since when; each begin and each end is told once, and a problem that flaps is told once."""

from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.health.problem_book import ProblemBook
from onebroker.actors.kernel.events import Events
from onebroker.config.clock import Clock
from onebroker.config.events import Event


class _Clock(Clock):
    at = 1_000.0

    def epoch(self) -> float:
        return self.at

    def monotonic(self) -> float:
        return self.at - 500.0


def _problem(subject: str, what: str = "it is away", since: float | None = None) -> Problem:
    return Problem(kind=ProblemKind.ACTOR, subject=subject, what=what, do="wait", since=since)


class _House:
    """A book over the problems in `present`."""

    def __init__(self) -> None:
        self.clock = _Clock()
        self.present: list[Problem] = []
        self.told: list[Event] = []
        self.book = ProblemBook((lambda: self.present,), self.clock, Events(self.told.append))

    def look(self, at: float, *present: Problem) -> list[tuple[str, float]]:
        self.clock.at = at
        self.present[:] = present
        return [(standing.problem.subject, standing.since) for standing in self.book.look()]

    @property
    def names(self) -> list[tuple[str, object]]:
        return [(event.name, event.fields["subject"]) for event in self.told]


def test_a_problem_is_shown_at_once_keeps_its_beginning_and_is_told_when_it_has_settled() -> None:
    house = _House()
    assert house.look(1_000.0, _problem("token")) == [("token", 1_000.0)]
    assert house.names == []
    assert house.look(1_002.0, _problem("token", "it is still away")) == [("token", 1_000.0)]
    assert house.names == [("problem", "token")]
    assert house.look(1_007.5, _problem("engine")) == [("engine", 1_007.5)]
    assert house.look(1_009.5) == []
    assert house.names == [("problem", "token"), ("problem.over", "token")]
    assert (house.told[1].fields["seconds"], house.told[1].fields["words"]) == (7.5, "it is still away")
    house.look(1_012.0)
    assert len(house.told) == 2, "the engine was away for one look only: nobody is told"


def test_a_problem_that_comes_and_goes_is_told_once() -> None:
    house = _House()
    for second in range(20):
        house.look(1_000.0 + second, *([_problem("feed")] if second % 2 == 0 else []))
    assert house.names == [("problem", "feed")]
    assert house.look(1_020.0, _problem("feed")) == [("feed", 1_000.0)]
    house.look(1_021.0)
    house.look(1_023.0)
    assert house.names == [("problem", "feed"), ("problem.over", "feed")]
    assert house.told[1].fields["seconds"] == 21.0


def test_a_problem_that_is_away_long_enough_is_a_new_problem_even_without_a_look_meanwhile() -> None:
    house = _House()
    house.look(1_000.0, _problem("feed"))
    house.look(1_003.0, _problem("feed"))
    house.look(1_004.0)
    assert house.look(1_060.0, _problem("feed")) == [("feed", 1_060.0)]
    assert house.names == [("problem", "feed"), ("problem.over", "feed")]


def test_since_is_what_the_source_knows_and_never_later_than_the_first_look() -> None:
    house = _House()
    assert house.look(1_000.0, _problem("halt", since=400.0)) == [("halt", 400.0)]
    assert house.look(1_001.0, _problem("halt", since=1_700.0)) == [("halt", 1_000.0)]


def test_the_oldest_problem_comes_first_and_a_source_can_be_added() -> None:
    house = _House()
    house.book.add(lambda: [_problem("files", since=10.0)])
    assert house.look(1_000.0, _problem("token")) == [("files", 10.0), ("token", 1_000.0)]
