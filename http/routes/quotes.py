"""Market quote routes (spec 1 §4.7): ltp, ohlc and quote of one instrument."""

from collections.abc import Callable

from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.quotes import document
from onebroker.actors.quotes.fold import Quote
from onebroker.actors.quotes.messages import FetchQuote, Found
from onebroker.config.messages import quotes as sentences
from onebroker.http import instrument_naming as naming
from onebroker.http import render
from onebroker.http.route import Answer, Handler, Route
from onebroker.http.routes.instruments import NAMING_ANSWERS
from onebroker.http.services import InstrumentServices, Services

FETCH_SECONDS = 120.0
"""How long a client waits while brokers are asked, one after the other."""

Build = Callable[[Quote, Instrument, document.Source, float], dict[str, object]]


def _reader(build: Build) -> Handler:
    async def read(request: Request, services: Services) -> Response:
        name = naming.read_name(request.args)
        doors = services.required_instruments()
        instrument = naming.find(name, naming.mapped(doors.catalogue.value.latest))
        found = await _quote(doors, instrument)
        return render.json_answer(build(found.quote, instrument, found.source, services.clock.epoch()))

    return read


async def _quote(doors: InstrumentServices, instrument: Instrument) -> Found:
    """Return the stored quote when it may be served, else a broker's; Refusal 503 when no broker gives one."""
    stored = doors.quotes.stored(instrument)
    if stored is not None:
        return Found(quote=stored, source="cache")
    fetched: Found = await doors.quote_book.ask(
        lambda reply: FetchQuote(instrument=instrument, reply=reply), FETCH_SECONDS
    )
    return fetched


def _route(name: str, build: Build, summary: str, answer: str) -> Route:
    return Route(
        method="GET",
        path=f"/api/instruments/{name}",
        handler=_reader(build),
        tag="quotes",
        summary=summary,
        parameters=naming.PARAMETERS,
        answers=(
            Answer(status=200, doc=answer),
            *NAMING_ANSWERS,
            Answer(
                status=503,
                doc=f"{sentences.NO_BROKER}; {sentences.every_broker_failed([('<broker>', '<reason>')])}; ...",
            ),
        ),
    )


ROUTES = (
    _route(
        "ltp",
        document.ltp_document,
        "The last price of one instrument",
        "The identity fields, `broker, last_price, last_trade_time, received_at, source`",
    ),
    _route(
        "ohlc",
        document.ohlc_document,
        "The day's open, high, low, last price and volume of one instrument",
        "`{open, high, low, close, volume}`; close is the last price",
    ),
    _route(
        "quote",
        document.quote_document,
        "The whole quote of one instrument, with depth",
        "The unified quote with `source` (`cache` or `broker`)",
    ),
)
