"""Order and trade book routes (rules 2.4.1). Without a parameter the published bytes are the answer; with a parameter, a page."""

import re
from collections.abc import Callable
from typing import Any

from quart import Request
from quart.wrappers import Response

from onebroker.actors.portfolio.book_filters import BookFilter, filtered_body
from onebroker.actors.portfolio.document_age import READ_RULES, servable
from onebroker.actors.store.keys import Resource
from onebroker.config.messages import orders_read as sentences
from onebroker.config.refusal import Refusal
from onebroker.http import render
from onebroker.http.answers import portfolio as answers
from onebroker.http.answers.shared import AS_OF
from onebroker.http.packing import published_answer
from onebroker.http.route import Answer, Handler, Parameter, Route, failure
from onebroker.http.services import Services

ORDER_ID = Parameter(name="order_id", place="query", doc="Broker order ids: repeatable, or a comma list.")
PARENT_ID = Parameter(name="parent_id", place="query", doc="The engine parent that placed the order.")
INTENT_ID = Parameter(name="intent_id", place="query", doc="The intent that the order came from.")
BROKER = Parameter(name="broker", place="query", doc="Broker code.")
STATUS = Parameter(
    name="status", place="query", doc="`open` for everything not finished, or one status such as COMPLETE."
)
LIMIT = Parameter(
    name="limit",
    place="query",
    kind="integer",
    minimum=sentences.LIMIT_MINIMUM,
    maximum=sentences.LIMIT_MAXIMUM,
    doc="Most entries to answer; all when absent.",
)
CURSOR = Parameter(
    name="cursor",
    place="query",
    kind="integer",
    minimum=0,
    doc="Matching entries to skip: `page.next_cursor`. Default 0.",
)

_TRADE_PARAMETERS = (ORDER_ID, PARENT_ID, INTENT_ID, BROKER, LIMIT, CURSOR)
_ORDER_PARAMETERS = (ORDER_ID, PARENT_ID, INTENT_ID, BROKER, STATUS, LIMIT, CURSOR)

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,4000}")
_BEYOND_ALL = 10**18
"""A cursor beyond this value also skips everything, so it is cut to this value, which is a JSON number everywhere."""


def read_filter(request: Request, parameters: tuple[Parameter, ...]) -> BookFilter | None:
    """Return the filter that the caller asked for; None if no parameter of the route is given. Blank text counts as
    absent.

    Raises Refusal 400 in the words of rules 2.4.1.
    """
    given = {parameter.name: request.args.getlist(parameter.name) for parameter in parameters}
    limit = _limit(given["limit"])
    cursor = _cursor(given["cursor"])
    order_ids = frozenset(
        order_id.strip() for listed in given["order_id"] for order_id in listed.split(",") if order_id.strip()
    )
    texts = {name: _last(given.get(name, [])) for name in ("parent_id", "intent_id", "broker", "status")}
    status = texts["status"]
    if not order_ids and not any(texts.values()) and limit is None and cursor is None:
        return None
    return BookFilter(
        order_ids=order_ids or None,
        parent_id=_lower(texts["parent_id"]),
        intent_id=_lower(texts["intent_id"]),
        broker=_lower(texts["broker"]),
        status=None if status is None else status.upper(),
        limit=limit,
        cursor=cursor or 0,
    )


def _lower(text: str | None) -> str | None:
    """Return the text in lower case: UUIDs and broker codes are read in any case, as in the other routes."""
    return None if text is None else text.lower()


def _last(values: list[str]) -> str | None:
    return values[-1].strip() or None if values else None


def _limit(values: list[str]) -> int | None:
    number = _whole_number(values, sentences.limit_not_whole)
    if number is not None and not sentences.LIMIT_MINIMUM <= number <= sentences.LIMIT_MAXIMUM:
        raise Refusal(400, sentences.limit_out_of_range(number))
    return number


def _cursor(values: list[str]) -> int | None:
    number = _whole_number(values, sentences.cursor_not_whole)
    if number is not None and number < 0:
        raise Refusal(400, sentences.cursor_negative(number))
    return None if number is None else min(number, _BEYOND_ALL)


def _whole_number(values: list[str], otherwise: Callable[[str], str]) -> int | None:
    if not values:
        return None
    if _WHOLE_NUMBER.fullmatch(values[-1].strip()) is None:
        raise Refusal(400, otherwise(values[-1]))
    return int(values[-1])


def _reader(resource: Resource, list_name: str, parameters: tuple[Parameter, ...]) -> Handler:
    rule = READ_RULES[resource]

    async def read(request: Request, services: Services) -> Response:
        wanted = read_filter(request, parameters)
        held = services.documents.get(resource)
        state = servable(rule, None if held is None else held.value, services.clock.epoch())
        if wanted is None:
            return await published_answer(request, services.packing, state.body)
        return render.encoded(filtered_body(state, list_name, wanted))

    return read


def _route(
    path: str, resource: Resource, summary: str, parameters: tuple[Parameter, ...], kind: Any, example: object
) -> Route:
    rule = READ_RULES[resource]
    return Route(
        method="GET",
        path=path,
        handler=_reader(resource, resource, parameters),
        tag="orders",
        operation_id=f"get_{resource}",
        summary=summary,
        parameters=parameters,
        answers=(
            Answer(
                status=200,
                doc=f"`{{{resource}, summary, brokers, as_of}}`, and `page` with any parameter",
                type=kind,
                example=example,
            ),
            failure(
                400,
                f"{sentences.limit_not_whole('<text>')}; {sentences.cursor_not_whole('<text>')}; …",
                sentences.limit_out_of_range(0),
            ),
            failure(
                502,
                f"{sentences.unable_to_retrieve(rule.subject)}; body carries `brokers`",
                sentences.unable_to_retrieve(rule.subject),
                brokers=[answers.BROKERS_EXAMPLE[0]],
            ),
            failure(
                503,
                f"{sentences.not_available(rule.subject)}; "
                f"{sentences.out_of_date(rule.subject, rule.key, '<as_of>')} (body carries `as_of` and `brokers`)",
                sentences.out_of_date(rule.subject, rule.key, AS_OF),
                as_of=AS_OF,
                brokers=answers.BROKERS_EXAMPLE,
            ),
        ),
    )


ROUTES = (
    _route(
        "/api/orders/details",
        "orders",
        "Today's orders at every broker",
        _ORDER_PARAMETERS,
        answers.OrderBook,
        answers.ORDERS_EXAMPLE,
    ),
    _route(
        "/api/orders/trades",
        "trades",
        "Today's trades at every broker",
        _TRADE_PARAMETERS,
        answers.TradeBook,
        answers.TRADES_EXAMPLE,
    ),
)
