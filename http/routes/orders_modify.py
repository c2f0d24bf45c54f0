"""`PUT /api/orders/modify`: changes one open order, one held order, one part that has sent nothing, or each of a list
(rules 2.4.4; order-engine 5.6)."""

from collections.abc import Callable, Mapping
from typing import Any

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer
from onebroker.actors.engine.desk.messages import DeskMessage, ModifyHeld, ModifyOrder
from onebroker.actors.kernel.mailbox import Reply
from onebroker.config.messages import order_changes as texts
from onebroker.config.messages import orders as order_texts
from onebroker.config.refusal import Refusal
from onebroker.http import parse, render
from onebroker.http.bodies import body_keys
from onebroker.http.orders.desk_requests import ask_desk, change_seconds
from onebroker.http.orders.dry_run_flag import DRY_RUN, read_dry_run
from onebroker.http.orders.modify_body import read_change
from onebroker.http.orders.named_orders import OrderNamed, read_named
from onebroker.http.orders.order_lists import ORDERS, answer_list, read_list
from onebroker.http.route import Answer, Kind, Parameter, Route
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


def _field(name: str, doc: str, kind: Kind = "string") -> Parameter:
    return Parameter(name=name, place="body", kind=kind, doc=doc)


_DRY_RUN_BODY = _field("dry_run", "Build the broker's request and send nothing.", "boolean")

ROUTES = (
    Route(
        method="PUT",
        path="/api/orders/modify",
        handler=modify,
        tag="orders",
        summary="Change open orders at the brokers that hold them",
        parameters=(
            DRY_RUN,
            _field("order_id", "The broker's own id: 1 to 64 letters, digits, hyphens or underscores; or an integer."),
            _field("broker", "Broker code; needed only when two brokers hold the id."),
            _field("parent_id", "UUID, in place of order_id: its one held order."),
            _field("part", "With parent_id: a part that has sent nothing yet."),
            _field("price", "Rupees, whole ticks.", "number"),
            _field("trigger_price", "Rupees, whole ticks.", "number"),
            _field("quantity", "New total in units, whole lots, not below what has filled.", "integer"),
            _field("order_type", "MARKET, LIMIT, SL or SL-M; not of synthetic orders."),
            _field("validity", "DAY or IOC; not of synthetic orders."),
            _field("disclosed_quantity", "Units, at most quantity; not of synthetic orders.", "integer"),
            _DRY_RUN_BODY,
        ),
        only_these_keys=True,
        list_form=(_field(ORDERS, "Each with what the single form takes.", "array"), _DRY_RUN_BODY),
        answers=(
            Answer(
                status=200,
                doc="Accepted by the broker, a dry run, or nothing to change (`changes` is empty); of a list `{results}`.",
            ),
            Answer(status=400, doc=f"{texts.GIVE_ONE} / a field is malformed; the sentence names it"),
            Answer(status=403, doc="The day's loss is past its limit, and the order would grow."),
            Answer(status=404, doc=f"{order_texts.ORDER_NOT_FOUND} / {order_texts.NO_PARENT}"),
            Answer(
                status=409,
                doc=f"The order has finished, two brokers hold the id, or: {texts.STILL_ANSWERED} / {texts.CANCEL_ACCEPTED}",
            ),
            Answer(status=422, has_error=False, doc="Refused by the broker; the order stands as it was."),
            Answer(status=429, doc="The broker's daily cap of order messages has no room."),
            Answer(status=501, doc="The broker cannot change this field on an open order."),
            Answer(
                status=503,
                doc="No login, no rate room, Redis away, or (engine orders) the engine not running: nothing was sent.",
            ),
            Answer(status=504, has_error=False, doc="Unknown (`outcome`); the change may have been applied."),
        ),
    ),
)
MODIFY = ROUTES[0]
