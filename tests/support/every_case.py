"""Many cheap cases in one test: each of them is tried, and those that fail are told together, each by what it was given.

`every_case` is written like `pytest.mark.parametrize`, and for the same bodies. What differs: the cases are not tests of their own,
which cost a hundred times what a cheap case does, and they share the fixtures of the one test that they are. So it is for cases that
leave nothing behind in a fixture; where each needs a fresh one, the cases stay tests.
"""

import contextlib
import functools
import inspect
import itertools
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import pytest

MOST_CHARACTERS = 200
"""Of a value in a case's name."""


def every_case(
    names: str | Sequence[str], cases: Iterable[Any], *, ids: Iterable[str] = ()
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make one test of the decorated one, which tries it with every case. Two of these decorators, one on the other, try every
    combination. `ids` name the cases in place of their values."""
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    axis = [_case(arguments, case) for case in cases]
    assert axis, "a test without cases proves nothing"
    if named := list(ids):
        axis = [case._replace(name=name) for name, case in zip(named, axis, strict=True)]

    def fold(test: Callable[..., Any]) -> Callable[..., Any]:
        body, axes = getattr(test, "folded", (test, []))
        axes = [axis, *axes]
        given = {argument for along in axes for argument in along[0].values}
        signature = inspect.signature(body)
        assert given <= set(signature.parameters), f"{body.__name__} does not take {given - set(signature.parameters)}"

        if inspect.iscoroutinefunction(body):

            @functools.wraps(body)
            async def one_test(**fixtures: Any) -> None:
                __tracebackhide__ = True
                failures = Failures(body)
                for cases in itertools.product(*axes):
                    with failures.of(cases):
                        await body(**fixtures, **{name: value for case in cases for name, value in case.values.items()})
                failures.tell()
        else:

            @functools.wraps(body)
            def one_test(**fixtures: Any) -> None:
                __tracebackhide__ = True
                failures = Failures(body)
                for cases in itertools.product(*axes):
                    with failures.of(cases):
                        body(**fixtures, **{name: value for case in cases for name, value in case.values.items()})
                failures.tell()

        left = [one for one in signature.parameters.values() if one.name not in given]
        one_test.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        one_test.folded = body, axes  # type: ignore[attr-defined]
        return one_test

    return fold


class Case(NamedTuple):
    """Of one decorator; its name is empty where its values are its name."""

    name: str
    values: dict[str, Any]

    def __str__(self) -> str:
        return self.name or ", ".join(f"{name}={_short(value)}" for name, value in self.values.items())


class Failures:
    """What failed of the cases of a test."""

    def __init__(self, test: Callable[..., Any]) -> None:
        self._file = inspect.getsourcefile(test)
        self._tried = 0
        self._errors: list[tuple[str, BaseException]] = []

    @contextlib.contextmanager
    def of(self, cases: Sequence[Case]) -> Iterator[None]:
        """Keep what the case raises. A case may not skip either: nobody would see it."""
        self._tried += 1
        try:
            yield
        except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
            name = ", ".join(map(str, cases))
            if "from pytest-timeout" in str(error):
                # That was the one alarm of the test: a later case that hangs would hang for ever.
                error.add_note(f"in the case {name}")
                raise
            self._errors.append((name, error))

    def tell(self) -> None:
        """Fail when a case did, with every case's name, line and error; the traceback is that of the first."""
        __tracebackhide__ = True
        if self._errors:
            lines = [f"{len(self._errors)} of {self._tried} cases failed:"]
            lines += [f"[{name}] {self._line(error)}" for name, error in self._errors]
            raise AssertionError("\n".join(lines)) from self._errors[0][1]

    def _line(self, error: BaseException) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        own = [frame for frame in frames if frame.filename == self._file] or frames
        told = "\n    ".join(line for line in str(error).splitlines() if line.strip())
        return f"line {own[-1].lineno}: {type(error).__name__}: {told}"


def _case(arguments: Sequence[str], given: Any) -> Case:
    """Of a value, of a tuple where there are several arguments, or of a `pytest.param`."""
    name = ""
    if isinstance(given, type(pytest.param())):
        assert not given.marks, "the cases of one test cannot be marked one by one"
        name, given = str(given.id or ""), given.values[0] if len(arguments) == 1 else given.values
    return Case(name, dict(zip(arguments, (given,) if len(arguments) == 1 else given, strict=True)))


def _short(value: object) -> str:
    text = getattr(value, "__name__", None) or repr(value)
    if text == "<lambda>":
        text = f"the lambda of line {value.__code__.co_firstlineno}"  # type: ignore[attr-defined]
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"
