"""What the lane can answer: the five documents, and stored quotes of one instrument. Each reader has a twin among the routes.

A reader does not wait. If its answer needs more than a look (a broker's quote, a page of a book), the request is not the lane's.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from werkzeug.datastructures import Headers
from werkzeug.sansio.request import Request as BareRequest

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.portfolio.document_age import READ_RULES, ReadRule, servable
from onebroker.actors.quotes import quote_document
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.actors.store.keys import Resource
from onebroker.config.clock import Clock
from onebroker.config.instruments import InstrumentName
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.instruments import instrument_names
from onebroker.http.services import Services

Read: TypeAlias = Callable[[], bytes | None]
"""Returns the body of a 200; None: the request is not the lane's now. Raises Refusal."""
Reader: TypeAlias = Callable[[bytes], Read | None]
"""Query of the request -> how to answer it; None: this request is never the lane's."""

_DOCUMENTS: Mapping[str, Resource] = {
    "/api/portfolio/funds": "funds",
    "/api/portfolio/holdings": "holdings",
    "/api/portfolio/positions": "positions",
    "/api/orders/details": "orders",
    "/api/orders/trades": "trades",
}
_QUOTES: Mapping[str, Callable[[Quote, Instrument, quote_document.Source, float], dict[str, object]]] = {
    "/api/instruments/ltp": quote_document.ltp_document,
    "/api/instruments/ohlc": quote_document.ohlc_document,
    "/api/instruments/quote": quote_document.quote_document,
}


def hot_answers(services: Services) -> dict[str, Reader]:
    """Return the lane's paths, each with its reader."""
    readers: dict[str, Reader] = {
        path: partial(_document, READ_RULES[resource], services) for path, resource in _DOCUMENTS.items()
    }
    stored = services.mirrored_quote
    if services.instruments is not None:
        stored = services.instruments.stored_quote
    if stored is not None:
        readers |= {path: partial(_quote, build, stored, services.clock) for path, build in _QUOTES.items()}
    return readers


def _document(rule: ReadRule, services: Services, query: bytes) -> Read | None:
    """Twin of `routes.portfolio` and of `routes.orders_read` without parameters."""
    if query:
        return None
    held = services.documents.get(rule.resource)

    def read() -> bytes:
        return servable(rule, None if held is None else held.value, services.clock.epoch()).body

    return read


def _quote(
    build: Callable[[Quote, Instrument, quote_document.Source, float], dict[str, object]],
    stored: Callable[[str], tuple[Instrument, Quote] | None],
    clock: Clock,
    query: bytes,
) -> Read | None:
    """Twin of `routes.quotes` for an instrument with a stored quote. A wrong name is not the lane's."""
    try:
        name: InstrumentName = instrument_names.read_name(_arguments(query))
    except Refusal:
        return None

    def read() -> bytes | None:
        found = stored(name.instrument_id)
        if found is None:
            return None
        instrument, quote = found
        return render.encode(build(quote, instrument, "cache", clock.epoch()))

    return read


def _arguments(query: bytes) -> Mapping[str, str]:
    """Return the query's parameters, read as the framework reads them."""
    return BareRequest("GET", "http", None, "", "/", query, Headers(), None).args
