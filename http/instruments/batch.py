"""Several instruments in one request: the POST form of a route (rules 1.4.6).

    batch = await read_batch(request)                    # 400 of the body
    day = parse.day(batch.shared, DATE)                  # 400, 404, 503 of the whole response
    snapshot = await mapping_date.mapping(instrument_services, day)
    return await answer(batch, lambda item: one(item, snapshot))

A problem of one item is reported in that item's entry. A problem that concerns all items is refused before the first item is
read. However long the list is, other tasks run between two items.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from typing import TypeAlias

import attrs
import msgspec
import trio
from quart import Request
from quart.wrappers import Response

from onebroker.config.messages import instruments as sentences
from onebroker.config.refusal import Refusal
from onebroker.config.schema_marks import COMPONENTS
from onebroker.http import parse, refusals, render
from onebroker.http.answers.shared import SHARE
from onebroker.http.bodies import long_body_in
from onebroker.http.bodies.long_body_out import array_answer
from onebroker.http.route import Parameter, failure

INSTRUMENTS = Parameter(
    name="instruments", place="body", kind="array", required=True,
    schema={"type": "array", "minItems": 1, "items": {"$ref": COMPONENTS + "InstrumentNamed"}},
    doc="Each named by `instrument_id`, or by `exchange`, `segment` and the identity fields; the spellings may be mixed.",
)  # fmt: skip
TWO_NAMED = [
    {"instrument_id": SHARE["instrument_id"]},
    {
        "exchange": "nse",
        "segment": "equity_options",
        "underlying_symbol": "INFY",
        "expiry_date": "2026-12-29",
        "strike_price": 1500,
        "option_type": "CE",
    },
]
"""An example of the list."""
BODY_ANSWER = failure(
    400,
    f"{sentences.BODY_FORM}; {sentences.INSTRUMENTS_FORM}; {sentences.must_be_scalar('<name>')}; "
    "what the GET form says of a shared parameter",
    sentences.INSTRUMENTS_FORM,
)
_AS_TEXT: dict[str, dict[str, object]] = {
    "boolean": {"anyOf": [{"type": "boolean"}, {"type": "integer", "enum": [0, 1]}, {"type": "string"}]},
    "integer": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
}
"""What a body takes for a shared parameter that is not a text: itself, or the text that a query would carry."""


def shared(parameter: Parameter) -> Parameter:
    """Return the row of a parameter that all items share, as the body has it."""
    return attrs.evolve(parameter, place="body", schema=_AS_TEXT.get(parameter.kind, parameter.schema))


BLOCK_ITEMS = 64
"""Entries made before the first of them is sent."""

_REFUSED = tuple(refusals.REFUSALS)

One: TypeAlias = Callable[[Mapping[str, str]], Awaitable[object]]
"""An item's parameters, as texts like those of a query -> the answer of the GET form. Raises what the GET form raises."""


@attrs.frozen
class Batch:
    """A readable body."""

    items: list[object]
    """The list as it was sent; not empty. `answer` empties it step by step."""
    shared: Mapping[str, str]
    """The parameters next to the list, as texts like those of a query."""


async def read_batch(request: Request) -> Batch:
    """Return the body of a POST form. Raises Refusal 400."""
    raw = await parse.json_text(request, sentences.BODY_FORM)
    try:
        body = await long_body_in.decode(raw, INSTRUMENTS.name)
    except (ValueError, RecursionError):  # malformed text, wrong UTF-8, nesting that is too deep
        raise Refusal(400, sentences.BODY_FORM) from None
    if not isinstance(body, dict) or INSTRUMENTS.name not in body:
        raise Refusal(400, sentences.BODY_FORM)
    items = body.pop(INSTRUMENTS.name)
    if not isinstance(items, list) or not items:
        raise Refusal(400, sentences.INSTRUMENTS_FORM)
    return Batch(items, texts(body))


def texts(values: Mapping[str, object]) -> dict[str, str]:
    """Return JSON scalars as the texts that a query would carry; null counts as absent. Raises Refusal 400 for any other value."""
    for name, value in values.items():
        if isinstance(value, (dict, list)):
            raise Refusal(400, sentences.must_be_scalar(name))
    return {name: _text(value) for name, value in values.items() if value is not None}


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


async def answer(batch: Batch, one: One, *, at_once: int = 1) -> Response:
    """Return `{results: [...]}`, streamed: one entry for each item, in the order of the items.

    `at_once` items are worked on at the same time, for a `one` that waits for other tasks.
    """
    return await array_answer(_entries(batch.items, one, at_once), failures=(), opening=b'{"results":[', closing=b"]}")


async def _entries(items: list[object], one: One, at_once: int) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(items), BLOCK_ITEMS):
        waiting = enumerate(items[start : start + BLOCK_ITEMS], start)
        # Items are released in pieces, as they were read: releasing a hundred thousand at once takes longer than an
        # answer.
        items[start : start + BLOCK_ITEMS] = [None] * len(items[start : start + BLOCK_ITEMS])
        entries: dict[int, bytes] = {}
        async with trio.open_nursery() as nursery:
            for _ in range(at_once):
                nursery.start_soon(_work, waiting, entries, one)
        for index in sorted(entries):
            yield entries[index]


async def _work(waiting: Iterator[tuple[int, object]], entries: dict[int, bytes], one: One) -> None:
    for index, item in waiting:
        entries[index] = await _entry(index, item, one)
        await trio.lowlevel.checkpoint()


async def _entry(index: int, item: object, one: One) -> bytes:
    """Return an entry; it holds the refusal that the GET form would raise."""
    try:
        if not isinstance(item, dict):
            raise Refusal(400, sentences.ENTRY_FORM)
        data = await one(texts(item))
    except _REFUSED as error:
        refusal = refusals.refusal_of(error)
        return render.encode({"request_index": index, "status": refusal.status, **refusal.body()})
    return render.encode({"request_index": index, "status": 200, "data": data})
