"""Market quote routes (rules 1.4.7): ltp, ohlc and quote, of one instrument by GET, of a list by POST (rules 1.4.6)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut
from onebroker.actors.quotes import quote_document
from onebroker.actors.quotes.messages import FetchQuote, Found
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.config.messages import quotes as sentences
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.answers import quotes as answers
from onebroker.http.answers.shared import results_example
from onebroker.http.instruments import batch, instrument_names, mapping_date
from onebroker.http.route import Answer, Handler, Route, failure
from onebroker.http.routes.instruments import NAMING_ANSWERS
from onebroker.http.services import InstrumentServices, Services

FETCH_SECONDS = 120.0
"""Seconds that a client waits while brokers are asked one after the other; the quote book gives up sooner."""
FETCHES_AT_ONCE = 4
"""For one list (rules 1.8)."""

Build: TypeAlias = Callable[[Quote, Instrument, quote_document.Source, float], dict[str, object]]


def _of_one(build: Build) -> Handler:
    async def read(request: Request, services: Services) -> Response:
        name = instrument_names.read_name(request.args)
        instrument_services = services.required_instruments()
        instrument = instrument_names.find(name, instrument_names.mapped(instrument_services.catalogue.value.latest))
        found = await _quote(instrument_services, instrument)
        return render.json_answer(build(found.quote, instrument, found.source, services.clock.epoch()))

    return read


def _of_many(build: Build) -> Handler:
    async def read(request: Request, services: Services) -> Response:
        asked = await batch.read_batch(request)
        instrument_services = services.required_instruments()
        snapshot = instrument_names.mapped(instrument_services.catalogue.value.latest)

        async def quote_of(item: Mapping[str, str]) -> dict[str, object]:
            instrument = instrument_names.find_once(instrument_names.read_name(item), snapshot)
            found = await _quote(instrument_services, instrument)
            return build(found.quote, instrument, found.source, services.clock.epoch())

        return await batch.answer(asked, quote_of, at_once=FETCHES_AT_ONCE)

    return read


async def _quote(instrument_services: InstrumentServices, instrument: Instrument) -> Found:
    """Return the stored quote if it may be served, else a broker's quote; Refusal 503 if no broker gives one."""
    stored = instrument_services.quotes.stored(instrument)
    if stored is not None:
        return Found(quote=stored, source="cache")
    try:
        fetched: Found = await instrument_services.quote_book.ask(
            lambda reply: FetchQuote(instrument=instrument, reply=reply), FETCH_SECONDS
        )
    except (ActorNotRunning, AskTimedOut) as error:
        raise Refusal(503, sentences.NO_BOOK) from error  # a read has no unknown outcome
    return fetched


_FAILURES = failure(
    503,
    f"{sentences.NO_BROKER}; {sentences.every_broker_failed([('<broker>', '<reason>')])}; ...",
    sentences.NO_BROKER,
)


def _routes(name: str, build: Build, what: str, kinds: tuple[Any, Any], example: object) -> tuple[Route, ...]:
    path = f"/api/instruments/{name}"
    return (
        Route(
            method="GET",
            path=path,
            handler=_of_one(build),
            tag="quotes",
            operation_id=f"get_{name}",
            summary=f"One instrument: {what}",
            parameters=instrument_names.PARAMETERS,
            answers=(
                Answer(status=200, doc="The newest quote, stored or fetched", type=kinds[0], example=example),
                *NAMING_ANSWERS,
                _FAILURES,
            ),
        ),
        Route(
            method="POST",
            reads_only=True,
            path=path,
            handler=_of_many(build),
            tag="quotes",
            operation_id=f"get_{name}_list",
            summary=f"Several instruments: {what}",
            parameters=(batch.INSTRUMENTS,),
            examples={"two": {"instruments": batch.TWO_NAMED}},
            answers=(
                Answer(
                    status=200,
                    doc="An entry for each item, in their order, each with the status the GET form would give",
                    type=kinds[1],
                    example=results_example(example),
                ),
                batch.BODY_ANSWER,
                mapping_date.NEVER_MAPPED,
            ),
        ),
    )


ROUTES = (
    *_routes("ltp", quote_document.ltp_document, "its last price", (answers.Ltp, answers.LtpResults), answers.LTP_EXAMPLE),
    *_routes(
        "ohlc", quote_document.ohlc_document, "the day's open, high and low, the last price as close, and the volume",
        (answers.Ohlc, answers.OhlcResults), answers.OHLC_EXAMPLE,
    ),
    *_routes(
        "quote", quote_document.quote_document, "its whole quote, with depth",
        (answers.Quote, answers.QuoteResults), answers.QUOTE_EXAMPLE,
    ),
)  # fmt: skip
