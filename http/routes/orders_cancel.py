"""`DELETE /api/orders/cancel`: one order, one parent, one part of a plan, or a list of them (rules 2.4.5)."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import CancelOrder, DeskMessage, StopParent
from onebroker.actors.kernel.mailbox import Reply
from onebroker.config.messages import order_changes as change_texts
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.answers import changes as answers
from onebroker.http.answers.shared import BROKER, PARENT_ID
from onebroker.http.bodies import body_keys
from onebroker.http.orders.desk_requests import BESIDE_BROKER_SECONDS, LATE, ask_desk, change_seconds
from onebroker.http.orders.dry_run_flag import DRY_RUN, read_dry_run
from onebroker.http.orders.named_orders import Named, OrderNamed, read_named
from onebroker.http.orders.order_fields import (
    BROKER_FIELD,
    DRY_RUN_FIELD,
    ORDER_ID,
    ORDER_ID_FIELD,
    ORDER_ID_PATTERN,
    PARENT_ID_FIELD,
    PART_FIELD,
)
from onebroker.http.orders.order_lists import ORDERS, answer_list, read_list
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import OrderServices, Services

_ORDER_ID_QUERY = Parameter(
    name="order_id",
    place="query",
    pattern=ORDER_ID_PATTERN,
    doc="The broker's order id; required here or in a JSON body, which wins.",
)
_BROKER_QUERY = Parameter(name="broker", place="query", doc="Broker code; needed only when two brokers hold the id.")
_NAMING = ("order_id", "broker", "parent_id", "part")
A_CANCEL = "a cancel"


async def cancel(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.optional_body_object(request, texts.BODY_OBJECT)
    routed = services.clock.monotonic()  # after the body, whose slow arrival is not our time
    parse.refuse_repeats(request, _ORDER_ID_QUERY, _BROKER_QUERY, DRY_RUN)
    body_keys.check_query([name for name in request.args if name not in _NAMING], CANCEL)
    if body.get(ORDERS) is not None:
        return await _cancel_list(body, request.args, orders, routed)
    body_keys.check_body(body, CANCEL, A_CANCEL)
    query = {name: text for name, text in request.args.to_dict().items() if name in _NAMING}
    given = {**query, **{name: value for name, value in body.items() if value is not None}}
    named = read_named(given, orders.brokers)
    dry_run = read_dry_run(body, request.args)
    answer = await ask_to_cancel(orders, named, routed, dry_run=dry_run)
    return render.json_answer(answer.body, answer.status)


async def _cancel_list(
    body: Mapping[str, Any], args: Mapping[str, str], orders: OrderServices, routed: float
) -> Response:
    asked = read_list(body, args, CANCEL)
    if not orders.store.reachable:
        raise Refusal(503, texts.redis_unreadable("the store is away"))

    async def cancel_item(item: Any, begun: Callable[[], None]) -> EngineAnswer:
        if not isinstance(item, dict):
            raise Refusal(400, texts.ENTRY_OBJECT)
        body_keys.check_item(item, CANCEL, A_CANCEL)
        named = read_named(item, orders.brokers)
        return await ask_to_cancel(orders, named, routed, dry_run=asked.dry_run, begun=begun)

    return await answer_list(asked.items, cancel_item)


async def ask_to_cancel(
    orders: OrderServices,
    named: Named,
    routed: float,
    *,
    dry_run: bool,
    begun: Callable[[], None] = lambda: None,
) -> EngineAnswer:
    """Hand a cancel to the desk; `begun` is called when the cancel is handed over."""

    def make(reply: Reply[EngineAnswer]) -> DeskMessage:
        begun()
        if isinstance(named, OrderNamed):
            return CancelOrder(
                order_id=named.order_id, broker=named.broker, dry_run=dry_run, routed=routed, reply=reply
            )
        return StopParent(parent_id=named.parent_id, part=named.part, dry_run=dry_run, routed=routed, reply=reply)

    beside_seconds = BESIDE_BROKER_SECONDS if isinstance(named, OrderNamed) else change_seconds(orders)
    return await ask_desk(orders, make, named.shown(), dry_run=dry_run, beside_seconds=beside_seconds)


_DRY_RUN_BODY = attrs.evolve(DRY_RUN_FIELD, doc="Send nothing; with parent_id list the resting legs.")

ROUTES = (
    Route(
        method="DELETE",
        path="/api/orders/cancel",
        handler=cancel,
        tag="orders",
        operation_id="cancel_order",
        examples={
            "an order": {"order_id": ORDER_ID},
            "a parent": {"parent_id": PARENT_ID},
            "a part": {"parent_id": PARENT_ID, "part": "root.children.0"},
            "several": {"orders": [{"order_id": ORDER_ID}, {"parent_id": PARENT_ID}]},
        },
        summary="Cancel orders by the broker's own id, parents, or parts of plans",
        parameters=(
            _ORDER_ID_QUERY,
            _BROKER_QUERY,
            DRY_RUN,
            ORDER_ID_FIELD,
            BROKER_FIELD,
            attrs.evolve(PARENT_ID_FIELD, doc="UUID, in place of order_id: the whole parent."),
            attrs.evolve(PART_FIELD, doc="With parent_id: the path of one part of the plan."),
            _DRY_RUN_BODY,
        ),
        only_these_keys=True,
        body_may_be_absent=True,
        list_form=(
            Parameter(
                name=ORDERS,
                place="body",
                kind="array",
                required=True,
                doc="Each named as in the single form; they may be mixed.",
            ),
            _DRY_RUN_BODY,
        ),
        answers=(
            Answer(
                status=200,
                doc="Accepted by the broker, nothing resting, or a dry run; of a list `{results}`, each with its own status.",
                type=answers.Cancelled,
                example=answers.CANCELLED_EXAMPLE,
            ),
            Answer(
                status=200,
                doc="A parent.",
                type=answers.ParentCancelled,
                example=answers.PARENT_CANCELLED_EXAMPLE,
            ),
            Answer(
                status=200,
                doc="A part of a plan.",
                type=answers.PartCancelled,
                example=answers.PART_CANCELLED_EXAMPLE,
            ),
            Answer(
                status=200,
                doc="A dry run with parent_id.",
                type=answers.StopDryRun,
                example=answers.STOP_DRY_RUN_EXAMPLE,
            ),
            Answer(status=200, doc="A list.", type=answers.CancelResults, example=answers.CANCEL_RESULTS_EXAMPLE),
            Answer(
                status=207,
                doc="With parent_id: a broker did not accept a cancel; asking again tries the rest.",
                type=answers.ParentCancelled,
                example=answers.PARENT_CANCELLING_EXAMPLE,
            ),
            Answer(
                status=207,
                doc="The same of a part.",
                type=answers.PartCancelled,
                example=answers.PART_NOT_CANCELLED_EXAMPLE,
            ),
            failure(
                400,
                f"{texts.ORDER_ID_REQUIRED} / {texts.ORDER_ID_FORM} / broker must be one of the codes / {texts.EITHER_ID} / "
                f"{change_texts.PART_NAME} / {texts.PARENT_NAME} / {texts.ORDERS_LIST}",
                texts.ORDER_ID_REQUIRED,
            ),
            failure(
                404,
                f"{texts.ORDER_NOT_FOUND} / {texts.NO_PARENT} / no order at the part's path",
                texts.ORDER_NOT_FOUND,
                order_id=ORDER_ID,
            ),
            failure(
                409,
                "It has finished already, or two brokers hold the id.",
                texts.already("COMPLETE"),
                broker=BROKER,
                order_id=ORDER_ID,
            ),
            Answer(
                status=422,
                doc="Refused by the broker.",
                type=answers.Cancelled,
                example=answers.NOT_CANCELLED_EXAMPLE,
            ),
            failure(
                503,
                "No login, no rate room, Redis away, or (parents) the engine not running: nothing was sent.",
                texts.no_login(BROKER),
                broker=BROKER,
                order_id=ORDER_ID,
            ),
            Answer(
                status=504,
                doc="Unknown (`outcome`); the cancel may have been applied.",
                type=answers.Cancelled,
                example=answers.CANCEL_UNKNOWN_EXAMPLE,
            ),
            failure(504, "No answer in time (`outcome`).", *LATE, order_id=ORDER_ID, outcome="unknown"),
        ),
    ),
)
CANCEL = ROUTES[0]
