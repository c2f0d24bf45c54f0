"""Shoonya's REST quotes, one instrument a call.

They are not in service (architecture 13). The call is known to answer, complete and `Ok`, for another instrument than the
requested one (lesson 10), so every name in an answer is compared. Source: docs/brokers/shoonya.md, section 4.
"""

from collections.abc import Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.fields import text
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireRequest, WireResponse
from onebroker.brokers.shoonya import wire
from onebroker.brokers.shoonya.ticks import tick
from onebroker.brokers.shoonya.values import factor

most_per_call = 1

_INDEX_KINDS = ("INDEX", "UNDIND")
"""`instname` of an index; its display name differs between file and answer."""


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build GetQuotes for one instrument."""
    (listing,) = listings
    exchange, _, token = listing.broker_token.partition("|")
    return wire.request(access, CallKind.QUOTE, wire.QUOTE, {"exch": exchange, "token": token})


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return the tick by broker_token; empty for an instrument that the broker does not know or that never traded.

    Raises `BadAnswer` when the answer is about another instrument.
    """
    (listing,) = listings
    try:
        answer = wire.answer(response)
    except BrokerRefusal as refusal:
        if wire.has_no_data(refusal):
            return {}
        raise
    row = {name.lower(): value for name, value in answer.items()}  # the documents' sample spells one key So5
    _check_identity(row, listing)
    units = factor(row, listing.exchange, listing.broker_token, {listing.broker_token: listing})
    read = tick(listing.broker_token, row, units, sent="lut")
    return {} if read is None else {listing.broker_token: read}


def _check_identity(row: dict[str, object], listing: Listing) -> None:
    told = f"{text(row.get('exch'))}|{text(row.get('token'))}"
    if told != listing.broker_token:
        raise BadAnswer(f"the quote of {listing.broker_token} is about {told}")
    symbol = text(row.get("tsym"))
    if row.get("instname") not in _INDEX_KINDS and symbol is not None and symbol != listing.tradingsymbol:
        raise BadAnswer(f"the quote of {listing.tradingsymbol} is about {symbol}")
