"""Sentences of the instrument routes (rules 1.4.4, 1.7.3), and of the POST form of the routes that have one (rules 1.4.6)."""

from collections.abc import Iterable

INSTRUMENT_ID_FORM = "instrument_id must be a UUID"
NOTHING_GIVEN = "give instrument_id, or exchange, segment and the identity fields"
STRIKE_PRICE_FORM = "strike_price must be a number"
OPTION_TYPE_FORM = "option_type must be CE or PE"
ONE_SEGMENT_ONE_EXCHANGE = "a single segment needs a single exchange"
BODY_FORM = "the body must be a JSON object with an instruments list"
INSTRUMENTS_FORM = "instruments must be a non-empty list"
ENTRY_FORM = "each entry of instruments must be an object"
NEVER_MAPPED = "no instruments have been mapped yet"
"""503."""


FINDER_NOT_READY = "the search over all segments is being built; try again in a moment"
"""503."""


def exchange_unknown(choices: Iterable[str]) -> str:
    return f"exchange must be one of {', '.join(choices)}"


def segment_unknown(raw: str, exchange: str) -> str:
    return f"segment {raw} is not a segment of {exchange}; see /api/instruments/segments"


def segment_needs(shape: str, fields: Iterable[str]) -> str:
    return f"a {shape} segment needs {', '.join(fields)}"


def not_mapped(name: str, day: object) -> str:
    """404; `name` is the id or the fields that the caller asked for."""
    return f"no instrument {name} is mapped on {day}"


def no_contracts(underlying: str, exchange: str, day: object) -> str:
    """404."""
    return f"no futures or options on {underlying} are mapped at {exchange} on {day}"


def no_options(underlying: str, exchange: str, expiry: object, day: object) -> str:
    """404."""
    return f"no options on {underlying} that expire on {expiry} are mapped at {exchange} on {day}"


def options_in_several_segments(segments: Iterable[str]) -> str:
    """400: the caller must name one of them."""
    return f"options of this expiry are in several segments; give segment as one of {', '.join(segments)}"


def nothing_mapped_by(day: object) -> str:
    """404."""
    return f"nothing had been mapped on or before {day}"


def file_unreadable(day: object) -> str:
    """503, ours: the file of an older mapping is lost."""
    return f"the mapping of {day} cannot be read"


def must_be_scalar(name: str) -> str:
    """For an item or a shared parameter of a POST form."""
    return f"{name} must be text, a number or true or false"
