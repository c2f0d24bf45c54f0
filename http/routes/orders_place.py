"""`POST /api/orders/place` (spec 2 §4.2): check, find the instrument, hand to the engine, answer as it answers."""

import uuid
from collections.abc import Callable

from quart import Request
from quart.wrappers import Response

from onebroker.actors.engine.messages import EngineAnswer, Place
from onebroker.actors.kernel.mailbox import ActorNotRunning, AskTimedOut, Reply
from onebroker.config.messages import orders as texts
from onebroker.config.messages import shared
from onebroker.config.refusal import Refusal
from onebroker.config.vocabulary import Outcome
from onebroker.http import instrument_naming, order_fields, parse, render
from onebroker.http.place_body import check_body, with_instrument
from onebroker.http.route import Answer, Kind, Parameter, Route
from onebroker.http.services import OrderServices, Services


async def place(request: Request, services: Services) -> Response:
    orders = services.required_orders()
    body = await parse.body_object(request, texts.BODY_OBJECT)
    routed = services.clock.monotonic()  # a body may take its time to arrive, which is not ours
    parse.refuse_repeats(request, order_fields.DRY_RUN)
    checked = check_body(body, request.args, brokers=orders.brokers)
    state = orders.catalogue.value
    if state.latest is None:
        raise Refusal(503, texts.catalogue_not_published(state.reason))
    order = with_instrument(checked, body, instrument_naming.find(checked.name, state.latest))
    if not state.published_today:
        raise Refusal(503, texts.catalogue_not_published(state.reason))
    if not orders.engine_status.value.running:
        raise Refusal(503, texts.ENGINE_NOT_RUNNING)
    intent_id = str(uuid.uuid4())

    def ask(reply: Reply[EngineAnswer]) -> Place:
        return Place(
            intent_id=intent_id,
            order=order,
            dry_run=checked.dry_run,
            routed=routed,
            deadline=routed + orders.settings.engine_wait_seconds,
            reply=reply,
        )

    answer = await _answer(orders, ask, intent_id, dry_run=checked.dry_run)
    return render.json_answer(answer.body, answer.status)


async def _answer(
    orders: OrderServices, ask: Callable[[Reply[EngineAnswer]], Place], intent_id: str, *, dry_run: bool
) -> EngineAnswer:
    """Ask the engine until the deadline. What became of an intent that got into its mailbox is unknown; a dry run, and one
    that did not get so far, placed nothing."""
    wait_seconds = orders.settings.engine_wait_seconds
    extra = {"intent_id": intent_id}
    try:
        return await orders.engine.ask(ask, wait_seconds)
    except ActorNotRunning as error:
        if error.taken and not dry_run:
            raise _unknown(texts.FAILED_AFTER_WRITE, intent_id) from error
        raise Refusal(503, texts.ENGINE_NOT_RUNNING, extra) from error
    except AskTimedOut as error:
        if not error.queued:
            raise Refusal(503, shared.busy(error.name), extra) from error
        if dry_run:
            raise Refusal(504, texts.dry_run_not_answered(wait_seconds), extra) from error
        raise _unknown(texts.engine_did_not_answer(wait_seconds), intent_id) from error


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
            order_fields.DRY_RUN,
            _field("instrument_id", "UUID of the instrument; or name it by exchange, segment and identity fields."),
            _field("exchange", "nse, bse, mcx or ncdex."),
            _field("segment", "Segment of the exchange, with or without its prefix."),
            _field("symbol", "For a security segment."),
            _field("underlying_symbol", "For a future or option segment."),
            _field("expiry_date", "For a future or option segment.", "date"),
            _field("strike_price", "For an option segment, in rupees.", "number"),
            _field("option_type", "For an option segment: CE or PE."),
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
            _field(
                "synthetic",
                "`{type: simple, closes_position}`; closes_position true lets it use what is kept for exits.",
                "object",
            ),
        ),
        answers=(
            Answer(status=200, doc="Accepted by the broker, or a dry run."),
            Answer(status=400, doc="A field is malformed; the sentence names it."),
            Answer(status=404, doc="No such instrument is mapped."),
            Answer(status=409, doc="The pinned broker cannot take it, or the engine read it too late."),
            Answer(status=422, has_error=False, doc="Rejected by the broker, or no connection to it could be opened."),
            Answer(status=429, doc="The broker's daily order cap has no room."),
            Answer(
                status=503,
                doc="Nothing was placed: engine not running or too busy, catalogue not published, store away, no broker, no rate room.",
            ),
            Answer(
                status=504,
                has_error=False,
                doc="Outcome unknown (`outcome`, `intent_id`): read the order book before sending again.",
            ),
        ),
    ),
)
