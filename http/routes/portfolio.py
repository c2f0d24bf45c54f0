"""Portfolio routes (rules 1.4.10): funds, holdings, positions. The published bytes are the answer; no broker is called."""

from typing import Any

from quart import Request
from quart.wrappers import Response

from onebroker.actors.portfolio.document_age import READ_RULES, servable
from onebroker.actors.store.keys import Resource
from onebroker.config.messages import portfolio as sentences
from onebroker.http.answers import portfolio as answers
from onebroker.http.answers.shared import AS_OF
from onebroker.http.packing import published_answer
from onebroker.http.route import Answer, Handler, Route, failure
from onebroker.http.services import Services


def _reader(resource: Resource) -> Handler:
    rule = READ_RULES[resource]

    async def read(request: Request, services: Services) -> Response:
        held = services.documents.get(resource)
        state = servable(rule, None if held is None else held.value, services.clock.epoch())
        return await published_answer(request, services.packing, state.body)

    return read


def _route(resource: Resource, summary: str, doc: str, kind: Any, example: object) -> Route:
    rule = READ_RULES[resource]
    return Route(
        method="GET",
        path=f"/api/portfolio/{resource}",
        handler=_reader(resource),
        tag="portfolio",
        operation_id=f"get_{resource}",
        summary=summary,
        answers=(
            Answer(status=200, doc=doc, type=kind, example=example),
            failure(
                502,
                f"{sentences.unable_to_retrieve(rule.subject)}; body carries `brokers`",
                sentences.unable_to_retrieve(rule.subject),
                brokers=[answers.BROKERS_EXAMPLE[0]],
            ),
            failure(
                503,
                f"{sentences.nothing_keeping(rule.subject, rule.key)}; "
                f"{sentences.out_of_date(rule.subject, rule.key, '<as_of>')} (body carries `as_of` and `brokers`)",
                sentences.out_of_date(rule.subject, rule.key, AS_OF),
                as_of=AS_OF,
                brokers=answers.BROKERS_EXAMPLE,
            ),
        ),
    )


ROUTES = (
    _route(
        "funds",
        "Funds of all brokers, added up",
        "`{summary, pnl, margin_breakdown, cash_movement, segments, brokers, as_of}`",
        answers.FundsDocument,
        answers.FUNDS_EXAMPLE,
    ),
    _route(
        "holdings",
        "Holdings of all brokers, one row a company",
        "`{holdings, summary, brokers, as_of}`",
        answers.HoldingsDocument,
        answers.HOLDINGS_EXAMPLE,
    ),
    _route(
        "positions",
        "Positions of all brokers, one row an instrument and product",
        "`{net, day, summary, brokers, as_of}`",
        answers.PositionsDocument,
        answers.POSITIONS_EXAMPLE,
    ),
)
