"""Instrument routes (spec 1 §4.5): the details of one instrument."""

from datetime import date

from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.interface import Instrument, Snapshot
from onebroker.actors.catalogue.messages import GetSnapshot
from onebroker.brokers.records import Listing
from onebroker.config.messages import instruments as sentences
from onebroker.config.refusal import Refusal
from onebroker.http import instrument_naming as naming
from onebroker.http import parse, render
from onebroker.http.route import Answer, Parameter, Route
from onebroker.http.services import InstrumentServices, Services

ASK_SECONDS = 10.0
"""How long a client waits for an older mapping to be opened."""

DATE = Parameter(
    name="date", place="query", kind="date",
    doc="Answer from the latest mapping on or before this day; the latest when not given.",
)  # fmt: skip

NAMING_ANSWERS = (
    Answer(status=400, doc="The instrument is not named as it must be; the sentence says what is missing."),
    Answer(status=404, doc=sentences.not_mapped("<id or fields>", "<date>")),
    Answer(status=503, doc=sentences.NEVER_MAPPED),
)


async def details(request: Request, services: Services) -> Response:
    day = parse.day(request.args, DATE)
    name = naming.read_name(request.args)
    snapshot = await _mapping(services.required_instruments(), day)
    response = render.json_answer(details_record(naming.find(name, snapshot)))
    response.headers["X-Mapping-Date"] = snapshot.mapping_date.isoformat()
    return response


async def _mapping(services: InstrumentServices, day: date | None) -> Snapshot:
    """Return the mapping of `day`; Refusal 503 when there is none at all, 404 when there is none so early."""
    latest = naming.mapped(services.catalogue.value.latest)
    if day is None or day >= latest.mapping_date:
        return latest
    older: Snapshot | None = await services.catalogue_actor.ask(lambda reply: GetSnapshot(day, reply), ASK_SECONDS)
    if older is None:
        raise Refusal(404, sentences.nothing_mapped_by(day))
    return older


def details_record(instrument: Instrument) -> dict[str, object]:
    """Return the record of an instrument with how each broker names it (spec 1 §2.7; fields as architecture 8)."""
    return {
        **instrument.identity.fields(),
        "name": instrument.name,
        "isin": instrument.isin,
        "lot_size": instrument.lot_size,
        "tick_size": instrument.tick_size,
        "freeze_quantity": instrument.freeze_quantity,
        "brokers": {code: _naming_of(listing) for code, listing in instrument.listings.items()},
    }


def _naming_of(listing: Listing) -> dict[str, object]:
    return {
        "broker_token": listing.broker_token,
        "tradingsymbol": listing.tradingsymbol,
        "exchange": listing.exchange,
        "lot_size": listing.lot_size,
        "tick_size": listing.tick_size,
    }


ROUTES = (
    Route(
        method="GET",
        path="/api/instruments/details",
        handler=details,
        tag="instruments",
        summary="One instrument, and how each broker names it",
        parameters=(*naming.PARAMETERS, DATE),
        answers=(
            Answer(
                status=200,
                doc="The identity fields, `name, isin, lot_size, tick_size, freeze_quantity, brokers`; "
                "header `X-Mapping-Date` says which mapping answered",
            ),
            *NAMING_ANSWERS,
        ),
    ),
)
