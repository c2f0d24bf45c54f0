"""Sentences of the instrument routes (spec 1 §4.4, §7.3)."""

from collections.abc import Iterable

INSTRUMENT_ID_FORM = "instrument_id must be a UUID"
NOTHING_GIVEN = "give instrument_id, or exchange, segment and the identity fields"
STRIKE_PRICE_FORM = "strike_price must be a number"
OPTION_TYPE_FORM = "option_type must be CE or PE"
NEVER_MAPPED = "no instruments have been mapped yet"
"""503."""


def exchange_unknown(choices: Iterable[str]) -> str:
    return f"exchange must be one of {', '.join(choices)}"


def segment_unknown(raw: str, exchange: str) -> str:
    return f"segment {raw} is not a segment of {exchange}; see /api/instruments/segments"


def segment_needs(shape: str, fields: Iterable[str]) -> str:
    return f"a {shape} segment needs {', '.join(fields)}"


def not_mapped(name: str, day: object) -> str:
    """404: `name` is the id or the fields that were asked for."""
    return f"no instrument {name} is mapped on {day}"


def nothing_mapped_by(day: object) -> str:
    """404."""
    return f"nothing had been mapped on or before {day}"


def file_unreadable(day: object) -> str:
    """503, ours: the file of an older mapping is lost."""
    return f"the mapping of {day} cannot be read"
