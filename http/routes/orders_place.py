"""`POST /api/orders/place` (spec 2 §4.2): check, find the instrument, hand to the engine, answer as it answers."""

import uuid
from collections.abc import Callable

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.messages import EngineAnswer, Place
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.config.messages import orders as texts
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome
from onebroker.http import parse, render
from onebroker.http.place_body import CheckedBody, check_body, find_instrument, with_instrument
from onebroker.http.route import Answer, Kind, Parameter, Route
from onebroker.http.services import OrderServices, Services


async def place(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    routed = services.clock.monotonic()
    body = await parse.body_object(request, texts.BODY_OBJECT)
    if "orders" in body:
        raise Refusal(400, texts.not_served("a list of orders"))
    checked = check_body(body, brokers=orders.brokers)
    state = orders.catalogue.value
    if state.latest is None:
        raise Refusal(503, texts.catalogue_not_published(state.reason))
    instrument = find_instrument(checked.naming, state.latest)
    if instrument is None:
        raise Refusal(404, texts.not_mapped(checked.naming.shown, state.latest.mapping_date))
    order = with_instrument(checked, body, instrument)
    if not state.published_today:
        raise Refusal(503, texts.catalogue_not_published(state.reason))
    if not orders.engine_status.value.running:
        raise Refusal(503, texts.ENGINE_NOT_RUNNING)
    deadline = routed + orders.settings.engine_wait_seconds
    intent_id = str(uuid.uuid4())

    def ask(reply: Reply[EngineAnswer]) -> Place:
        return Place(
            intent_id=intent_id, order=order, dry_run=checked.dry_run, routed=routed, deadline=deadline, reply=reply
        )

    answer = await _answer(orders, checked, ask, intent_id, deadline - services.clock.monotonic())
    return render.json_answer(answer.body, answer.status)


async def _answer(
    orders: OrderServices,
    checked: CheckedBody,
    ask: Callable[[Reply[EngineAnswer]], Place],
    intent_id: str,
    wait_seconds: float,
) -> EngineAnswer:
    """Ask the engine until the deadline; what it did with an intent it had taken up is unknown, else nothing was placed."""
    try:
        return await orders.engine.ask(ask, wait_seconds)
    except ActorNotRunning as error:
        if error.taken and not checked.dry_run:
            raise _unknown(texts.FAILED_AFTER_WRITE, intent_id) from error
        raise Refusal(503, texts.ENGINE_NOT_RUNNING) from error
    except AskTimedOut as error:
        if not error.queued:
            raise Refusal(503, texts.RATE_BUDGET_FULL, {"intent_id": intent_id}) from error
        sentence = texts.engine_did_not_answer(orders.settings.engine_wait_seconds)
        raise _unknown(sentence, intent_id) from error


def _unknown(sentence: str, intent_id: str) -> Refusal:
    return Refusal(504, sentence, {"outcome": Outcome.UNKNOWN.value, "intent_id": intent_id})


def _field(name: str, doc: str, kind: Kind = "string", *, required: bool = False) -> Parameter:
    return Parameter(name=name, place="body", kind=kind, required=required, doc=doc)


ROUTES = (
    Route(
        method="POST",
        path="/api/orders/place",
        handler=place,
        tag="orders",
        summary="Place one order",
        parameters=(
            _field("instrument_id", "The instrument; or name it by exchange, segment and identity fields."),
            _field("transaction_type", "BUY or SELL.", required=True),
            _field("product", "CNC, MIS or NRML.", required=True),
            _field("order_type", "MARKET, LIMIT, SL or SL-M.", required=True),
            _field("validity", "DAY (default) or IOC."),
            _field("quantity", "Units, at least 1, whole lots.", "integer", required=True),
            _field("disclosed_quantity", "Units, at most quantity.", "integer"),
            _field("price", "Rupees; for LIMIT and SL, whole ticks.", "number"),
            _field("trigger_price", "Rupees; for SL and SL-M, whole ticks.", "number"),
            _field("after_market", "Send outside market hours.", "boolean"),
            _field("dry_run", "Build the broker's request and send nothing.", "boolean"),
            _field("tag", "1 to 20 letters and digits; comes back in the order book."),
            _field("broker", "Broker code to use instead of the service's choice."),
            _field("synthetic", "`{type: simple, closes_position}`.", "object"),
        ),
        answers=(
            Answer(status=200, doc="Accepted by the broker, or a dry run."),
            Answer(status=400, doc="A field is malformed; the sentence names it."),
            Answer(status=404, doc="No such instrument is mapped."),
            Answer(status=409, doc="The pinned broker cannot take it, or the engine read it too late."),
            Answer(status=422, doc="Rejected by the broker, or no connection to it could be opened."),
            Answer(status=429, doc="The broker's daily order cap has no room."),
            Answer(status=503, doc="Engine not running, catalogue not published, store away, no broker, no rate room."),
            Answer(status=504, doc="Outcome unknown: read the order book before sending again."),
        ),
    ),
)
