"""Reference documents (rules 1.2.6, 1.4.3): users with the brokers' own profiles, brokers, exchanges. Published bytes."""

from typing import Any, Literal

from quart import Request
from quart.wrappers import Response

from onebroker.actors.reference.state import collection_body, user_body
from onebroker.actors.store import keys
from onebroker.config.messages import reference as sentences
from onebroker.http import render
from onebroker.http.answers import reference as answers
from onebroker.http.route import Answer, Route, failure
from onebroker.http.services import Services


async def users(request: Request, services: Services) -> Response:
    return render.encoded(user_body(services.reference.value))


async def brokers(request: Request, services: Services) -> Response:
    return render.encoded(collection_body(services.reference.value, "brokers"))


async def exchanges(request: Request, services: Services) -> Response:
    return render.encoded(collection_body(services.reference.value, "exchanges"))


def _not_served(collection: Literal["users", "brokers", "exchanges"]) -> tuple[Answer, Answer]:
    return (
        failure(404, sentences.NOT_FOUND[collection]),
        failure(503, sentences.unreadable(collection, keys.reference(collection))),
    )


def _success(doc: str, kind: Any, example: object) -> Answer:
    return Answer(status=200, doc=doc, type=kind, example=example)


ROUTES = (
    Route(
        method="GET",
        path="/api/users/details",
        handler=users,
        tag="reference",
        operation_id="get_user_details",
        summary="The imported user documents, and what each broker says of its account holder",
        answers=(
            _success(
                "`{user_details, broker_profiles}`; documents as imported without `_id`; profiles by broker code, null for"
                " a broker that has given none, null as a whole when none is available",
                answers.UserDocuments,
                answers.USERS_EXAMPLE,
            ),
            *_not_served("users"),
        ),
    ),
    Route(
        method="GET",
        path="/api/brokers/details",
        handler=brokers,
        tag="reference",
        operation_id="get_broker_details",
        summary="The imported broker documents",
        answers=(
            _success("An array; further fields as imported", list[answers.BrokerDocument], answers.BROKERS_EXAMPLE),
            *_not_served("brokers"),
        ),
    ),
    Route(
        method="GET",
        path="/api/exchanges/details",
        handler=exchanges,
        tag="reference",
        operation_id="get_exchange_details",
        summary="The imported exchange documents: trading hours, holidays, special sessions",
        answers=(
            _success("An array; further fields as imported", list[answers.ExchangeDocument], answers.EXCHANGES_EXAMPLE),
            *_not_served("exchanges"),
        ),
    ),
)
