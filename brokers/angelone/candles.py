"""SmartAPI's historical candles. They carry no open interest, which is another call (`getOIData`) that we do not use.

Source: SmartAPI documentation, historical, not re-read by us. Days further back than about 2,000 are silently missing
(seen by others).
"""

from collections.abc import Sequence
from datetime import date

from onebroker.brokers.angelone import values, wire
from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_candles, word_and_spans
from onebroker.brokers.codec.fields import epoch
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import CallKind, WireRequest, WireResponse

INTERVALS = {
    "1minute": ("ONE_MINUTE", 30),
    "3minute": ("THREE_MINUTE", 60),
    "5minute": ("FIVE_MINUTE", 100),
    "10minute": ("TEN_MINUTE", 100),
    "15minute": ("FIFTEEN_MINUTE", 200),
    "30minute": ("THIRTY_MINUTE", 200),
    "60minute": ("ONE_HOUR", 400),
    "day": ("ONE_DAY", 2000),
}
"""Our interval (rules 1.4.8) -> SmartAPI's word and the most days of one call."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError for an interval that SmartAPI does not offer."""
    word, calls = word_and_spans("angelone", INTERVALS, interval, first, last)
    requests = []
    for start, end in calls:
        body = {
            "exchange": listing.exchange,
            "symboltoken": values.symbol_token(listing.broker_token),
            "interval": word,
            "fromdate": f"{start} 00:00",
            "todate": f"{end} 23:59",
        }
        requests.append(wire.request(access, CallKind.HISTORY, "POST", wire.CANDLES, body))
    return tuple(requests)


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first; volume in units, None where the units are not known or do not exist."""
    units = values.contract_units(listing.broker_token, {listing.broker_token: listing})
    if values.is_index(listing.broker_token):
        units = None
    # A span without candles is answered with null.
    answers = ({"candles": [] if rows is None else rows} for rows in map(wire.data, responses))
    return read_candles(answers, units, epoch)
