"""The details of instruments (rules 1.4.5): of one instrument by GET, of a list by POST (rules 1.4.6)."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.interface import Instrument, Snapshot
from onebroker.brokers.records import Listing
from onebroker.config.messages import instruments as sentences
from onebroker.http import parse, render
from onebroker.http.answers import instruments as answers
from onebroker.http.answers.shared import SHARE, results_example
from onebroker.http.instruments import batch, instrument_names, mapping_date
from onebroker.http.instruments.mapping_date import DATE
from onebroker.http.route import Answer, Handler, Route, failure
from onebroker.http.services import Services

Build: TypeAlias = Callable[[Instrument, Snapshot], dict[str, object]]

NAMING_ANSWERS = (
    failure(
        400, "The instrument is not named as it must be; the sentence says what is missing.", sentences.NOTHING_GIVEN
    ),
    failure(
        404,
        sentences.not_mapped("<id or fields>", "<date>"),
        sentences.not_mapped(str(SHARE["instrument_id"]), "2026-11-20"),
    ),
    mapping_date.NEVER_MAPPED,
)


def details_record(instrument: Instrument, snapshot: Snapshot) -> dict[str, object]:
    """Return the record of an instrument and each broker's naming of it (rules 1.2.7; fields as architecture 8)."""
    return {
        **instrument.identity.fields(),
        "name": instrument.name,
        "isin": instrument.isin,
        "lot_size": instrument.lot_size,
        "tick_size": instrument.tick_size,
        "freeze_quantity": instrument.freeze_quantity,
        "brokers": {code: _naming_of(listing) for code, listing in instrument.listings.items()},
    }


def additional_record(instrument: Instrument, snapshot: Snapshot) -> dict[str, object]:
    """Return the details record, with the further attributes from each broker's file."""
    attributes = snapshot.attributes(instrument.instrument_id)
    return {**details_record(instrument, snapshot), "attributes": attributes}


def _naming_of(listing: Listing) -> dict[str, object]:
    return {
        "broker_token": listing.broker_token,
        "tradingsymbol": listing.tradingsymbol,
        "exchange": listing.exchange,
        "lot_size": listing.lot_size,
        "tick_size": listing.tick_size,
    }


def _of_one(build: Build) -> Handler:
    async def read(request: Request, services: Services) -> Response:
        day = parse.day(request.args, DATE)
        name = instrument_names.read_name(request.args)
        snapshot = await mapping_date.mapping(services.required_instruments(), day)
        record = build(instrument_names.find(name, snapshot), snapshot)
        return mapping_date.dated(render.json_answer(record), snapshot)

    return read


def _of_many(build: Build) -> Handler:
    async def read(request: Request, services: Services) -> Response:
        asked = await batch.read_batch(request)
        day = parse.day(asked.shared, DATE)
        snapshot = await mapping_date.mapping(services.required_instruments(), day)

        async def record_of(item: Mapping[str, str]) -> dict[str, object]:
            return build(instrument_names.find_once(instrument_names.read_name(item), snapshot), snapshot)

        return mapping_date.dated(await batch.answer(asked, record_of), snapshot)

    return read


_HEADER = "header `X-Mapping-Date` says which mapping answered"


def _routes(name: str, build: Build, what: str, kinds: tuple[Any, Any], example: object) -> tuple[Route, ...]:
    path = f"/api/instruments/{name}"
    return (
        Route(
            method="GET",
            path=path,
            handler=_of_one(build),
            tag="instruments",
            operation_id=f"get_{name}",
            summary=f"One instrument: {what}",
            parameters=(*instrument_names.PARAMETERS, DATE),
            answers=(
                Answer(
                    status=200,
                    doc=f"The record; {_HEADER}",
                    type=kinds[0],
                    example=example,
                    headers=mapping_date.HEADER,
                ),
                *NAMING_ANSWERS,
                *mapping_date.DATE_ANSWERS,
            ),
        ),
        Route(
            method="POST",
            reads_only=True,
            path=path,
            handler=_of_many(build),
            tag="instruments",
            operation_id=f"get_{name}_list",
            summary=f"Several instruments: {what}",
            parameters=(batch.INSTRUMENTS, batch.shared(DATE)),
            examples={"two": {"instruments": batch.TWO_NAMED, "date": "2026-11-20"}},
            answers=(
                Answer(
                    status=200,
                    doc=f"An entry for each item, in their order, each with the status the GET form would give; {_HEADER}",
                    type=kinds[1],
                    example=results_example(example),
                    headers=mapping_date.HEADER,
                ),
                batch.BODY_ANSWER,
                *mapping_date.DATE_ANSWERS,
            ),
        ),
    )


ROUTES = (
    *_routes(
        "details", details_record, "how each broker names it",
        (answers.Details, answers.DetailsResults), answers.DETAILS_EXAMPLE,
    ),
    *_routes(
        "additional_details", additional_record, "its details, and what each broker's file says besides",
        (answers.AdditionalDetails, answers.AdditionalDetailsResults), answers.ADDITIONAL_DETAILS_EXAMPLE,
    ),
)  # fmt: skip
