"""`GET /api/instruments/find`: instruments by words, over all exchanges, segments and expiries (docs/find.md)."""

import msgspec
import trio
from quart import Request
from quart.wrappers import Response

from onebroker.actors.catalogue.finder.query import MOST_CHARACTERS, MOST_WORDS
from onebroker.actors.catalogue.interface import Instrument
from onebroker.config.messages import instruments as sentences
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.answers.instruments import RECORD_EXAMPLE
from onebroker.http.instruments import instrument_names, mapping_date
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import Services

QUERY = Parameter(
    name="q", place="query", required=True,
    doc="Words in any order and case: parts of a symbol or a company's name, an ISIN, a strike, CE or PE, an expiry (`dec`, `26dec`, "
    "`2026-12-31`, `weekly`, `monthly`, `next`), an exchange, a segment (`fut`, `opt`, `eq`, `index`, `etf`). Typos are forgiven in names. "
    f"At most {MOST_CHARACTERS} characters and {MOST_WORDS} words count.",
)  # fmt: skip
LIMIT = Parameter(
    name="limit", place="query", kind="integer", minimum=1, maximum=200, doc="The most to answer; 20 when not given."
)
USUAL_LIMIT = 20


class FoundInstrument(msgspec.Struct, frozen=True, kw_only=True):
    """A record as in `/api/instruments/search`, and how well it fits."""

    instrument_id: str
    exchange: str
    segment: str
    shape: str
    symbol: str | None
    underlying_symbol: str | None
    expiry_date: str | None
    strike_price: float | None
    option_type: str | None
    name: str | None
    isin: str | None
    lot_size: int | None
    tick_size: float | None
    score: float


class FindAnswer(msgspec.Struct, frozen=True, kw_only=True):
    mapping_date: str
    query: str
    instruments: list[FoundInstrument]


async def find(request: Request, services: Services) -> Response:
    query = parse.required_text(request.args, QUERY)
    limit = parse.whole_number(request.args, LIMIT)
    snapshot = instrument_names.mapped(services.required_instruments().catalogue.value.latest)
    finder = snapshot.finder
    if finder is None:
        raise Refusal(503, sentences.FINDER_NOT_READY)
    search = finder.search(query, USUAL_LIMIT if limit is None else limit, services.clock.today())
    for _ in search:
        await trio.lowlevel.checkpoint()
    answer = FindAnswer(
        mapping_date=snapshot.mapping_date.isoformat(),
        query=query,
        instruments=[_found(snapshot.at(found.row), found.score) for found in search.rows],
    )
    return mapping_date.dated(render.json_answer(answer), snapshot)


def _found(instrument: Instrument, score: float) -> FoundInstrument:
    identity = instrument.identity
    return FoundInstrument(
        instrument_id=instrument.instrument_id,
        exchange=identity.exchange,
        segment=identity.segment,
        shape=identity.shape.value,
        symbol=identity.symbol,
        underlying_symbol=identity.underlying_symbol,
        expiry_date=identity.expiry_date,
        strike_price=identity.strike_price,
        option_type=identity.option_type,
        name=instrument.name,
        isin=instrument.isin,
        lot_size=instrument.lot_size,
        tick_size=instrument.tick_size,
        score=score,
    )


ROUTES = (
    Route(
        method="GET",
        path="/api/instruments/find",
        handler=find,
        tag="instruments",
        operation_id="find_instruments",
        summary="Instruments by words, over all segments and expiries",
        parameters=(QUERY, LIMIT),
        answers=(
            Answer(
                status=200,
                doc="Best first. `score` is 1 for a symbol itself when all other words fit; of equal scores cash comes before derivatives, "
                "then the nearest expiry, then segments that can be traded. Header `X-Mapping-Date` says which mapping answered",
                type=FindAnswer,
                example={
                    "mapping_date": "2026-11-20",
                    "query": "infosys",
                    "instruments": [{**RECORD_EXAMPLE, "score": 0.85}],
                },
            ),
            failure(
                400,
                f"{shared.is_required('q')}; {shared.must_be_whole_number('limit')}; "
                f"{shared.must_be_between('limit', 1, 200)}",
                shared.is_required("q"),
            ),
            mapping_date.NEVER_MAPPED,
            failure(503, sentences.FINDER_NOT_READY),
        ),
    ),
)
