"""Answers of the instrument routes (rules 1.2.1, 1.2.7; fields as architecture 8)."""

from typing import Annotated, Any, Literal

import msgspec

from onebroker.config.instruments import SEGMENTS, Shape
from onebroker.config.schema_marks import one_of
from onebroker.http.answers.shared import (
    SHARE,
    DayText,
    ExchangeName,
    Instrument,
    SegmentName,
    entry_of,
    results_of,
)


class InstrumentRecord(Instrument, kw_only=True):
    """One instrument of a list."""

    name: str | None
    isin: str | None
    lot_size: int | None
    """Units in a lot; null when the brokers do not agree on it."""
    tick_size: float | None
    """Rupees; null when the brokers do not agree on it."""


class SegmentCount(msgspec.Struct, kw_only=True):
    """A segment of an exchange that holds instruments."""

    exchange: ExchangeName
    segment: SegmentName
    bare_segment: Annotated[str, one_of(SEGMENTS)]
    """The segment without the exchange; requests may use either."""
    shape: Shape
    identity_fields: list[Literal["symbol", "underlying_symbol", "expiry_date", "strike_price", "option_type"]]
    """The fields that name an instrument of the segment."""
    instruments: int


class SegmentList(msgspec.Struct, kw_only=True):
    """The segments of the latest mapping, in their fixed order."""

    mapping_date: DayText
    exchanges: list[ExchangeName]
    segments: list[SegmentCount]


class Search(msgspec.Struct, kw_only=True):
    """Instruments that a search found."""

    mapping_date: DayText
    exchange: ExchangeName
    segment: SegmentName
    query: str
    matched: int
    """All that match, also beyond `limit`."""
    instruments: list[InstrumentRecord]


class BrokerNaming(msgspec.Struct, kw_only=True):
    """How one broker names an instrument."""

    broker_token: str
    tradingsymbol: str
    exchange: str
    """The broker's own exchange code."""
    lot_size: int | None
    """Units in a lot."""
    tick_size: float | None
    """Rupees."""


class Details(InstrumentRecord, kw_only=True):
    """One instrument, with each broker's naming of it."""

    freeze_quantity: int | None
    """The most units that the exchange takes in one order; null when it is not known."""
    brokers: dict[str, BrokerNaming]
    """Broker code -> naming; only brokers that list the instrument."""


class AdditionalDetails(Details, kw_only=True):
    """The details, with the further attributes of each broker's instrument file."""

    attributes: dict[str, dict[str, str]]
    """Broker code -> attribute -> value, as in the file."""


DetailsResults: Any = results_of("Details", entry_of("Details", Details))
AdditionalDetailsResults: Any = results_of("AdditionalDetails", entry_of("AdditionalDetails", AdditionalDetails))


# --- examples ---------------------------------------------------------------------------------------------------------------

SEGMENTS_EXAMPLE = {
    "mapping_date": "2026-11-20",
    "exchanges": ["nse"],
    "segments": [
        {
            "exchange": "nse",
            "segment": "nse_equities",
            "bare_segment": "equities",
            "shape": "security",
            "identity_fields": ["symbol"],
            "instruments": 2180,
        }
    ],
}
RECORD_EXAMPLE = {**SHARE, "name": "INFOSYS", "isin": "INE009A01021", "lot_size": 1, "tick_size": 0.05}
SEARCH_EXAMPLE = {
    "mapping_date": "2026-11-20",
    "exchange": "nse",
    "segment": "nse_equities",
    "query": "inf",
    "matched": 1,
    "instruments": [RECORD_EXAMPLE],
}
DETAILS_EXAMPLE = {
    **RECORD_EXAMPLE,
    "freeze_quantity": None,
    "brokers": {
        "zerodha": {
            "broker_token": "408065",
            "tradingsymbol": "INFY",
            "exchange": "NSE",
            "lot_size": 1,
            "tick_size": 0.05,
        }
    },
}
ADDITIONAL_DETAILS_EXAMPLE = {**DETAILS_EXAMPLE, "attributes": {"zerodha": {"exchange_token": "1594"}}}
