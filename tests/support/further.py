"""Which cases of a long table the first command plays, and which only the further one (`pytest --further`)."""

import os
from collections.abc import Callable, Iterable
from typing import Any, cast

import pytest
from hypothesis import settings

from tests.support.kinds import LONG, SEARCHED

FURTHER = "TESTS_FURTHER"
"""In the environment of a run that plays the further command's tests; not a name that could be a setting, which the service refuses."""


def spread(values: Iterable[Any], number: int) -> list[Any]:
    """Return all of `values` as cases; `number` of them, spread evenly over the table, belong to the first command, the rest is `long`.

    A case may be a tuple, for several arguments.
    """
    every = list(values)
    return split(every, {position * len(every) // number for position in range(number)}.__contains__)


def split(values: Iterable[Any], is_first: Callable[[int], bool]) -> list[Any]:
    """Return all of `values` as cases; those at positions that `is_first` says belong to the first command."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)), marks=() if is_first(position) else (long_case(),)
        )
        for position, value in enumerate(values)
    ]


def each_once(many: Iterable[Any], few: Iterable[Any]) -> list[Any]:
    """Return every pair of `many` and `few` as cases; the first command plays each of `many` with one of `few`, each of these in turn."""
    others = list(few)
    return split(
        [(one, other) for one in many for other in others],
        lambda position: position // len(others) % len(others) == position % len(others),
    )


def searched(few: int, many: int, **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a property test whose examples take long: the first command tries a few of them, the further one many.

    `more` is what `hypothesis.settings` takes besides."""

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        number = many if FURTHER in os.environ else few
        mark = cast(pytest.MarkDecorator, getattr(pytest.mark, SEARCHED))
        marked: Callable[..., Any] = mark(settings(max_examples=number, deadline=None, **more)(test))
        return marked

    return decorate


def long_case() -> pytest.MarkDecorator:
    return cast(pytest.MarkDecorator, getattr(pytest.mark, LONG))
