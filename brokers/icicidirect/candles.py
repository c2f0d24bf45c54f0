"""ICICI Direct's historical candles, v2: a query without a signature.

Source: docs/brokers/icicidirect.md, section 4 (SDK, README samples, public notes). Times are India's clock although they
carry a Z. A call answers at most 1,000 rows, and does not say when there were more. So calls are cut so that even a
market that never closes fits in, and an answer that is nevertheless full is refused. v1 is not used: its labels of shares
look shifted by a bar.
"""

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from urllib.parse import urlencode

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.candle_rows import read_series
from onebroker.brokers.codec.fields import Row, epoch, number, required, whole
from onebroker.brokers.icicidirect import naming, wire
from onebroker.brokers.records import Candle, Listing
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse

INTERVALS = {
    "1minute": ("1minute", timedelta(hours=12)),
    "5minute": ("5minute", timedelta(days=3)),
    "30minute": ("30minute", timedelta(days=20)),
    "day": ("1day", timedelta(days=900)),
}
"""Our interval (rules 1.4.8) -> the broker's, and the longest span of one call: below 1,000 rows of a market that never closes."""


def candle_requests(
    access: Access, listing: Listing, interval: str, first: date, last: date
) -> tuple[WireRequest, ...]:
    """Build the calls, both days inclusive, oldest first; raise ValueError for an interval that the broker does not offer."""
    if interval not in INTERVALS:
        raise ValueError(f"icicidirect has no candles of {interval}")
    word, span = INTERVALS[interval]
    name = naming.of_token(listing.broker_token)
    requests = []
    start, end = datetime.combine(first, time()), datetime.combine(last, time()) + timedelta(days=1)
    while start < end:
        until = min(start + span, end)
        query = {
            "interval": word,
            "from_date": _clock_text(start),
            "to_date": _clock_text(until - timedelta(seconds=1)),
            "stock_code": name.stock_code,
            "exch_code": name.exchange,
            "product_type": name.product,
            **name.fields(),
        }
        requests.append(_request(access, query))
        start = until
    return tuple(requests)


def parse_candles(responses: Sequence[WireResponse], listing: Listing) -> list[Candle]:
    """Return the candles of all calls, oldest first, quantities in units; oi is None for shares.

    Raises `BadAnswer` for an answer that may have been cut off, and for a row of another instrument.
    """
    name = naming.of_token(listing.broker_token)
    rows = []
    for response in responses:
        listed = wire.rows(response)
        if len(listed) >= wire.CANDLES_PER_CALL:
            raise BadAnswer("an answer as long as the broker gives at most: candles are missing")
        rows += listed
    return read_series(rows, lambda row: _candle(row, name))


def _clock_text(moment: datetime) -> str:
    return f"{moment.isoformat()}.000Z"


def _request(access: Access, query: dict[str, str]) -> WireRequest:
    return WireRequest(
        kind=CallKind.HISTORY,
        method="GET",
        url=f"{wire.address(access.endpoints.others['rest_v2_url'], wire.HISTORICAL)}?{urlencode(query)}",
        headers={
            "Content-Type": "application/json",
            "User-Agent": wire.USER_AGENT,
            "X-SessionToken": access.token("session_token"),
            "apikey": access.credentials["app_key"],
        },
    )


def _candle(row: Row, name: naming.Name) -> Candle:
    stock_code, exchange = required(row, "stock_code").strip(), required(row, "exchange_code").strip()
    if (stock_code.upper(), exchange.upper()) != (name.stock_code, name.exchange):
        raise BadAnswer(f"a candle of {exchange} {stock_code} among those of {name.symbol}")
    start = epoch(row.get("datetime"))
    prices = [
        figure for figure in (number(row.get(part)) for part in ("open", "high", "low", "close")) if figure is not None
    ]
    if start is None or len(prices) != 4:
        raise BadAnswer("a candle without its time or its prices")
    interest = row.get("open_interest")
    return Candle(
        start=start,
        open=prices[0],
        high=prices[1],
        low=prices[2],
        close=prices[3],
        volume=None if number(row.get("volume")) is None else whole(row.get("volume")),
        oi=None if name.expiry is None or number(interest) is None else whole(interest),
    )
