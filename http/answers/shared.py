"""Types that several areas of the API answer with: failures, instruments' identity, entries of lists."""

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from onebroker.config.instruments import EXCHANGES, Shape, prefixed_segment, security, segments_of
from onebroker.config.schema_marks import DAY, UUID, one_of, schema_of
from onebroker.config.vocabulary import Outcome, ReadStatus

Json: TypeAlias = dict[str, Any] | list[dict[str, Any] | str | float | bool | None] | str | float | bool | None
"""What brokers answer: any JSON but arrays of arrays."""
Unset: TypeAlias = msgspec.UnsetType
UNSET = msgspec.UNSET

STORED_SEGMENTS = tuple(
    dict.fromkeys(prefixed_segment(exchange, bare) for exchange in EXCHANGES for bare in segments_of(exchange))
)
ExchangeName: TypeAlias = Annotated[str, one_of([str(name) for name in EXCHANGES])]
SegmentName: TypeAlias = Annotated[str, one_of(STORED_SEGMENTS)]
UuidText: TypeAlias = Annotated[str, UUID]
DayText: TypeAlias = Annotated[str, DAY]
OptionType: TypeAlias = Literal["CE", "PE"]


class BrokerRead(msgspec.Struct, kw_only=True):
    """One broker's part in a document."""

    broker: str
    """Broker code."""
    status: ReadStatus
    """`ok`: read and recent. `stale`: older than the document's limit, and still included. `missing`, `unreadable`: not included."""
    as_of: str | None
    """When the broker was last read, YYYY-MM-DDTHH:MM:SS in Indian time; null when it is missing."""


class Skipped(msgspec.Struct, kw_only=True):
    """A broker that was passed over for an order."""

    broker: str
    reason: str


class Holder(msgspec.Struct, kw_only=True):
    """A broker that can deliver a part of a delivery sale."""

    broker: str
    quantity: int | None
    """Units; null when the holdings there cannot be read."""


class Failure(msgspec.Struct, kw_only=True):
    """Why a request was not carried out. The other keys are there where they help."""

    error: str
    """The reason, as a sentence."""
    outcome: Outcome | Unset = UNSET
    """`unknown`: the request may have been carried out all the same."""
    broker: str | Unset = UNSET
    order_id: str | Unset = UNSET
    brokers: list[Annotated[msgspec.Raw, schema_of("FundsRead", "BrokerRead", "BrokerCode")]] | Unset = UNSET
    """The parts of the document that is not served, or the brokers that hold an order of this id."""
    instrument_id: str | Unset = UNSET
    skipped: list[Skipped] | Unset = UNSET
    holders: list[Holder] | Unset = UNSET
    """(ours) Of a delivery sale that no broker can deliver: who can deliver a part."""
    contract_size_status: str | Unset = UNSET
    """Why the number of units in a contract is not known."""
    as_of: str | Unset = UNSET
    """When the document that is not served was written, YYYY-MM-DDTHH:MM:SS in Indian time."""
    intent_id: str | Unset = UNSET
    """`GET /api/orders/intents/<intent_id>` tells later what came of it."""
    parent_id: str | Unset = UNSET
    part: str | Unset = UNSET
    expired_seconds: float | Unset = UNSET
    """For how long the caller had stopped waiting, in seconds."""


class Instrument(msgspec.Struct, kw_only=True):
    """The nine identity fields of an instrument."""

    instrument_id: UuidText
    """The same at every broker and on every day."""
    exchange: ExchangeName
    segment: SegmentName
    shape: Shape
    symbol: str | None
    """Of a security."""
    underlying_symbol: str | None
    """Of a future or an option."""
    expiry_date: DayText | None
    """Of a future or an option."""
    strike_price: float | None
    """Of an option, in rupees."""
    option_type: OptionType | None


def entry_of(name: str, data: type, **more: Any) -> type[msgspec.Struct]:
    """Return the type of an entry of a POST form's answer, whose `data` is the answer of the GET form. `more`: fields beside `data`."""
    return msgspec.defstruct(
        f"{name}Entry",
        [
            ("request_index", int),
            ("status", int),
            ("data", data | Unset, UNSET),
            ("error", str | Unset, UNSET),
            *((field, kind | Unset, UNSET) for field, kind in more.items()),
        ],
        kw_only=True,
        namespace={
            "__doc__": "One item's answer: the place of the item in the request, the status that the GET form would give, and `data` (200) or `error`."
        },
    )


def results_of(name: str, entry: type) -> type[msgspec.Struct]:
    """Return the type of a list's answer: `results`, in the order of the request."""
    doc = "An entry for each item of the request, in its order."
    return msgspec.defstruct(f"{name}Results", [("results", list[entry])], kw_only=True, namespace={"__doc__": doc})  # type: ignore[valid-type]


# --- examples ---------------------------------------------------------------------------------------------------------------

BROKER = "zerodha"
SHARE = security("nse", "equities", "INFY").fields()
INTENT_ID = "0a6f0c53-7e0b-4f57-9a39-6c1a3cf4b4f6"
PARENT_ID = "b6a9e7f2-2d7a-4c3c-8f3e-0f0d7a4d7a51"
AS_OF = "2026-11-25T09:16:02"


def results_example(data: object) -> dict[str, object]:
    """Return an example answer of a POST form: one item is found, one item names no instrument."""
    return {
        "results": [
            {"request_index": 0, "status": 200, "data": data},
            {"request_index": 1, "status": 400, "error": "instrument_id must be a UUID"},
        ]
    }
