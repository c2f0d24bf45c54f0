"""`GET /api/orders/parents` reads from Redis, so it works without a running engine. `DELETE` needs the engine (rules 2.4.6)."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.intake import request_fields
from onebroker.actors.engine.shown.stored_parents import Unreadable, open_parents, stored_parent
from onebroker.config.messages import order_changes as change_texts
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.answers import changes
from onebroker.http.answers import parents as answers
from onebroker.http.answers.shared import INTENT_ID, PARENT_ID
from onebroker.http.bodies import body_keys
from onebroker.http.orders.desk_requests import LATE
from onebroker.http.orders.dry_run_flag import DRY_RUN, read_dry_run
from onebroker.http.orders.named_orders import ParentNamed
from onebroker.http.orders.order_fields import DRY_RUN_FIELD, PARENT_ID_FIELD
from onebroker.http.orders.order_lists import PARENTS, answer_list, read_list
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.routes.orders_cancel import A_CANCEL, ask_to_cancel
from onebroker.http.services import OrderServices, Services


async def parents(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    given = request.args.get("parent_id")
    if given is None:
        return render.json_answer(await open_parents(orders.store))
    parent_id = request_fields.uuid_text(given, texts.PARENT_NAME)
    try:
        parent = await stored_parent(orders.store, parent_id)
    except Unreadable as error:
        raise Refusal(503, texts.parent_unreadable(parent_id)) from error
    if parent is None:
        raise Refusal(404, texts.NO_PARENT)
    return render.json_answer(parent)


async def cancel_parents(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.optional_body_object(request, texts.BODY_OBJECT)
    routed = services.clock.monotonic()
    body_keys.check_query(request.args, CANCEL_PARENTS)
    parse.refuse_repeats(request, DRY_RUN)
    if body.get(PARENTS) is not None:
        return await _cancel_list(body, request.args, orders, routed)
    body_keys.check_body(body, CANCEL_PARENTS, A_CANCEL)
    named = ParentNamed(request_fields.uuid_text(body.get("parent_id"), texts.PARENT_NAME), None)
    dry_run = read_dry_run(body, request.args)
    answer = await ask_to_cancel(orders, named, routed, dry_run=dry_run)
    return render.json_answer(answer.body, answer.status)


async def _cancel_list(
    body: Mapping[str, Any], args: Mapping[str, str], orders: OrderServices, routed: float
) -> Response:
    asked = read_list(body, args, CANCEL_PARENTS)
    if not all(_names_a_parent(item) for item in asked.items):
        raise Refusal(400, change_texts.PARENTS_ENTRY)  # for the whole request, as rules 2.4.6 lists it
    if not orders.store.reachable:
        raise Refusal(503, texts.redis_unreadable("the store is away"))

    async def cancel_item(item: Any, begun: Callable[[], None]) -> EngineAnswer:
        body_keys.check_item(item, CANCEL_PARENTS, A_CANCEL)
        named = ParentNamed(request_fields.uuid_text(item["parent_id"], texts.PARENT_NAME), None)
        return await ask_to_cancel(orders, named, routed, dry_run=asked.dry_run, begun=begun)

    return await answer_list(asked.items, cancel_item)


def _names_a_parent(item: object) -> bool:
    """Tell whether an entry has a name at all. Whether a parent has this name is answered in the entry."""
    name = item.get("parent_id") if isinstance(item, dict) else None
    return isinstance(name, str) and bool(name.strip())


_DRY_RUN_BODY = attrs.evolve(DRY_RUN_FIELD, doc="List the resting legs and send nothing.")

ROUTES = (
    Route(
        method="GET",
        path="/api/orders/parents",
        handler=parents,
        tag="orders",
        operation_id="get_parents",
        summary="One parent of the order engine, or every unfinished one",
        parameters=(
            Parameter(
                name="parent_id",
                place="query",
                schema={"type": "string", "format": "uuid"},
                doc="UUID; without it every unfinished parent.",
            ),
        ),
        answers=(
            Answer(status=200, doc="With parent_id: the parent.", type=answers.Parent, example=answers.EXAMPLE),
            Answer(
                status=200,
                doc="Without: `{parents}`, oldest first, and `unreadable_parents` (ids) when there are any.",
                type=answers.OpenParents,
                example=answers.OPEN_EXAMPLE,
            ),
            failure(400, texts.PARENT_NAME),
            failure(404, texts.NO_PARENT),
            failure(503, "Redis could not be read, or the stored record cannot.", texts.parent_unreadable(PARENT_ID)),
        ),
    ),
    Route(
        method="DELETE",
        path="/api/orders/parents",
        handler=cancel_parents,
        tag="orders",
        operation_id="cancel_parents",
        examples={"one": {"parent_id": PARENT_ID}, "several": {"parents": [{"parent_id": PARENT_ID}]}},
        summary="Cancel every resting leg of a parent and end it",
        parameters=(DRY_RUN, attrs.evolve(PARENT_ID_FIELD, doc="UUID of the parent."), _DRY_RUN_BODY),
        only_these_keys=True,
        list_form=(
            Parameter(name=PARENTS, place="body", kind="array", required=True, doc="Objects, each with a parent_id."),
            _DRY_RUN_BODY,
        ),
        answers=(
            Answer(
                status=200,
                doc="Every cancel was accepted, or nothing rested, or a dry run (`resting_legs`); of a list `{results}`.",
                type=changes.ParentCancelled,
                example=changes.PARENT_CANCELLED_EXAMPLE,
            ),
            Answer(status=200, doc="A dry run.", type=changes.StopDryRun, example=changes.STOP_DRY_RUN_EXAMPLE),
            Answer(status=200, doc="A list.", type=changes.CancelResults, example=changes.PARENT_RESULTS_EXAMPLE),
            Answer(
                status=207,
                doc="A cancel was refused, is unknown, or could not leave (`cancelling`); asking again tries the rest, and one that could not leave goes as soon as it can.",
                type=changes.ParentCancelled,
                example=changes.PARENT_CANCELLING_EXAMPLE,
            ),
            failure(
                400,
                f"{texts.PARENT_NAME} / {change_texts.PARENTS_LIST} / {change_texts.PARENTS_ENTRY}",
                texts.PARENT_NAME,
            ),
            failure(404, texts.NO_PARENT, parent_id=PARENT_ID),
            failure(
                409,
                "the parent is already cancelled (or completed, ...)",
                change_texts.parent_already("cancelled"),
                parent_id=PARENT_ID,
            ),
            failure(
                503,
                "The engine is not running, or Redis is away: nothing was sent.",
                change_texts.ENGINE_NOT_RUNNING,
                parent_id=PARENT_ID,
            ),
            failure(
                504,
                "Unknown (`outcome`); the cancels may have been applied.",
                *LATE,
                parent_id=PARENT_ID,
                outcome="unknown",
                intent_id=INTENT_ID,
            ),
        ),
    ),
)
CANCEL_PARENTS = ROUTES[1]
