"""Reads Indian times with a spelled month (`20-Oct-2020 13:10:59`), as several brokers write them.

`strptime` is not used, because its month names follow the machine's language.
"""

import re
from datetime import datetime
from typing import Final

from onebroker.config.clock import IST

_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WRITTEN: Final = re.compile(r"(\d{1,2})-([A-Za-z]{3})-(\d{4}) +(\d{1,2}): *(\d{1,2}): *(\d{1,2})", re.ASCII)
"""Kotak Neo's order history has blanks after the colons."""


def spelled_moment(value: object) -> datetime | None:
    """Return a day-month-year time whose month has three letters; None for anything else."""
    match = _WRITTEN.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None or match[2].upper() not in _MONTHS:
        return None
    day, year, hour, minute, second = (int(match[place]) for place in (1, 3, 4, 5, 6))
    try:
        return datetime(year, _MONTHS.index(match[2].upper()) + 1, day, hour, minute, second, tzinfo=IST)
    except ValueError:
        return None
