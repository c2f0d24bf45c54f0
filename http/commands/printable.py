"""Texts of brokers and callers on a terminal and in the log: control characters written out, so that they forge no line and
move no cursor."""

import logging
import re
from typing import Any

_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""All but the tab; with line separators, changes of the writing direction and halves of characters."""


def printable(text: str) -> str:
    """Return `text` in one line that shows what is in it: a line end as `\\n`, an escape as `\\x1b`."""
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


class PrintableFormatter(logging.Formatter):
    """A record's message is one line; a stack below it is indented, so that no line of it looks like a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = printable(record.message)
        return super().formatMessage(record)

    def formatException(self, exc_info: Any) -> str:
        return _indented(super().formatException(exc_info))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(f"    {printable(line)}" for line in text.split("\n"))
