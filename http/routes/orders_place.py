"""`POST /api/orders/place` (rules 2.4.2): checks the order, finds the instrument, hands the order to the engine, and
returns the engine's answer.

The orders of a list are handed over in list order, each as its own intent, and are worked at the same time. An error of
one order is reported in its entry.
"""

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
import trio
from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.context.messages import EngineAnswer, Place, PlaceBody
from onebroker.actors.engine.intake.intake_context import Today
from onebroker.actors.engine.intake.place_body import check_body, with_instrument
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.config.clock import Clock
from onebroker.config.messages import orders as texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome
from onebroker.http import parse, refusals, render
from onebroker.http.bodies import body_keys
from onebroker.http.instruments import instrument_names
from onebroker.http.orders.dry_run_flag import DRY_RUN, read_dry_run
from onebroker.http.orders.order_fields import (
    DISCLOSED_FIELD,
    DRY_RUN_FIELD,
    INSTRUMENT_FIELDS,
    ORDER_TYPE_FIELD,
    PRICE_FIELD,
    PRICE_REFERENCE_FIELD,
    PRODUCT_FIELD,
    QUANTITY_FIELD,
    QUANTITY_REFERENCE_FIELD,
    SIDE_FIELD,
    SYNTHETIC_FIELD,
    TAG_FIELD,
    TRIGGER_PRICE_FIELD,
    VALIDITY_FIELD,
    field,
)
from onebroker.http.orders.place_answers import PLACE_ANSWERS
from onebroker.http.orders.place_examples import BODY_EXAMPLES
from onebroker.http.orders.place_list import ORDERS, check_list
from onebroker.http.route import Parameter, Route
from onebroker.http.services import OrderServices, Services

_REFUSED = tuple(refusals.REFUSALS)
AN_ORDER = "an order"
_DONE = frozenset({200, 202})
"""If every entry has one of these statuses, the whole list is 200 (order-engine 5.1)."""


@attrs.frozen
class _Checked:
    """An order in the form in which the engine receives it."""

    order: PlaceBody
    dry_run: bool


async def place(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body: dict[str, Any] = await parse.listed_body_object(request, texts.BODY_OBJECT, ORDERS)
    routed = services.clock.monotonic()  # after the body, whose slow arrival is not our time
    body_keys.check_query(request.args, PLACE)
    parse.refuse_repeats(request, DRY_RUN)
    if ORDERS in body:
        return await _place_list(body, request.args, services, routed)
    body_keys.check_body(body, PLACE, AN_ORDER)
    checked = _checked(body, request.args, orders, services.clock)
    await _ready(orders, routed, services.clock)
    answer = await _handed_over(_Handing(checked, routed), services)
    return render.json_answer(answer.body, answer.status)


def _checked(body: Mapping[str, Any], args: Mapping[str, str], orders: OrderServices, clock: Clock) -> _Checked:
    """Check one order by itself and against its instrument. Raises Refusal 400, 404, and 503 while nothing was ever mapped."""
    checked = check_body(body, brokers=orders.brokers, dry_run=lambda given: read_dry_run(given, args))
    state = orders.catalogue.value
    if state.latest is None:
        raise Refusal(503, texts.catalogue_not_published(state.reason))
    today = Today(
        now=clock.now(),
        snapshot=state.latest,
        brokers=orders.brokers,
        calendar=orders.calendar,
        settings=orders.settings,
    )
    order = with_instrument(checked, body, instrument_names.find(checked.name, state.latest), today)
    return _Checked(order, checked.dry_run)


async def _ready(orders: OrderServices, routed: float, clock: Clock) -> None:
    """Raise Refusal 503 while no order can be taken. If the engine is starting, wait for it, for as long as it may take to answer."""
    state = orders.catalogue.value
    if not state.published_today:
        raise Refusal(503, texts.catalogue_not_published(state.reason))
    status = orders.engine_status
    with trio.move_on_after(max(0.0, routed + orders.settings.engine_wait_seconds - clock.monotonic())):
        while status.value.starting:
            await status.wait_newer(status.version)
    if not status.value.running:
        raise Refusal(503, texts.ENGINE_NOT_RUNNING)


# --- the list form -------------------------------------------------------------------------------------------------------


async def _place_list(body: Mapping[str, Any], args: Mapping[str, str], services: Services, routed: float) -> Response:
    orders = services.required_orders()
    asked = check_list(body, args, PLACE, maximum=services.settings.place_list_maximum)
    await _ready(orders, routed, services.clock)
    entries: dict[int, EngineAnswer] = {}

    async def work(index: int, handing: _Handing) -> None:
        try:
            entries[index] = await _handed_over(handing, services)
        except _REFUSED as error:
            entries[index] = _refused(error)
        finally:
            handing.begun.set()

    async with trio.open_nursery() as nursery:
        for index, item in enumerate(asked.items):
            try:
                if not isinstance(item, dict):
                    raise Refusal(400, texts.ENTRY_OBJECT)
                body_keys.check_item(item, PLACE, AN_ORDER)
                handing = _Handing(
                    attrs.evolve(_checked(item, {}, orders, services.clock), dry_run=asked.dry_run), routed
                )
            except _REFUSED as error:
                entries[index] = _refused(error)
                await trio.lowlevel.checkpoint()
            else:
                nursery.start_soon(work, index, handing)
                await handing.begun.wait()  # the orders enter the engine's mailbox in list order
    return _list_answer([entries[index] for index in range(len(asked.items))])


def _refused(error: Exception) -> EngineAnswer:
    refusal = refusals.refusal_of(error)
    return EngineAnswer(status=refusal.status, body=refusal.body())


def _list_answer(entries: Sequence[EngineAnswer]) -> Response:
    results = [
        {"request_index": index, "status": entry.status, "response": entry.body} for index, entry in enumerate(entries)
    ]
    return render.json_answer({"results": results}, 200 if all(entry.status in _DONE for entry in entries) else 207)


# --- the hand-over -------------------------------------------------------------------------------------------------------


@attrs.frozen
class _Handing:
    """An order on its way to the engine."""

    checked: _Checked
    routed: float
    """Monotonic seconds when the request was read."""
    intent_id: str = attrs.field(factory=lambda: str(uuid.uuid4()))
    begun: trio.Event = attrs.field(factory=trio.Event)
    """Set when the order is in the engine's mailbox, or waits for a place in it."""


async def _handed_over(handing: _Handing, services: Services) -> EngineAnswer:
    """Ask the engine until the deadline. If the intent got into its mailbox and no answer came, the outcome is unknown.
    A dry run, and an intent that did not get so far, placed nothing."""
    orders, dry_run = services.required_orders(), handing.checked.dry_run
    wait_seconds = orders.settings.engine_wait_seconds
    deadline = handing.routed + wait_seconds
    extra = {"intent_id": handing.intent_id}
    left_seconds = deadline - services.clock.monotonic()
    if left_seconds <= 0:  # the last orders of a long list on a busy machine: nobody would wait for them
        raise Refusal(503, shared.busy(orders.engine.name), extra)
    try:
        return await orders.engine.ask(_asking(handing, deadline), left_seconds)
    except ActorNotRunning as error:
        if error.taken and not dry_run:
            raise _unknown(texts.FAILED_AFTER_WRITE, handing.intent_id) from error
        raise Refusal(503, texts.ENGINE_NOT_RUNNING, extra) from error
    except AskTimedOut as error:
        if not error.queued:
            raise Refusal(503, shared.busy(error.name), extra) from error
        if dry_run:
            raise Refusal(504, texts.dry_run_not_answered(wait_seconds), extra) from error
        raise _unknown(texts.engine_did_not_answer(wait_seconds), handing.intent_id) from error


def _asking(handing: _Handing, deadline: float) -> Callable[[Reply[EngineAnswer]], Place]:
    def ask(reply: Reply[EngineAnswer]) -> Place:
        handing.begun.set()
        return Place(
            intent_id=handing.intent_id,
            order=handing.checked.order,
            dry_run=handing.checked.dry_run,
            routed=handing.routed,
            deadline=deadline,
            reply=reply,
        )

    return ask


def _unknown(sentence: str, intent_id: str) -> Refusal:
    return Refusal(504, sentence, {"outcome": Outcome.UNKNOWN.value, "intent_id": intent_id})


_LIST_FORM = (
    Parameter(
        name=ORDERS,
        place="body",
        kind="array",
        required=True,
        doc="Orders as in the single form, without dry_run; at most place_list_maximum (500). Each is answered by itself, in this "
        "order.",
    ),
    attrs.evolve(DRY_RUN_FIELD, doc="Of the whole list."),
)

ROUTES = (
    Route(
        method="POST",
        path="/api/orders/place",
        handler=place,
        tag="orders",
        operation_id="place_order",
        examples=BODY_EXAMPLES,
        summary="Place one order, or a list",
        list_form=_LIST_FORM,
        only_these_keys=True,
        parameters=(
            DRY_RUN,
            *INSTRUMENT_FIELDS,
            SIDE_FIELD,
            PRODUCT_FIELD,
            ORDER_TYPE_FIELD,
            VALIDITY_FIELD,
            attrs.evolve(
                QUANTITY_FIELD,
                doc="Units, at least 1, whole lots; required unless quantity_reference, the position or the parts give it.",
            ),
            DISCLOSED_FIELD,
            attrs.evolve(PRICE_FIELD, doc="Rupees; for LIMIT and SL, whole ticks; not needed with price_reference."),
            attrs.evolve(TRIGGER_PRICE_FIELD, doc="Rupees; for SL and SL-M, whole ticks."),
            PRICE_REFERENCE_FIELD,
            QUANTITY_REFERENCE_FIELD,
            field("after_market", "Send outside market hours.", "boolean"),
            DRY_RUN_FIELD,
            TAG_FIELD,
            field("broker", "Broker code to use instead of the service's choice."),
            SYNTHETIC_FIELD,
        ),
        answers=PLACE_ANSWERS,
    ),
)
PLACE = ROUTES[0]
