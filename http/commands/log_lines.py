"""The lines of the log on the standard error: plain text for people, or one JSON object a line for machines. Times are Indian, with offset.

An event (`config/events.py`) stands in a plain line as `name field=value …`, in a JSON line as fields of its own.
"""

import logging
import sys

import msgspec

from onebroker.config import events
from onebroker.config.clock import from_epoch
from onebroker.http.commands.printable import PrintableFormatter, escaped, printable

FORMATS = ("text", "json")
EVENTS_LOG = "onebroker.events"


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


def log_to_stderr(level: str, form: str) -> None:
    """Write records of `level` and above to the standard error. `form` is one of `FORMATS`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logging.basicConfig(level=level.upper(), handlers=[handler])
    for name in _NEVER_FINE:
        logging.getLogger(name).setLevel(logging.WARNING)


def write_events_from(level: int) -> None:
    """Write only events of `level` and above; `logging.NOTSET`: all that the log's level lets pass."""
    logging.getLogger(EVENTS_LOG).setLevel(level)


_NEVER_FINE = ("hpack", "h2")
"""Libraries that log every header at their finer levels, tokens included."""
