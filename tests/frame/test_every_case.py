"""Cases folded into one test: none is left out, none hides another, and what failed is told by name."""

import inspect

import pytest

from tests.support.every_case import every_case


def told(test, **fixtures):
    with pytest.raises(AssertionError) as failed:
        test(**fixtures)
    return str(failed.value)


def test_every_case_is_tried_with_the_fixtures_and_the_failing_ones_are_told_by_what_they_were_given():
    tried = []

    @every_case(("one", "other"), [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
    def test(one, fixture, other):
        tried.append((one, other, fixture))
        assert one in (1, 4), "no"

    lines = told(test, fixture="f").splitlines()
    assert tried == [(1, "a", "f"), (2, "b", "f"), (3, "c", "f"), (4, "d", "f")]
    assert list(inspect.signature(test).parameters) == ["fixture"]
    assert lines[0] == "2 of 4 cases failed:"
    assert [line.split("] line ")[0] for line in lines if line.startswith("[")] == [
        "[one=2, other='b'",
        "[one=3, other='c'",
    ]
    assert lines[1].endswith("AssertionError: no")


def test_two_lists_of_cases_are_tried_in_every_combination():
    tried = []

    @every_case("one", [1, 2, 3])
    @every_case("other", ["x", "y"], ids=["first", "second"])
    def test(one, other):
        tried.append((one, other))
        assert (one, other) != (2, "y")

    assert "\n[one=2, second] line " in told(test)
    assert tried == [(one, other) for one in (1, 2, 3) for other in ("x", "y")]


def test_a_case_may_be_a_param_with_a_name_and_without_marks():
    @every_case(("one", "other"), [pytest.param(1, 2, id="the first"), (3, 4), pytest.param(5, 6)])
    @every_case("third", [pytest.param(7)])
    def test(one, other, third):
        assert one + other == third

    lines = [line.split("] line ")[0] for line in told(test).splitlines() if line.startswith("[")]
    assert lines == ["[the first, third=7", "[one=5, other=6, third=7"]
    with pytest.raises(AssertionError, match="cannot be marked"):
        every_case("one", [pytest.param(1, marks=pytest.mark.xfail)])


async def test_the_cases_of_an_async_test_are_tried_too():
    tried = []

    @every_case("one", [1, 2])
    async def test(one):
        tried.append(one)
        assert one == 2

    with pytest.raises(AssertionError, match=r"^1 of 2 cases failed:\n\[one=1\] line \d+: AssertionError: "):
        await test()
    assert tried == [1, 2]


@pytest.mark.parametrize(
    "wrong", [lambda: None, lambda: pytest.fail("it did not"), lambda: pytest.skip("not today"), lambda: 1 / 0]
)
def test_whatever_a_case_raises_fails_the_test(wrong):
    @every_case("number", [1, 2])
    def test(number):
        if wrong() is None and number == 1:
            with pytest.raises(ValueError, match="a"):
                pass

    assert told(test).startswith(("1 of 2", "2 of 2"))


def test_a_test_without_cases_and_an_argument_that_it_does_not_take_are_refused():
    with pytest.raises(AssertionError, match="proves nothing"):
        every_case("one", [])
    with pytest.raises(AssertionError, match=r"does not take \{'three'\}"):
        every_case("three", [3])(lambda one: None)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("x" * 1_000, f"value='{'x' * 199}…"),
        (int, "value=int"),
        (len, "value=len"),
        (lambda: 0, "value=the lambda of line "),
    ],
)
def test_a_name_stays_short_and_says_something(value, name):
    @every_case("value", [value])
    def test(value):
        assert value is None

    assert told(test).splitlines()[1].startswith(f"[{name}")


def test_the_time_limit_of_the_test_is_not_one_case_s_failure():
    @every_case("number", [1, 2])
    def test(number):
        pytest.fail("Timeout (>300.0s) from pytest-timeout.")

    with pytest.raises(pytest.fail.Exception) as ended:
        test()
    assert ended.value.__notes__ == ["in the case number=1"]
