"""The routes of a replica: the reads that the stream feeds, with the paths, answers and sentences of the service. Every other route of the
service answers 403 and says where to ask."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeAlias

import attrs
import trio
from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.interface import Instrument
from onebroker.actors.engine.intake import request_fields
from onebroker.actors.quotes import quote_document
from onebroker.actors.quotes.tick_fold import Quote
from onebroker.config.clock import local_text
from onebroker.config.instruments import InstrumentName
from onebroker.config.messages import orders as order_texts
from onebroker.config.messages import replica as sentences
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.instruments import batch, instrument_names
from onebroker.http.replica import answers
from onebroker.http.replica.link import Link
from onebroker.http.replica.mirror import Mirror
from onebroker.http.route import Answer, Handler, Route, TokenRule
from onebroker.http.route_table import ROUTES
from onebroker.http.routes import api_pages
from onebroker.http.services import Services

QUOTE_SECONDS = 5.0
"""The longest wait for the first quote of an instrument: the service may have to ask a broker for it."""
QUOTES_AT_ONCE = 500

Build: TypeAlias = Callable[[Quote, Instrument, quote_document.Source, float], dict[str, object]]

_SAME = frozenset(
    {
        "/health",
        "/metrics",
        "/api/portfolio/funds",
        "/api/portfolio/holdings",
        "/api/portfolio/positions",
        "/api/orders/details",
        "/api/orders/trades",
        "/stream",
    }
)
"""Paths whose GET is answered by the service's own handler."""
_QUOTES: Mapping[str, Build] = {
    "/api/instruments/ltp": quote_document.ltp_document,
    "/api/instruments/ohlc": quote_document.ohlc_document,
    "/api/instruments/quote": quote_document.quote_document,
}


def replica_routes(mirror: Mirror, link: Link) -> tuple[Route, ...]:
    """Return the route table: the reads, described by the replica's own document, and a refusal for every other route of the service."""
    served = (*filter(None, (_served(route, mirror, link) for route in ROUTES)), _replica_row(mirror, link))
    described = (*served, *api_pages.describing(served))
    taken = {(route.method, route.path) for route in described}
    refuse = _refusing(mirror.service)
    # Refused before any body is read; without a token too, so that a client at the wrong address learns it at once.
    refused = (
        attrs.evolve(route, handler=refuse, token=TokenRule.OPEN, reads_only=True)
        for route in ROUTES
        if (route.method, route.path) not in taken
    )
    return (*described, *refused)


def _served(route: Route, mirror: Mirror, link: Link) -> Route | None:
    """Return the replica's row for a row of the service; None if the replica does not have the route."""
    own = _own_handler(route, mirror, link)
    if own is not None:
        return attrs.evolve(route, handler=own)
    return route if route.method == "GET" and route.path in _SAME else None


def _own_handler(route: Route, mirror: Mirror, link: Link) -> Handler | None:
    if route.path in _QUOTES:
        build = _QUOTES[route.path]
        return partial(_of_one if route.method == "GET" else _of_many, build, mirror, link)
    match route.method, route.path:
        case "GET", "/api/orders/parents":
            return partial(_parents, mirror)
    return None


def _replica_row(mirror: Mirror, link: Link) -> Route:
    return Route(
        method="GET",
        path="/api/replica",
        handler=partial(_state, mirror, link),
        tag="health",
        operation_id="get_replica",
        summary="Whether the replica hears the service, and how old its documents are",
        answers=(
            Answer(
                status=200,
                doc="`status` is `degraded` while the service is not heard, else `ok`",
                type=answers.ReplicaState,
                example=answers.EXAMPLE,
            ),
        ),
    )


def _refusing(service: str) -> Handler:
    async def refuse(request: Request, services: Services) -> Response:
        raise Refusal(403, sentences.only_reads(service))

    return refuse


def names_in(items: Sequence[object]) -> list[InstrumentName]:
    """Return the instruments that a list names. Items that name none are left out: each of them is refused where it is answered."""
    names: list[InstrumentName] = []
    for item in items:
        if isinstance(item, dict):
            with suppress(Refusal):
                names.append(instrument_names.read_name(batch.texts(item)))
    return names


async def _of_one(build: Build, mirror: Mirror, link: Link, request: Request, services: Services) -> Response:
    name = instrument_names.read_name(request.args)
    await link.follow([name])
    instrument = link.find(name)
    return render.json_answer(build(await _quote(mirror, instrument), instrument, "cache", services.clock.epoch()))


async def _of_many(build: Build, mirror: Mirror, link: Link, request: Request, services: Services) -> Response:
    asked = await batch.read_batch(request)
    await link.follow(names_in(asked.items))

    async def quote_of(item: Mapping[str, str]) -> dict[str, object]:
        instrument = link.find(instrument_names.read_name(item))
        return build(await _quote(mirror, instrument), instrument, "cache", services.clock.epoch())

    return await batch.answer(asked, quote_of, at_once=QUOTES_AT_ONCE)


async def _quote(mirror: Mirror, instrument: Instrument) -> Quote:
    """Return the quote if it may be served; else wait a little for one. Raises Refusal 503."""
    stored = mirror.quotes.stored(instrument)
    if stored is not None:
        return stored
    if mirror.is_heard:
        with mirror.quotes.followers.open((instrument.instrument_id,)) as changes, trio.move_on_after(QUOTE_SECONDS):
            async for _ in changes:
                stored = mirror.quotes.stored(instrument)
                if stored is not None:
                    return stored
    if not mirror.is_heard:
        raise Refusal(503, sentences.not_connected(mirror.service))
    raise Refusal(503, sentences.no_quote(mirror.service))


async def _parents(mirror: Mirror, request: Request, services: Services) -> Response:
    if not mirror.is_heard:
        raise Refusal(503, sentences.not_connected(mirror.service))
    given = request.args.get("parent_id")
    if given is None:
        return render.json_answer(mirror.parents.shown())
    parent = mirror.parents.find(request_fields.uuid_text(given, order_texts.PARENT_NAME))
    if parent is None:
        raise Refusal(403, sentences.only_unfinished(mirror.service))
    return render.json_answer(parent)


async def _state(mirror: Mirror, link: Link, request: Request, services: Services) -> Response:
    is_heard, now = mirror.is_heard, services.clock
    state = answers.ReplicaState(
        status="ok" if is_heard else "degraded",
        time=local_text(now.now()),
        service=mirror.service,
        why_not=None if is_heard else link.why_not,
        heard_for_seconds=None if link.since is None else round(now.monotonic() - link.since, 1),
        behind_seconds=round(mirror.behind_seconds, 3) if is_heard else None,
        document_age_seconds={
            name: None if held.value is None else round(now.epoch() - held.value.as_of_epoch, 3)
            for name, held in mirror.documents.items()
        },
        instruments=len(mirror.quotes.known),
        streams=services.required_live().streams.figures().connections,
    )
    return render.json_answer(state)
