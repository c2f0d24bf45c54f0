"""The list of instruments (rules 1.4.5): its segments, the whole list, search."""

from collections.abc import AsyncGenerator

import attrs
import msgspec
import trio
from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.interface import Snapshot
from onebroker.actors.catalogue.master import SegmentCount
from onebroker.config.instruments import EXCHANGES, IDENTITY_FIELDS, SEGMENT_SHAPES, bare_segment
from onebroker.config.messages import instruments as sentences
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.schema_marks import COMPONENTS
from onebroker.http import parse, render
from onebroker.http.answers import instruments as answers
from onebroker.http.bodies.long_body_out import array_answer
from onebroker.http.instruments import instrument_names, mapping_date
from onebroker.http.instruments.mapping_date import DATE
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import Services

EXCHANGE = attrs.evolve(instrument_names.EXCHANGE, required=True)
SEGMENT = attrs.evolve(instrument_names.SEGMENT, required=True)
QUERY = Parameter(
    name="query", place="query", required=True, doc="Part of a symbol, or of an underlying's symbol, in any case."
)
LIMIT = Parameter(
    name="limit", place="query", kind="integer", minimum=1, maximum=200, doc="The most to answer; 50 when not given."
)
USUAL_LIMIT = 50


async def segments(request: Request, services: Services) -> Response:
    snapshot = instrument_names.mapped(services.required_instruments().catalogue.value.latest)
    held = snapshot.master.segments
    answer = {
        "mapping_date": snapshot.mapping_date.isoformat(),
        "exchanges": sorted({row.exchange for row in held}),  # in order of name `unknown` is the last
        "segments": [_segment(row) for row in held],
    }
    return mapping_date.dated(render.json_answer(answer), snapshot)


def _segment(row: SegmentCount) -> dict[str, object]:
    bare = bare_segment(row.segment)
    shape = SEGMENT_SHAPES[bare]
    return {
        "exchange": row.exchange,
        "segment": row.segment,
        "bare_segment": bare,
        "shape": shape.value,
        "identity_fields": IDENTITY_FIELDS[shape],
        "instruments": row.instruments,
    }


async def master(request: Request, services: Services) -> Response:
    exchange, segment = instrument_names.read_segments(request.args)
    day = parse.day(request.args, DATE)
    snapshot = await mapping_date.mapping(services.required_instruments(), day)
    records = _records(snapshot, exchange, segment)
    return mapping_date.dated(await array_answer(records, failures=(Refusal,)), snapshot)


async def _records(snapshot: Snapshot, exchange: str | None, segment: str | None) -> AsyncGenerator[bytes, None]:
    """Yield the records page by page. The snapshot is held until the last record is sent, even if a new mapping comes meanwhile."""
    for page in snapshot.master.pages(exchange, segment):
        yield page
        await trio.lowlevel.checkpoint()


async def search(request: Request, services: Services) -> Response:
    exchange, segment = instrument_names.read_segment(request.args)
    query = parse.required_text(request.args, QUERY)
    limit = parse.whole_number(request.args, LIMIT)
    day = parse.day(request.args, DATE)
    snapshot = await mapping_date.mapping(services.required_instruments(), day)
    found = snapshot.master.search(exchange, segment, query.upper(), USUAL_LIMIT if limit is None else limit)
    for _ in found:
        await trio.lowlevel.checkpoint()
    answer = {
        "mapping_date": snapshot.mapping_date.isoformat(),
        "exchange": exchange,
        "segment": segment,
        "query": query,
        "matched": found.matched,
        "instruments": msgspec.Raw(b"[" + found.records() + b"]"),
    }
    return mapping_date.dated(render.json_answer(answer), snapshot)


_FILTER_REFUSED = failure(
    400,
    f"{shared.is_required('exchange')}; {sentences.exchange_unknown(EXCHANGES)}; {shared.is_required('segment')}; "
    f"{sentences.segment_unknown('<segment>', '<exchange>')}; {shared.must_be_date('date')}",
    shared.is_required("exchange"),
)

ROUTES = (
    Route(
        method="GET",
        path="/api/instruments/segments",
        handler=segments,
        tag="instruments",
        operation_id="get_segments",
        summary="Which segments hold instruments, and how many",
        answers=(
            Answer(
                status=200,
                doc="Of the latest mapping, in the fixed order of segments",
                type=answers.SegmentList,
                example=answers.SEGMENTS_EXAMPLE,
                headers=mapping_date.HEADER,
            ),
            mapping_date.NEVER_MAPPED,
        ),
    ),
    Route(
        method="GET",
        path="/api/instruments/master",
        handler=master,
        tag="instruments",
        operation_id="get_master",
        summary="All instruments, or those of an exchange or segment",
        parameters=(
            attrs.evolve(
                EXCHANGE, choices=(*map(str, EXCHANGES), "all"), doc=f"One of {', '.join(EXCHANGES)}, or all."
            ),
            attrs.evolve(
                SEGMENT,
                schema={"$ref": COMPONENTS + "SegmentOrAll"},
                doc="Segment of the exchange, with or without its prefix, or all.",
            ),
            DATE,
        ),
        answers=(
            Answer(
                status=200,
                doc="One array, streamed; header `X-Mapping-Date` says which mapping answered. A failure once it has "
                "begun ends the array early: count what arrives against `/api/instruments/segments`",
                type=list[answers.InstrumentRecord],
                example=[answers.RECORD_EXAMPLE],
                headers=mapping_date.HEADER,
            ),
            _FILTER_REFUSED,
            failure(400, sentences.ONE_SEGMENT_ONE_EXCHANGE),
            *mapping_date.DATE_ANSWERS,
        ),
    ),
    Route(
        method="GET",
        path="/api/instruments/search",
        handler=search,
        tag="instruments",
        operation_id="search_instruments",
        summary="Instruments of one segment by part of their symbol or underlying",
        parameters=(EXCHANGE, SEGMENT, QUERY, LIMIT, DATE),
        answers=(
            Answer(
                status=200,
                doc="A symbol that equals `query` first, then those that begin with it, then those that contain it; within "
                "each by symbol, expiry, strike, option type. `matched` counts all, also beyond `limit`",
                type=answers.Search,
                example=answers.SEARCH_EXAMPLE,
                headers=mapping_date.HEADER,
            ),
            _FILTER_REFUSED,
            failure(
                400,
                f"{shared.is_required('query')}; {shared.must_be_whole_number('limit')}; "
                f"{shared.must_be_between('limit', 1, 200)}",
                shared.must_be_between("limit", 1, 200),
            ),
            *mapping_date.DATE_ANSWERS,
        ),
    ),
)
