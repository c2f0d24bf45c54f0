"""Fyers' REST quotes: fifty symbols a call, without depth (depth is one call per symbol, which we do not use).

Source: documentation "FYERS API v3", market data, not re-read by us.
"""

from collections.abc import Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.contained import read_quotes
from onebroker.brokers.codec.fields import Row, epoch_seconds, in_units, price, required, row_of, text
from onebroker.brokers.fyers import values, wire
from onebroker.brokers.fyers.books import rows_under
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse

most_per_call = wire.QUOTES_PER_CALL


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build GET /quotes on the data host for up to `most_per_call` instruments."""
    symbols = ",".join(listing.tradingsymbol for listing in listings)
    host = access.endpoints.others["data_url"]
    return wire.request(access, CallKind.QUOTE, "GET", wire.QUOTES, query=[("symbols", symbols)], host=host)


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return ticks by broker_token; a symbol that Fyers refuses inside the answer is left out.

    Raises `BadAnswer` for a quote whose content names another instrument than its heading.
    """
    asked = {listing.tradingsymbol: listing for listing in listings}

    def read(row: Row) -> Tick | None:
        listing = asked.get(required(row, "n"))
        if listing is None or row.get("s") == wire.ERROR:
            return None
        quote = row_of(row.get("v"))
        _check(quote, listing)
        return _tick(quote, listing)

    return read_quotes(rows_under("d", response), read)


def _check(quote: dict[str, object], listing: Listing) -> None:
    """Compare symbol and token of a quote with the request; an index is listed by its name, so its segment is compared."""
    ticker = text(quote.get("symbol"))
    told = None if quote.get("fyToken") is None else values.broker_token(quote, "fyToken")
    token = listing.broker_token
    if told is not None and values.is_index(listing.tradingsymbol):
        told, token = values.segment(told), values.segment(token)
    if ticker not in (None, listing.tradingsymbol) or told not in (None, token):
        raise BadAnswer(f"the quote of {listing.tradingsymbol} is about instrument {ticker or told}")


def _tick(quote: dict[str, object], listing: Listing) -> Tick | None:
    last = price(quote.get("lp"))
    if last is None:
        return None  # never traded: there is no price to serve
    units = values.contract_units(listing.broker_token, {listing.broker_token: listing})
    if values.is_index(listing.tradingsymbol):
        units = None  # an index has no quantities, though the answer carries zeros
    moment = epoch_seconds(quote.get("tt"))
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        average_price=price(quote.get("atp")),
        open=price(quote.get("open_price")),
        high=price(quote.get("high_price")),
        low=price(quote.get("low_price")),
        previous_close=price(quote.get("prev_close_price")),
        volume=in_units(quote, "volume", units),
        exchange_time=moment,
    )
