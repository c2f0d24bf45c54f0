"""5paisa's REST quotes: the market snapshot. Built, and not in service (architecture 13).

Source: docs/brokers/fivepaisa.md, section 4: the field names are those observed live; the documented sample belongs to
another call. A row may use either names.
"""

from collections.abc import Mapping, Sequence

from onebroker.brokers.broker import Access
from onebroker.brokers.codec.contained import read_quotes
from onebroker.brokers.codec.fields import Row, in_units, number, price, rows_of, text, whole
from onebroker.brokers.fivepaisa import values, wire
from onebroker.brokers.records import Listing, Tick
from onebroker.brokers.requests import BadAnswer, CallKind, WireRequest, WireResponse

most_per_call = wire.QUOTES_PER_CALL


def quote_request(access: Access, listings: Sequence[Listing]) -> WireRequest:
    """Build MarketSnapshot for up to `most_per_call` instruments."""
    asked = []
    for listing in listings:
        exchange, kind, code = values.parts(listing.broker_token)
        asked.append({"Exchange": exchange, "ExchangeType": kind, "ScripCode": code, "ScripData": ""})
    return wire.request(access, CallKind.QUOTE, wire.SNAPSHOT, {"Data": asked})


def parse_quotes(response: WireResponse, listings: Sequence[Listing]) -> dict[str, Tick]:
    """Return ticks by broker_token; 5paisa leaves out instruments that it does not know.

    A row may give only the script code: it counts only where exactly one requested instrument has that code. Raises
    `BadAnswer` for a row with the code of a requested instrument and another exchange.
    """
    asked = {listing.broker_token: listing for listing in listings}

    def read(row: Row) -> Tick | None:
        listing = _about(row, asked)
        return None if listing is None else _tick(row, listing)

    return read_quotes(rows_of(wire.answer(response).get("Data")), read)


def _about(row: Mapping[str, object], asked: Mapping[str, Listing]) -> Listing | None:
    code = text(row.get("ScripCode")) or text(row.get("Token"))
    if code is None:
        return None
    alike = [listing for token, listing in asked.items() if values.parts(token)[2] == code.strip()]
    exchange, kind = _first(row, "Exchange", "Exch"), _first(row, "ExchangeType", "ExchType")
    if exchange is None:
        return alike[0] if len(alike) == 1 else None
    fitting = [listing for listing in alike if _fits(listing.broker_token, exchange, kind)]
    if alike and not fitting:
        raise BadAnswer(f"the quote of {code} is about exchange {exchange} {kind}")
    return fitting[0] if len(fitting) == 1 else None


def _fits(token: str, exchange: str, kind: str | None) -> bool:
    own_exchange, own_kind, _ = values.parts(token)
    return own_exchange == exchange and kind in (None, own_kind)


def _first(row: Mapping[str, object], *names: str) -> str | None:
    return next((word.strip() for name in names if (word := text(row.get(name))) is not None), None)


def _tick(row: Mapping[str, object], listing: Listing) -> Tick | None:
    last = price(row.get("LastTradedPrice")) or price(row.get("LastRate"))
    if last is None:
        return None  # never traded: there is no price to serve
    units = values.contract_units(listing.broker_token, {listing.broker_token: listing})
    closes = (price(row.get(name)) for name in ("PClose", "PreviousClose", "Close"))
    volume = in_units(row, "Volume", units)
    return Tick(
        broker_token=listing.broker_token,
        last_price=last,
        open=price(row.get("Open")),
        high=price(row.get("High")),
        low=price(row.get("Low")),
        previous_close=next((close for close in closes if close is not None), None),
        last_quantity=in_units(row, "LastTradedQty", units),
        volume=in_units(row, "TotalQty", units) if volume is None else volume,
        oi=whole(row.get("OpenInterest")) * units if units and number(row.get("OpenInterest")) else None,
        exchange_time=values.date_epoch(row.get("TickDt")),
    )
