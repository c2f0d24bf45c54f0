"""Candles and ticks (rules 1.4.8, 1.4.9): of one instrument by GET, of a list by POST (rules 1.4.6). Instruments that
are no longer listed are included."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

import msgspec
from quart import Request
from quart.wrappers import Response

from onebroker.actors.history.encode import COLUMNS, PRICE_FACTOR
from onebroker.actors.history.interface import HistoryError
from onebroker.actors.history.messages import CandleAnswer, GetCandles
from onebroker.actors.history.ticks import tick_rows
from onebroker.actors.store.durable import DurableError
from onebroker.config.instruments import Identity, InstrumentName
from onebroker.config.messages import history as sentences
from onebroker.config.messages import instruments as instrument_sentences
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.http import refusals, render
from onebroker.http.answers import history as answers
from onebroker.http.answers.shared import results_example
from onebroker.http.bodies.long_body_out import array_answer
from onebroker.http.bodies.whole_body_out import parts_answer
from onebroker.http.history import query as history_query
from onebroker.http.history.query import CandleRange, TickPeriod, read_period, read_range
from onebroker.http.instruments import batch, instrument_names
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.routes.instruments import NAMING_ANSWERS
from onebroker.http.services import HistoryServices, Services

READ_SECONDS = 60.0
"""Seconds that a client waits for candles. The store keeps answering while it takes in a file."""

_REFUSED = tuple(refusals.REFUSALS)


async def prices(request: Request, services: Services) -> Response:
    asked = read_range(request.args, services.clock.today())
    name = instrument_names.read_name(request.args)
    history_services = services.required_history()
    described, rows = await _candles(history_services, await _find(history_services, name), asked)
    # The same text as that of an entry of the POST form, without a copy of the candles.
    return parts_answer((render.encode(described)[:-1] + b',"candles":[', rows, b"]}"))


async def many_prices(request: Request, services: Services) -> Response:
    items = await batch.read_batch(request)
    asked = read_range(items.shared, services.clock.today())
    history_services = services.required_history()
    instrument_names.mapped(history_services.catalogue.value.latest)

    async def prices_of(item: Mapping[str, str]) -> dict[str, object]:
        identity = await _find(history_services, instrument_names.read_name(item))
        described, rows = await _candles(history_services, identity, asked)
        return {**described, "candles": msgspec.Raw(b"[" + rows + b"]")}

    return await batch.answer(items, prices_of)


async def ticks(request: Request, services: Services) -> Response:
    asked = read_period(request.args)
    name = instrument_names.read_name(request.args)
    history_services = services.required_history()
    identity = await _find(history_services, name)
    rows = tick_rows(history_services.store, history_services.durable, history_query.tick_query(identity, asked))
    response = await array_answer(rows, failures=(HistoryError,))
    for header, value in _period(identity, asked).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        response.headers[f"X-{header.replace('_', '-').title()}"] = text
    return response


async def many_ticks(request: Request, services: Services) -> Response:
    items = await batch.read_batch(request)
    asked = read_period(items.shared)
    history_services = services.required_history()
    instrument_names.mapped(history_services.catalogue.value.latest)
    entries = _tick_entries(history_services, items.items, asked)
    return await array_answer(entries, failures=(HistoryError,), opening=b'{"results":[', closing=b"]}")


async def _find(history_services: HistoryServices, name: InstrumentName) -> Identity:
    """Return an instrument that is listed, was listed, or was entered together with its history; raises Refusal 503, 404."""
    state = history_services.catalogue.value
    latest = instrument_names.mapped(state.latest)
    found = state.find_ever(name.instrument_id)
    if found is not None:
        return found.instrument.identity
    try:
        identity = await history_services.durable.history_instrument(name.instrument_id)
    except DurableError as error:
        raise Refusal(503, sentences.instruments_unreadable(str(error))) from error
    if identity is None:
        raise Refusal(404, instrument_sentences.not_mapped(name.text, latest.mapping_date))
    return identity


async def _candles(
    history_services: HistoryServices, identity: Identity, asked: CandleRange
) -> tuple[dict[str, object], bytes]:
    """Return the members before the candles, and the candles as JSON arrays joined by commas."""
    query = history_query.candle_query(identity, asked)
    answer: CandleAnswer = await history_services.actor.ask(lambda reply: GetCandles(query, reply), READ_SECONDS)
    adjusted = query.basis == "adjusted"
    described: dict[str, object] = {
        **identity.fields(),
        "interval": query.interval,
        "from": query.first,
        "to": query.last,
        "adjustable": history_query.is_adjustable(identity),
        "price_basis": query.basis,
        "known_as_of": query.known_as_of,
        "source": answer.source,
        "columns": [*COLUMNS, *([PRICE_FACTOR] if adjusted else [])],
    }
    return described, answer.rows


def _period(identity: Identity, asked: TickPeriod) -> dict[str, object]:
    """Return the description of a stream of ticks; the headers of the GET form have the same names."""
    return {
        "instrument_id": identity.instrument_id,
        "adjustable": history_query.is_adjustable(identity),
        "price_basis": history_query.basis_of(identity, adjusted=asked.adjusted),
        "start": asked.start.isoformat(),
        "end": asked.end.isoformat(),
    }


async def _tick_entries(
    history_services: HistoryServices, items: Sequence[object], asked: TickPeriod
) -> AsyncGenerator[bytes, None]:
    """Yield the entries, each in pieces joined by commas. The queries run one after the other, while the entries are sent."""
    for index, item in enumerate(items):
        try:
            identity = await _find(history_services, instrument_names.read_name(_item(item)))
        except _REFUSED as error:
            refusal = refusals.refusal_of(error)
            yield render.encode({"request_index": index, "status": refusal.status, **refusal.body()})
            continue
        rows = tick_rows(history_services.store, history_services.durable, history_query.tick_query(identity, asked))
        async with aclosing(_tick_entry(index, _period(identity, asked), rows)) as pieces:
            async for piece in pieces:
                yield piece


def _item(item: object) -> dict[str, str]:
    if not isinstance(item, dict):
        raise Refusal(400, instrument_sentences.ENTRY_FORM)
    return batch.texts(item)


async def _tick_entry(
    index: int, described: Mapping[str, object], rows: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    """Yield one entry. If the store fails before the first tick, the entry is a 503; a later failure ends the whole
    answer (HistoryError)."""
    waiting = b'{"request_index":%d,"status":200,"data":%s,"ticks":[' % (index, render.encode(described))
    begun = False
    async with aclosing(rows):
        try:
            async for text in rows:
                if begun:
                    yield waiting
                    waiting = text
                else:
                    waiting, begun = waiting + text, True
        except Refusal as refusal:
            yield render.encode({"request_index": index, "status": refusal.status, **refusal.body()})
            return
        except HistoryError:
            yield waiting + b"]}"
            raise
    yield waiting + b"]}"


_STORE_ANSWER = failure(
    503,
    f"{sentences.store_failed('<why>')}; {sentences.factors_unreadable('<why>')}",
    sentences.store_failed("the file cannot be read"),
)
_LATE_ANSWER = failure(504, shared.late("the history actor did not answer in time"))
_RANGE_ANSWER = failure(
    400,
    f"{sentences.INTERVAL_REQUIRED}; {sentences.INTERVAL_UNKNOWN}; {sentences.EITHER_RANGE}; "
    f"{sentences.RANGE_REQUIRED}; {sentences.TO_BEFORE_FROM}; {sentences.RANGE_TOO_LONG}; a malformed number, flag or date",
    sentences.INTERVAL_REQUIRED,
)
_PERIOD_ANSWER = failure(
    400,
    f"{shared.is_required('<name>')}; {sentences.must_be_moment('<name>')}; {sentences.END_BEFORE_START}; "
    f"{shared.must_be_true_or_false('adjusted')}",
    sentences.END_BEFORE_START,
)


_PERIOD_HEADERS = {
    "X-Instrument-Id": "The instrument.",
    "X-Adjustable": "true or false: whether its prices are adjusted for corporate actions.",
    "X-Price-Basis": "adjusted, unadjusted or as_served.",
    "X-Start": "First instant, included; ISO 8601 with offset.",
    "X-End": "First instant that is not included; ISO 8601 with offset.",
}


def _in_body(parameters: Sequence[Parameter]) -> tuple[Parameter, ...]:
    return (batch.INSTRUMENTS, *(batch.shared(parameter) for parameter in parameters))


ROUTES = (
    Route(
        method="GET",
        path="/api/instruments/prices",
        handler=prices,
        tag="history",
        operation_id="get_prices",
        summary="Candles of one instrument",
        parameters=(*instrument_names.PARAMETERS, *history_query.RANGE_PARAMETERS),
        answers=(
            Answer(
                status=200,
                doc="Empty `candles` means that nothing is stored for the range. On days without stored candles of the interval they "
                "are made of stored 1-minute candles, counted from when the market opened.",
                type=answers.Prices,
                example=answers.PRICES_EXAMPLE,
            ),
            _RANGE_ANSWER,
            *NAMING_ANSWERS,
            _STORE_ANSWER,
            _LATE_ANSWER,
        ),
    ),
    Route(
        method="POST",
        reads_only=True,
        path="/api/instruments/prices",
        handler=many_prices,
        tag="history",
        operation_id="get_prices_list",
        examples={"a month": {"instruments": batch.TWO_NAMED, "interval": "day", "days": 30}},
        summary="Candles of several instruments",
        parameters=_in_body(history_query.RANGE_PARAMETERS),
        answers=(
            Answer(
                status=200,
                doc="An entry for each item, in their order, each with the status the GET form would give.",
                type=answers.PricesResults,
                example=results_example(answers.PRICES_EXAMPLE),
            ),
            batch.BODY_ANSWER,
            _RANGE_ANSWER,
            failure(503, instrument_sentences.NEVER_MAPPED),
        ),
    ),
    Route(
        method="GET",
        path="/api/instruments/ticks",
        handler=ticks,
        tag="history",
        operation_id="get_ticks",
        summary="Ticks of one instrument",
        parameters=(*instrument_names.PARAMETERS, *history_query.PERIOD_PARAMETERS),
        answers=(
            Answer(
                status=200,
                doc="Streamed. Headers `X-Instrument-Id`, `X-Adjustable`, `X-Price-Basis`, `X-Start`, `X-End` describe it. "
                "A failure after the beginning ends the array early.",
                type=list[answers.Tick],
                example=answers.TICKS_EXAMPLE,
                headers=_PERIOD_HEADERS,
            ),
            _PERIOD_ANSWER,
            *NAMING_ANSWERS,
            _STORE_ANSWER,
        ),
    ),
    Route(
        method="POST",
        reads_only=True,
        path="/api/instruments/ticks",
        handler=many_ticks,
        tag="history",
        operation_id="get_ticks_list",
        examples={
            "a minute": {
                "instruments": batch.TWO_NAMED,
                "start": "2026-11-20 09:15:00",
                "end": "2026-11-20 09:16:00",
            }
        },
        summary="Ticks of several instruments",
        parameters=_in_body(history_query.PERIOD_PARAMETERS),
        answers=(
            Answer(
                status=200,
                doc="Streamed: an entry for each item, in their order; `ticks` stands beside `data`, which describes the period.",
                type=answers.TicksResults,
                example=answers.TICKS_RESULTS_EXAMPLE,
            ),
            batch.BODY_ANSWER,
            _PERIOD_ANSWER,
            failure(503, instrument_sentences.NEVER_MAPPED),
        ),
    ),
)
