"""Moments as texts (rules 1.4.9): `YYYY-MM-DD`, `YYYY-MM-DD HH:MM`, `YYYY-MM-DD HH:MM:SS`, and ISO 8601 with `T`, `Z` or an offset.

Without an offset the value is India time; a bare date is midnight at the start of that day.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

from onebroker.config.clock import IST

_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[ T]([0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?(Z|([+-])([0-9]{2}):?([0-9]{2})?)?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def read_moment(text: str) -> datetime | None:
    """Return the aware moment that a text names; None if it names none. Digits beyond a microsecond are dropped."""
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        return None
    day, clock, seconds, fraction, offset, *_ = found.groups()
    try:
        zone = _zone(found) if offset is not None else IST
        local = datetime.fromisoformat(f"{day}T{clock or '00:00'}:{seconds or '00'}")
    except ValueError:
        return None
    return local.replace(microsecond=int((fraction or "").ljust(6, "0")[:6]), tzinfo=zone)


def _zone(found: re.Match[str]) -> timezone:
    if found[5] == "Z":
        return UTC
    minutes = int(found[8] or 0)
    if minutes > 59:
        raise ValueError("an hour has sixty minutes")
    ahead = timedelta(hours=int(found[7]), minutes=minutes)
    return timezone(ahead if found[6] == "+" else -ahead)


def microseconds(moment: datetime) -> int:
    """Return a moment in microseconds since the epoch."""
    return (moment - _EPOCH) // _MICROSECOND
