"""Writes texts of brokers and callers for a terminal and the log. Control characters are spelled out, so that they
cannot forge a line or move the cursor."""

import logging
import re
from typing import Any

_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""All control characters except the tab; also line separators, changes of the writing direction and lone surrogates."""


def printable(text: str) -> str:
    """Return `text` as one line that makes control characters visible: a line end as `\\n`, an escape as `\\x1b`."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def escaped(document: str) -> str:
    """Return a JSON document with its control characters escaped. JSON itself allows some that move a cursor or end a line."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", document)


class PrintableFormatter(logging.Formatter):
    """A record's message is one line. A stack trace below it is indented, so that none of its lines looks like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, exc_info: Any) -> str:
        return _indented(super().formatException(exc_info))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(f"    {printable(line)}" for line in text.split("\n"))
