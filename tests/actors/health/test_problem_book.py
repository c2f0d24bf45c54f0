"""The book of problems: what stands and since when; each begin and each end is told once."""

from onebroker.actors.health.problem import Problem, ProblemKind
from onebroker.actors.health.problem_book import ProblemBook
from onebroker.actors.health.service_problems import actors_down, store_away
from onebroker.actors.kernel.events import Events
from onebroker.config.clock import Clock
from onebroker.config.events import Event


class _Clock(Clock):
    at = 1_000.0

    def epoch(self) -> float:
        return self.at


def _problem(subject: str, what: str = "it is away") -> Problem:
    return Problem(kind=ProblemKind.ACTOR, subject=subject, what=what, do="wait")


def test_a_problem_keeps_its_beginning_and_is_told_twice() -> None:
    clock, present = _Clock(), [_problem("token")]
    told: list[Event] = []
    book = ProblemBook((lambda: present,), clock, Events(told.append))

    (first,) = book.look()
    clock.at = 1_007.5
    present[0] = _problem("token", "it is still away")
    (second,) = book.look()
    assert (first.since, second.since, second.problem.what) == (1_000.0, 1_000.0, "it is still away")
    assert [event.name for event in told] == ["problem"]

    present[0] = _problem("engine")
    (third,) = book.look()
    assert third.since == 1_007.5
    present.clear()
    assert book.look() == ()
    assert [(event.name, event.fields["subject"]) for event in told] == [
        ("problem", "token"), ("problem", "engine"), ("problem.over", "token"), ("problem.over", "engine"),
    ]  # fmt: skip
    assert told[2].fields["seconds"] == 7.5
    assert told[2].fields["words"] == "it is still away"


def test_the_service_names_its_parts_that_are_down_and_a_store_that_is_away() -> None:
    down = list(actors_down(lambda: {"token": True, "engine": False}))
    assert [(problem.kind, problem.subject) for problem in down] == [(ProblemKind.ACTOR, "engine")]
    assert list(store_away(True)) == []
    assert [problem.kind for problem in store_away(False)] == [ProblemKind.STORE]
