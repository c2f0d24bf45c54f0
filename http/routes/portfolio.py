"""Portfolio routes (rules 1.4.10): funds, holdings, positions. The published bytes are the answer; no broker is called."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.portfolio.document_age import READ_RULES, servable
from onebroker.actors.store.keys import Resource
from onebroker.config.messages import portfolio as sentences
from onebroker.http import render
from onebroker.http.route import Answer, Handler, Route
from onebroker.http.services import Services


def _reader(resource: Resource) -> Handler:
    rule = READ_RULES[resource]

    async def read(request: Request, services: Services) -> Response:
        held = services.documents.get(resource)
        state = servable(rule, None if held is None else held.value, services.clock.epoch())
        return render.encoded(state.body)

    return read


def _route(resource: Resource, summary: str, answer: str) -> Route:
    rule = READ_RULES[resource]
    return Route(
        method="GET",
        path=f"/api/portfolio/{resource}",
        handler=_reader(resource),
        tag="portfolio",
        summary=summary,
        answers=(
            Answer(status=200, doc=answer),
            Answer(status=502, doc=f"{sentences.unable_to_retrieve(rule.subject)}; body carries `brokers`"),
            Answer(
                status=503,
                doc=f"{sentences.nothing_keeping(rule.subject, rule.key)}; "
                f"{sentences.out_of_date(rule.subject, rule.key, '<as_of>')} (body carries `as_of` and `brokers`)",
            ),
        ),
    )


ROUTES = (
    _route(
        "funds",
        "Funds of all brokers, added up",
        "`{summary, pnl, margin_breakdown, cash_movement, segments, brokers, as_of}`",
    ),
    _route("holdings", "Holdings of all brokers, one row a company", "`{holdings, summary, brokers, as_of}`"),
    _route(
        "positions",
        "Positions of all brokers, one row an instrument and product",
        "`{net, day, summary, brokers, as_of}`",
    ),
)
