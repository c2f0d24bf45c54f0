"""`PUT /api/orders/modify`: changes one open order, one held order, one part that has sent nothing, or each of a list
(rules 2.4.4; order-engine 5.6)."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import DeskMessage, ModifyHeld, ModifyOrder
from onebroker.actors.kernel.mailbox import Reply
from onebroker.config.messages import halts
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.answers import changes as answers
from onebroker.http.answers.shared import BROKER, PARENT_ID
from onebroker.http.bodies import body_keys
from onebroker.http.orders.desk_requests import LATE, ask_desk, change_seconds
from onebroker.http.orders.dry_run_flag import DRY_RUN, read_dry_run
from onebroker.http.orders.modify_body import read_change
from onebroker.http.orders.named_orders import OrderNamed, read_named
from onebroker.http.orders.order_fields import (
    BROKER_FIELD,
    DISCLOSED_FIELD,
    DRY_RUN_FIELD,
    NAMED,
    ORDER_ID,
    ORDER_ID_FIELD,
    ORDER_TYPE_FIELD,
    PARENT_ID_FIELD,
    PART_FIELD,
    PRICE_FIELD,
    QUANTITY_FIELD,
    TRIGGER_PRICE_FIELD,
    VALIDITY_FIELD,
)
from onebroker.http.orders.order_lists import ORDERS, answer_list, read_list
from onebroker.http.route import Answer, Parameter, Route, failure
from onebroker.http.services import OrderServices, Services

A_MODIFY = "a modify"


async def modify(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.body_object(request, order_texts.BODY_OBJECT)
    routed = services.clock.monotonic()  # after the body, whose slow arrival is not our time
    body_keys.check_query(request.args, MODIFY)
    parse.refuse_repeats(request, DRY_RUN)
    if body.get(ORDERS) is not None:
        return await _modify_list(body, request.args, orders, routed)
    body_keys.check_body(body, MODIFY, A_MODIFY)
    dry_run = read_dry_run(body, request.args)
    answer = await _ask_to_modify(orders, body, routed, dry_run=dry_run)
    return render.json_answer(answer.body, answer.status)


async def _modify_list(
    body: Mapping[str, Any], args: Mapping[str, str], orders: OrderServices, routed: float
) -> Response:
    asked = read_list(body, args, MODIFY)
    if not orders.store.reachable:
        raise Refusal(503, order_texts.redis_unreadable("the store is away"))

    async def modify_item(item: Any, begun: Callable[[], None]) -> EngineAnswer:
        if not isinstance(item, dict):
            raise Refusal(400, order_texts.ENTRY_OBJECT)
        body_keys.check_item(item, MODIFY, A_MODIFY)
        return await _ask_to_modify(orders, item, routed, dry_run=asked.dry_run, begun=begun)

    return await answer_list(asked.items, modify_item)


async def _ask_to_modify(
    orders: OrderServices,
    body: Mapping[str, Any],
    routed: float,
    *,
    dry_run: bool,
    begun: Callable[[], None] = lambda: None,
) -> EngineAnswer:
    """Check one change and hand it to the desk; `begun` is called when the change is handed over."""
    named = read_named(body, orders.brokers)
    change = read_change(body, named)

    def make(reply: Reply[EngineAnswer]) -> DeskMessage:
        begun()
        if isinstance(named, OrderNamed):
            return ModifyOrder(
                order_id=named.order_id,
                broker=named.broker,
                change=change,
                dry_run=dry_run,
                routed=routed,
                reply=reply,
            )
        return ModifyHeld(
            parent_id=named.parent_id, part=named.part, change=change, dry_run=dry_run, routed=routed, reply=reply
        )

    return await ask_desk(orders, make, named.shown(), dry_run=dry_run, beside_seconds=change_seconds(orders))


ROUTES = (
    Route(
        method="PUT",
        path="/api/orders/modify",
        handler=modify,
        tag="orders",
        operation_id="modify_order",
        examples={
            "a price": {"order_id": ORDER_ID, "price": 1481.0},
            "a held order": {"parent_id": PARENT_ID, "quantity": 20},
            "several": {"orders": [{"order_id": ORDER_ID, "quantity": 5}]},
        },
        summary="Change open orders at the brokers that hold them",
        parameters=(
            DRY_RUN,
            ORDER_ID_FIELD,
            BROKER_FIELD,
            attrs.evolve(PARENT_ID_FIELD, doc="UUID, in place of order_id: its one held order."),
            attrs.evolve(PART_FIELD, doc="With parent_id: a part that has sent nothing yet."),
            attrs.evolve(PRICE_FIELD, doc="Rupees, whole ticks."),
            attrs.evolve(TRIGGER_PRICE_FIELD, doc="Rupees, whole ticks."),
            attrs.evolve(QUANTITY_FIELD, doc="New total in units, whole lots, not below what has filled."),
            attrs.evolve(ORDER_TYPE_FIELD, doc="MARKET, LIMIT, SL or SL-M; not of synthetic orders."),
            attrs.evolve(VALIDITY_FIELD, doc="DAY or IOC; not of synthetic orders."),
            attrs.evolve(DISCLOSED_FIELD, doc="Units, at most quantity; not of synthetic orders."),
            DRY_RUN_FIELD,
        ),
        only_these_keys=True,
        list_form=(
            Parameter(
                name=ORDERS,
                place="body",
                kind="array",
                required=True,
                doc="Each with what the single form takes.",
            ),
            DRY_RUN_FIELD,
        ),
        answers=(
            Answer(
                status=200,
                doc="Accepted by the broker, a dry run, or nothing to change (`changes` is empty); of a list `{results}`.",
                type=answers.Modified,
                example=answers.MODIFIED_EXAMPLE,
            ),
            Answer(
                status=200,
                doc="A held order, or a part that has sent nothing.",
                type=answers.PartModified,
                example=answers.PART_MODIFIED_EXAMPLE,
            ),
            Answer(status=200, doc="A list.", type=answers.ModifyResults, example=answers.MODIFY_RESULTS_EXAMPLE),
            failure(400, f"{texts.GIVE_ONE} / a field is malformed; the sentence names it", texts.GIVE_ONE),
            failure(
                403,
                "The day's loss is past its limit, or trading is halted, and the order would grow.",
                halts.halted("the feed shows wrong prices"),
                **NAMED,
            ),
            failure(
                404,
                f"{order_texts.ORDER_NOT_FOUND} / {order_texts.NO_PARENT}",
                order_texts.ORDER_NOT_FOUND,
                order_id=ORDER_ID,
            ),
            failure(
                409,
                f"The order has finished, two brokers hold the id, or: {texts.STILL_ANSWERED} / {texts.CANCEL_ACCEPTED}",
                order_texts.already("COMPLETE"),
                **NAMED,
            ),
            Answer(
                status=422,
                doc="Refused by the broker; the order stands as it was.",
                type=answers.Modified,
                example=answers.NOT_MODIFIED_EXAMPLE,
            ),
            failure(
                429,
                "The broker's daily cap of order messages has no room.",
                order_texts.daily_cap(BROKER, 2800, 3000, 200),
                **NAMED,
            ),
            failure(
                501,
                "The broker cannot change this field on an open order.",
                texts.cannot_change(BROKER, "validity"),
                **NAMED,
            ),
            failure(
                503,
                "No login, no rate room, Redis away, or (engine orders) the engine not running: nothing was sent.",
                order_texts.no_login(BROKER),
                **NAMED,
            ),
            Answer(
                status=504,
                doc="Unknown (`outcome`); the change may have been applied.",
                type=answers.Modified,
                example=answers.MODIFY_UNKNOWN_EXAMPLE,
            ),
            failure(504, "No answer in time (`outcome`).", *LATE, order_id=ORDER_ID, outcome="unknown"),
        ),
    ),
)
MODIFY = ROUTES[0]
