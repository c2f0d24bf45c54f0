"""Names one instrument, by its id or by its identity fields (rules 1.4.4), and finds it in a mapping.

An error in the text is refused before anything is looked up. A name is read from a mapping of texts: query parameters,
or one item of a POST list whose scalars were turned into text.
"""

import math
import re
import uuid
from collections.abc import Mapping
from datetime import date

from onebroker.actors.catalogue.interface import Instrument, Snapshot
from onebroker.config.instruments import (
    EXCHANGES,
    IDENTITY_FIELDS,
    SEGMENT_SHAPES,
    Identity,
    InstrumentName,
    Shape,
    bare_segment,
    fields_text,
    prefixed_segment,
    segments_of,
)
from onebroker.config.messages import instruments as sentences
from onebroker.config.messages import shared
from onebroker.config.money import as_meant
from onebroker.config.refusal import Refusal
from onebroker.config.schema_marks import COMPONENTS
from onebroker.http import parse
from onebroker.http.route import Parameter

INSTRUMENT_ID = Parameter(
    name="instrument_id",
    place="query",
    schema={"type": "string", "format": "uuid"},
    doc="The instrument's UUID; when given, it is used alone.",
)
EXCHANGE = Parameter(
    name="exchange", place="query", choices=tuple(map(str, EXCHANGES)), doc=f"One of {', '.join(EXCHANGES)}."
)
SEGMENT = Parameter(
    name="segment",
    place="query",
    schema={"$ref": COMPONENTS + "SegmentGiven"},
    doc="Segment of the exchange, with or without its prefix.",
)
SYMBOL = Parameter(name="symbol", place="query", doc="For a security.")
UNDERLYING = Parameter(name="underlying_symbol", place="query", doc="For a future or an option.")
EXPIRY = Parameter(name="expiry_date", place="query", kind="date", doc="For a future or an option.")
STRIKE = Parameter(name="strike_price", place="query", kind="number", doc="For an option, in rupees.")
OPTION_TYPE = Parameter(name="option_type", place="query", choices=("CE", "PE"), doc="For an option: CE or PE.")

PARAMETERS = (INSTRUMENT_ID, EXCHANGE, SEGMENT, SYMBOL, UNDERLYING, EXPIRY, STRIKE, OPTION_TYPE)
ALL = "all"
"""Used in place of an exchange or segment, where a list may cover all of them."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def read_name(values: Mapping[str, str]) -> InstrumentName:
    """Return the instrument named by `values`; raises Refusal 400, checking in the order of rules 1.4.4."""
    given = parse.text(values, INSTRUMENT_ID)
    if given is not None:
        if _UUID.fullmatch(given) is None:
            raise Refusal(400, sentences.INSTRUMENT_ID_FORM)
        instrument_id = str(uuid.UUID(given))
        return InstrumentName(instrument_id, instrument_id)
    if all(parse.text(values, parameter) is None for parameter in PARAMETERS):
        raise Refusal(400, sentences.NOTHING_GIVEN)
    identity = _identity(values)
    return InstrumentName(identity.instrument_id, fields_text(identity), identity)


def find(name: InstrumentName, snapshot: Snapshot) -> Instrument:
    """Return the instrument from a mapping; Refusal 404 if the mapping does not have it."""
    return _found(snapshot.instrument(name.instrument_id), name, snapshot)


def find_once(name: InstrumentName, snapshot: Snapshot) -> Instrument:
    """Return the same as `find`, for instruments that are not needed again soon."""
    return _found(snapshot.instrument_once(name.instrument_id), name, snapshot)


def _found(instrument: Instrument | None, name: InstrumentName, snapshot: Snapshot) -> Instrument:
    if instrument is None:
        raise Refusal(404, sentences.not_mapped(name.text, snapshot.mapping_date))
    return instrument


def mapped(snapshot: Snapshot | None) -> Snapshot:
    """Return the snapshot; Refusal 503 if no instruments have ever been mapped."""
    if snapshot is None:
        raise Refusal(503, sentences.NEVER_MAPPED)
    return snapshot


def _identity(values: Mapping[str, str]) -> Identity:
    exchange, stored = read_segment(values)
    shape = SEGMENT_SHAPES[bare_segment(stored)]
    fields = IDENTITY_FIELDS[shape]
    readers = {parameter.name: parameter for parameter in PARAMETERS}
    if any(parse.text(values, readers[name]) is None for name in fields):
        raise Refusal(400, sentences.segment_needs(shape.value, fields))
    if shape is Shape.SECURITY:
        return Identity(exchange, stored, shape, symbol=_upper(values, SYMBOL))
    return Identity(
        exchange,
        stored,
        shape,
        underlying_symbol=_upper(values, UNDERLYING),
        expiry_date=_expiry(values).isoformat(),
        strike_price=_strike(values) if shape is Shape.OPTION else None,
        option_type=_option_type(values) if shape is Shape.OPTION else None,
    )


def read_segment(values: Mapping[str, str]) -> tuple[str, str]:
    """Return the exchange and the stored form of its segment; Refusal 400 if either is missing or unknown."""
    exchange = _exchange(values, EXCHANGES)
    raw = parse.required_text(values, SEGMENT)
    bare = bare_segment(raw)
    if bare not in segments_of(exchange) or raw not in (bare, prefixed_segment(exchange, bare)):
        raise Refusal(400, sentences.segment_unknown(raw, exchange))
    return exchange, prefixed_segment(exchange, bare)


def read_segments(values: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return an exchange and a segment's stored form like `read_segment`, with None for `all`; raises Refusal 400."""
    exchange = _exchange(values, (*EXCHANGES, ALL))
    every_segment = parse.required_text(values, SEGMENT) == ALL
    if exchange != ALL:
        return (exchange, None) if every_segment else read_segment(values)
    if not every_segment:
        raise Refusal(400, sentences.ONE_SEGMENT_ONE_EXCHANGE)
    return None, None


def _exchange(values: Mapping[str, str], choices: tuple[str, ...]) -> str:
    exchange = parse.required_text(values, EXCHANGE)
    if exchange not in choices:
        raise Refusal(400, sentences.exchange_unknown(choices))
    return exchange


def _upper(values: Mapping[str, str], parameter: Parameter) -> str:
    return parse.required_text(values, parameter).upper()


def _expiry(values: Mapping[str, str]) -> date:
    day = parse.day(values, EXPIRY)
    if day is None:
        raise Refusal(400, shared.must_be_date(EXPIRY.name))
    return day


def _strike(values: Mapping[str, str]) -> float:
    raw = parse.required_text(values, STRIKE)
    if _NUMBER.fullmatch(raw) is None or not math.isfinite(float(raw)):
        raise Refusal(400, sentences.STRIKE_PRICE_FORM)
    return float(as_meant(float(raw)))  # a strike that was computed in doubles


def _option_type(values: Mapping[str, str]) -> str:
    kind = _upper(values, OPTION_TYPE)
    if kind not in ("CE", "PE"):
        raise Refusal(400, sentences.OPTION_TYPE_FORM)
    return kind
