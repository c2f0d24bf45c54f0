"""`GET /api/orders/parents` (spec 2 §4.6): read from Redis, so that it works without a running engine."""

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.reading import Unreadable, open_parents, stored_parent
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http import order_fields, render
from onebroker.http.route import Answer, Parameter, Route
from onebroker.http.services import Services


async def parents(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    given = request.args.get("parent_id")
    if given is None:
        return render.json_answer(await open_parents(orders.store))
    parent_id = order_fields.uuid_text(given, texts.PARENT_NAME)
    try:
        parent = await stored_parent(orders.store, parent_id)
    except Unreadable as error:
        raise Refusal(503, texts.parent_unreadable(parent_id)) from error
    if parent is None:
        raise Refusal(404, texts.NO_PARENT)
    return render.json_answer(parent)


ROUTES = (
    Route(
        method="GET",
        path="/api/orders/parents",
        handler=parents,
        tag="orders",
        summary="One parent of the order engine, or every unfinished one",
        parameters=(Parameter(name="parent_id", place="query", doc="UUID; without it every unfinished parent."),),
        answers=(
            Answer(
                status=200,
                doc="The parent; or `{parents}`, oldest first, and `unreadable_parents` (ids) when there are any.",
            ),
            Answer(status=400, doc=texts.PARENT_NAME),
            Answer(status=404, doc=texts.NO_PARENT),
            Answer(status=503, doc="Redis could not be read, or the stored record cannot."),
        ),
    ),
)
