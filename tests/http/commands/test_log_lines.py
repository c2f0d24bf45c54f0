"""The lines of the log: Indian time with its offset, as text or as JSON."""

import io
import logging
import sys
import threading
from datetime import datetime, timedelta

import msgspec
import pytest

from onebroker.config.clock import IST
from onebroker.config.events import OrderRejected
from onebroker.http.commands import log_lines
from onebroker.http.commands.log_lines import JsonLines, TextLines

pytestmark = pytest.mark.unit
AT = datetime(2026, 11, 25, 9, 15, 0, 123_000, tzinfo=IST)
EVENT = OrderRejected(broker="dhan", parent=None, leg=None, words="no\nERROR forged\x1b[2J")


def record(message: str, *arguments: object, level: int = logging.INFO, exc_info=None, **extra: object):
    made = logging.getLogger("test").makeRecord(
        "onebroker.test", level, __file__, 1, message, arguments, exc_info, extra=extra
    )
    made.created = AT.timestamp()
    return made


def raised():
    try:
        raise ValueError("first\nERROR forged")
    except ValueError:
        return sys.exc_info()


def test_a_text_line_has_the_indian_time_with_its_offset():
    assert TextLines().format(record("%s is away", "Redis", level=logging.WARNING)) == (
        "2026-11-25T09:15:00.123+05:30 WARNING onebroker.test: Redis is away"
    )


def test_a_json_line_is_one_object_with_the_same_time():
    line = JsonLines().format(record("%s said %s", "dhan", "a\nb"))
    assert "\n" not in line
    assert msgspec.json.decode(line) == {
        "at": "2026-11-25T09:15:00.123+05:30", "level": "info", "log": "onebroker.test", "message": "dhan said a\\nb",
    }  # fmt: skip


def test_the_time_of_a_json_line_can_be_read_back():
    at = datetime.fromisoformat(msgspec.json.decode(JsonLines().format(record("x")))["at"])
    assert (at, at.utcoffset()) == (AT, timedelta(hours=5, minutes=30))


def test_an_event_has_fields_of_its_own_and_no_message():
    line = JsonLines().format(record("order.rejected …", event=EVENT))
    assert "\n" not in line
    assert msgspec.json.decode(line) == {
        "at": "2026-11-25T09:15:00.123+05:30", "level": "info", "log": "onebroker.test",
        "event": "order.rejected", "broker": "dhan", "words": EVENT.words,
    }  # fmt: skip


@pytest.mark.parametrize("words", ["x\u2028y", "x\x9b2Ky", "x\x7f", "x\u202ey", "a tab\tand\x00"])
def test_no_control_character_of_a_broker_stands_in_a_json_line(words):
    line = JsonLines().format(record("", event=OrderRejected(broker="dhan", parent=None, leg=None, words=words)))
    assert line.isprintable()
    assert msgspec.json.decode(line)["words"] == words


def test_a_text_that_is_no_unicode_is_written_out():
    event = OrderRejected(broker="dhan", parent=None, leg=None, words="not \ud800 text")
    assert msgspec.json.decode(JsonLines().format(record("", event=event)))["words"] == "not \\ud800 text"


def test_something_else_that_is_called_event_is_no_event():
    line = msgspec.json.decode(JsonLines().format(record("x", event="order.filled")))
    assert "event" not in line
    assert line["message"] == "x"


def test_an_exception_is_a_trace_in_the_same_line():
    line = JsonLines().format(record("it failed", exc_info=raised()))
    assert "\n" not in line
    trace = msgspec.json.decode(line)["trace"]
    assert trace.startswith("Traceback")
    assert "ValueError: first" in trace


def test_the_trace_of_a_text_line_is_indented():
    first, *rest = TextLines().format(record("it failed", exc_info=raised())).splitlines()
    assert first.endswith("it failed")
    assert rest
    assert all(line.startswith("    ") for line in rest)


class Held(io.StringIO):
    """A standard error that nobody reads until `read` is set. `written` counts the lines that came through."""

    def __init__(self) -> None:
        super().__init__()
        self.read = threading.Event()
        self.written = threading.Semaphore(0)

    def write(self, text: str) -> int:
        self.read.wait(30)
        count = super().write(text)
        self.written.release()
        return count


def test_a_standard_error_that_nobody_reads_holds_up_nobody_and_what_was_dropped_is_said(monkeypatch):
    monkeypatch.setattr(log_lines, "MOST_LINES", 3)
    held = Held()
    handler = log_lines.BesideHandler(held)
    handler.setFormatter(logging.Formatter("%(message)s"))
    for number in range(20):
        handler.handle(record("line %s", number))
    held.read.set()
    for _ in range(3):  # the thread has taken the first lines, so there is room again
        assert held.written.acquire(timeout=30)
    handler.handle(record("after"))
    handler.finish()
    said = held.getvalue().splitlines()
    kept = [line for line in said if line.startswith("line")]
    assert kept == [f"line {number}" for number in range(len(kept))]
    assert 3 <= len(kept) <= 4
    assert said[len(kept) :] == [f"{20 - len(kept)} lines of the log were dropped: nobody read them in time", "after"]
