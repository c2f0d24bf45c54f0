"""5paisa's historical candles, from a separate host.

Source: docs/brokers/fivepaisa.md, sections 3 and 4: six months a call of minute candles, no limit for daily ones; times
are Indian without an offset; there is no open interest. Failures have their own envelopes.
"""

from collections.abc import Sequence
from datetime import date
from urllib.parse import urlencode

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_candles, word_and_spans
from onebroker.brokers.codec.fields import epoch, row_of, text
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, BrokerRefusal, CallKind, WireRequest, WireResponse

SIX_MONTHS, CENTURY = 180, 36500
"""Days of one call; six months have at least 181 days."""

INTERVALS = {
    **{f"{minutes}minute": (f"{minutes}m", SIX_MONTHS) for minutes in (1, 3, 5, 10, 15, 30, 60)},
    "day": ("1d", CENTURY),
}
"""Our interval (rules 1.4.8) -> 5paisa's word and the most days of one call. `3m` is in the SDK, not in the pages."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError for an interval that 5paisa does not offer."""
    word, calls = word_and_spans("fivepaisa", INTERVALS, interval, first, last)
    base = access.endpoints.others["historical_url"]
    path = "/".join((*values.parts(listing.broker_token), word))
    headers = {"Accept": "application/json"}
    if access.login is not None:
        headers["Authorization"] = f"bearer {access.token(wire.TOKEN)}"
    return tuple(
        WireRequest(
            kind=CallKind.HISTORY,
            method="GET",
            url=f"{wire.url(base, path)}?{urlencode({'from': start, 'end': end})}",
            headers=headers,
        )
        for start, end in calls
    )


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first; volume in units, None where the units are not known or do not exist."""
    units = values.contract_units(listing.broker_token, {listing.broker_token: listing})
    if values.is_index(listing.broker_token):
        units = None
    return read_candles(map(_data, responses), units, epoch)


def _data(response: WireResponse) -> dict[str, object]:
    """Return the content of `data`; raise `BrokerRefusal` for either envelope of a failure, else `BadAnswer`."""
    refusal = wire.refusal_of(response)
    if refusal is not None:
        raise refusal
    answer = row_of(response.json())
    data = answer.get("data")
    if response.status == 200 and isinstance(data, dict):
        return data
    status, message = text(answer.get("status")), text(answer.get("message"))
    if status is not None and status.lower() != "success":
        raise BrokerRefusal(wire.kind_of(message or status), message or status)
    raise BadAnswer(f"HTTP {response.status} without candles")
