"""The lines of the log on the standard error: plain text for people, or one JSON object a line for machines. Times are Indian, with offset.

An event (`config/events.py`) stands in a plain line as `name field=value …`, in a JSON line as fields of its own.
"""

import atexit
import contextlib
import logging
import queue
import sys
import threading
from typing import TextIO

import msgspec

from onebroker.config import events
from onebroker.config.clock import from_epoch
from onebroker.http.commands.printable import PrintableFormatter, escaped, printable

FORMATS = ("text", "json")
EVENTS_LOG = "onebroker.events"
MOST_LINES = 10_000
"""Lines that may wait for the thread that writes them."""
FINISH_SECONDS = 2.0


class TextLines(PrintableFormatter):
    """`2026-11-25T09:15:00.123+05:30 INFO onebroker.events: order.sent broker=… verb=place …`."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        return from_epoch(record.created).isoformat(timespec="milliseconds")


class JsonLines(logging.Formatter):
    """One object a line: `at`, `level`, `log`, then the fields of an event, or `message`; `trace` where there is an exception."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": from_epoch(record.created).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "log": record.name,
        }
        event = getattr(record, "event", None)
        if isinstance(event, events.Event):
            line |= events.as_json(event)
        else:
            line["message"] = printable(record.getMessage())
        if record.exc_info:
            line["trace"] = events.encodable(self.formatException(record.exc_info))
        return escaped(msgspec.json.encode(line).decode())


class BesideHandler(logging.Handler):
    """Hands lines to a thread that writes them. A standard error that nobody reads then delays no order: `logging` would hold the event loop.

    Lines that find `MOST_LINES` unwritten lines are dropped, and their number is a line of its own as soon as there is room.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._lines: queue.Queue[str | None] = queue.Queue(MOST_LINES)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            if self._dropped:
                self._lines.put_nowait(f"{self._dropped} lines of the log were dropped: nobody read them in time")
                self._dropped = 0
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            self._dropped += 1
        except Exception:  # noqa: BLE001  # as the standard library's handlers: a line of the log never ends what it tells of
            self.handleError(record)

    def finish(self) -> None:
        """Write what is left, at most `FINISH_SECONDS`."""
        with contextlib.suppress(queue.Full):
            self._lines.put(None, timeout=FINISH_SECONDS)
            self._thread.join(FINISH_SECONDS)

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError, ValueError):  # closed: there is nobody to tell
                self._stream.write(f"{line}\n")
                if self._lines.empty():
                    self._stream.flush()


def log_to_stderr(level: str, form: str, *, beside: bool = False) -> None:
    """Write records of `level` and above to the standard error. `form` is one of `FORMATS`. `beside`: by a thread (`BesideHandler`), for a service."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if beside:
        handler = BesideHandler(sys.stderr)
        atexit.register(handler.finish)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for name in _NEVER_FINE:
        logging.getLogger(name).setLevel(logging.WARNING)


def write_events_from(level: int) -> None:
    """Write only events of `level` and above; `logging.NOTSET`: all that the log's level lets pass."""
    logging.getLogger(EVENTS_LOG).setLevel(level)


_NEVER_FINE = ("hpack", "h2")
"""Libraries that log every header at their finer levels, tokens included."""
