"""The bytes of an answer and its date, which is hypercorn's."""

import pytest
from hypercorn.config import Config

from onebroker.http.lane.answers import LONG_BYTES, MOST_KEPT, AnswerBytes


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_795_145_400.9]
    for module in ("onebroker.http.lane.answers.time.time", "hypercorn.config.time"):
        monkeypatch.setattr(module, lambda: now[0])
    return now


def expected_date() -> bytes:
    return next(value for name, value in Config().response_headers("h11") if name == b"date")


@pytest.mark.parametrize("length", [0, 10, LONG_BYTES - 1, LONG_BYTES, 10 * LONG_BYTES])
def test_the_date_is_that_of_the_second_for_short_and_kept_answers(clock, length: int):
    answers, body = AnswerBytes(), b"x" * length
    for _ in range(4):
        for _ in range(2):
            answer = answers.whole(200, body, is_head=False)
            assert b"\r\ndate: " + expected_date() + b"\r\n\r\n" in answer
            assert answer.partition(b"\r\n\r\n")[2] == body
        clock[0] += 0.3


def test_a_kept_answer_is_of_its_own_body(clock):
    answers = AnswerBytes()
    for round_ in range(3 * MOST_KEPT):
        body = b"%d" % round_ * LONG_BYTES  # often at the address of a body before it
        assert answers.whole(200, body, is_head=False).partition(b"\r\n\r\n")[2] == body
        del body


def test_the_answer_to_head_has_the_length_and_no_body(clock):
    answer = AnswerBytes().whole(200, b"x" * LONG_BYTES, is_head=True)
    assert b"content-length: %d\r\n" % LONG_BYTES in answer
    assert answer.endswith(b"\r\n\r\n")
